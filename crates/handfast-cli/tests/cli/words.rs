//! What people see: data on standard output, words on standard error, and what to do next.

use crate::settled::world;
use crate::support::Scratch;

#[test]
fn data_goes_to_standard_output_and_notes_to_standard_error() {
    let scratch = Scratch::new();
    let run = |verb: &[&str]| {
        let run = scratch.words_with(verb, b"12345");
        assert_eq!(run.code, 0, "{run:?}");
        (run.text().to_owned(), run.stderr)
    };
    let note = |text: &str| (String::new(), format!("{text}\n"));
    let data = |text: &str| (format!("{text}\n"), String::new());
    assert_eq!(run(&["mkdir", "d"]), note("made the directory `d`"));
    assert_eq!(
        run(&["mkdir", "-p", "d"]),
        note("the directory `d` is there")
    );
    assert_eq!(run(&["write", "d/f"]), note("wrote 5 bytes to `d/f`"));
    assert_eq!(run(&["append", "d/f"]), note("appended 5 bytes to `d/f`"));
    assert_eq!(
        run(&["read", "d/f"]),
        ("1234512345".to_owned(), String::new())
    );
    assert_eq!(run(&["cp", "d/f", "g"]), note("copied `d/f` to `g`"));
    assert_eq!(run(&["mv", "g", "h"]), note("moved `g` to `h`"));
    assert_eq!(
        run(&["mv", "--exchange", "h", "d/f"]),
        note("exchanged `h` and `d/f`")
    );
    assert_eq!(run(&["chmod", "600", "h"]), note("`h` has mode 0600"));
    assert_eq!(
        run(&["link", "h", "i"]),
        note("`i` is now another name of `h`")
    );
    let made = "made the link `s` to `h`; it is followed only with `--links beneath`";
    assert_eq!(run(&["symlink", "h", "s"]), note(made));
    assert_eq!(run(&["readlink", "s"]), data("h"));
    assert_eq!(run(&["ls", "."]), data("d/\nh\ni\ns  (symlink)"));
    assert_eq!(
        run(&["tree", "."]),
        data("./\n  d/\n    f\n  h\n  i\n  s  (symlink)")
    );
    assert_eq!(run(&["tree", "d"]), data("d/\n  f"));
    assert_eq!(run(&["recover"]), note("nothing to recover below `.`"));
    assert_eq!(run(&["rm", "i"]), note("removed `i`"));
    assert_eq!(run(&["rm", "-q", "h"]), (String::new(), String::new()));
    let (version, _) = run(&["version", "d/f"]);
    assert!(version.starts_with("v1.") && version.ends_with('\n'));
    let (facts, _) = run(&["stat", "d/f"]);
    for line in [
        "path      d/f",
        "type      file, 1 name",
        "size      10 bytes",
    ] {
        assert!(facts.lines().any(|found| found == line), "{facts}");
    }
}

#[test]
fn refusals_say_what_can_be_done() {
    let scratch = world();
    for (verb, sentence, hint) in [
        (
            &["read", "in"][..],
            "cannot read `in`: ",
            "`--links beneath`",
        ),
        (
            &["append", "hard"],
            "cannot append to `hard`: ",
            "`--hard-links allow`",
        ),
        (&["write", "no/x"], "cannot write `no/x`: ", "`mkdir -p no`"),
        (
            &["mkdir", "no/x"],
            "cannot make the directory `no/x`: ",
            "`mkdir -p`",
        ),
        (
            &["mkdir", "dir"],
            "cannot make the directory `dir`: ",
            "`mkdir -p`",
        ),
        (&["rm", "dir"], "cannot remove `dir`: ", "`rm -r`"),
        (&["cp", "dir", "x"], "cannot copy `dir` to `x`: ", "`cp -r`"),
        (
            &["cp", "file", "dir"],
            "cannot copy `file` to `dir`: ",
            "`dir/file`",
        ),
        (
            &["mv", "file", "dir"],
            "cannot move `file` to `dir`: ",
            "`dir/file`",
        ),
        (
            &["mv", "-n", "file", "other"],
            "cannot move `file` to `other`: ",
            "`--no-replace`",
        ),
        (
            &["mv", "file", "no/x"],
            "cannot move `file` to `no/x`: ",
            "`mkdir -p no`",
        ),
        (
            &["mv", "--exchange", "file", "no"],
            "cannot exchange `file` with `no`: ",
            "both",
        ),
        (
            &["mv", "empty", "dir"],
            "cannot move `empty` to `dir`: ",
            "`mv --exchange`",
        ),
        (
            &["write", "--new", "file"],
            "cannot write `file`: ",
            "`--new`",
        ),
        (
            &["read", "/etc/x"],
            "cannot read `/etc/x`: ",
            "leave out the `/`",
        ),
        (&["read", "../x"], "cannot read `../x`: ", "`..`"),
        (&["read", "."], "cannot read `.`: ", "`ls`"),
        (
            &["read", "file/"],
            "cannot read `file/`: ",
            "leave out the `/`",
        ),
        (&["read", "dir"], "cannot read `dir`: ", "`ls`"),
        (
            &["readlink", "file"],
            "cannot read the link `file`: ",
            "`stat`",
        ),
        (
            &["symlink", "/x", "y"],
            "cannot make the link `y`: ",
            "beneath the root",
        ),
        (
            &["link", "in", "y"],
            "cannot link `in` as `y`: ",
            "regular files",
        ),
    ] {
        let run = scratch.words(verb);
        assert_eq!((run.code, run.stdout.len()), (1, 0), "{verb:?} {run:?}");
        let mut lines = run.stderr.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with(&format!("error: {sentence}")), "{run:?}");
        let second = lines.next().unwrap_or_else(|| panic!("no hint: {run:?}"));
        assert!(
            second.starts_with("hint: ") && second.contains(hint),
            "{run:?}"
        );
        let quiet = scratch.words(&[verb, &["--quiet"]].concat());
        assert_eq!(
            (quiet.code, quiet.stderr.lines().count()),
            (1, 1),
            "{quiet:?}"
        );
    }
}

#[test]
fn a_stale_version_says_to_read_again() {
    let scratch = Scratch::new();
    scratch.file("file", "one");
    let version = scratch.words(&["version", "file"]);
    scratch.file("file", "two");
    let run = scratch.words(&["rm", "file", "--if-version", version.text().trim()]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("hint: the file changed since you read it; read it again"),
        "{run:?}"
    );
}

#[test]
fn a_directory_that_cannot_be_listed_is_told_and_the_rest_is_listed() {
    use std::os::unix::fs::PermissionsExt;
    if crate::support::is_privileged() {
        crate::support::skip("an unreadable directory", "modes do not stop this user");
        return;
    }
    let scratch = Scratch::new();
    scratch.file("a/x", "");
    scratch.file("closed/x", "");
    scratch.file("z", "");
    let closed = scratch.at("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let object = scratch.fs(&[], &["tree", "."]);
    let words = scratch.words(&["tree", "."]);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let error = object.refused("Denied");
    assert_eq!(error["path"], "closed");
    let entries = object.json()["entries"].clone();
    let paths: Vec<_> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["path"])
        .collect();
    assert_eq!(paths, ["a", "a/x", "closed", "z"]);
    assert_eq!(object.json()["errors"].as_array().unwrap().len(), 1);
    assert_eq!(words.code, 1);
    assert_eq!(words.text(), "./\n  a/\n    x\n  closed/\n  z\n");
    assert!(
        words.stderr.starts_with("error: cannot list `closed`: "),
        "{words:?}"
    );
}
