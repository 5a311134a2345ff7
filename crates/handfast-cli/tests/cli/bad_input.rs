//! Bad input gets a typed error that names the verb and the path: never a hang, a panic or a
//! partial effect.

use std::process::Command;

use crate::settled::world;
use crate::support::{IMPATIENCE, Run, Scratch, backends, handfast, os, skip};

#[test]
fn too_long_and_too_deep() {
    for backend in backends("too long") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        let long_name = "n".repeat(256);
        let deep = vec!["d"; 129].join("/");
        let long = vec!["l".repeat(200); 21].join("/");
        assert!(long.len() > 4096);
        for path in [&long_name, &deep, &long, &format!("x/{long_name}")] {
            for verb in [
                &["read"][..],
                &["write"],
                &["append"],
                &["ls"],
                &["stat"],
                &["mkdir", "-p"],
                &["rm", "-r"],
                &["readlink"],
                &["chmod", "600"],
                &["symlink", "x"],
            ] {
                let run = scratch.fs(&options, &[verb, &[path.as_str()]].concat());
                assert_eq!(run.refused("TooLong")["path"], path.as_str());
            }
            scratch.fs(&options, &["mv", "x", path]).refused("TooLong");
        }
        scratch
            .fs(&options, &["read", &"n".repeat(255)])
            .refused("NotFound");
        assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 0);
    }
}

#[test]
fn a_fifo_never_hangs_a_verb() {
    for backend in backends("FIFO watchdog") {
        let scratch = world();
        let root = scratch.inside();
        for verb in [
            &["read", "fifo"][..],
            &["write", "fifo"],
            &["append", "fifo"],
            &["version", "fifo"],
            &["cp", "fifo", "x"],
            &["cp", "file", "fifo"],
            &["cp", "-r", "fifo", "x"],
            &["chmod", "600", "fifo"],
            &["ls", "fifo"],
            &["tree", "fifo"],
            &["stat", "fifo"],
            &["link", "fifo", "x"],
            &["read", "fifo/x"],
        ] {
            let fs = ["fs", "--json", "--root", root.to_str().unwrap()];
            let args = [&fs[..], &["--backend", backend], verb].concat();
            let run = Run::of(&args, b"", IMPATIENCE);
            assert!(run.code <= 1, "{run:?}");
            run.json();
        }
    }
}

#[test]
fn sockets_and_devices_are_refused() {
    for backend in backends("sockets and devices") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        match std::os::unix::net::UnixListener::bind(scratch.at("socket")) {
            Err(_) => skip(
                "a socket",
                "the temporary directory's path is too long for one",
            ),
            Ok(_listener) => {
                for verb in ["read", "write", "append", "version"] {
                    scratch.fs(&options, &[verb, "socket"]).refused("Kind");
                }
                scratch.fs(&options, &["rm", "socket"]).ok();
            }
        }
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            scratch.at("null"),
            rustix::fs::FileType::CharacterDevice,
            rustix::fs::Mode::from_raw_mode(0o666),
            rustix::fs::makedev(1, 3),
        );
        if made.is_err() {
            skip("a device", "this user may not make one");
            continue;
        }
        for verb in ["read", "write", "append", "version"] {
            // A filesystem mounted without devices refuses to open one at all.
            let run = scratch.fs(&options, &[verb, "null"]);
            let kind = run.json()["error"]["kind"].clone();
            assert!(kind == "Kind" || kind == "Denied", "{run:?}");
            assert_eq!(run.code, 1);
        }
        assert_eq!(scratch.fs(&options, &["stat", "null"]).ok()["type"], "char");
    }
}

#[test]
fn control_characters_are_escaped_in_errors() {
    let scratch = Scratch::new();
    let name = "a\nb\u{1b}[2J\u{202e}c";
    let error = scratch.fs(&[], &["read", name]).refused("NotFound");
    assert_eq!(error["path"], "a\\nb\\u{1b}[2J\\u{202e}c");
    let run = scratch.words(&["read", name]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .starts_with("error: cannot read `a\\nb\\u{1b}[2J\\u{202e}c`: ")
    );
    scratch.fs_with(&[], &["write", name], b"x").ok();
    assert_eq!(scratch.fs(&[], &["read", name]).ok()["path"], name);
    assert_eq!(
        scratch.words(&["ls", "."]).text(),
        "a\\nb\\u{1b}[2J\\u{202e}c\n"
    );
}

#[test]
fn bytes_that_are_not_utf8_are_escaped_in_errors() {
    let scratch = Scratch::new();
    let verb = [os(b"read"), os(b"no\xffsuch\\thing")];
    let error = scratch.fs(&[], &verb).refused("NotFound");
    assert_eq!(error["path"], "no\\xffsuch\\\\thing");
}

#[test]
fn no_descriptors_left_is_an_error_and_not_a_panic() {
    let scratch = Scratch::new();
    scratch.file("a/b/file", "x");
    for limit in 4..=7 {
        for verb in [
            "read a/b/file",
            "rm -r a/x",
            "tree .",
            "mkdir -p a/b/c",
            "write a/b/new",
        ] {
            let script = format!("ulimit -n {limit} && exec \"$0\" fs --json --root \"$1\" {verb}");
            let mut command = Command::new("sh");
            command
                .args(["-c", &script])
                .arg(crate::support::binary())
                .arg(scratch.inside())
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            let run = Run::wait(command.spawn().unwrap(), 10 * IMPATIENCE);
            if run.code >= 126 {
                skip(
                    "a limit on descriptors",
                    "the program cannot even be loaded with it",
                );
                continue;
            }
            let value = run.json();
            if value["ok"] == false {
                let kind = value["error"]["kind"].as_str().unwrap();
                assert!(matches!(kind, "Io" | "NotFound"), "{limit} {verb}: {run:?}");
            }
        }
        drop(std::fs::remove_dir(scratch.at("a/b/c")));
    }
    let left: Vec<_> = std::fs::read_dir(scratch.at("a/b")).unwrap().collect();
    assert!(left.len() <= 2, "{left:?}");
}

#[test]
fn unreadable_input_changes_nothing() {
    let scratch = Scratch::new();
    scratch.file("file", "old");
    for verb in ["write", "append"] {
        let root = scratch.inside();
        let mut command = handfast(&["fs", "--json", "--root"]);
        command.arg(root).args([verb, "file"]);
        // Reading a directory is an error.
        command.stdin(std::fs::File::open(scratch.inside()).unwrap());
        let run = Run::wait(command.spawn().unwrap(), 10 * IMPATIENCE);
        let error = run.refused("Io");
        assert_eq!(error["effect"], "none");
        assert_eq!(std::fs::read(scratch.at("file")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 1);
    }
}
