//! `docs/formats/event.schema.json` says what the code does.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use handfast::Verb;
use handfast_ledger::event::{EventKind, Record};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../docs/formats/event.schema.json");

#[test]
fn every_type_of_event_is_in_the_schema_and_no_other() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let listed: BTreeSet<_> = schema["properties"]["type"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let verbs = Verb::ALL.iter().map(|verb| verb.name());
    let others = EventKind::OTHERS.iter().map(|kind| kind.name());
    assert_eq!(listed, verbs.chain(others).collect());
}

/// Fields of the schema are known to the reader, top and below; others are refused.
#[test]
fn fields_are_the_same_and_closed() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let unknown = |json: &str| {
        let error = Record::parse(json.as_bytes()).unwrap_err().to_string();
        error.contains("unknown field")
    };
    let event = |more: &str| format!("{{\"v\":1,\"type\":\"read\",{more}}}");
    assert!(unknown(&event("\"surprise\":1")));
    let mut seen = 0;
    for (name, field) in schema["properties"].as_object().unwrap() {
        if !["v", "type"].contains(&name.as_str()) {
            // Wrong in itself, and therefore known.
            assert!(!unknown(&event(&format!("\"{name}\":false"))), "{name}");
        }
        let Some(part) = field["$ref"].as_str().filter(|part| *part != "#/$defs/u64") else {
            continue;
        };
        let part = &schema["$defs"][part.trim_start_matches("#/$defs/")];
        assert_eq!(part["additionalProperties"], false, "{name}");
        assert!(
            unknown(&event(&format!("\"{name}\":{{\"surprise\":1}}"))),
            "{name}"
        );
        for below in part["properties"].as_object().unwrap().keys() {
            seen += 1;
            assert!(
                !unknown(&event(&format!("\"{name}\":{{\"{below}\":[[]]}}"))),
                "{name}.{below}"
            );
        }
    }
    assert!(seen > 70, "{seen}");
}

#[test]
fn other_versions_types_and_phases_are_refused() {
    let good = r#"{"v":1,"type":"read","phase":"single","t_wall":"x","t_mono_ns":"1"}"#;
    assert!(Record::parse(good.as_bytes()).is_ok());
    for (from, to) in [
        ("\"v\":1", "\"v\":2"),
        ("\"read\"", "\"reed\""),
        ("\"single\"", "\"double\""),
        ("\"1\"", "1"),
        ("{", "[{"),
        ("\"phase\":\"single\",", ""),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(Record::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}
