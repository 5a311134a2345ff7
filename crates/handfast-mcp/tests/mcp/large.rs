//! A large directory and a large file, read to their ends by a client that sees nothing but
//! `structuredContent`. `HANDFAST_MCP_ENTRIES` and `HANDFAST_MCP_BYTES` say how large.

use std::io::Write as _;

use serde_json::{Value, json};

use super::client::Mcp;
use crate::support::Scratch;

fn number(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |text| text.parse().unwrap())
}

/// Every page of an answer, without the paragraph that says what is missing.
pub(super) fn pages(
    server: &mut Mcp,
    tool: &str,
    mut arguments: Value,
    take: &mut dyn FnMut(&str),
) -> u64 {
    let mut count = 0;
    loop {
        let answer = server.call(tool, arguments.clone());
        let page = &answer["result"]["structuredContent"];
        let text = page["content"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        assert!(text.len() < 50 << 10, "{} bytes", text.len());
        count += 1;
        let Some(next) = page["next"].as_str() else {
            assert!(
                page.get("truncated").is_none(),
                "{tool}: a cut with no way on"
            );
            take(text);
            return count;
        };
        let (text, note) = text.rsplit_once("\n\n[").unwrap();
        assert!(
            page["truncated"] == true && note.starts_with("This is not all"),
            "{note}"
        );
        take(text);
        arguments["cursor"] = json!(next);
    }
}

#[test]
fn a_large_directory_is_listed_to_its_end() {
    let entries = number("HANDFAST_MCP_ENTRIES", 5_000);
    let scratch = Scratch::new();
    let top = scratch.at("many");
    std::fs::create_dir(&top).unwrap();
    for number in 0..entries {
        // Links: they need no blocks, and are listed all the same.
        std::os::unix::fs::symlink("x", top.join(format!("entry-{number:07}"))).unwrap();
    }
    let mut server = Mcp::start(&scratch, &[]);
    let mut found = 0;
    let mut take = |text: &str| {
        for line in text.lines() {
            assert_eq!(line, format!("[FILE] entry-{found:07}"));
            found += 1;
        }
    };
    let begun = std::time::Instant::now();
    let pages = pages(
        &mut server,
        "list_directory",
        json!({"path": "many"}),
        &mut take,
    );
    println!("{found} entries in {pages} pages, {:?}", begun.elapsed());
    assert_eq!(found, entries);
}

#[test]
fn a_search_in_a_large_directory_comes_to_its_end() {
    let entries = number("HANDFAST_MCP_SEARCHED", 5_000);
    let scratch = Scratch::new();
    let top = scratch.at("many");
    std::fs::create_dir(&top).unwrap();
    for number in 0..entries {
        std::fs::File::create(top.join(format!("entry-{number:07}"))).unwrap();
    }
    let mut server = Mcp::start(&scratch, &[]);
    let mut found = 0;
    let mut take = |text: &str| {
        for line in text.lines() {
            assert!(line.ends_with(&format!("/many/entry-{found:07}")), "{line}");
            found += 1;
        }
    };
    let begun = std::time::Instant::now();
    let arguments = json!({"path": "many", "pattern": "*"});
    let pages = pages(&mut server, "search_files", arguments, &mut take);
    println!("{found} found in {pages} pages, {:?}", begun.elapsed());
    assert_eq!(found, entries);
}

#[test]
fn a_large_file_is_read_to_its_end() {
    let bytes = number("HANDFAST_MCP_BYTES", 2 << 20);
    let scratch = Scratch::new();
    let path = scratch.file("large", "");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let mut written = 0;
    for number in 0_u64.. {
        let line = format!("{number:>12} \u{e9} the quick brown fox\n");
        file.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
        if written >= bytes {
            break;
        }
    }
    file.into_inner().unwrap();
    // More than is read at once.
    let mut server = Mcp::start(&scratch, &["--read-limit", "1MiB"]);
    let (mut read, mut next) = (0_u64, 0_u64);
    let mut take = |text: &str| {
        for line in text.lines() {
            assert_eq!(line, format!("{next:>12} \u{e9} the quick brown fox"));
            next += 1;
        }
        read += text.len() as u64;
    };
    let begun = std::time::Instant::now();
    let pages = pages(
        &mut server,
        "read_text_file",
        json!({"path": "large"}),
        &mut take,
    );
    println!("{read} bytes in {pages} pages, {:?}", begun.elapsed());
    assert_eq!(read, written);
}
