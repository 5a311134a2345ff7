//! Tools that are off unless the operator asks for them.

use serde_json::json;

use super::client::{Mcp, command};
use crate::support::Scratch;

#[cfg(feature = "mcp-audit")]
#[test]
fn the_auditor_answers_where_it_was_asked_for() {
    let scratch = Scratch::new();
    let naive = "from flask import request, Flask\napp = Flask(__name__)\n@app.get('/f')\ndef f():\n    \
                 name = request.args['name']\n    return open('/srv/data/' + name).read()\n";
    scratch.file("app.py", naive);
    scratch.file("secret.py", naive);
    std::os::unix::fs::symlink(scratch.outside(), scratch.at("out")).unwrap();
    std::fs::write(scratch.outside().join("other.py"), naive).unwrap();
    let mut server = Mcp::start(
        &scratch,
        &["--tools", "audit", "--deny", "secret.py", "--read-only"],
    );
    let dir = scratch.inside();
    let report = server.text("audit_paths", json!({"path": dir}));
    assert!(
        report.contains("BLOCK") && report.contains("app.py:6"),
        "{report}"
    );
    assert!(!report.contains("secret.py"), "a protected file: {report}");
    assert!(!report.contains("other.py"), "a link out: {report}");
    let one = server.text("audit_paths", json!({"path": scratch.at("app.py")}));
    assert!(one.contains("app.py:6"), "{one}");
    let refused = server.refusal("audit_paths", json!({"path": scratch.at("secret.py")}));
    assert!(refused.starts_with("Access denied"), "{refused}");
}

#[cfg(not(feature = "mcp-audit"))]
#[test]
fn a_build_without_the_auditor_says_so() {
    let scratch = Scratch::new();
    let mut command = command(&scratch, &["--tools", "audit"]);
    command.arg(scratch.inside());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("not in this build"), "{words}");
    assert!(words.contains("--features mcp-audit"), "{words}");
}

#[test]
fn nobody_is_offered_a_tool_that_was_not_asked_for() {
    let scratch = Scratch::new();
    let mut command = command(&scratch, &[]);
    command.arg(scratch.inside());
    let mut server = Mcp::spawn(command);
    let tools = server.request("tools/list", json!({})).to_string();
    assert!(tools.contains("search_content") && !tools.contains("audit_paths"));
    let call = json!({"name": "audit_paths", "arguments": {"path": scratch.inside()}});
    let answer = server.request("tools/call", call).to_string();
    assert!(answer.contains("not found"), "{answer}");
}
