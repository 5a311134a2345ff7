//! What each verb answers with, and what it did, on both backends.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Scratch, backends, is_privileged};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[test]
fn read_has_content_or_its_base64() {
    for backend in backends("read") {
        let scratch = Scratch::new();
        scratch.file("text", "grüß dich\n");
        scratch.file("bytes", b"\xff\x00\xfe");
        scratch.file("empty", "");
        let run = |path| scratch.fs(&["--backend", backend], &["read", path]).ok();
        let text = run("text");
        assert_eq!(text["content"], "grüß dich\n");
        assert_eq!(text["path"], "text");
        assert_eq!(text.get("content_b64"), None);
        let bytes = run("./bytes");
        assert_eq!(bytes["content_b64"], "/wD+");
        assert_eq!(bytes.get("content"), None);
        assert_eq!(bytes["size"], 3);
        assert_eq!(run("empty")["content"], "");
    }
}

#[test]
fn write_replaces_creates_and_tells_the_version() {
    for backend in backends("write") {
        let scratch = Scratch::new();
        let old = scratch.file("old", "old");
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).unwrap();
        let options = ["--backend", backend];
        for durability in ["none", "file", "full"] {
            let verb = ["write", "old", "--durability", durability];
            let answer = scratch.fs_with(&options, &verb, durability.as_bytes()).ok();
            assert!(answer["file_version"].as_str().unwrap().starts_with("v1."));
            assert_eq!(std::fs::read_to_string(&old).unwrap(), durability);
        }
        assert_eq!(std::fs::metadata(&old).unwrap().mode() & 0o7777, 0o640);
        let answer = scratch
            .fs_with(&options, &["write", "new", "--new"], b"n")
            .ok();
        assert_eq!(
            keys(&answer),
            ["file_version", "ok", "path", "size", "version"]
        );
        scratch
            .fs_with(&options, &["write", "new", "--sync", "--mode", "600"], b"s")
            .ok();
        let status = std::fs::metadata(scratch.at("new")).unwrap();
        assert_eq!((status.len(), status.mode() & 0o7777), (1, 0o600));
        assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 2);
    }
}

#[test]
fn write_is_a_stream_and_holds_any_bytes() {
    let scratch = Scratch::new();
    let data: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    scratch.fs_with(&[], &["write", "big"], &data).ok();
    assert!(std::fs::read(scratch.at("big")).unwrap() == data);
    assert!(scratch.words(&["read", "big"]).stdout == data);
}

#[test]
fn append_adds_and_creates() {
    for backend in backends("append") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        for text in ["one\n", "two\n"] {
            let verb = ["append", "log"];
            let answer = scratch.fs_with(&options, &verb, text.as_bytes()).ok();
            assert!(answer["file_version"].is_string());
            assert_eq!(answer["appended"], 4);
        }
        let content = std::fs::read_to_string(scratch.at("log")).unwrap();
        assert_eq!(content, "one\ntwo\n");
    }
}

#[test]
fn ls_and_tree_are_in_byte_order() {
    for backend in backends("ls and tree") {
        let scratch = Scratch::new();
        scratch.file("a/x", "");
        scratch.file("a-b", "");
        scratch.file("B", "");
        scratch.link("a", "link");
        scratch.fifo("pipe");
        let options = ["--backend", backend];
        let entry = |name: &str, kind: &str| json!({"name": name, "type": kind});
        let listed = scratch.fs(&options, &["ls", "."]).ok();
        assert_eq!(
            listed["entries"],
            json!([
                entry("B", "file"),
                entry("a", "dir"),
                entry("a-b", "file"),
                entry("link", "symlink"),
                entry("pipe", "fifo")
            ])
        );
        let path = |path: &str, kind: &str| json!({"path": path, "type": kind});
        let tree = scratch.fs(&options, &["tree", "."]).ok();
        assert_eq!(
            tree["entries"],
            json!([
                path("B", "file"),
                path("a", "dir"),
                path("a-b", "file"),
                path("a/x", "file"),
                path("link", "symlink"),
                path("pipe", "fifo")
            ])
        );
        let below = scratch.fs(&options, &["tree", "a/"]).ok();
        assert_eq!(below["entries"], json!([path("a/x", "file")]));
        let empty = scratch.fs(&options, &["ls", "a/x/.."]);
        empty.refused("Invalid");
    }
}

#[test]
fn stat_tells_what_stands_there() {
    for backend in backends("stat") {
        let scratch = Scratch::new();
        let path = scratch.file("file", "12345");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o604)).unwrap();
        let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_millis(1500);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(before_1970).unwrap();
        let options = ["--backend", backend];
        let answer = scratch.fs(&options, &["stat", "file"]).ok();
        assert_eq!(
            keys(&answer),
            [
                "file_version",
                "gid",
                "identity",
                "mode",
                "mtime",
                "nlink",
                "ok",
                "path",
                "size",
                "type",
                "uid",
                "version"
            ]
        );
        let status = std::fs::metadata(&path).unwrap();
        assert_eq!(answer["type"], "file");
        assert_eq!(answer["size"], 5);
        assert_eq!(answer["mode"], "0604");
        assert_eq!(answer["nlink"], 1);
        assert_eq!(answer["uid"], status.uid());
        assert_eq!(answer["gid"], status.gid());
        assert_eq!(answer["mtime"], "1969-12-31T23:59:58.500000000Z");
        assert!(
            answer["identity"]
                .as_str()
                .unwrap()
                .contains(&status.ino().to_string())
        );
        let version = scratch.fs(&options, &["version", "file"]).ok();
        assert_eq!(answer["file_version"], version["file_version"]);
    }
}

#[test]
fn stat_knows_every_kind_and_gives_versions_to_files_only() {
    for backend in backends("stat of kinds") {
        let scratch = Scratch::new();
        scratch.dir("dir");
        scratch.link("dir", "symlink");
        scratch.fifo("fifo");
        let listener = std::os::unix::net::UnixListener::bind(scratch.at("socket"));
        let options = ["--backend", backend];
        let kind = |verb: &[&str]| {
            let answer = scratch.fs(&options, verb).ok();
            assert_eq!(answer["file_version"], Value::Null, "{verb:?}");
            answer["type"].as_str().unwrap().to_owned()
        };
        assert_eq!(kind(&["stat", "."]), "dir");
        assert_eq!(kind(&["stat", "dir"]), "dir");
        assert_eq!(kind(&["stat", "fifo"]), "fifo");
        assert_eq!(kind(&["stat", "--no-follow", "symlink"]), "symlink");
        assert_eq!(kind(&["stat", "symlink", "--links", "beneath"]), "dir");
        if listener.is_ok() {
            assert_eq!(kind(&["stat", "socket"]), "socket");
        }
    }
}

#[test]
fn stat_needs_no_permission_on_the_file_itself() {
    let scratch = Scratch::new();
    let path = scratch.file("closed", "x");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let answer = scratch.fs(&[], &["stat", "closed"]).ok();
    assert_eq!(answer["mode"], "0000");
    assert_eq!(answer["file_version"].is_string(), is_privileged());
    if !is_privileged() {
        scratch.fs(&[], &["read", "closed"]).refused("Denied");
        scratch
            .fs_with(&[], &["write", "closed"], b"y")
            .refused("Denied");
    }
}

#[test]
fn making_moving_copying_and_removing() {
    for backend in backends("mkdir, mv, cp, rm") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        let run = |verb: &[&str]| scratch.fs(&options, verb).ok();
        assert!(run(&["mkdir", "a"])["identity"].is_string());
        run(&["mkdir", "-p", "a/b/c"]);
        run(&["mkdir", "-p", "a/b/c/"]);
        std::fs::write(scratch.at("a/f"), "f").unwrap();
        let moved = run(&["mv", "a/f", "g"]);
        assert_eq!(
            (&moved["path"], &moved["destination"]),
            (&json!("a/f"), &json!("g"))
        );
        run(&["cp", "g", "h"]);
        run(&["cp", "g", "h"]);
        run(&["cp", "-r", "a", "copy"]);
        run(&["cp", "-r", "g", "file-copy"]);
        assert!(std::fs::metadata(scratch.at("copy/b/c")).unwrap().is_dir());
        std::fs::write(scratch.at("h"), "h").unwrap();
        run(&["mv", "--exchange", "g", "h"]);
        assert_eq!(std::fs::read(scratch.at("g")).unwrap(), b"h");
        run(&["mv", "g", "h"]);
        run(&["mv", "--no-replace", "h", "i"]);
        run(&["mv", "copy", "empty-target"]);
        run(&["rm", "i"]);
        run(&["rm", "-r", "a"]);
        run(&["rm", "-r", "empty-target/"]);
        let left = run(&["ls", "."]);
        assert_eq!(
            left["entries"],
            json!([{"name": "file-copy", "type": "file"}])
        );
    }
}

#[test]
fn links_modes_and_recover() {
    for backend in backends("link, symlink, readlink, chmod, recover") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        let run = |verb: &[&str]| scratch.fs(&options, verb).ok();
        scratch.file("d/f", "f");
        assert_eq!(run(&["chmod", "0600", "d/f"])["mode"], "0600");
        run(&["chmod", "711", "d"]);
        assert_eq!(
            std::fs::metadata(scratch.at("d")).unwrap().mode() & 0o7777,
            0o711
        );
        run(&["link", "d/f", "hard"]);
        assert_eq!(std::fs::metadata(scratch.at("hard")).unwrap().nlink(), 2);
        run(&["symlink", "../hard", "d/soft"]);
        assert_eq!(run(&["readlink", "d/soft"])["target"], "../hard");
        assert_eq!(run(&["recover"])["found"], json!([]));
        scratch.file("d/.handfast-not-ours", "");
        let why = "its name is none that we make";
        let found = json!([{"path": "d/.handfast-not-ours", "outcome": "kept", "why": why}]);
        for verb in [&["recover", "."][..], &["recover", "d"], &["recover"]] {
            assert_eq!(run(verb)["found"], found);
        }
    }
}
