//! A log that keeps to a size.

use std::path::Path;

use serde_json::json;

use super::client::{Mcp, state};
use crate::support::Scratch;

/// What files take on the disk.
fn bytes_below(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => bytes_below(&path),
                false => std::fs::metadata(&path).unwrap().len(),
            }
        })
        .sum()
}

#[test]
fn a_log_keeps_to_the_size_that_was_asked_for() {
    if std::env::var_os("HANDFAST_BIN").is_some() {
        println!("skipped: the command takes no log as small as this crate's own server does");
        return;
    }
    const CALLS: usize = 4_000;
    let size = |args: &[&str]| {
        let scratch = Scratch::new();
        scratch.file("a", "text");
        for _ in 0..2 {
            let mut server = Mcp::start(&scratch, args);
            for _ in 0..CALLS / 2 {
                server.text("read_text_file", json!({"path": "a"}));
            }
            assert_eq!(server.finish(), 0);
        }
        let entries = state(&scratch).join("logs/mcp-0/tile/entries");
        bytes_below(&entries) + bytes_below(&state(&scratch).join("logs/mcp-0/segments"))
    };
    let (all, kept) = (size(&[]), size(&["--log-keep-bytes", "1MiB"]));
    println!("{CALLS} calls: {all} bytes of events, {kept} where 1 MiB is kept");
    assert!(all > 3 << 19, "too few events to tell: {all}");
    assert!(kept < 1 << 20, "{kept} bytes are kept");
}
