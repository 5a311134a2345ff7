//! `fs extract`, `fs list-archive` and `fs archive`, on roots and in sessions.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::fs_layers::{LAYERS, Layer};
use crate::support::{Scratch, handfast};

/// A tar in POSIX' form with these files.
pub(crate) fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let mut block = [0; 512];
        let mut put =
            |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, name);
        put(100, "0000644\0");
        put(108, "0000000\x000000000\0");
        put(124, &format!("{:011o}\0", content.len()));
        put(136, "00000000000\0        0");
        put(257, "ustar\x0000");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend(block);
        archive.extend(content.as_bytes());
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.extend([0; 1024]);
    archive
}

#[test]
fn an_archive_goes_round_on_every_layer() {
    for layer in LAYERS {
        let scratch = layer.scene();
        let archive = tar(&[("a/one", "1"), ("a/two", "22")]);
        let run = |verb: &[&str], input: &[u8]| layer.run(&scratch, verb, input);
        let made = run(&["--json", "extract", "-", "@out"], &archive).ok();
        assert_eq!(
            (&made["extracted"], &made["bytes"]),
            (&true.into(), &3.into()),
            "{layer:?} {made}"
        );
        assert_eq!(made["entries"][1]["outcome"], "accepted");
        assert_eq!(run(&["read", "@out/a/two"], b"").text(), "22", "{layer:?}");
        run(&["--json", "extract", "-", "@out"], &archive).refused("Exists");
        for format in ["tar", "tar.gz", "zip"] {
            let (name, dir) = (format!("@new.{format}"), format!("@from-{format}"));
            run(&["--json", "archive", "@out", &name], b"").ok();
            run(&["--json", "extract", &name, &dir], b"").ok();
            let file = format!("{dir}/a/one");
            assert_eq!(run(&["read", &file], b"").text(), "1", "{layer:?} {format}");
        }
        let listed = run(&["ls", "@"], b"");
        assert!(
            !listed.text().contains(".extract"),
            "{layer:?} {}",
            listed.text()
        );
    }
}

#[test]
fn a_refused_archive_leaves_nothing_on_every_layer() {
    for layer in LAYERS {
        let scratch = layer.scene();
        let before = layer.run(&scratch, &["tree", "@"], b"").stdout;
        let archive = tar(&[("good", "1"), ("../bad", "2"), ("good", "3")]);
        let run = layer.run(&scratch, &["--json", "extract", "-", "@out"], &archive);
        let error = run.refused("Escape");
        assert_eq!(
            error["detail"],
            "2 members are refused, and with them the whole archive"
        );
        let answer = run.json();
        let rules: Vec<_> = (0..3)
            .map(|at| answer["entries"][at]["refusal"]["rule"].clone())
            .collect();
        assert_eq!(
            rules,
            [serde_json::Value::Null, "climbs".into(), "duplicate".into()]
        );
        assert_eq!(
            layer.run(&scratch, &["tree", "@"], b"").stdout,
            before,
            "{layer:?}"
        );
        let words = layer.run(&scratch, &["list-archive", "-"], &archive);
        assert_eq!(words.code, 1);
        assert!(
            words
                .text()
                .contains("refused   ../bad: the name has `..` in it (climbs)"),
            "{}",
            words.text()
        );
        let left = layer.run(
            &scratch,
            &["--json", "extract", "--leave-out-refused", "-", "@out"],
            &archive,
        );
        left.refused("Escape");
        assert_eq!(left.json()["extracted"], true);
        assert_eq!(layer.run(&scratch, &["read", "@out/good"], b"").text(), "1");
    }
}

#[test]
fn patterns_of_a_session_judge_final_names() {
    for mode in ["", ":read-write"] {
        let scratch = Scratch::new();
        scratch.dir("kept");
        let base = format!("{}{mode}", scratch.inside().display());
        let denied = [
            "new",
            "s",
            "--base",
            &base,
            "--deny",
            "/out/secret/**",
            "--deny",
            "*.key",
        ];
        scratch.session(&denied).ok();
        for name in ["secret/x", "a.key"] {
            if mode.is_empty() {
                // In an overlay a name that the base does not have is the session's own.
                continue;
            }
            let archive = tar(&[("fine", "1"), (name, "2")]);
            let run = Layer::Overlay.run(&scratch, &["--json", "extract", "-", "@out"], &archive);
            run.refused("Denied");
            let answer = run.json();
            assert_eq!(
                answer["entries"][1]["refusal"]["rule"], "policy",
                "{mode} {name} {answer}"
            );
            let tree = Layer::Overlay.run(&scratch, &["tree", "@"], b"");
            assert_eq!(tree.text(), "/\n  kept/\n", "{mode} {name}");
            let listed =
                Layer::Overlay.run(&scratch, &["--json", "list-archive", "-", "@out"], &archive);
            listed.refused("Denied");
        }
        // The session moves nothing to a place if a pattern matches names below it.
        let harmless = tar(&[("fine", "1")]);
        let run = |dir| Layer::Overlay.run(&scratch, &["--json", "extract", "-", dir], &harmless);
        run("@out").refused("Denied");
        run("@other").ok();
        let tree = Layer::Overlay.run(&scratch, &["tree", "@"], b"");
        assert_eq!(tree.text(), "/\n  kept/\n  other/\n    fine\n", "{mode}");
        if mode.is_empty() {
            let archive = tar(&[("a.key", "2")]);
            let own = Layer::Overlay.run(&scratch, &["--json", "extract", "-", "@own"], &archive);
            own.ok();
            let done = scratch.session(&["commit", "--yes", "s"]).ok();
            assert_eq!(done["held_back"][0]["path"], "/own/a.key");
            assert!(!scratch.inside().join("own/a.key").exists());
        }
    }
}

#[test]
fn options_are_honoured_or_refused() {
    let scratch = Scratch::new();
    let archive = tar(&[("top/a/x", "1"), ("top/b/y", "2")]);
    let run = |verb: &[&str]| scratch.words_with(verb, &archive);
    assert_eq!(
        run(&[
            "extract",
            "-",
            "o",
            "--strip-components",
            "1",
            "--only",
            "top/b"
        ])
        .code,
        0
    );
    assert_eq!(run(&["tree", "."]).text(), "./\n  o/\n    b/\n      y\n");
    assert_eq!(run(&["extract", "-", "p", "--only", "../x"]).code, 2);
    assert_eq!(run(&["extract", "-"]).code, 2);
    for limit in [
        ["--max-entries", "1"],
        ["--max-bytes", "1"],
        ["--max-file", "0"],
        ["--max-time", "0"],
    ] {
        let refused = scratch.words_with(
            &["--json", "extract", "-", "p", limit[0], limit[1]],
            &archive,
        );
        refused.refused("Limit");
    }
    let run = run(&["--json", "list-archive", "-", "--digest"]);
    assert_eq!(run.ok()["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(scratch.words_with(&["archive", "o", "x.rar"], b"").code, 2);
    assert_eq!(
        scratch
            .words_with(&["--json", "archive", "o", "-", "--format", "tar"], b"")
            .code,
        2
    );
    let piped = scratch.words_with(&["archive", "o", "-", "--format", "tar"], b"");
    assert_eq!(
        scratch
            .words_with(&["extract", "-", "q"], &piped.stdout)
            .code,
        0
    );
    assert_eq!(std::fs::read(scratch.at("q/b/y")).unwrap(), b"2");
}

#[test]
fn what_a_kill_leaves_of_an_extraction_is_removed_by_recover() {
    let scratch = Scratch::new();
    let large = "x".repeat(600_000);
    let archive = tar(&[("first", "1"), ("second", &large)]);
    let inside = scratch.inside();
    let mut command = handfast(&["fs", "extract", "-", "out", "--root"]);
    let mut child = command.arg(&inside).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&archive[..400_000]).unwrap();
    let begun = Instant::now();
    let has_begun = || {
        let found = scratch.snapshot();
        found.keys().any(|path| path.ends_with("tree/first"))
    };
    while !has_begun() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not begin"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!scratch.at("out").exists());
    assert_ne!(std::fs::read_dir(&inside).unwrap().count(), 0);
    assert_eq!(scratch.words_with(&["recover"], b"").code, 0);
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 0);
}

#[test]
fn an_archive_is_merged_by_policy_on_every_layer() {
    for layer in LAYERS {
        let scratch = layer.scene();
        let run = |verb: &[&str], input: &[u8]| layer.run(&scratch, verb, input);
        let first = tar(&[("a/one", "1"), ("a/two", "22")]);
        let second = tar(&[("a/two", "new"), ("b/three", "333")]);
        run(&["--json", "extract", "-", "@out"], &first).ok();
        let refused = run(&["--json", "extract", "--merge", "-", "@out"], &second);
        refused.refused("Exists");
        assert_eq!(refused.json()["entries"][0]["refusal"]["rule"], "exists");
        let listed = run(&["--json", "list-archive", "--merge", "-", "@out"], &second);
        listed.refused("Exists");
        assert_eq!(run(&["read", "@out/a/two"], b"").text(), "22", "{layer:?}");
        let replace = ["--json", "extract", "--merge", "--replace", "-", "@out"];
        run(&replace, &second).ok();
        for (name, content) in [("a/one", "1"), ("a/two", "new"), ("b/three", "333")] {
            let name = format!("@out/{name}");
            assert_eq!(run(&["read", &name], b"").text(), content, "{layer:?}");
        }
        let listed = run(&["ls", "@out"], b"");
        let listed = listed.text();
        assert!(
            !listed.contains("extract") && !listed.contains("merge"),
            "{listed}"
        );
        run(&["--json", "extract", "--merge", "-", "@missing"], &second).refused("NotFound");
    }
}
