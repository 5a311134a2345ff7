//! The page that verifies itself: what its script is given, and what the check comes to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast_ledger::export::html;
use handfast_ledger::merkle::{Frontier, Hash};
use handfast_ledger::{Level, LogReader};
use serde_json::Value;

use crate::support::{Scratch, log_of};

/// The data that a page carries.
fn data_of(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// What the script of the page computes: the root of the events that are in the page, and the root
/// that the checkpoint names.
fn roots(data: &Value) -> (String, String) {
    let peaks = data["peaks"].as_array().unwrap().iter();
    let peaks = peaks.map(|peak| Hash::from_base64(peak.as_str().unwrap()).unwrap());
    let first = data["first"].as_u64().unwrap();
    let mut tree = Frontier::from_peaks(first, peaks.collect()).unwrap();
    let checkpoint = data["checkpoint"].as_str().unwrap();
    let size: u64 = checkpoint.lines().nth(1).unwrap().parse().unwrap();
    for event in data["events"].as_array().unwrap() {
        if tree.size() == size {
            break;
        }
        tree.append(match event.as_str() {
            Some(text) => Hash::leaf(text.as_bytes()),
            None => Hash::leaf(&STANDARD.decode(event["b64"].as_str().unwrap()).unwrap()),
        });
    }
    let named = checkpoint.lines().nth(2).unwrap().to_owned();
    (tree.root().to_base64(), named)
}

#[test]
fn the_page_verifies_itself_on_load_and_every_changed_byte_changes_the_root() {
    let scratch = Scratch::new();
    let _key = log_of(&scratch.log(), Level::Ordered, 300);
    let page = html(&LogReader::open(scratch.log()).unwrap()).unwrap();
    assert!(page.damage.is_none());
    // The check is part of the script, and the last thing that the script does by itself.
    let script = page.text.rsplit_once("<script>").unwrap().1;
    let script = script.split_once("</script>").unwrap().0;
    assert!(script.contains("crypto.subtle.verify"));
    assert!(script.trim_end().ends_with("check();\n})();"), "{script}");
    let data = data_of(&page.text);
    let (ours, named) = roots(&data);
    assert_eq!(ours, named);
    assert_eq!(data["events"].as_array().unwrap().len(), 300);
    // One byte of any of some events, at any of some places.
    for event in [0, 1, 17, 255, 256, 299] {
        let text = data["events"][event].as_str().unwrap();
        for place in [0, text.len() / 2, text.len() - 1] {
            let mut bytes = text.as_bytes().to_vec();
            bytes[place] ^= 1;
            let mut tampered = data.clone();
            tampered["events"][event] = String::from_utf8(bytes).unwrap().into();
            assert_ne!(roots(&tampered).0, named, "event {event} place {place}");
        }
    }
}

#[test]
fn a_page_of_a_damaged_log_says_so_itself() {
    let scratch = Scratch::new();
    let _key = log_of(&scratch.log(), Level::Ordered, 300);
    std::fs::remove_dir_all(scratch.log().join("segments")).unwrap();
    let bundle = scratch.log().join("tile/entries/000");
    let mut bytes = std::fs::read(&bundle).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&bundle, bytes).unwrap();
    let page = html(&LogReader::open(scratch.log()).unwrap()).unwrap();
    assert!(page.damage.is_some());
    let data = data_of(&page.text);
    assert!(data["damage"].as_str().unwrap().contains("damaged"));
    let events = data["events"].as_array().unwrap();
    assert_eq!(events.len(), 300, "what is lost keeps its place");
    assert_eq!(events.iter().filter(|event| event.is_null()).count(), 1);
}

#[test]
fn a_page_of_a_log_that_does_not_verify_says_so_too() {
    for name in ["checkpoint", "keys.txt"] {
        let scratch = Scratch::new();
        let _key = log_of(&scratch.log(), Level::Ordered, 30);
        let path = scratch.log().join(name);
        match name {
            "keys.txt" => std::fs::remove_file(path).unwrap(),
            _ => {
                // One letter of the signature, which reading the events does not need.
                let mut text = std::fs::read(&path).unwrap();
                let at = text.len() - 10;
                text[at] = if text[at] == b'A' { b'B' } else { b'A' };
                std::fs::write(&path, text).unwrap();
            }
        }
        let page = html(&LogReader::open(scratch.log()).unwrap()).unwrap();
        assert!(page.damage.is_some(), "{name}");
        assert!(data_of(&page.text)["damage"].is_string(), "{name}");
    }
}
