//! Wrong usages that people type, and what they are told: what failed, why, and what to do next.

use std::process::Stdio;

use crate::support::{Run, Scratch, handfast};

/// A call in an empty directory with `box/a.txt` and a log, and what has to be in its answer.
struct Case {
    args: &'static [&'static str],
    code: i32,
    parts: &'static [&'static str],
}

const fn case(args: &'static [&'static str], code: i32, parts: &'static [&'static str]) -> Case {
    Case { args, code, parts }
}

/// What was found to be unclear once; each line is what it says today.
const FOUND: &[Case] = &[
    case(&["fs", "cat", "x"], 2, &["tip: `read` prints the content"]),
    case(&["version"], 2, &["tip: `handfast --version` prints it"]),
    case(
        &["lease", "list", "--socket", "none.sock"],
        3,
        &[
            "cannot reach a broker at `none.sock`",
            "hint: `handfast serve DIR` starts one",
        ],
    ),
    case(&["log", "grep", "log", "--since", "1h"], 0, &["log.start"]),
    case(
        &["log", "verify", "log", "--key", "log.key"],
        0,
        &["verdict: good"],
    ),
    case(
        &["serve", "--policy", "two.toml"],
        2,
        &["`two.toml`", "version 2 is not known; write `version = 1`"],
    ),
    case(
        &["serve", "box", "--metrics", "0.0.0.0:1"],
        2,
        &["cannot serve metrics there: metrics are served on loopback addresses"],
    ),
    case(
        &["session", "new", "s", "--base", "nosuch"],
        1,
        &[
            "the directory `nosuch`",
            "hint: a base is a directory that exists",
        ],
    ),
    case(
        &["session", "new", "s", "--base", "box:/x:rw"],
        2,
        &["the mode `rw` is unknown", "`read-write`"],
    ),
    case(
        &["serve", "nosuch"],
        2,
        &[
            "cannot serve: the directory `",
            "/nosuch`",
            "hint: make the directory first",
        ],
    ),
    case(
        &["manual", "nosuch"],
        1,
        &[
            "cannot open the directory `nosuch`: nothing is there",
            "hint: make the directory first",
        ],
    ),
    case(
        &["serve", "--policy", "nosuch.toml"],
        2,
        &["cannot use the policy `nosuch.toml`: nothing is there"],
    ),
    case(
        &["--json", "fs", "ls"],
        2,
        &["give `--root DIR`, `--session NAME` or `--lease ID`"],
    ),
    case(&["fs", "read", "a.txt", "--root", "box"], 0, &["hello"]),
    case(
        &["session", "diff", "gone"],
        1,
        &["hint: put the directory back, or drop the session: `handfast session rm gone`"],
    ),
    case(
        &["session", "commit", "--yes", "gone2", "/nothere"],
        1,
        &[
            "nothing was changed at or below `/nothere`",
            "hint: `handfast session diff`",
        ],
    ),
    case(
        &["audit", "--root", "UPLOADS", "--input", "name", "box/a.py"],
        0,
        &["1 file"],
    ),
    case(
        &["audit", "box/a.php"],
        3,
        &["PHP is not supported", "hint: supported: Python"],
    ),
    case(
        &["audit", "empty"],
        3,
        &["no file there is in a supported language"],
    ),
    case(
        &["audit", "--format", "json", "until/until.py"],
        1,
        &["`2026-13-40` is no date; write YYYY-MM-DD"],
    ),
    case(
        &["siege", "--help"],
        0,
        &["The default takes some minutes", "`--rounds 200` about one"],
    ),
    case(&["log", "show", "cut"], 1, &["damaged"]),
    case(
        &["fs", "--root", "box", "archive", "one", "one.tar"],
        0,
        &["archived 1 member with"],
    ),
    case(
        &["fs", "--root", "box", "extract", "one.tar", "two"],
        0,
        &["extracted 1 member with 1 byte to `two`"],
    ),
    case(
        &["session", "list", "--state", "nostate"],
        0,
        &["there are no sessions"],
    ),
];

/// What people type who know other programs, or have not read far.
const TYPICAL: &[Case] = &[
    case(
        &["fs", "--root", "box", "read", "/a.txt"],
        1,
        &["leave out the `/`"],
    ),
    case(
        &["fs", "--root", "box", "read", "../a.txt"],
        1,
        &["`..`", "hint:"],
    ),
    case(
        &["fs", "--root", "box", "read", "b.txt"],
        1,
        &["cannot read `b.txt`"],
    ),
    case(&["fs", "--root", "box", "read"], 2, &["<PATH>", "Usage:"]),
    case(
        &["fs", "--root", "nosuch", "ls"],
        2,
        &["`nosuch`", "hint: `--root` takes a directory"],
    ),
    case(
        &["fs", "--root", "box/a.txt", "ls"],
        2,
        &["`box/a.txt`", "hint:"],
    ),
    case(
        &["fs", "--root", "box", "chmod", "u+x", "a.txt"],
        2,
        &["octal", "for example 644"],
    ),
    case(
        &["fs", "--root", "box", "archive", ".", "x.rar"],
        2,
        &["give `--format tar`"],
    ),
    case(&["fs", "--root", "box", "rm", "one"], 1, &["hint: `rm -r`"]),
    case(
        &["fs", "--root", "box", "mkdir", "x/y"],
        1,
        &["hint: `mkdir -p`"],
    ),
    case(
        &["fs", "--root", "box", "write", "x/y"],
        1,
        &["`mkdir -p x`"],
    ),
    case(
        &["fs", "--root", "box", "extract", "a.txt"],
        2,
        &["give DIR"],
    ),
    case(
        &["fs", "--session", "nosuch", "ls"],
        1,
        &["no session `nosuch`", "hint: `handfast session list`"],
    ),
    case(
        &["session", "new", "gone2", "--base", "box"],
        1,
        &["already", "hint: choose another name"],
    ),
    case(
        &["session", "create", "x"],
        2,
        &["tip: `new` makes a session"],
    ),
    case(&["commit"], 2, &["tip: sessions have this command"]),
    case(&["scan", "."], 2, &["tip: `handfast audit`"]),
    case(
        &["session", "commit", "full"],
        2,
        &["nobody can be asked without a terminal; `--yes`"],
    ),
    case(
        &[
            "session",
            "new",
            "x",
            "--base",
            "box",
            "--preset",
            "worksapce",
        ],
        2,
        &["no preset `worksapce`; known presets: `workspace`"],
    ),
    case(
        &["session", "list", "--state", "box/a.txt"],
        2,
        &["the state directory `box/a.txt`", "hint: `--state DIR`"],
    ),
    case(
        &["approve", "nosuch"],
        1,
        &["no session `nosuch`", "hint: `handfast session list`"],
    ),
    case(
        &["session", "fork", "gone2@x", "y"],
        1,
        &["hint: `handfast session show`"],
    ),
    case(&["session", "diff"], 2, &["<NAME>", "Usage:"]),
    case(
        &["session", "rollback", "--yes", "gone2", "x"],
        1,
        &["hint: `handfast session show`"],
    ),
    case(
        &["log", "show", "nolog"],
        2,
        &[
            "cannot use the log `nolog`: there is no log here",
            "hint: `handfast log init DIR`",
        ],
    ),
    case(
        &["log", "init", "log"],
        1,
        &["there is a log here already", "hint:"],
    ),
    case(
        &["log", "show", "log", "999"],
        2,
        &["cannot show event 999", "hint: `handfast log stat DIR`"],
    ),
    case(
        &["log", "grep", "log", "--verb", "fly"],
        2,
        &["no event has this type"],
    ),
    case(
        &["lease", "acquire", "--paths", "x", "--verbs", "fly"],
        2,
        &["`fly` is no verb; say read, write"],
    ),
    case(
        &["audit", "nosuch.py"],
        3,
        &["cannot audit `nosuch.py`: nothing is there"],
    ),
    case(&["audit"], 2, &["<PATHS>", "Usage:"]),
    case(
        &["siege", "--only", "nosuch"],
        2,
        &["cannot run the siege: no attack", "hint:"],
    ),
    case(
        &["siege", "--only", "@brocker"],
        2,
        &[
            "no attack, verb or layer",
            "hint: a name is like `leaf-swap`",
        ],
    ),
    case(
        &["session", "new", "x", "box"],
        2,
        &["tip: `--base DIR` names the directory"],
    ),
    case(
        &["fs", "--root", "box", "write", "a.txt", "hello"],
        2,
        &["tip: the content comes from standard input"],
    ),
    case(
        &["fs", "--root", "box", "rm", "-rf", "one"],
        2,
        &["tip: there is no `-f`; `rm -r` removes a directory"],
    ),
    case(
        &["fs", "--root", "box", "ls", "-l"],
        2,
        &["tip: `stat` shows the mode, the size and the times"],
    ),
    case(
        &["doctor", "box"],
        2,
        &["tip: `--root DIR` names the directory"],
    ),
    case(
        &["session", "rm", "--yes", "nosuch"],
        1,
        &["no session `nosuch`", "hint: `handfast session list`"],
    ),
    case(
        &["fs", "--session", "gone2", "--links", "beneath", "ls", "/"],
        2,
        &["`--links`, `--hard-links`, `--mounts` and `--backend` go with `--root`"],
    ),
    case(
        &[
            "fs",
            "--root",
            "box",
            "extract",
            "--max-bytes",
            "1G",
            "one.tar",
            "three",
        ],
        2,
        &["a whole number without a unit"],
    ),
    case(
        &["fs", "--root", "box", "extract", "a.txt", "out"],
        1,
        &["neither a zip nor a tar"],
    ),
    case(
        &["log", "show", "log", "last"],
        2,
        &["an index is a whole number"],
    ),
    case(
        &["log", "verify", "log", "--key", "nosuch"],
        2,
        &["cannot read `nosuch`", "hint: `--key` takes the line"],
    ),
    case(
        &["audit", "explian", "A1"],
        3,
        &[
            "hint: name files or directories",
            "`handfast audit explain ITEM`",
        ],
    ),
    case(&["mcp"], 2, &["<DIR>", "Usage:"]),
    case(
        &["mcp", "--no-log", "nosuch"],
        1,
        &["`nosuch`", "hint: name a directory that exists"],
    ),
    case(
        &["doctor", "--root", "nosuch"],
        2,
        &["`nosuch`", "hint: `--root` takes a directory"],
    ),
    case(
        &["log", "init", "new", "--keep-for", "30"],
        2,
        &["a unit is missing: s, m, h, d or w, such as 30d"],
    ),
    case(
        &["session", "commit", "gone2"],
        0,
        &["nothing was committed"],
    ),
];

/// Code with an acceptance whose date does not exist.
const UNTIL: &str = r#"import os
from flask import request
def f():
    # handfast-accept: D1 owner=@me until=2026-13-40 reason="x"
    open(os.path.join("/srv", request.args["n"]))
"#;

#[test]
fn what_was_unclear_once_is_answered_well() {
    answers(FOUND);
}

#[test]
fn twenty_typical_mistakes_get_a_useful_answer() {
    const { assert!(TYPICAL.len() >= 20) };
    answers(TYPICAL);
}

fn answers(cases: &[Case]) {
    let scratch = Scratch::new();
    prepare(&scratch);
    let mut wrong = Vec::new();
    for Case { args, code, parts } in cases {
        let run = run(&scratch, args);
        let text = format!("{}{}", run.text(), run.stderr);
        let missing: Vec<_> = parts.iter().filter(|part| !text.contains(**part)).collect();
        if run.code != *code || !missing.is_empty() {
            let line = args.join(" ");
            wrong.push(format!(
                "{line}: exit {}, without {missing:?}:\n{text}",
                run.code
            ));
        }
        // Nothing of the code's own language.
        for word in [
            "open-root",
            "<root>",
            "Some(",
            "Err(",
            "1 files",
            "1 entries",
            "1 changes",
            "1 members",
        ] {
            if text.contains(word) {
                wrong.push(format!("{}: {word}:\n{text}", args.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        !scratch.path.join("nostate").exists(),
        "listing made a state directory"
    );
}

fn prepare(scratch: &Scratch) {
    let here = &scratch.path;
    for dir in ["box/one", "empty", "gone", "until"] {
        std::fs::create_dir_all(here.join(dir)).unwrap();
    }
    std::fs::write(here.join("box/a.txt"), "hello").unwrap();
    std::fs::write(here.join("box/one/file"), "x").unwrap();
    std::fs::write(here.join("box/a.php"), "<?php ?>").unwrap();
    std::fs::write(here.join("box/a.py"), "print(1)\n").unwrap();
    std::fs::write(here.join("until/until.py"), UNTIL).unwrap();
    std::fs::write(here.join("two.toml"), "version = 2\n").unwrap();
    for args in [
        &["session", "new", "gone", "--base", "gone"][..],
        &["session", "new", "gone2", "--base", "box"],
        &["session", "new", "full", "--base", "box"],
        &["fs", "--session", "full", "write", "/new.txt"],
    ] {
        let made = run(scratch, args);
        assert_eq!(made.code, 0, "{made:?}");
    }
    std::fs::remove_dir(here.join("gone")).unwrap();
    for (log, key) in [("log", "log.key"), ("cut", "cut.key")] {
        let made = run(scratch, &["log", "init", log]);
        assert_eq!(made.code, 0, "{made:?}");
        std::fs::write(here.join(key), made.text()).unwrap();
    }
    damage(&here.join("cut"));
}

/// Flips a bit in the middle of a log's events.
fn damage(log: &std::path::Path) {
    let segments = std::fs::read_dir(log.join("segments")).unwrap();
    let segment = segments.map(|it| it.unwrap().path()).min().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(9).position(|it| it == b"log.start").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
}

fn run(scratch: &Scratch, args: &[&str]) -> Run {
    let mut command = handfast(args);
    command
        .current_dir(&scratch.path)
        .env("XDG_STATE_HOME", scratch.path.join("state"))
        .env("XDG_RUNTIME_DIR", &scratch.path)
        .env("HOME", &scratch.path)
        .env_remove("HANDFAST_LOG")
        .env_remove("HANDFAST_SOCKET")
        .stdin(Stdio::null());
    Run::wait(command.spawn().unwrap(), std::time::Duration::from_secs(60))
}

#[test]
fn ctrl_c_leaves_no_directory() {
    // At several steps of the tour, which runs a command at most of them.
    for (args, after) in [
        (&["tour", "--fast"][..], 40),
        (&["tour", "--fast"], 120),
        (&["tour", "--fast"], 200),
        (&["tour"], 300),
        (&["siege", "--rounds", "2000"], 300),
    ] {
        let scratch = Scratch::new();
        let mut command = handfast(args);
        command.env("TMPDIR", scratch.inside()).stdin(Stdio::null());
        let child = command.spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let count = || std::fs::read_dir(scratch.inside()).unwrap().count();
        let begun = std::time::Instant::now();
        while count() == 0 {
            assert!(
                begun.elapsed().as_secs() < 60,
                "{args:?} makes no directory"
            );
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::thread::sleep(std::time::Duration::from_millis(after));
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let run = Run::wait(child, std::time::Duration::from_secs(60));
        assert_eq!(run.code, 130, "{args:?} {run:?}");
        assert_eq!(count(), 0, "{args:?} {run:?}");
    }
}
