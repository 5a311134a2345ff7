//! Options of `fs write`: what is accepted holds, in every layer.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::fs_layers::{LAYERS, Layer};
use crate::support::{Run, Scratch, binary, handfast, skip};

const TIMEOUT: Duration = Duration::from_secs(60);

fn json(layer: Layer, scratch: &Scratch, verb: &[&str], input: &[u8]) -> Value {
    layer
        .run(scratch, &[&["--json"], verb].concat(), input)
        .ok()
}

fn mode_of(layer: Layer, scratch: &Scratch, path: &str) -> String {
    let found = json(layer, scratch, &["stat", path], b"");
    found["mode"].as_str().unwrap().to_owned()
}

#[test]
fn s5_modes_are_honoured_with_every_kind_of_write() {
    for layer in LAYERS {
        let scratch = layer.scene();
        scratch.file("old", "1");
        let new = ["write", "--new", "--mode", "600", "@new"];
        json(layer, &scratch, &new, b"1");
        assert_eq!(mode_of(layer, &scratch, "@new"), "0600", "{layer:?}");
        json(layer, &scratch, &["write", "--mode", "755", "@run"], b"1");
        assert_eq!(mode_of(layer, &scratch, "@run"), "0755", "{layer:?}");
        let seen = json(layer, &scratch, &["version", "@old"], b"");
        let seen = seen["file_version"].as_str().unwrap();
        let if_same = ["write", "--if-version", seen, "--mode", "600", "@old"];
        json(layer, &scratch, &if_same, b"2");
        assert_eq!(mode_of(layer, &scratch, "@old"), "0600", "{layer:?}");
        if layer == Layer::Overlay {
            scratch.session(&["commit", "--yes", "s"]).ok();
            for (name, mode) in [("new", 0o600), ("run", 0o755), ("old", 0o600)] {
                use std::os::unix::fs::PermissionsExt;
                let found = std::fs::metadata(scratch.at(name)).unwrap();
                assert_eq!(found.permissions().mode() & 0o7777, mode, "{name}");
            }
        }
    }
}

/// How often a verb waits for the disk.
fn syncs(layer: Layer, scratch: &Scratch, verb: &[&str]) -> usize {
    let log = scratch.path.join("trace");
    let mut child = Command::new("strace")
        .args(["-f", "-qq", "-e", "signal=none"])
        .args(["-e", "trace=fsync,fdatasync,syncfs,sync_file_range", "-o"])
        .arg(&log)
        .arg(binary())
        .args(layer.args(scratch, verb))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    assert!(child.wait().unwrap().success(), "{layer:?} {verb:?}");
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.contains("sync")).count()
}

#[test]
fn s5_durability_is_honoured_and_an_overlay_waits_only_if_asked() {
    let there = Command::new("strace").args(["-f", "true"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        skip("counting syncs", "strace is not there, or may not trace");
        return;
    }
    for layer in LAYERS {
        let scratch = layer.scene();
        let count = |more: &[&str]| syncs(layer, &scratch, &[&["write", "@a"], more].concat());
        let usual = count(&[]);
        assert_eq!(usual == 0, layer == Layer::Overlay, "{layer:?} {usual}");
        assert_eq!(
            count(&["--mode", "600"]),
            usual,
            "{layer:?}: a mode is no durability"
        );
        assert_eq!(count(&["--durability", "none"]), 0, "{layer:?}");
        let file = count(&["--durability", "file"]);
        assert!(file > 0, "{layer:?}");
        let (full, sync) = (count(&["--durability", "full"]), count(&["--sync"]));
        assert!(full > 0 && full == sync, "{layer:?} {full} {sync}");
    }
}

/// Runs a write whose input is under way when `meanwhile` happens.
fn during_upload(layer: Layer, scratch: &Scratch, verb: &[&str], meanwhile: impl FnOnce()) -> Run {
    let mut command = handfast(&layer.args(scratch, &[&["--json"], verb].concat()));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds: when it is taken, the upload has begun.
    stdin.write_all(&[b'x'; 1 << 18]).unwrap();
    meanwhile();
    drop(stdin);
    Run::wait(child, TIMEOUT)
}

#[test]
fn s5_what_appears_or_changes_during_the_upload_is_judged_at_its_end() {
    for layer in LAYERS {
        let scratch = layer.scene();
        let theirs = |path: &str| {
            layer.run(&scratch, &["write", path], b"theirs");
        };
        let run = during_upload(layer, &scratch, &["write", "--new", "@n"], || theirs("@n"));
        run.refused("Exists");
        theirs("@v");
        let seen = json(layer, &scratch, &["version", "@v"], b"");
        let seen = seen["file_version"].as_str().unwrap();
        let write = ["write", "--if-version", seen, "@v"];
        during_upload(layer, &scratch, &write, || theirs("@v")).refused("Stale");
        let run = during_upload(layer, &scratch, &["write", "@d"], || {
            layer.run(&scratch, &["mkdir", "@d"], b"");
        });
        run.refused("IsADirectory");
        for path in ["@n", "@v"] {
            let now = layer.run(&scratch, &["read", path], b"");
            assert_eq!(now.text(), "theirs", "{layer:?} {path}");
        }
        // The same without anybody in between succeeds.
        during_upload(layer, &scratch, &["write", "@v"], || ()).ok();
    }
}
