//! `session diff` and `session commit`: what people and programs are shown.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, skip};

/// Kind, executable bit and content of everything in a directory.
fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let status = std::fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(dir).unwrap();
            if status.is_dir() {
                pending.push(path);
                continue;
            }
            let facts = match status.is_symlink() {
                true => format!("link {:?}", std::fs::read_link(&path).unwrap()),
                false => format!(
                    "{:o} {:?}",
                    status.mode() & 0o111,
                    std::fs::read(&path).unwrap()
                ),
            };
            found.insert(format!("{name:?}"), facts);
        }
    }
    found
}

#[test]
fn s6_the_review_shows_what_a_commit_writes() {
    let s = Scratch::new();
    s.file("a", "one\n");
    s.new_session(&[]);
    let script = b"#!/bin/sh\necho hi\n\0\x1b[2J\n";
    s.inside_session(&["write", "/run.sh"], script).ok();
    s.inside_session(&["chmod", "755", "/run.sh"], b"").ok();
    s.inside_session(&["symlink", "a", "/link"], b"").ok();
    let words = s.hand(&["session", "diff", "s"], b"");
    assert_eq!(
        words.text(),
        "added    /link (link to `a`)\n\
         added    /run.sh (file 0755, 24 bytes, odd: a NUL byte at 18, becomes executable, hidden characters)\n\
         --- /dev/null\n+++ b/run.sh\n@@ -0,0 +1,3 @@\n+#!/bin/sh\n+echo hi\n+<U+0000><U+001B>[2J\n"
    );
    let names = s.hand(&["session", "diff", "--name-only", "s"], b"");
    assert_eq!(names.text(), "/link\n/run.sh\n");
    let stat = s.hand(&["session", "diff", "--stat", "s", "/run.sh"], b"");
    assert!(
        stat.text()
            .ends_with("hidden characters) | +3 -0\n1 change, +3 -0 lines\n")
    );
    let data = s.session(&["diff", "s"]).ok();
    assert_eq!(data["changes"][0]["after"]["target"], "a");
    let after = &data["changes"][1]["after"];
    assert_eq!(
        (&after["mode"], &after["form"]),
        (&"0755".into(), &"odd".into())
    );
    assert_eq!(data["changes"][1]["before"], serde_json::Value::Null);
    assert_eq!(data["changes"][1]["flags"][0], "becomes-executable");
    let lines = &data["changes"][1]["hunks"][0]["lines"];
    assert_eq!(lines[1]["text"], "echo hi\n");
    // A path at which nothing was changed is a mistake.
    for verb in ["diff", "commit", "discard"] {
        let yes = if verb == "diff" { "--full" } else { "--yes" };
        s.session(&[verb, yes, "s", "/none"]).refused("NotFound");
    }
    let hunk = data["changes"][1]["hunks"][0]["id"].as_str().unwrap();
    s.session(&["commit", "--yes", "s", "--hunks", hunk])
        .failed("Invalid", 1);
}

#[test]
fn hunks_are_committed_by_their_ids() {
    let s = Scratch::new();
    let numbered = |at: &[usize]| -> String {
        let line = |n| match at.contains(&n) {
            true => format!("new {n}\n"),
            false => format!("{n}\n"),
        };
        (0..40).map(line).collect()
    };
    s.file("f", numbered(&[]));
    s.new_session(&[]);
    s.inside_session(&["write", "/f"], numbered(&[3, 30]).as_bytes())
        .ok();
    let data = s.session(&["diff", "s"]).ok();
    let ids: Vec<&str> = (0..2)
        .map(|n| data["changes"][0]["hunks"][n]["id"].as_str().unwrap())
        .collect();
    s.session(&["commit", "s", "--hunks", ids[1]])
        .failed("Invalid", 2);
    let done = s
        .session(&[
            "commit",
            "--yes",
            "-m",
            "the last line",
            "s",
            "--hunks",
            ids[1],
        ])
        .ok();
    assert_eq!(done["committed"][0]["path"], "/f");
    assert_eq!(std::fs::read_to_string(s.at("f")).unwrap(), numbered(&[30]));
    s.session(&["commit", "--yes", "s", "--hunks", ids[0]])
        .refused("NotFound");
}

#[test]
fn a_patch_is_taken_by_git() {
    if Command::new("git").arg("--version").output().is_err() {
        skip("patches with git apply", "git is not installed");
        return;
    }
    let s = Scratch::new();
    s.file("text", "one\ntwo\nthree\n");
    s.file("no-end", "a\nb");
    s.file("gone", "x\n");
    s.file("old name", "moved\nas it is\n");
    s.file("blob", [0_u8, 1, 2, 255].repeat(50));
    s.file("run", "#!/bin/sh\n");
    s.file("kind", "a file\n");
    symlink("text", s.at("link")).unwrap();
    let plain = s.path.join("plain");
    let copied = Command::new("cp")
        .arg("-a")
        .arg(s.inside())
        .arg(&plain)
        .status();
    assert!(copied.unwrap().success());
    s.new_session(&[]);
    let put = |path: &str, content: &[u8]| s.inside_session(&["write", path], content).ok();
    put("/text", b"one\n2\nthree\nfour");
    put("/no-end", b"a\nb\n");
    put("/blob", &[9, 0, 254].repeat(30_000));
    for verb in [
        &["mkdir", "-p", "/new/deep"][..],
        &["rm", "/gone"],
        &["mv", "/old name", "/new \"name\""],
        &["chmod", "755", "/run"],
        &["rm", "/link"],
        &["symlink", "no-end", "/link"],
        &["rm", "/kind"],
        &["symlink", "text", "/kind"],
    ] {
        s.inside_session(verb, b"").ok();
    }
    put("/new/deep/binary", &[0; 100]);
    put("/new/empty", b"");
    put("/new/\u{fc}ml", b"latin\n\xfc\n");
    let patch = s.hand(&["session", "diff", "--patch", "s"], b"");
    assert_eq!(patch.code, 0, "{patch:?}");
    let file = s.path.join("patch");
    std::fs::write(&file, &patch.stdout).unwrap();
    let applied = Command::new("git")
        .args(["apply"])
        .arg(&file)
        .current_dir(&plain)
        .output()
        .unwrap();
    assert!(
        applied.status.success(),
        "{applied:?}\n{}",
        String::from_utf8_lossy(&patch.stdout)
    );
    s.session(&["commit", "--yes", "s"]).ok();
    assert_eq!(tree(&plain), tree(&s.inside()));
    // What a patch cannot hold is said.
    s.inside_session(&["chmod", "600", "/text"], b"").ok();
    s.inside_session(&["mkdir", "/empty"], b"").ok();
    let patch = s.hand(&["session", "diff", "--patch", "s"], b"");
    assert_eq!(patch.code, 1, "{patch:?}");
    let said = &patch.stderr;
    assert!(
        said.contains("not in the patch: /text: the mode 0600"),
        "{said}"
    );
    assert!(
        said.contains("not in the patch: /empty: an empty directory"),
        "{said}"
    );
}

#[test]
fn ignored_changes_are_one_counted_line() {
    let s = Scratch::new();
    s.file(".gitignore", "target/\n");
    s.new_session(&[]);
    s.inside_session(&["mkdir", "/target"], b"").ok();
    s.inside_session(&["write", "/target/a"], b"12345").ok();
    s.inside_session(&["write", "/b"], b"b\n").ok();
    let words = |args: &[&str]| s.hand(&[&["session"], args].concat(), b"");
    let line = "ignored: 2 changes, 5 bytes; `--ignored` shows them\n";
    for form in ["--names", "--stat", "--full"] {
        let said = words(&["diff", form, "s"]);
        assert!(said.text().ends_with(line), "{said:?}");
        assert!(!said.text().contains("/target"), "{said:?}");
    }
    let names = words(&["diff", "--name-only", "s"]);
    assert_eq!((names.text(), names.stderr.as_str()), ("/b\n", line));
    let all = words(&["diff", "--name-only", "--ignored", "s"]);
    assert_eq!(all.text(), "/b\n/target\n/target/a\n");
    let data = s.session(&["diff", "s"]).ok();
    assert_eq!(data["changes"][0]["ignored"], false);
    assert_eq!(data["changes"][2]["ignored"], true);
    let said = words(&["commit", "--yes", "s"]);
    assert_eq!(said.text(), "committed /b\n");
    assert!(
        said.stderr.contains("2 changes in ignored paths stay"),
        "{said:?}"
    );
    assert!(!s.at("target").exists());
    s.session(&["commit", "--yes", "s", "/target/a"]).ok();
    assert!(s.at("target/a").exists());
    s.inside_session(&["write", "/target/b"], b"b").ok();
    s.session(&["commit", "--yes", "--ignored", "s"]).ok();
    assert!(s.at("target/b").exists());
}
