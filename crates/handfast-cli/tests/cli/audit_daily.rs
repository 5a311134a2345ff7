//! `audit` from day to day: changes, baselines, configuration, a file for the report.

use std::time::Duration;

use crate::support::{Run, Scratch};

fn run(args: &[&str], input: &[u8]) -> Run {
    // The checklist's template, where the test asks for no other form.
    let form: &[&str] = if args.contains(&"--format") {
        &[]
    } else {
        &["--format", "text"]
    };
    let args = [&["audit"], form, args].concat();
    Run::of(&args, input, Duration::from_secs(60))
}

const GUARDED: &str = "import os
import re
from flask import Flask, abort, request, send_file

app = Flask(__name__)
ROOT = '/srv/files'


@app.route('/get')
def get():
    name = request.args['name']
    if not re.fullmatch('[a-z]{1,20}', name):
        abort(400)
    return send_file(os.path.join(ROOT, name))


@app.route('/list')
def listing():
    return os.listdir(os.path.join(ROOT, request.args['dir']))
";

fn write(scratch: &Scratch, name: &str, text: &str) -> String {
    scratch.file(name, text).to_str().unwrap().to_owned()
}

#[test]
fn a_guard_that_a_change_removes_is_a_finding_and_the_rest_is_not() {
    let scratch = Scratch::new();
    let guard = "    if not re.fullmatch('[a-z]{1,20}', name):\n        abort(400)\n";
    let file = write(&scratch, "app.py", &GUARDED.replace(guard, ""));
    let diff = format!(
        "--- {file}\n+++ {file}\n@@ -11,4 +11,2 @@ def get():\n     name = request.args['name']\n-    if not re.fullmatch('[a-z]{{1,20}}', name):\n-        abort(400)\n     return send_file(os.path.join(ROOT, name))\n"
    );
    let found = run(&["--diff", "-"], diff.as_bytes());
    assert_eq!(found.code, 1, "{found:?}");
    let text = found.text();
    assert!(text.contains("app.py:12"), "{text}");
    assert!(
        !text.contains("os.listdir"),
        "an untouched function: {text}"
    );
    let none = run(&["--diff", "-"], b"");
    assert_eq!(none.code, 0, "{none:?}");
}

#[test]
fn a_baseline_shows_what_is_new() {
    let scratch = Scratch::new();
    let file = write(&scratch, "app.py", GUARDED);
    let baseline = scratch.at("known").to_str().unwrap().to_owned();
    let written = run(&["--write-baseline", &baseline, "--", &file], b"");
    assert_eq!(written.code, 0, "{written:?}");
    let quiet = run(&["--baseline", &baseline, "--", &file], b"");
    assert_eq!(quiet.code, 0, "{quiet:?}");
    let short = run(&["--format", "short", "--baseline", &baseline, &file], b"");
    assert_eq!(short.text().lines().count(), 1, "{short:?}");
    assert!(short.text().starts_with("nothing new"), "{short:?}");
    // Moved lines change nothing; a new operation does.
    write(&scratch, "app.py", &format!("# moved\n\n{GUARDED}"));
    let moved = run(&["--baseline", &baseline, "--", &file], b"");
    assert_eq!(moved.code, 0, "{moved:?}");
    let more = format!(
        "{GUARDED}\n\n@app.route('/drop')\ndef drop():\n    os.remove(os.path.join(ROOT, request.args['f']))\n"
    );
    write(&scratch, "app.py", &more);
    let new = run(&["--baseline", &baseline, "--", &file], b"");
    assert_eq!(new.code, 1, "{new:?}");
    assert!(new.text().contains("os.remove"));
    let wrong = write(&scratch, "no-baseline", "something else\n");
    assert_eq!(run(&["--baseline", &wrong, "--", &file], b"").code, 2);
}

#[test]
fn a_configuration_declares_and_a_misspelt_one_is_refused() {
    let scratch = Scratch::new();
    let code = "import os\n\ndef save(base, name, body):\n    with open(os.path.join(base, name), 'w') as out:\n        out.write(body)\n";
    let file = write(&scratch, "store.py", code);
    let bare = run(&["--", &file], b"");
    // The first part of the path is its root, whatever it is called; the caller is a guess.
    assert!(bare.text().contains("Trusted root: base"), "{bare:?}");
    assert!(bare.text().contains("Likely risk"), "{bare:?}");
    let config = write(
        &scratch,
        "audit.toml",
        "[audit]\nroot = \"base\"\ninput = [\"name\"]\n\n[[audit.control]]\nitem = \"C5\"\nowner = \"@ops\"\nreason = \"one mount per tenant\"\n",
    );
    let found = run(&["--config", &config, "--", &file], b"");
    assert_eq!(found.code, 1, "{found:?}");
    let text = found.text();
    assert!(text.contains("Trusted root: base"), "{text}");
    assert!(
        text.contains("C5: N/A because one mount per tenant (@ops)"),
        "{text}"
    );
    let wrong = write(&scratch, "wrong.toml", "[audit]\nroots = \"base\"\n");
    let refused = run(&["--config", &wrong, "--", &file], b"");
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn the_report_goes_into_a_file_if_asked() {
    let scratch = Scratch::new();
    let file = write(&scratch, "app.py", GUARDED);
    let report = scratch.at("report.json").to_str().unwrap().to_owned();
    let found = run(
        &["--format", "json", "--output-file", &report, "--", &file],
        b"",
    );
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.text().is_empty());
    let text = std::fs::read_to_string(report).unwrap();
    assert!(text.starts_with('{') && text.contains("\"verdict\""));
}

#[test]
fn an_acceptance_that_nobody_answers_for_is_a_finding() {
    let scratch = Scratch::new();
    let text = GUARDED.replace(
        "@app.route('/list')",
        "# handfast-accept: D2 reason=\"read only\"\n@app.route('/list')",
    );
    let file = write(&scratch, "app.py", &text);
    let found = run(&["--", &file], b"");
    assert!(
        found
            .text()
            .contains("D2 an acceptance names no owner or no reason"),
        "{found:?}"
    );
}

#[test]
fn knowledge_of_a_project_is_taken_and_a_misspelt_row_is_refused() {
    let scratch = Scratch::new();
    let code = "import os\nimport store\nfrom flask import Flask, request\n\napp = Flask(__name__)\nROOT = '/srv/files'\n\n\n@app.route('/put')\ndef put():\n    store.put_file(os.path.join(ROOT, request.args['name']))\n";
    let file = write(&scratch, "app.py", code);
    let without = run(&["--", &file], b"");
    assert_eq!(without.code, 0, "{without:?}");
    let rows = "[[row]]\ncall = [\"store.put_file\"]\nrole = \"sink\"\nwhat = \"create\"\n";
    let rows_file = write(&scratch, "rows.toml", rows);
    let with = run(
        &["--knowledge", &format!("python={rows_file}"), "--", &file],
        b"",
    );
    assert_eq!(with.code, 1, "{with:?}");
    assert!(with.text().contains("`store.put_file`"), "{with:?}");
    let config = write(
        &scratch,
        "audit.toml",
        &format!("[audit.knowledge]\npython = \"{rows_file}\"\n"),
    );
    let configured = run(&["--config", &config, "--", &file], b"");
    assert_eq!(configured.stdout, with.stdout);
    let wrong = write(&scratch, "wrong.toml", &rows.replace("role", "rolle"));
    for bad in [
        format!("python={wrong}"),
        format!("cobol={rows_file}"),
        format!("python={}", scratch.at("none").display()),
        rows_file,
    ] {
        let refused = run(&["--knowledge", &bad, "--", &file], b"");
        assert_eq!(refused.code, 2, "{bad}: {refused:?}");
    }
}

/// A repository as git makes it, a guard removed in it, and the revision before.
#[test]
fn a_change_since_a_revision_is_asked_of_git() {
    let scratch = Scratch::new();
    let git = |args: &[&str]| {
        std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args)
            .current_dir(scratch.inside())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", scratch.outside())
            .output()
    };
    match git(&["init", "-q"]) {
        Ok(out) => assert!(out.status.success(), "{out:?}"),
        Err(error) => return crate::support::skip("git", &error.to_string()),
    }
    write(&scratch, "app.py", GUARDED);
    write(&scratch, "other.py", GUARDED);
    assert!(git(&["add", "."]).unwrap().status.success());
    assert!(
        git(&["commit", "-q", "-m", "one"])
            .unwrap()
            .status
            .success()
    );
    let audit = |rev: &str| {
        let child = crate::support::handfast(&["audit", "--format", "text", "--diff", rev])
            .current_dir(scratch.inside())
            .env("HOME", scratch.outside())
            .spawn()
            .unwrap();
        Run::wait(child, Duration::from_secs(60))
    };
    let nothing = audit("HEAD");
    assert_eq!(nothing.code, 0, "{nothing:?}");
    let guard = "    if not re.fullmatch('[a-z]{1,20}', name):\n        abort(400)\n";
    write(&scratch, "app.py", &GUARDED.replace(guard, ""));
    let removed = audit("HEAD");
    assert_eq!(removed.code, 1, "{removed:?}");
    let text = removed.text();
    assert!(text.contains("Target: app.py"), "{text}");
    assert!(text.contains("A1"), "{text}");
    assert!(
        !text.contains("other.py") && !text.contains("os.listdir"),
        "untouched: {text}"
    );
    for bad in ["no-such-revision", "--output=x"] {
        let refused = audit(bad);
        assert_eq!(refused.code, 2, "{bad}: {refused:?}");
    }
}
