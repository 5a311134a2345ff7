//! `handfast mcp`: what only the command itself shows. The server's own tests are in its crate.

#[path = "../../../handfast-mcp/tests/mcp/client.rs"]
#[allow(dead_code, reason = "the tests of the server use more of it")]
mod client;
mod logged;
mod more_tools;
mod order;
mod overlay;

use std::process::{Command, Stdio};

use self::client::command;
use crate::support::Scratch;

/// Runs the command until it ends by itself.
fn ended(mut command: Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty(), "stdout is the protocol's");
    (output.status.code().unwrap(), words)
}

#[test]
fn without_a_directory_it_is_wrong_usage() {
    let scratch = Scratch::new();
    let (code, words) = ended(command(&scratch, &["--no-log"]));
    assert_eq!(code, 2, "{words}");
}

#[test]
fn only_loopback_is_served() {
    let scratch = Scratch::new();
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        let mut command = command(&scratch, &["--no-log", "--http", address]);
        command.arg(scratch.inside()).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{address}");
    }
}
