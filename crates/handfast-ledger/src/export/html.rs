//! One static page: it needs no server and no network, and verifies itself in the browser.
//!
//! The events travel as data and never as markup: the page makes text of them. A content security
//! policy allows the page's own script and style, by their digests, and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;

use crate::error::{Error, ErrorKind};
use crate::merkle::Subtrees;
use crate::reader::LogReader;
use crate::tiles::TileReader;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// The page.
#[derive(Debug)]
pub struct HtmlPage {
    /// The document.
    pub text: String,
    /// What is wrong with the log: the page has what is intact, and says so itself.
    pub damage: Option<Error>,
}

/// Makes the page.
///
/// # Errors
/// If the log cannot be read at all.
pub fn html(log: &LogReader) -> Result<HtmlPage, Error> {
    let mut events = Vec::new();
    let mut first = None;
    let read = log.for_each(0, |index, leaf| {
        let first = *first.get_or_insert(index);
        // What cannot be read leaves its place empty.
        while first + (events.len() as u64) < index {
            events.push(Value::Null);
        }
        events.push(match str::from_utf8(leaf) {
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => json!({"b64": STANDARD.encode(leaf)}),
        });
        Ok(ControlFlow::Continue(()))
    });
    let damage = match read {
        Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
        read => read.err(),
    };
    let damage = damage.or(unfit(log)?);
    let first = first.unwrap_or(0);
    // A checkpoint that cannot be read is part of the damage.
    let checkpoint = log.checkpoint().unwrap_or_default();
    let size = checkpoint
        .as_ref()
        .map_or(0, |(checkpoint, _)| checkpoint.size);
    let data = json!({
        "origin": log.origin(),
        "checkpoint": checkpoint.map(|(_, note)| note.to_text()),
        "keys": log.keys().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "first": first,
        "peaks": peaks(log, first, size).or_else(|error| match damage {
            Some(_) => Ok(Vec::new()),
            None => Err(error),
        })?,
        "damage": damage.as_ref().map(ToString::to_string),
        "events": events,
    });
    let text = PAGE
        .replace("{{SCRIPT_HASH}}", &digest(SCRIPT))
        .replace("{{STYLE_HASH}}", &digest(STYLE))
        .replace("{{STYLE}}", STYLE)
        .replace("{{SCRIPT}}", SCRIPT)
        // Last: what is in the data is not replaced any more.
        .replacen("{{DATA}}", &harmless(&data.to_string()), 1);
    Ok(HtmlPage { text, damage })
}

/// What does not fit in a log whose events can be read.
fn unfit(log: &LogReader) -> Result<Option<Error>, Error> {
    let report = crate::verify(log, &crate::VerifyOptions::new())?;
    let first = report.problems.into_iter().next();
    Ok(first.map(|problem| match problem.index {
        Some(index) => Error::corrupt(index, problem.what),
        None => Error::new(ErrorKind::Corrupt, problem.what),
    }))
}

/// The complete subtrees before the first event that is here; the rest was pruned.
fn peaks(log: &LogReader, first: u64, size: u64) -> Result<Vec<String>, Error> {
    let tiles = TileReader::new(&log.store, size.max(first));
    let mut peaks = Vec::new();
    let mut at = 0;
    for level in (0..64).rev() {
        if first >> level & 1 == 1 {
            peaks.push(tiles.subtree(level, at >> level)?.to_base64());
            at += 1 << level;
        }
    }
    Ok(peaks)
}

fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// JSON that no HTML parser takes for anything else, whatever names are in it.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 8);
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_data() {
        let evil = json!({"name": "</script><script>alert(1)</script><!--\u{2028}&"}).to_string();
        let text = harmless(&evil);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back.to_string(), evil);
    }

    #[test]
    fn the_page_asks_nobody_for_anything() {
        for text in [PAGE, SCRIPT, STYLE] {
            for word in [
                "http:",
                "https:",
                "//cdn",
                "fetch(",
                "XMLHttp",
                "innerHTML",
                "@import",
                "url(",
            ] {
                assert!(!text.contains(word), "{word}");
            }
        }
        for hole in [
            "{{SCRIPT}}",
            "{{STYLE}}",
            "{{DATA}}",
            "{{SCRIPT_HASH}}",
            "{{STYLE_HASH}}",
        ] {
            assert_eq!(PAGE.matches(hole).count(), 1, "{hole}");
        }
    }
}
