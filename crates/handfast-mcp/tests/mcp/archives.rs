//! `extract_archive`.

use handfast::{RelPath, Root};
use handfast_archive::{CreateOptions, NewFormat, create};
use serde_json::{Value, json};

use super::client::{Mcp, read};
use crate::support::Scratch;

#[allow(dead_code, reason = "another crate's tests use the rest")]
#[path = "../../../handfast-archive/tests/it/tar_bytes.rs"]
mod tar_bytes;

use tar_bytes::Bytes;

/// An archive of two files.
fn sound(format: NewFormat) -> Vec<u8> {
    let scratch = Scratch::new();
    scratch.file("a/one", "1");
    scratch.file("a/two", "22");
    let root = Root::open_ambient(scratch.inside()).unwrap();
    let mut options = CreateOptions::new();
    options.format = format;
    let mut bytes = Vec::new();
    create(&root, &RelPath::root(), &mut bytes, options).unwrap();
    bytes
}

fn archive(answer: &Value) -> &Value {
    let archive = &answer["result"]["structuredContent"]["archive"];
    assert!(archive.is_object(), "{answer}");
    archive
}

fn names(dir: impl AsRef<std::path::Path>) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_archive_of_the_session_becomes_a_directory_of_the_session() {
    let scratch = Scratch::new();
    for (format, name) in [
        (NewFormat::Tar, "a.tar"),
        (NewFormat::TarGzip, "a.tar.gz"),
        (NewFormat::Zip, "a.zip"),
    ] {
        scratch.file(name, sound(format));
        let mut server = Mcp::start(&scratch, &[]);
        let dest = format!("out-{name}");
        let asked = json!({"source": name, "destination": dest});
        let looked = json!({"source": name, "destination": dest, "dryRun": true});
        let dry = server.call("extract_archive", looked);
        assert_eq!(archive(&dry)["extracted"], false, "{dry}");
        assert_eq!(archive(&dry)["members"], 3, "{dry}");
        assert!(!scratch.at(&dest).exists());
        let done = server.call("extract_archive", asked.clone());
        let told = archive(&done);
        assert_eq!(told["extracted"], true, "{done}");
        assert_eq!(
            (&told["bytes"], &told["refusedInAll"]),
            (&3.into(), &0.into())
        );
        assert_eq!(told["sha256"].as_str().unwrap().len(), 64);
        assert_eq!(read(scratch.at(&dest).join("a/two")), "22");
        let taken = server.refusal("extract_archive", asked);
        assert!(taken.starts_with("Destination already exists"), "{taken}");
    }
    assert!(
        !names(scratch.inside())
            .iter()
            .any(|name| name.starts_with('.'))
    );
}

#[test]
fn a_refused_archive_leaves_nothing_and_the_answer_lists_why() {
    let scratch = Scratch::new();
    let bytes = (0..150).fold(Bytes::new().file("good", b"1"), |bytes, number| {
        bytes.file(&format!("../bad{number}"), b"2")
    });
    scratch.file("bad.tar", bytes.symlink("l", "/etc").end());
    scratch.file("cut.tar", &Bytes::new().file("x", b"1").end()[..600]);
    let before = names(scratch.inside());
    let mut server = Mcp::start(&scratch, &[]);
    let asked = json!({"source": "bad.tar", "destination": "out"});
    let answer = server.call("extract_archive", asked);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = archive(&answer);
    assert_eq!(told["extracted"], false);
    assert_eq!(told["refusedInAll"], 151);
    let refused = told["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 100);
    assert_eq!(refused[0]["rule"], "climbs");
    assert_eq!(refused[0]["name"], "../bad0");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Refused - 151 members"), "{text}");
    assert!(text.ends_with("and 51 more"), "{text}");
    let asked = json!({"source": "cut.tar", "destination": "out"});
    let answer = server.call("extract_archive", asked);
    assert_eq!(archive(&answer)["refusal"]["rule"], "truncated", "{answer}");
    assert_eq!(names(scratch.inside()), before);
    let asked = json!({"source": "bad.tar", "destination": "out", "leaveOutRefused": true});
    let answer = server.call("extract_archive", asked);
    assert_eq!(archive(&answer)["extracted"], true, "{answer}");
    assert_eq!(names(scratch.at("out")), ["good"]);
}

#[test]
fn an_archive_is_merged_only_where_that_is_asked_for() {
    let scratch = Scratch::new();
    scratch.file("a.tar", sound(NewFormat::Tar));
    scratch.file("out/a/one", "old");
    scratch.file("out/a/mine", "mine");
    let mut server = Mcp::start(&scratch, &[]);
    let mut call = |more: Value| {
        let mut asked = json!({"source": "a.tar", "destination": "out"});
        for (key, value) in more.as_object().unwrap() {
            asked[key] = value.clone();
        }
        server.call("extract_archive", asked)
    };
    assert_eq!(call(json!({}))["result"]["isError"], true);
    let refused = call(json!({"merge": true}));
    assert_eq!(archive(&refused)["refused"][0]["rule"], "exists");
    assert_eq!(read(scratch.at("out/a/one")), "old");
    let done = call(json!({"merge": true, "replace": true}));
    assert_eq!(archive(&done)["extracted"], true, "{done}");
    assert_eq!(names(scratch.at("out/a")), ["mine", "one", "two"]);
    assert_eq!(read(scratch.at("out/a/one")), "1");
}

#[test]
fn limits_and_rules_are_the_operators() {
    let scratch = Scratch::new();
    scratch.file("a.tar", sound(NewFormat::Tar));
    scratch.file("secret.tar", Bytes::new().file("d/.env", b"x").end());
    scratch.link("../outside/x.tar", "link.tar");
    std::fs::write(scratch.outside().join("x.tar"), sound(NewFormat::Tar)).unwrap();
    let refusal_of = |args: &[&str], source: &str| {
        let mut server = Mcp::start(&scratch, args);
        let asked = json!({"source": source, "destination": "out"});
        let answer = server.call("extract_archive", asked);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(!scratch.at("out").exists());
        answer
    };
    let limited = refusal_of(&["--archive-limit", "2"], "a.tar");
    assert_eq!(archive(&limited)["refusal"]["rule"], "bytes");
    let denied = refusal_of(&["--deny", ".env"], "secret.tar");
    assert_eq!(archive(&denied)["refused"][0]["rule"], "policy", "{denied}");
    for (args, source, start) in [
        (&["--read-only"][..], "a.tar", "Access denied"),
        (&[], "link.tar", "Access denied"),
        (&[], "missing.tar", "ENOENT"),
        (&["--deny", "a.tar"], "a.tar", "Access denied"),
        (&["--sync"], "a.tar", "ENOTSUP"),
    ] {
        let answer = refusal_of(args, source);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(start), "{args:?} {source}: {text}");
    }
}
