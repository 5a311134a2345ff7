//! `session list` and `session new`, the preset, and sessions whose directory is gone.

use crate::support::Scratch;

#[test]
fn s8_looking_makes_no_state_directory() {
    let scratch = Scratch::new();
    let state = scratch.path.join("state");
    let listed = scratch.session(&["list"]).ok();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 0);
    for command in [
        &["show", "s"][..],
        &["diff", "s"],
        &["fork", "s", "t"],
        &["undo", "--yes", "s"],
        &["rm", "--yes", "s"],
    ] {
        scratch.session(command).refused("NotFound");
    }
    scratch.inside_session(&["ls"], b"").refused("NotFound");
    assert!(!state.exists());
    std::fs::create_dir(&state).unwrap();
    scratch.session(&["list"]).ok();
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 0);
}

#[test]
fn s8_list_shows_changes_age_and_base() {
    let scratch = Scratch::new();
    scratch.new_session(&[]);
    scratch.inside_session(&["write", "/a"], b"1").ok();
    scratch.inside_session(&["write", "/b"], b"1").ok();
    let row = scratch.session(&["list"]).ok()["sessions"][0].clone();
    let base = scratch.inside();
    let base = base.to_str().unwrap();
    assert_eq!((&row["session"], &row["changes"]), (&"s".into(), &2.into()));
    assert_eq!(row["mounts"][0]["base"], base);
    assert_eq!(row["mounts"][0]["path"], "/");
    assert!(row["made"].as_str().unwrap().ends_with('Z'), "{row}");
    let words = scratch.hand(&["session", "list"], b"");
    let lines: Vec<Vec<&str>> = words
        .text()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["SESSION", "CHANGES", "AGE", "USERS", "BASE"]);
    assert_eq!((lines[1][0], lines[1][1]), ("s", "2"));
    assert!(lines[1][2].ends_with('s'), "{lines:?}");
    assert_eq!(lines[1].last(), Some(&base));
    // A session whose directory is gone is listed, and its changes are not known.
    std::fs::rename(scratch.inside(), scratch.path.join("moved")).unwrap();
    let row = scratch.session(&["list"]).ok()["sessions"][0].clone();
    assert!(row["changes"].is_null(), "{row}");
    let words = scratch.hand(&["session", "diff", "s"], b"");
    assert_eq!(words.code, 1);
    assert!(words.stderr.contains("session rm s"), "{words:?}");
    assert!(!words.stderr.contains("session list"), "{words:?}");
}

#[test]
fn s8_a_base_that_cannot_be_mounted_is_named() {
    let scratch = Scratch::new();
    let base = scratch.inside().display().to_string();
    for mode in ["rw", "ro", "read_only"] {
        for base in [format!("{base}:/x:{mode}"), format!("{base}:{mode}")] {
            let words = scratch.hand(&["session", "new", "s", "--base", &base], b"");
            assert_eq!(words.code, 2, "{words:?}");
            let expected = format!(
                "the mode `{mode}` is unknown; the modes are `overlay`, `read-only` and `read-write`"
            );
            assert!(words.stderr.contains(&expected), "{words:?}");
        }
    }
    let missing = scratch.at("nosuch").display().to_string();
    let words = scratch.hand(&["session", "new", "s", "--base", &missing], b"");
    assert_eq!(words.code, 1, "{words:?}");
    assert!(words.stderr.contains(&format!("`{missing}`")), "{words:?}");
    let object = scratch.session(&["new", "s", "--base", &missing]);
    object.refused("NotFound");
    assert!(!object.text().contains(&base), "{object:?}");
    // A directory whose name holds a colon is one.
    scratch.dir("a:rw");
    let colon = scratch.at("a:rw").display().to_string();
    scratch.session(&["new", "s", "--base", &colon]).ok();
}

#[test]
fn s8_the_preset_protects_what_other_programs_run() {
    let scratch = Scratch::new();
    for dir in [
        ".git/info",
        ".github",
        ".cargo",
        "sub/.github",
        "sub/.git/info",
    ] {
        scratch.dir(dir);
    }
    scratch.file(".git/HEAD", "ref: refs/heads/main\n");
    scratch.file(".zshenv", "old");
    let base = format!("{}:read-write", scratch.inside().display());
    let made = ["new", "s", "--base", &base, "--preset", "workspace"];
    scratch.session(&made).ok();
    for path in [
        "/.github/workflows/evil.yml",
        "/sub/.github/workflows/evil.yml",
        "/.gitlab-ci.yml",
        "/.husky/pre-commit",
        "/.pre-commit-config.yaml",
        "/.cargo/config.toml",
        "/.cargo/config",
        "/.devcontainer/devcontainer.json",
        "/.devcontainer.json",
        "/.gitconfig",
        "/.zshenv",
        "/.bash_login",
        "/.bash_logout",
        "/.git/info/attributes",
        "/sub/.git/info/attributes",
        "/Jenkinsfile",
    ] {
        scratch
            .inside_session(&["write", path], b"evil")
            .refused("Denied");
    }
    for path in ["/.github/workflows", "/.husky", "/.devcontainer"] {
        scratch
            .inside_session(&["mkdir", path], b"")
            .refused("Denied");
    }
    // A whole tree is not renamed to where a part of it would be protected.
    scratch
        .inside_session(&["mkdir", "-p", "/x/workflows"], b"")
        .ok();
    scratch.inside_session(&["rm", "-r", "/.github"], b"").ok();
    scratch
        .inside_session(&["mv", "/x", "/.github"], b"")
        .refused("Denied");
    // It is read; what ordinary work writes is written.
    assert_eq!(
        scratch.inside_session(&["read", "/.zshenv"], b"").ok()["content"],
        "old"
    );
    for path in [
        "/.git/HEAD",
        "/src.rs",
        "/Makefile",
        "/.gitignore",
        "/.github.md",
    ] {
        scratch.inside_session(&["write", path], b"x").ok();
    }
}

#[test]
fn a_session_that_is_open_elsewhere_is_listed_with_its_user_and_not_removed() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    scratch.new_session(&[]);
    scratch.inside_session(&["write", "/a"], b"2").ok();
    let state = scratch.path.join("state");
    let catalogue = handfast_session::Catalogue::open_ambient(&state).unwrap();
    let caller = handfast_session::Caller::new("test");
    let open = catalogue.open("s", caller).unwrap();
    let row = scratch.session(&["list"]).ok()["sessions"][0].clone();
    assert_eq!(row["users"][0], std::process::id(), "{row}");
    let words = scratch.hand(&["session", "list"], b"");
    let second = words.text().lines().nth(1).unwrap().to_owned();
    let columns: Vec<&str> = second.split_whitespace().collect();
    assert_eq!(
        (columns[0], columns[1], columns[3]),
        ("s", "1", "1"),
        "{second}"
    );
    let error = scratch.session(&["rm", "--yes", "s"]).failed("Busy", 1);
    assert!(
        error["detail"]
            .as_str()
            .unwrap()
            .contains("open in process"),
        "{error}"
    );
    drop(open);
    let row = scratch.session(&["list"]).ok()["sessions"][0].clone();
    assert_eq!(row["users"].as_array().unwrap().len(), 0, "{row}");
    // Nobody to ask is a reason not to do it; what goes is shown.
    let words = scratch.hand(&["session", "rm", "s"], b"");
    assert_eq!(words.code, 2);
    assert!(words.stderr.contains("changed  /a"), "{words:?}");
    assert_eq!(scratch.session(&["rm", "--yes", "s"]).ok()["removed"], "s");
    scratch.session(&["rm", "--yes", "s"]).refused("NotFound");
    assert_eq!(std::fs::read(scratch.at("a")).unwrap(), b"1");
    // A session whose directory is gone goes as well.
    scratch.new_session(&[]);
    std::fs::rename(scratch.inside(), scratch.path.join("moved")).unwrap();
    scratch.session(&["rm", "--yes", "s"]).ok();
}
