//! Pinned directories: every verb works in them, whatever becomes of their names.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(target_os = "linux")]

mod support;

use handfast::files::{At, LastLink};
use handfast::{ErrorKind, Files, Name, RelPath, RenameMode, Root};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use support::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

#[test]
fn a_directory_is_held_and_not_its_name() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("a/d/f", "inside");
        let root = scratch.open(options);
        let dir = root.open_dir(&rel("a/d")).unwrap();
        // Moved inside, and its name given to a link to the outside.
        std::fs::rename(scratch.path("root/a/d"), scratch.path("root/moved")).unwrap();
        scratch.link(scratch.path("outside"), "a/d");
        let outside = scratch.outside();
        assert_eq!(dir.read(&rel("f")).unwrap(), b"inside");
        dir.write(&rel("g"), "written").unwrap();
        dir.rename(&rel("f"), &rel("h"), RenameMode::NoReplace)
            .unwrap();
        dir.create_dir_all(&rel("x/y")).unwrap();
        assert_eq!(scratch.read("root/moved/g"), "written");
        assert_eq!(scratch.read("root/moved/h"), "inside");
        assert!(scratch.path("root/moved/x/y").is_dir());
        assert_eq!(scratch.outside(), outside);
        // Its errors name the way that it was opened by.
        let error = assert_kind(dir.read(&rel("none")), ErrorKind::NotFound);
        assert_eq!(error.path(), "a/d/none");
    });
}

#[test]
fn a_directory_that_was_removed_and_replaced_is_not_the_new_one() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.dir("d");
        let root = scratch.open(options);
        let dir = root.open_dir(&rel("d")).unwrap();
        let node = root.node(&rel("d"), LastLink::Itself).unwrap();
        std::fs::remove_dir(scratch.path("root/d")).unwrap();
        scratch.file("d/f", "of another directory");
        assert_kind(dir.read(&rel("f")), ErrorKind::NotFound);
        assert_kind(dir.write(&rel("new"), "x"), ErrorKind::NotFound);
        assert_kind(dir.create_dir(&rel("new")), ErrorKind::NotFound);
        assert_kind(
            root.lookup(&node, name("f").as_ref()).map(drop),
            ErrorKind::NotFound,
        );
        let at = name("new");
        assert_kind(
            root.create_dir_at(At::new(&node, &at), 0o700).map(drop),
            ErrorKind::NotFound,
        );
        assert_eq!(
            scratch.snapshot("root/d").len(),
            1,
            "nothing was made in the new one"
        );
    });
}

#[test]
fn a_node_of_other_files_is_refused() {
    let (one, other) = (Scratch::new(), Scratch::new());
    one.file("f", "one");
    other.file("f", "other");
    struct Strange(handfast::Metadata);
    impl std::fmt::Debug for Strange {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Strange")
        }
    }
    impl handfast::files::NodeData for Strange {
        fn metadata(&self) -> &handfast::Metadata {
            &self.0
        }
    }
    let root = one.open(handfast::RootOptions::new());
    let strange = handfast::Node::new(Strange(root.metadata(&rel("f")).unwrap()));
    assert_kind(root.metadata_of(&strange).map(drop), ErrorKind::Invalid);
    assert_kind(
        root.open_node(&strange, handfast::OpenOptions::new())
            .map(drop),
        ErrorKind::Invalid,
    );
}

/// Targets from harmless to hostile, for a link in a directory of some depth.
const TARGETS: &[&str] = &[
    "f",
    "../f",
    "../../f",
    "../../../f",
    "../../../../f",
    "../../../outside/secret",
    "x/../../f",
    "x/../../../../outside/secret",
    "/etc/passwd",
];

/// Makes every link in a directory, by whatever way; a link that was made must not lead out of the
/// root when the kernel walks it with all its freedom.
fn make_links(what: &str, scratch: &Scratch, dir: &str, make: impl Fn(&str, &Name) -> bool) -> u32 {
    let mut made = 0;
    for (number, target) in TARGETS.iter().enumerate() {
        let link = name(&format!("link{number}"));
        if !make(target, &link) {
            continue;
        }
        made += 1;
        let at = scratch.path(&format!("root/{dir}/link{number}"));
        assert_eq!(
            std::fs::read_link(&at).unwrap().to_str().unwrap(),
            *target,
            "{what}"
        );
        // The kernel itself says whether the way stays beneath the root; what is missing at its end
        // does not matter.
        let root = rustix::fs::open(scratch.root_path(), OFlags::PATH, Mode::empty()).unwrap();
        let walked = rustix::fs::openat2(
            &root,
            format!("{dir}/link{number}"),
            OFlags::PATH,
            Mode::empty(),
            ResolveFlags::BENEATH,
        );
        assert_ne!(
            walked.err(),
            Some(rustix::io::Errno::XDEV),
            "{what}: {target} leads out"
        );
        let seen = rustix::fs::openat(CWD, &at, OFlags::RDONLY, Mode::empty());
        if let Ok(fd) = seen {
            let mut text = [0; 7];
            let got = rustix::io::read(fd, &mut text).unwrap_or(0);
            assert_ne!(&text[..got], b"outside", "{what}: {target}");
        }
    }
    made
}

fn nested(scratch: &Scratch) {
    scratch
        .file("f", "inside")
        .file("a/f", "inside")
        .dir("a/b/c/x")
        .link("a/b/c", "to-c")
        .link("../a/b/c", "a/to-c");
}

#[test]
fn a_link_made_in_a_pinned_directory_stays_beneath() {
    if !kernel_available() {
        skip("the kernel as judge of links: openat2 is masked or absent");
        return;
    }
    each_policy(|options, links| {
        for way in ["a/b/c", "to-c", "a/to-c"] {
            if links == handfast::Links::Refuse && way != "a/b/c" {
                continue;
            }
            let scratch = Scratch::new();
            nested(&scratch);
            let root = scratch.open(options.clone());
            // One open, and one directory at a time.
            let at_once = root.open_dir(&rel(way)).unwrap();
            let made = make_links(
                &format!("dir {way} {links:?}"),
                &scratch,
                "a/b/c",
                |t, n| at_once.symlink(t, &RelPath::from(n)).is_ok(),
            );
            assert!(made >= 1, "some links are made");
            let scratch = Scratch::new();
            nested(&scratch);
            let root = scratch.open(options.clone());
            let mut dir: Option<handfast::Dir> = None;
            for part in way.split('/') {
                let here: &Root = dir.as_deref().unwrap_or(&root);
                dir = Some(here.open_dir(&rel(part)).unwrap_or_else(|_| {
                    // A link that climbs above a pinned directory is an escape from it.
                    root.open_dir(&rel(way)).unwrap()
                }));
            }
            let dir = dir.unwrap();
            make_links(
                &format!("dirs {way} {links:?}"),
                &scratch,
                "a/b/c",
                |t, n| dir.symlink(t, &RelPath::from(n)).is_ok(),
            );
            let scratch = Scratch::new();
            nested(&scratch);
            let root = scratch.open(options.clone());
            let node = root.node(&rel(way), LastLink::Follow).unwrap();
            let made = make_links(
                &format!("node {way} {links:?}"),
                &scratch,
                "a/b/c",
                |t, n| root.symlink_at(t.as_bytes(), At::new(&node, n)).is_ok(),
            );
            assert!(made >= 4, "a node knows how deep it lies: {made}");
        }
    });
}

#[test]
fn a_link_made_in_a_directory_that_was_moved_up_stays_beneath() {
    if !kernel_available() {
        skip("the kernel as judge of links: openat2 is masked or absent");
        return;
    }
    each_policy(|options, links| {
        let scratch = Scratch::new();
        nested(&scratch);
        let root = scratch.open(options);
        let dir = root.open_dir(&rel("a/b/c")).unwrap();
        let node = root.node(&rel("a/b/c"), LastLink::Itself).unwrap();
        std::fs::rename(scratch.path("root/a/b/c"), scratch.path("root/c")).unwrap();
        let what = format!("moved {links:?}");
        make_links(&what, &scratch, "c", |target, link| {
            dir.symlink(target, &RelPath::from(link)).is_ok()
        });
        for link in 0..TARGETS.len() {
            drop(std::fs::remove_file(
                scratch.path(&format!("root/c/link{link}")),
            ));
        }
        let made = make_links(&what, &scratch, "c", |target, link| {
            root.symlink_at(target.as_bytes(), At::new(&node, link))
                .is_ok()
        });
        assert!(made >= 1, "what stays in the directory is made");
    });
}
