//! Names that are not UTF-8, and the ways to get every name out unharmed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::{Scratch, backends, os};

const ODD: &[u8] = b"odd\xff\xfename";

#[test]
fn every_verb_takes_and_tells_bytes() {
    for backend in backends("bytes") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        let run = |verb: &[&[u8]]| {
            let verb: Vec<_> = verb.iter().map(|arg| os(arg)).collect();
            scratch.fs_with(&options, &verb, b"content").ok()
        };
        let encoded = json!(STANDARD.encode(ODD));
        for answer in [
            run(&[b"write", ODD]),
            run(&[b"read", ODD]),
            run(&[b"append", ODD]),
            run(&[b"stat", ODD]),
            run(&[b"chmod", b"600", ODD]),
            run(&[b"version", ODD]),
            run(&[b"mv", ODD, b"plain"]),
        ] {
            assert_eq!(answer["path_b64"], encoded);
            assert_eq!(answer.get("path"), None);
        }
        assert_eq!(run(&[b"cp", b"plain", ODD])["destination_b64"], encoded);
        let entries = run(&[b"ls", b"."])["entries"].clone();
        let odd = json!({"name_b64": encoded, "type": "file"});
        assert_eq!(entries, json!([odd, {"name": "plain", "type": "file"}]));
        let inside = [b"dir/", ODD].concat();
        run(&[b"mkdir", b"dir"]);
        run(&[b"mkdir", &inside]);
        let entries = run(&[b"tree", b"dir"])["entries"].clone();
        let path = json!(STANDARD.encode(&inside));
        assert_eq!(entries, json!([{"path_b64": path, "type": "dir"}]));
        run(&[b"symlink", ODD, b"link"]);
        assert_eq!(run(&[b"readlink", b"link"])["target_b64"], encoded);
        run(&[b"rm", ODD]);
        run(&[b"rm", b"-r", &inside]);
    }
}

#[test]
fn listings_can_be_had_raw() {
    let scratch = Scratch::new();
    scratch.dir("dir");
    std::fs::write(scratch.at("new\nline"), "").unwrap();
    std::fs::write(scratch.inside().join("dir").join(os(ODD)), "").unwrap();
    let expected = b"dir\0new\nline\0";
    assert_eq!(scratch.words(&["ls", "-0", "."]).stdout, expected);
    assert_eq!(scratch.words(&["ls", "--null", "."]).stdout, expected);
    let expected = [b"dir\0dir/", ODD, b"\0new\nline\0"].concat();
    assert_eq!(scratch.words(&["tree", "-0", "."]).stdout, expected);
}

#[test]
fn readlink_prints_the_text_as_it_is_stored() {
    let scratch = Scratch::new();
    scratch.link(os(b"\x1b[2J\xff/../x"), "link");
    let run = scratch.words(&["readlink", "link"]);
    assert_eq!(run.stdout, b"\x1b[2J\xff/../x\n");
}

#[test]
fn names_that_look_like_options_work_after_two_dashes() {
    let scratch = Scratch::new();
    scratch.fs_with(&[], &["write", "--", "-r"], b"x").ok();
    scratch.fs(&[], &["rm", "--", "-r"]).ok();
    assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 0);
}

#[test]
fn spellings_are_folded_and_nothing_is_decoded() {
    let scratch = Scratch::new();
    scratch.file("a/b", "x");
    for path in ["a/b", "./a/b", "a//b", "a/./b", ".//a///b"] {
        assert_eq!(scratch.fs(&[], &["read", path]).ok()["path"], path);
    }
    for path in ["a%2fb", "..%2fa", "a\\b", "~", "$HOME", "...", ".. "] {
        scratch.fs(&[], &["read", path]).refused("NotFound");
    }
}
