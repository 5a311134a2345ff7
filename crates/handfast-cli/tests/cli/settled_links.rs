//! Refusals and successes at symbolic and hard links, on both backends.

use std::os::unix::fs::MetadataExt;

use crate::settled::{check, world};
use crate::support::{Scratch, backends};

const BENEATH: &[&str] = &["--links", "beneath"];

#[test]
fn links_are_refused_by_default() {
    check(
        "links, refused",
        &[
            (&[], &["read", "in"], "Link"),
            (&[], &["read", "in-dir/inner"], "Link"),
            (&[], &["read", "out"], "Link"),
            (&[], &["read", "absolute"], "Link"),
            (&[], &["read", "dangling"], "Link"),
            (&[], &["read", "loop"], "Link"),
            (&[], &["version", "in"], "Link"),
            (&[], &["stat", "in"], "Link"),
            (&[], &["stat", "out"], "Link"),
            (&[], &["ls", "in-dir"], "Link"),
            (&[], &["ls", "in-dir/"], "Link"),
            (&[], &["ls", "out-dir/"], "Link"),
            (&[], &["ls", "out-dir/."], "Link"),
            (&[], &["tree", "in-dir"], "Link"),
            (&[], &["recover", "in-dir"], "Link"),
            (&[], &["write", "in"], "Link"),
            (&[], &["write", "out"], "Link"),
            (&[], &["write", "dangling"], "Link"),
            (&[], &["write", "in-dir/x"], "Link"),
            (&[], &["append", "in"], "Link"),
            (&[], &["append", "dangling"], "Link"),
            (&[], &["append", "out-dir/x"], "Link"),
            (&[], &["mkdir", "out-dir/x"], "Link"),
            (&[], &["mkdir", "-p", "in-dir"], "Link"),
            (&[], &["mkdir", "-p", "out-dir/x"], "Link"),
            (&[], &["mkdir", "-p", "dangling"], "Link"),
            (&[], &["chmod", "600", "in"], "Link"),
            (&[], &["chmod", "600", "out"], "Link"),
            (&[], &["mv", "in-dir/inner", "x"], "Link"),
            (&[], &["mv", "file", "out-dir/x"], "Link"),
            (&[], &["rm", "in-dir/inner"], "Link"),
            (&[], &["rm", "-r", "out-dir/x"], "Link"),
            (&[], &["cp", "in", "x"], "Link"),
            (&[], &["cp", "file", "in"], "Link"),
            (&[], &["cp", "file", "out"], "Link"),
            (&[], &["link", "in", "x"], "Link"),
            (&[], &["link", "file", "out-dir/x"], "Link"),
            (&[], &["readlink", "in-dir/x"], "Link"),
            (&[], &["symlink", "x", "out-dir/x"], "Link"),
        ],
    );
}

#[test]
fn links_that_leave_are_escapes_where_links_are_followed() {
    check(
        "links, beneath",
        &[
            (BENEATH, &["read", "out"], "Escape"),
            (BENEATH, &["read", "absolute"], "Escape"),
            (BENEATH, &["read", "loop"], "Link"),
            (BENEATH, &["read", "out-dir/x"], "Escape"),
            (BENEATH, &["stat", "out"], "Escape"),
            (BENEATH, &["ls", "out-dir"], "Escape"),
            (BENEATH, &["ls", "out-dir/"], "Escape"),
            (BENEATH, &["tree", "out-dir"], "Escape"),
            (BENEATH, &["write", "out"], "Escape"),
            (BENEATH, &["write", "absolute"], "Escape"),
            (BENEATH, &["write", "dangling"], "Link"),
            (BENEATH, &["write", "loop"], "Link"),
            (BENEATH, &["write", "out-dir/x"], "Escape"),
            (BENEATH, &["append", "out"], "Escape"),
            (BENEATH, &["append", "dangling"], "Link"),
            (BENEATH, &["append", "out-dir/x"], "Escape"),
            (BENEATH, &["mkdir", "out-dir/x"], "Escape"),
            (BENEATH, &["mkdir", "-p", "out-dir/x"], "Escape"),
            (BENEATH, &["mkdir", "-p", "dangling"], "Link"),
            (BENEATH, &["mkdir", "-p", "dangling/x"], "Link"),
            (BENEATH, &["mkdir", "-p", "new/a/../b"], "Invalid"),
            (BENEATH, &["chmod", "600", "out"], "Escape"),
            (BENEATH, &["mv", "file", "out-dir/x"], "Escape"),
            (BENEATH, &["rm", "out-dir/x"], "Escape"),
            (BENEATH, &["cp", "out", "x"], "Escape"),
            (BENEATH, &["cp", "file", "out"], "Escape"),
            (BENEATH, &["cp", "file", "dangling"], "Link"),
            (BENEATH, &["link", "in", "x"], "Link"),
            (BENEATH, &["link", "dir", "x"], "IsADirectory"),
            (BENEATH, &["symlink", "x", "out-dir/x"], "Escape"),
            (BENEATH, &["rm", "in-dir/"], "NotADirectory"),
        ],
    );
}

#[test]
fn symlinks_that_leave_are_not_made() {
    check(
        "symlink",
        &[
            (&[], &["symlink", "/", "x"], "Escape"),
            (&[], &["symlink", "/etc/passwd", "x"], "Escape"),
            (&[], &["symlink", "..", "x"], "Escape"),
            (&[], &["symlink", "../x", "x"], "Escape"),
            (&[], &["symlink", "../../x", "dir/x"], "Escape"),
            (&[], &["symlink", "a/../../x", "x"], "Escape"),
            (&[], &["symlink", "", "x"], "Invalid"),
            (BENEATH, &["symlink", "../../x", "in-dir/x"], "Escape"),
        ],
    );
}

#[test]
fn links_beneath_are_followed_where_that_is_asked_for() {
    for backend in backends("links beneath") {
        let scratch = world();
        let options = [&["--backend", backend], BENEATH].concat();
        let run = |verb: &[&str]| scratch.fs_with(&options, verb, b"written").ok();
        assert_eq!(run(&["read", "in"])["content"], "content");
        assert_eq!(run(&["read", "in-dir/inner"])["content"], "inner");
        assert_eq!(run(&["ls", "in-dir/"])["entries"][0]["name"], "inner");
        run(&["write", "in"]);
        assert_eq!(std::fs::read(scratch.at("file")).unwrap(), b"written");
        assert!(
            std::fs::symlink_metadata(scratch.at("in"))
                .unwrap()
                .is_symlink()
        );
        run(&["append", "in"]);
        assert_eq!(
            std::fs::read(scratch.at("file")).unwrap(),
            b"writtenwritten"
        );
        run(&["chmod", "640", "in"]);
        assert_eq!(
            std::fs::metadata(scratch.at("file")).unwrap().mode() & 0o777,
            0o640
        );
        run(&["mkdir", "-p", "in-dir"]);
        run(&["mkdir", "-p", "in-dir/new/deep"]);
        assert!(
            std::fs::metadata(scratch.at("dir/new/deep"))
                .unwrap()
                .is_dir()
        );
        run(&["cp", "file", "in-dir/copy"]);
        run(&["symlink", "../file", "in-dir/up"]);
        assert_eq!(run(&["read", "dir/up"])["content"], "writtenwritten");
    }
}

#[test]
fn entries_are_meant_themselves() {
    for backend in backends("entries themselves") {
        for links in ["refuse", "beneath"] {
            let scratch = world();
            let options = ["--backend", backend, "--links", links];
            let run = |verb: &[&str]| scratch.fs(&options, verb).ok();
            assert_eq!(run(&["stat", "--no-follow", "out"])["type"], "symlink");
            assert_eq!(
                run(&["readlink", "out"])["target"],
                "../outside/secret-file"
            );
            assert_eq!(run(&["readlink", "dangling"])["target"], "secret-nowhere");
            run(&["mv", "out", "moved"]);
            run(&["rm", "moved"]);
            run(&["rm", "-r", "out-dir"]);
            run(&["rm", "loop"]);
            run(&["rm", "dangling"]);
            run(&["rm", "-r", "in-dir"]);
            assert_eq!(std::fs::read(scratch.at("dir/inner")).unwrap(), b"inner");
            assert!(std::fs::metadata(scratch.outside().join("secret-dir")).is_ok());
        }
    }
}

#[test]
fn forty_links_are_followed_and_not_one_more() {
    for backend in backends("forty links") {
        let scratch = Scratch::new();
        scratch.file("file", "end");
        scratch.link("file", "link1");
        for number in 2..=41 {
            scratch.link(format!("link{}", number - 1), &format!("link{number}"));
        }
        let options = [&["--backend", backend], BENEATH].concat();
        assert_eq!(
            scratch.fs(&options, &["read", "link40"]).ok()["content"],
            "end"
        );
        scratch.fs(&options, &["read", "link41"]).refused("Link");
    }
}

#[test]
fn hard_links_are_read_and_replaced_but_not_changed() {
    check(
        "hard links",
        &[
            (&[], &["append", "hard"], "HardLink"),
            (&[], &["chmod", "600", "hard"], "HardLink"),
            (&["--hard-links", "refuse"], &["read", "hard"], "HardLink"),
            (
                &["--hard-links", "refuse"],
                &["version", "hard"],
                "HardLink",
            ),
            (&["--hard-links", "refuse"], &["append", "hard"], "HardLink"),
            (
                &["--hard-links", "refuse"],
                &["cp", "hard", "x"],
                "HardLink",
            ),
            (
                &["--hard-links", "refuse"],
                &["link", "file", "x"],
                "HardLink",
            ),
            (&[], &["link", "dir", "x"], "IsADirectory"),
        ],
    );
    for backend in backends("hard links") {
        let scratch = world();
        let outside = scratch.outside().join("secret-file");
        let run = |options: &[&str], verb: &[&str]| {
            let options = [&["--backend", backend], options].concat();
            scratch.fs_with(&options, verb, b"new").ok()
        };
        assert_eq!(run(&[], &["read", "hard"])["content"], "secret");
        let before = run(&["--hard-links", "refuse"], &["stat", "hard"]);
        assert_eq!(before["nlink"], 2);
        run(&[], &["link", "file", "file2"]);
        run(&[], &["cp", "other", "file2"]);
        assert_eq!(std::fs::read(scratch.at("file")).unwrap(), b"content");
        run(&[], &["write", "hard"]);
        assert_eq!(std::fs::read(&outside).unwrap(), b"secret");
        assert_eq!(std::fs::read(scratch.at("hard")).unwrap(), b"new");
        std::fs::hard_link(scratch.at("other"), scratch.at("other2")).unwrap();
        run(&["--hard-links", "allow"], &["append", "other2"]);
        assert_eq!(std::fs::read(scratch.at("other")).unwrap(), b"othernew");
    }
}

#[test]
fn a_failed_copy_or_mkdir_leaves_nothing_behind() {
    for backend in backends("nothing left behind") {
        let scratch = world();
        scratch.dir("tree/a/b");
        scratch.file("tree/a/file", "x");
        scratch.link("file", "tree/a/b/link");
        scratch.dir("special/a");
        scratch.fifo("special/a/fifo");
        let before = scratch.snapshot();
        let options = ["--backend", backend];
        scratch
            .fs(&options, &["cp", "-r", "tree", "copy"])
            .refused("Link");
        scratch
            .fs(&options, &["cp", "-r", "special", "copy"])
            .refused("Kind");
        let deep = format!("new/{}/x", "n".repeat(256));
        scratch
            .fs(&options, &["mkdir", "-p", &deep])
            .refused("TooLong");
        assert_eq!(before, scratch.snapshot());
    }
}
