//! The wall is up before any thread runs and before anything is read from the client.

use std::process::{Command, Stdio};

use super::client::state;
use crate::support::{Scratch, binary, skip};

#[test]
fn the_wall_comes_first() {
    let scratch = Scratch::new();
    if handfast::harden::offered() == handfast::harden::Wall::None {
        skip("the order of start", "this kernel has no Landlock");
        return;
    }
    let trace = scratch.path.join("trace");
    let traced = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&trace)
        .args(["-e", "trace=landlock_restrict_self,clone,clone3,read"])
        .arg(binary())
        .args(["mcp", "--state"])
        .arg(state(&scratch))
        .arg(scratch.inside())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !traced.is_ok_and(|status| status.success()) {
        skip("the order of start", "strace is not here, or may not trace");
        return;
    }
    let text = std::fs::read_to_string(trace).unwrap();
    let at = |what: &str| text.lines().position(|line| line.contains(what));
    let wall = at("landlock_restrict_self(").unwrap_or_else(|| panic!("no wall: {text}"));
    let thread = at("clone").unwrap_or_else(|| panic!("the log has a thread: {text}"));
    let input = at(" read(0,").unwrap_or_else(|| panic!("the input is read: {text}"));
    assert!(wall < thread && wall < input, "{text}");
}
