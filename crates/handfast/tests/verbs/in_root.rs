//! Links that begin at the root, as in the tree of a whole system.

use crate::support::*;
use handfast::{ErrorKind, Links, Root};

fn open(scratch: &Scratch, backend: handfast::BackendChoice) -> Root {
    scratch.open(options(backend).links(Links::InRoot))
}

#[test]
fn absolute_links_and_climbing_links_lead_no_higher_than_the_root() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .dir("usr/lib")
            .file("usr/lib/os-release", "inside")
            .dir("etc")
            .link("/usr/lib/os-release", "etc/absolute")
            .link("../../../../usr/lib/os-release", "etc/climbing")
            .link("/", "etc/top")
            .link("/usr", "lib64");
        let root = open(&scratch, backend);
        for path in [
            "etc/absolute",
            "etc/climbing",
            "etc/top/usr/lib/os-release",
            "lib64/lib/os-release",
            "etc/top/etc/top/lib64/lib/os-release",
        ] {
            assert_eq!(root.read(&rel(path)).unwrap(), b"inside", "{path}");
        }
        // The machine's own file of that name is another one.
        scratch.link("/etc/passwd", "etc/passwd-link");
        assert_kind(root.read(&rel("etc/passwd-link")), ErrorKind::NotFound);
        scratch.file("etc/passwd", "of the tree");
        assert_eq!(root.read(&rel("etc/passwd-link")).unwrap(), b"of the tree");
    });
}

#[test]
fn what_is_written_through_an_absolute_link_stays_in_the_root() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let outside = scratch.path("outside/there");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret"), "outside").unwrap();
        let host = outside.to_str().unwrap();
        scratch
            .link(host, "out")
            .link(format!("{host}/secret"), "file");
        let root = open(&scratch, backend);
        // Nothing in the tree has that name, and nothing is created through a link.
        assert_kind(root.write(&rel("file"), "x"), ErrorKind::Link);
        assert_kind(root.write(&rel("out/new"), "x"), ErrorKind::NotFound);
        // With such a directory in the tree, that is where the links lead.
        let twin = host.trim_start_matches('/');
        scratch.dir(twin).file(&format!("{twin}/secret"), "inside");
        root.write(&rel("file"), "changed").unwrap();
        root.write(&rel("out/new"), "new").unwrap();
        assert_eq!(scratch.read(&format!("root/{twin}/secret")), "changed");
        assert_eq!(scratch.read(&format!("root/{twin}/new")), "new");
        assert_eq!(
            std::fs::read_to_string(outside.join("secret")).unwrap(),
            "outside"
        );
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    });
}

#[test]
fn a_directory_below_does_not_take_itself_for_the_root_of_a_link() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .dir("a/a")
            .file("a/a/f", "below")
            .file("a/f", "inside")
            .link("/a/f", "a/absolute")
            .link("../a/f", "a/climbing");
        let root = open(&scratch, backend);
        assert_eq!(root.read(&rel("a/absolute")).unwrap(), b"inside");
        let dir = root.open_dir(&rel("a")).unwrap();
        assert_kind(dir.read(&rel("absolute")), ErrorKind::Escape);
        assert_kind(dir.read(&rel("climbing")), ErrorKind::Escape);
        // As a root of its own it is what the links begin at.
        let own = dir.into_root();
        assert_eq!(own.read(&rel("absolute")).unwrap(), b"below");
    });
}

#[test]
fn links_that_are_made_are_still_relative_and_stay_beneath() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        let root = open(&scratch, backend);
        assert_kind(root.symlink("/d", &rel("l")), ErrorKind::Escape);
        assert_kind(root.symlink("../x", &rel("l")), ErrorKind::Escape);
        root.symlink("d", &rel("l")).unwrap();
    });
}
