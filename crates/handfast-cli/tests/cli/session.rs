//! `handfast session` and `fs --session`, as people and programs use them.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Run, Scratch, skip};

const PATIENCE: Duration = Duration::from_secs(60);

impl Scratch {
    /// Runs `handfast` with this directory's own state.
    pub fn hand(&self, args: &[&str], input: &[u8]) -> Run {
        let mut all: Vec<OsString> = args.iter().map(OsString::from).collect();
        let at = if args[0] == "fs" { 3 } else { all.len() };
        all.insert(at, self.path.join("state").into());
        all.insert(at, "--state".into());
        Run::of(&all, input, PATIENCE)
    }

    pub fn session(&self, args: &[&str]) -> Run {
        self.hand(&[&["session", "--json"], args].concat(), b"")
    }

    pub fn inside_session(&self, verb: &[&str], input: &[u8]) -> Run {
        self.hand(&[&["fs", "--session", "s", "--json"], verb].concat(), input)
    }

    pub fn new_session(&self, more: &[&str]) -> Value {
        let base = self.inside();
        let base = base.to_str().unwrap();
        self.session(&[&["new", "s", "--base", base], more].concat())
            .ok()
    }
}

fn kinds(diff: &Value) -> Vec<String> {
    let list = diff["changes"].as_array().unwrap();
    list.iter()
        .map(|change| {
            format!(
                "{} {}",
                change["kind"].as_str().unwrap(),
                change["path"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn from_new_to_commit_and_discard() {
    let scratch = Scratch::new();
    scratch.file("a", "one\n");
    scratch.file("b", "two\n");
    scratch.file("dir/f", "three\n");
    scratch.new_session(&[]);
    scratch.inside_session(&["write", "/a"], b"uno\n").ok();
    scratch.inside_session(&["rm", "/b"], b"").ok();
    scratch.inside_session(&["mv", "/dir", "/moved"], b"").ok();
    scratch
        .inside_session(&["mkdir", "-p", "/new/deep"], b"")
        .ok();
    scratch
        .inside_session(&["append", "/new/deep/n"], b"four\n")
        .ok();
    let read = scratch.inside_session(&["read", "/moved/f"], b"").ok();
    assert_eq!(read["content"], "three\n");
    let listed = scratch.inside_session(&["ls", "/"], b"").ok();
    let names: Vec<_> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "moved", "new"]);
    let diff = scratch.session(&["diff", "s"]).ok();
    assert_eq!(
        kinds(&diff),
        [
            "changed /a",
            "deleted /b",
            "renamed /moved",
            "added /new",
            "added /new/deep",
            "added /new/deep/n"
        ]
    );
    assert_eq!(diff["changes"][2]["from"], "/dir");
    assert_eq!(
        std::fs::read(scratch.at("a")).unwrap(),
        b"one\n",
        "the base is as it was"
    );
    let words = scratch.hand(&["session", "diff", "s", "/a"], b"");
    assert_eq!(
        words.text(),
        "changed  /a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+uno\n"
    );
    let shown = scratch.session(&["show", "s"]).ok();
    assert_eq!(shown["changes"], 6);
    // Nobody to ask is a reason not to do it.
    scratch.session(&["commit", "s"]).failed("Invalid", 2);
    let done = scratch
        .session(&["commit", "--yes", "s", "/a", "/moved"])
        .ok();
    assert_eq!(done["conflicts"].as_array().unwrap().len(), 0);
    assert_eq!(done["committed"][0]["path"], "/a");
    assert_eq!(std::fs::read(scratch.at("a")).unwrap(), b"uno\n");
    assert!(scratch.at("moved/f").exists() && scratch.at("b").exists());
    scratch.session(&["discard", "--yes", "s"]).ok();
    assert_eq!(
        kinds(&scratch.session(&["diff", "s"]).ok()),
        [] as [&str; 0]
    );
    assert!(!scratch.at("new").exists());
    scratch.session(&["discard", "--yes", "--remove", "s"]).ok();
    assert_eq!(
        scratch.session(&["list"]).ok()["sessions"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn conflicts_are_exit_one_and_change_nothing() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    scratch.file("b", "1");
    scratch.new_session(&[]);
    scratch.inside_session(&["write", "/a"], b"ours").ok();
    scratch.inside_session(&["write", "/b"], b"ours").ok();
    scratch.file("a", "theirs");
    let run = scratch.session(&["commit", "--yes", "s"]);
    let report = run.json();
    assert_eq!((run.code, &report["ok"]), (1, &false.into()));
    assert_eq!(report["committed"].as_array().unwrap().len(), 0);
    assert_eq!(report["conflicts"][0]["path"], "/a");
    assert_eq!(std::fs::read(scratch.at("b")).unwrap(), b"1");
    let run = scratch.session(&["commit", "--yes", "--skip-conflicts", "s"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.json()["committed"][0]["path"], "/b");
    assert_eq!(std::fs::read(scratch.at("a")).unwrap(), b"theirs");
    let run = scratch.session(&["commit", "--yes", "--overwrite", "s"]);
    run.ok();
    assert_eq!(std::fs::read(scratch.at("a")).unwrap(), b"ours");
}

#[test]
fn snapshots_rollback_and_fork() {
    let scratch = Scratch::new();
    scratch.file("a", "0");
    scratch.new_session(&[]);
    scratch.inside_session(&["write", "/a"], b"1").ok();
    assert_eq!(scratch.session(&["snapshot", "s"]).ok()["label"], "1");
    scratch.inside_session(&["write", "/a"], b"2").ok();
    scratch.session(&["fork", "s@1", "t"]).ok();
    scratch
        .session(&["fork", "s@none", "u"])
        .refused("NotFound");
    scratch.session(&["snapshot", "s", "1"]).refused("Exists");
    scratch
        .session(&["rollback", "s", "1"])
        .failed("Invalid", 2);
    scratch.session(&["rollback", "--yes", "s", "1"]).ok();
    let read = scratch.inside_session(&["read", "/a"], b"").ok();
    assert_eq!(read["content"], "1");
    let names = scratch.session(&["list"]).ok();
    assert_eq!(names["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn rules_are_told_and_explained() {
    let scratch = Scratch::new();
    scratch.file(".env", "SECRET");
    scratch.file("src/a", "a");
    scratch.new_session(&["--preset", "workspace", "--read-only", "vendor/"]);
    let error = scratch
        .inside_session(&["read", "/.env"], b"")
        .refused("Denied");
    assert!(
        error["detail"].as_str().unwrap().contains("deny `.env`"),
        "{error}"
    );
    let run = scratch.session(&["explain", "s", "/.env", "write"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.json()["rule"], "deny `.env`");
    let waits = scratch.session(&["explain", "s", "/.git/hooks/x", "write"]);
    assert_eq!(waits.ok()["rule"], "read_only `**/.git/hooks`");
    // A protected name is written in the overlay, and committed only by its own name.
    scratch.inside_session(&["mkdir", "/vendor"], b"").ok();
    scratch.inside_session(&["write", "/vendor/x"], b"x").ok();
    scratch.inside_session(&["write", "/plain"], b"x").ok();
    let shown = scratch.session(&["diff", "s", "/vendor/x"]).ok();
    assert_eq!(shown["changes"][0]["flags"][0], "read-only-name");
    let done = scratch.session(&["commit", "--yes", "s"]).ok();
    assert_eq!(done["committed"][0]["path"], "/plain");
    assert_eq!(done["held_back"][1]["path"], "/vendor/x");
    assert_eq!(done["held_back"][1]["why"], "read_only `vendor/`");
    assert!(!scratch.inside().join("vendor").exists());
    let named = ["commit", "--yes", "s", "/vendor/x"];
    assert_eq!(
        scratch.session(&named).ok()["committed"][1]["path"],
        "/vendor/x"
    );
    assert!(scratch.inside().join("vendor/x").exists());
    scratch.session(&["explain", "s", "/src/a", "write"]).ok();
    scratch
        .session(&["explain", "s", "/src/a", "dance"])
        .failed("Invalid", 2);
    let usage = scratch.session(&["usage", "s"]).ok();
    assert_eq!(usage["mounts"][0]["bytes"], "0");
}

#[test]
fn what_makes_no_sense_is_exit_two_or_one() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    let base = scratch.inside();
    let base = base.to_str().unwrap();
    scratch
        .session(&["new", "../x", "--base", base])
        .failed("Invalid", 2);
    scratch
        .session(&["new", "s", "--base", "/nowhere/at/all"])
        .refused("NotFound");
    scratch
        .session(&["new", "s", "--base", base, "--deny", "!x"])
        .failed("Invalid", 2);
    scratch
        .session(&["new", "s", "--base", base, "--preset", "x"])
        .failed("Invalid", 2);
    let twice = format!("{base}:/x");
    scratch
        .session(&["new", "s", "--base", base, "--base", &twice])
        .failed("Invalid", 2);
    scratch.session(&["diff", "s"]).refused("NotFound");
    scratch.new_session(&[]);
    scratch
        .session(&["new", "s", "--base", base])
        .refused("Exists");
    scratch
        .inside_session(&["read", "a"], b"")
        .refused("Invalid");
    scratch
        .inside_session(&["read", "/none"], b"")
        .refused("NotFound");
    let run = scratch.hand(&["fs", "--session", "s", "--root", "x", "ls", "/"], b"");
    assert_eq!(run.code, 2);
    let run = scratch.hand(
        &["fs", "--session", "s", "--links", "beneath", "ls", "/"],
        b"",
    );
    assert_eq!(run.code, 2);
    let run = scratch.hand(
        &["session", "commit", "--skip-conflicts", "--overwrite", "s"],
        b"",
    );
    assert_eq!(run.code, 2);
    assert!(!run.stderr.contains(base));
}

#[test]
fn a_policy_file_makes_a_session() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    scratch.file("x.key", "SECRET");
    let policy = scratch.path.join("policy.toml");
    let text = "version = 1\n[[root]]\nname = \"ws\"\npath = \"inside\"\ndeny = [\"*.key\"]\n\n[root.quota]\nbytes = \"1KiB\"\n";
    std::fs::write(&policy, text).unwrap();
    let file = policy.to_str().unwrap();
    scratch.session(&["new", "s", "--policy", file]).ok();
    scratch.inside_session(&["write", "/ws/b"], b"2").ok();
    scratch
        .inside_session(&["write", "/ws/x.key"], b"2")
        .refused("Denied");
    scratch
        .inside_session(&["write", "/ws/big"], &[b'x'; 2000])
        .refused("Quota");
    let usage = scratch.session(&["usage", "s"]).ok();
    assert_eq!(usage["mounts"][0]["bytes"], "1");
    assert_eq!(usage["mounts"][0]["quota"]["bytes"], "1024");
    std::fs::write(&policy, text.replace("deny", "dney")).unwrap();
    let error = scratch
        .session(&["new", "t", "--policy", file])
        .failed("Invalid", 2);
    assert!(
        error["detail"]
            .as_str()
            .unwrap()
            .contains("did you mean `deny`?"),
        "{error}"
    );
}

#[test]
fn a_git_repository_half_committed_half_discarded() {
    let git = |scratch: &Scratch, args: &[&str]| {
        std::process::Command::new("git")
            .args(args)
            .current_dir(scratch.inside())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", &scratch.path)
            .output()
    };
    let scratch = Scratch::new();
    if git(&scratch, &["init", "-q"]).is_err() {
        skip("a git repository", "git is not there");
        return;
    }
    scratch.file("README.md", "# one\n");
    scratch.file("src/main.rs", "fn main() {}\n");
    let who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    git(&scratch, &["add", "."]).unwrap();
    git(&scratch, &[&who[..], &["commit", "-qm", "one"]].concat()).unwrap();
    scratch.new_session(&["--preset", "workspace"]);
    scratch
        .inside_session(&["write", "/README.md"], b"# two\n")
        .ok();
    scratch
        .inside_session(&["mv", "/src/main.rs", "/src/lib.rs"], b"")
        .ok();
    scratch
        .inside_session(&["write", "/scratch.txt"], b"x")
        .ok();
    scratch
        .inside_session(&["write", "/.git/hooks/pre-commit"], b"evil")
        .ok();
    scratch
        .session(&["commit", "--yes", "s", "/README.md", "/src"])
        .ok();
    scratch.session(&["discard", "--yes", "s"]).ok();
    let status = git(&scratch, &["status", "--short"]).unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert_eq!(status, " M README.md\n D src/main.rs\n?? src/lib.rs\n");
}
