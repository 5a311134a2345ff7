//! Reading, listing and looking.

use crate::support::*;
use handfast::{ErrorKind, FileKind, Links, OpenOptions, RelPath, Root, TreeLimits};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

#[test]
fn read_gives_the_whole_file_and_keeps_to_its_limit() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("a/b/c.txt", "hello").file("empty", "");
        let root = scratch.open(options);
        assert_eq!(root.read(&rel("a/b/c.txt")).unwrap(), b"hello");
        assert_eq!(root.read(&rel("empty")).unwrap(), b"");
        assert_eq!(root.read_to_limit(&rel("a/b/c.txt"), 5).unwrap(), b"hello");
        assert_kind(root.read_to_limit(&rel("a/b/c.txt"), 4), ErrorKind::Limit);
        assert_kind(root.read(&rel("a/b")), ErrorKind::IsADirectory);
        assert_kind(root.read(&rel("a/x")), ErrorKind::NotFound);
        assert_kind(root.read(&rel("a/b/c.txt/d")), ErrorKind::NotADirectory);
        assert_kind(
            root.read(&RelPath::clean("a/b/c.txt/").unwrap()),
            ErrorKind::NotADirectory,
        );
    });
}

#[test]
fn read_of_a_file_larger_than_its_size_claims_is_whole() {
    each_backend(|backend| {
        // procfs files say they are empty.
        let own = format!("/proc/{}", std::process::id());
        let root = Root::open_ambient_with(own, options(backend)).unwrap();
        assert!(!root.read(&rel("status")).unwrap().is_empty());
    });
}

#[test]
fn open_options_open_what_they_say() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "0123456789");
        let root = scratch.open(options);
        let mut text = String::new();
        root.open(&rel("f"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "0123456789");
        assert!(root.open(&rel("f")).unwrap().write(b"x").is_err());

        let mut file = root
            .open_with(&rel("f"), OpenOptions::new().read(true).write(true))
            .unwrap();
        file.seek(SeekFrom::Start(2)).unwrap();
        file.write_all(b"ab").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        text.clear();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "01ab456789");

        let mut only = root
            .open_with(&rel("f"), OpenOptions::new().write(true))
            .unwrap();
        assert!(only.read(&mut [0]).is_err());
        assert_kind(only.read_at(&mut [0], 0), ErrorKind::Denied);

        root.open_with(&rel("f"), OpenOptions::new().append(true))
            .unwrap()
            .write_all(b"!")
            .unwrap();
        assert_eq!(scratch.read("root/f"), "01ab456789!");

        drop(
            root.open_with(&rel("f"), OpenOptions::new().write(true).truncate(true))
                .unwrap(),
        );
        assert_eq!(scratch.read("root/f"), "");

        let new = OpenOptions::new().write(true).create_new(true).mode(0o640);
        root.open_with(&rel("g"), new)
            .unwrap()
            .write_all(b"g")
            .unwrap();
        assert_eq!(scratch.read("root/g"), "g");
        assert_kind(root.open_with(&rel("g"), new), ErrorKind::Exists);
        let create = OpenOptions::new().write(true).create(true);
        drop(root.open_with(&rel("g"), create).unwrap());
        drop(root.open_with(&rel("h"), create).unwrap());
        assert_eq!(scratch.read("root/h"), "");
        assert_kind(root.open_with(&rel("x/h"), create), ErrorKind::NotFound);
        assert_kind(
            root.open_with(&rel("f/h"), create),
            ErrorKind::NotADirectory,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().truncate(true)),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().read(false)),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().create(true)),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().append(true).truncate(true)),
            ErrorKind::Invalid,
        );
    });
}

#[test]
fn descriptors_handed_out_block_and_are_not_inherited() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "x");
        let root = scratch.open(options(backend));
        let file = root.open(&rel("f")).unwrap();
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
        let append = root
            .open_with(&rel("f"), OpenOptions::new().append(true))
            .unwrap();
        assert!(
            rustix::fs::fcntl_getfl(&append)
                .unwrap()
                .contains(rustix::fs::OFlags::APPEND)
        );
    });
}

#[test]
fn read_dir_lists_everything_once() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        for number in 0..3000 {
            scratch.file(&format!("d/file-number-{number:05}"), "");
        }
        scratch
            .dir("d/sub")
            .link("sub", "d/link")
            .fifo("d/fifo")
            .link("d", "dir");
        let root = scratch.open(options);
        let list = |path: &str| {
            let mut found = Vec::new();
            let mut entries = root.read_dir(&rel(path))?;
            while let Some(entry) = entries.next_entry()? {
                assert_eq!(entry.metadata()?.kind, entry.kind());
                found.push((entry.name().to_string(), entry.kind()));
            }
            found.sort();
            Ok::<_, handfast::Error>(found)
        };
        let found = list("d").unwrap();
        assert_eq!(found.len(), 3003);
        assert!(found.windows(2).all(|pair| pair[0].0 != pair[1].0));
        assert!(found.contains(&("sub".into(), FileKind::Dir)));
        assert!(found.contains(&("link".into(), FileKind::Symlink)));
        assert!(found.contains(&("fifo".into(), FileKind::Fifo)));
        assert_kind(list("d/file-number-00000"), ErrorKind::NotADirectory);
        match links {
            Links::Refuse => drop(assert_kind(list("dir"), ErrorKind::Link)),
            Links::Beneath | Links::InRoot => assert_eq!(list("dir").unwrap(), found),
        }
        let mut top = root.read_dir(&RelPath::root()).unwrap();
        let mut count = 0;
        while top.next_entry().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 2);
    });
}

#[test]
fn walk_lists_a_tree_and_keeps_to_its_limits() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let mut expected = Vec::new();
        for a in 0..4 {
            expected.push(format!("d{a}"));
            for b in 0..5 {
                expected.push(format!("d{a}/e{b}"));
                for c in 0..6 {
                    scratch.file(&format!("t/d{a}/e{b}/f{c}"), "x");
                    expected.push(format!("d{a}/e{b}/f{c}"));
                }
            }
        }
        scratch.link("../t", "t/up").link("../../outside", "t/out");
        expected.extend(["up".to_owned(), "out".to_owned()]);
        expected.sort();
        let root = scratch.open(options);
        let walk = |limits| {
            let mut found = Vec::new();
            let mut walk = root.walk_with(&rel("t"), limits)?;
            while let Some(entry) = walk.next_entry()? {
                assert_eq!(entry.metadata()?.kind, entry.kind());
                found.push(String::from_utf8(entry.path()).unwrap());
            }
            found.sort();
            Ok::<_, handfast::Error>(found)
        };
        assert_eq!(walk(TreeLimits::new()).unwrap(), expected);
        assert_kind(walk(TreeLimits::new().with_entries(10)), ErrorKind::Limit);
        assert_kind(walk(TreeLimits::new().with_depth(1)), ErrorKind::Limit);
        assert_kind(
            walk(TreeLimits::new().with_time(Duration::ZERO)),
            ErrorKind::Limit,
        );
    });
}

#[test]
fn walk_goes_on_beside_a_directory_it_may_not_read() {
    if am_root() {
        skip("root may read everything");
        return;
    }
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .file("t/a/x", "")
            .file("t/locked/x", "")
            .file("t/z/x", "");
        std::fs::set_permissions(
            scratch.path("root/t/locked"),
            std::fs::Permissions::from_mode(0o000),
        )
        .unwrap();
        let root = scratch.open(options);
        let mut walk = root.walk(&rel("t")).unwrap();
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        loop {
            match walk.next_entry() {
                Ok(Some(entry)) => found.push(String::from_utf8(entry.path()).unwrap()),
                Ok(None) => break,
                Err(error) => errors.push((error.kind(), error.path().to_owned())),
            }
        }
        found.sort();
        assert_eq!(found, ["a", "a/x", "locked", "z", "z/x"]);
        assert_eq!(errors, [(ErrorKind::Denied, "t/locked".to_owned())]);
    });
}

#[test]
fn metadata_and_links() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("d/f", "12345")
            .link("d/f", "link")
            .link("d/../d/f", "round");
        let root = scratch.open(options);
        let seen = root.metadata(&rel("d/f")).unwrap();
        let std = std::fs::metadata(scratch.path("root/d/f")).unwrap();
        assert_eq!((seen.len, seen.kind, seen.nlink), (5, FileKind::File, 1));
        assert_eq!(
            (seen.identity.inode, seen.uid, seen.gid),
            (std.ino(), std.uid(), std.gid())
        );
        assert_eq!(seen.mode, std.permissions().mode() & 0o7777);
        assert_eq!(seen.modified.to_system_time(), std.modified().unwrap());
        assert_eq!(
            root.symlink_metadata(&rel("link")).unwrap().kind,
            FileKind::Symlink
        );
        assert_eq!(root.metadata(&RelPath::root()).unwrap().kind, FileKind::Dir);
        match links {
            Links::Refuse => {
                assert_kind(root.metadata(&rel("link")), ErrorKind::Link);
                assert_kind(root.read(&rel("round")), ErrorKind::Link);
            }
            Links::Beneath | Links::InRoot => {
                assert_eq!(root.metadata(&rel("link")).unwrap().identity, seen.identity);
                assert_eq!(root.read(&rel("round")).unwrap(), b"12345");
            }
        }
        assert_eq!(root.read_link(&rel("link")).unwrap().as_bytes(), b"d/f");
        assert_kind(root.read_link(&rel("d/f")), ErrorKind::Kind);
        assert_kind(root.read_link(&rel("d")), ErrorKind::Kind);
    });
}

/// Places in a file without moving the handle's own, and a second handle of the same open file.
#[test]
fn files_are_read_and_written_at_places() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "0123456789");
        let root = scratch.open(options(backend));
        let how = OpenOptions::new().read(true).write(true);
        let mut file = root.open_with(&rel("f"), how).unwrap();
        let mut two = [0; 2];
        assert_eq!(file.read_at(&mut two, 4).unwrap(), 2);
        assert_eq!(&two, b"45");
        assert_eq!(file.read_at(&mut two, 100).unwrap(), 0);
        file.write_at(b"ab", 8).unwrap();
        let mut again = file.try_clone().unwrap();
        assert!(again.identity().same_object(&file.identity()));
        file.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"01", "the place was not moved");
        again.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"23", "and is shared");
        assert_eq!(scratch.read("root/f"), "01234567ab");
        let reading = root.open(&rel("f")).unwrap();
        let error = assert_kind(reading.write_at(b"x", 0), ErrorKind::Denied);
        assert_eq!(error.effect(), handfast::Effect::None);
    });
}

/// One lookup says whether something is there and what.
#[test]
fn what_may_be_missing_is_asked_for_in_one_lookup() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "text").dir("d");
        std::fs::write(scratch.path("root/bytes"), b"\xff\xfe").unwrap();
        let root = scratch.open(options(backend));
        assert_eq!(root.read_optional(&rel("f")).unwrap().unwrap(), b"text");
        assert_eq!(root.read_optional(&rel("none")).unwrap(), None);
        assert_kind(root.read_optional(&rel("d")), ErrorKind::IsADirectory);
        assert!(root.metadata_optional(&rel("d")).unwrap().unwrap().is_dir());
        assert!(root.metadata_optional(&rel("d/none")).unwrap().is_none());
        assert_kind(
            root.metadata_optional(&rel("f/x")),
            ErrorKind::NotADirectory,
        );
        assert_eq!(root.read_to_string(&rel("f")).unwrap(), "text");
        assert_kind(root.read_to_string(&rel("bytes")), ErrorKind::Kind);
    });
}
