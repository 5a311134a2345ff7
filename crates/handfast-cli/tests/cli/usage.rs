//! Wrong usage, roots that cannot be opened, and policies that cannot be enforced.

use crate::support::{IMPATIENCE, Run, Scratch, backends, skip};

fn run(args: &[&str]) -> Run {
    Run::of(args, b"", 10 * IMPATIENCE)
}

#[test]
fn wrong_usage_is_two_and_says_how_it_is_meant() {
    let scratch = Scratch::new();
    let inside = scratch.inside();
    let root = inside.to_str().unwrap();
    scratch.file("file", "x");
    let before = scratch.snapshot();
    for verb in [
        &[][..],
        &["nonsense"],
        &["read"],
        &["read", "a", "b"],
        &["read", "--nonsense", "a"],
        &["mv", "a"],
        &["mv", "--no-replace", "--exchange", "a", "b"],
        &["rm", "-r", "--if-version", "v", "file"],
        &["write", "--new", "--if-version", "v", "file"],
        &["write", "--sync", "--durability", "none", "file"],
        &["write", "--durability", "maybe", "file"],
        &["write", "--mode", "4755", "file"],
        &["chmod", "file"],
        &["chmod", "888", "file"],
        &["chmod", "u+x", "file"],
        &["chmod", "", "file"],
        &["chmod", "10000", "file"],
        &["--links", "follow", "ls", "."],
        &["--hard-links", "yes", "ls", "."],
        &["--mounts", "yes", "ls", "."],
        &["--backend", "fast", "ls", "."],
    ] {
        let words = run(&[&["fs", "--root", root], verb].concat());
        assert_eq!(
            (words.code, words.stdout.len()),
            (2, 0),
            "{verb:?} {words:?}"
        );
        assert!(
            words.stderr.contains("Usage:") || words.stderr.contains("--help"),
            "{words:?}"
        );
        let object = run(&[&["fs", "--json", "--root", root], verb].concat());
        let error = object.failed("Invalid", 2);
        assert!(!error["detail"].as_str().unwrap().is_empty(), "{verb:?}");
    }
    assert_eq!(run(&["fs", "ls", "."]).code, 2);
    assert_eq!(run(&[]).code, 2);
    assert_eq!(run(&["nonsense"]).code, 2);
    assert_eq!(run(&["doctor", "extra"]).code, 2);
    assert_eq!(before, scratch.snapshot());
}

#[test]
fn help_and_version_are_data() {
    for args in [
        &["--help"][..],
        &["fs", "--help"],
        &["fs", "--root", "x", "write", "--help"],
        &["doctor", "-h"],
    ] {
        let help = run(args);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{args:?}");
        assert!(help.text().contains("Usage: handfast"), "{args:?}");
    }
    let version = run(&["--version"]);
    let expected = format!("handfast {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((version.code, version.text()), (0, expected.as_str()));
}

#[test]
fn a_root_that_cannot_be_opened_is_a_configuration_error() {
    let scratch = Scratch::new();
    let file = scratch.file("file", "x");
    scratch.link(scratch.outside(), "link");
    for (root, kind) in [
        (scratch.at("missing"), "NotFound"),
        (file.clone(), "NotADirectory"),
        (scratch.at("link"), "Link"),
        (scratch.at("link/"), "Link"),
        (std::path::PathBuf::new(), "Invalid"),
    ] {
        let root = root.to_str().unwrap();
        for (verb, path) in [("ls", "."), ("read", "../x"), ("rm", "file")] {
            let object = run(&["fs", "--json", "--root", root, verb, path]);
            let error = object.failed(kind, 2);
            assert_eq!(
                (&error["verb"], &error["path"]),
                (&verb.into(), &"<root>".into())
            );
            assert!(!object.text().contains(scratch.path.to_str().unwrap()));
            let words = run(&["fs", "--root", root, verb, path]);
            assert_eq!((words.code, words.stdout.len()), (2, 0));
            let expected = format!("error: cannot open the root `{root}`: ");
            assert!(words.stderr.starts_with(&expected), "{words:?}");
        }
    }
}

#[test]
fn the_kernel_backend_or_nobody() {
    let scratch = Scratch::new();
    let object = scratch.fs(&["--backend", "kernel"], &["ls", "."]);
    if backends("the kernel backend").contains(&"kernel") {
        object.ok();
        skip("a missing kernel backend", "openat2 is there");
        return;
    }
    let error = object.failed("Unsupported", 3);
    assert_eq!(error["verb"], "ls");
    let words = run(&[
        "fs",
        "--root",
        scratch.inside().to_str().unwrap(),
        "--backend",
        "kernel",
        "ls",
        ".",
    ]);
    assert_eq!(words.code, 3);
    assert!(words.stderr.contains("hint: `--backend auto`"), "{words:?}");
    scratch.fs(&["--backend", "auto"], &["ls", "."]).ok();
}

#[test]
fn options_may_stand_before_or_after_the_verb() {
    let scratch = Scratch::new();
    scratch.file("file", "x");
    scratch.link("file", "link");
    let inside = scratch.inside();
    let root = inside.to_str().unwrap();
    for args in [
        &[
            "--json", "fs", "--root", root, "--links", "beneath", "read", "link",
        ][..],
        &[
            "fs", "--root", root, "--links", "beneath", "--json", "read", "link",
        ],
        &[
            "fs", "--root", root, "read", "--links", "beneath", "--json", "link",
        ],
        &[
            "fs",
            "--root",
            root,
            "read",
            "link",
            "--links=beneath",
            "--json",
        ],
    ] {
        assert_eq!(run(args).ok()["content"], "x");
    }
}

#[test]
fn every_option_of_fs_may_stand_before_or_after_the_verb() {
    let scratch = Scratch::new();
    scratch.file("file", "x");
    scratch.new_session(&[]);
    let (inside, state) = (scratch.inside(), scratch.path.join("state"));
    let (root, state) = (inside.to_str().unwrap(), state.to_str().unwrap());
    for args in [
        &["fs", "--root", root, "read", "file"][..],
        &["fs", "read", "--root", root, "file"],
        &["fs", "read", "file", "--root", root],
        &["fs", "--session", "s", "--state", state, "read", "/file"],
        &["fs", "--session", "s", "read", "/file", "--state", state],
        &["fs", "read", "/file", "--session", "s", "--state", state],
    ] {
        assert_eq!(run(args).text(), "x", "{args:?}");
        assert_eq!(run(&[args, &["--json"]].concat()).ok()["content"], "x");
    }
    for (args, part) in [
        (
            &["fs", "read", "file"][..],
            "give `--root DIR`, `--session NAME` or `--lease ID`",
        ),
        (
            &["fs", "--root", root, "ls", "--session", "s"],
            "both given",
        ),
        (
            &["fs", "--session", "s", "--root", root, "ls"],
            "both given",
        ),
        (
            &["fs", "--root", root, "ls", "--state", state],
            "does not go with `--root`",
        ),
        (
            &[
                "fs",
                "ls",
                "--session",
                "s",
                "--state",
                state,
                "--links",
                "beneath",
            ],
            "go with `--root`; a session has rules of its own",
        ),
    ] {
        let words = run(args);
        assert_eq!((words.code, words.stdout.len()), (2, 0), "{words:?}");
        assert!(words.stderr.contains(part), "{words:?}");
        let error = run(&[args, &["--json"]].concat()).failed("Invalid", 2);
        assert!(error["detail"].as_str().unwrap().contains(part), "{error}");
    }
}

#[test]
fn words_of_other_programs_get_a_tip() {
    for (args, tip) in [
        (&["fs", "cat", "x"][..], "tip: `read` prints the content"),
        (&["fs", "list"], "tip: `ls` lists a directory"),
        (&["fs", "--root", ".", "remove", "x"], "tip: `rm` removes"),
        (&["fs", "touch", "x"], "tip: `write --new` creates"),
        (&["version"], "tip: `handfast --version`"),
    ] {
        let words = run(args);
        assert_eq!(words.code, 2, "{words:?}");
        assert!(words.stderr.contains(tip), "{words:?}");
        assert_eq!(words.stderr.matches("tip:").count(), 1, "{words:?}");
        let error = run(&[&["--json"], args].concat()).failed("Invalid", 2);
        assert!(error["detail"].as_str().unwrap().contains(tip), "{error}");
    }
    // The names of other commands are theirs.
    assert!(!run(&["log", "cat"]).stderr.contains("`read`"));
    let error = run(&["--json", "fs", "read"]).failed("Invalid", 2);
    assert!(
        error["detail"].as_str().unwrap().contains("<PATH>"),
        "{error}"
    );
}

#[test]
fn slashes_at_the_end_of_the_root_change_nothing() {
    let scratch = Scratch::new();
    scratch.file("file", "x");
    for end in ["", "/", "///", "/."] {
        let root = format!("{}{end}", scratch.inside().to_str().unwrap());
        run(&["fs", "--json", "--root", &root, "read", "file"]).ok();
    }
}
