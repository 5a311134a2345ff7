//! `audit`: the checklist's own cases, exit codes, forms, bad input.

use std::time::Duration;

use serde_json::Value;

use crate::support::{Run, Scratch};

fn run(scratch: &Scratch, args: &[&str], input: &[u8]) -> Run {
    let _ = scratch;
    // The checklist's template, where the test asks for no other form.
    let is_asked = args.contains(&"--format") || args.first() == Some(&"explain");
    let form: &[&str] = if is_asked { &[] } else { &["--format", "text"] };
    let args = [&["audit"], form, args].concat();
    Run::of(&args, input, Duration::from_secs(60))
}

fn path(scratch: &Scratch, name: &str, text: &str) -> String {
    scratch.file(name, text).to_str().unwrap().to_owned()
}

const WRITER: &str = "import fs from 'fs';
import path from 'path';
const ROOT = '/srv/tenants';
export function writeTenantFile(tenant: string, relPath: string, body: string) {
  const target = path.join(ROOT, tenant, relPath);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, body);
}
";

#[test]
fn an_unguarded_writer_is_blocked_and_every_missing_guard_is_named() {
    let scratch = Scratch::new();
    let file = path(&scratch, "w.ts", WRITER);
    let found = run(&scratch, &["--input", "tenant,relPath", &file], b"");
    assert_eq!(found.code, 1, "{found:?}");
    for header in [
        "Verdict: BLOCK",
        "Trusted root: ROOT",
        "External-input surface: relPath, tenant",
        "Operation kind: create",
        "Findings:",
        "Coverage summary:",
    ] {
        assert!(found.text().contains(header), "{header}");
    }
    for item in [
        "A1", "A2", "A3", "A4", "B1", "B3", "C1", "C2", "C3", "D1", "D2", "D3", "F3",
    ] {
        assert!(found.text().contains(item), "{item}");
    }
}

#[test]
fn a_contract_for_code_that_does_not_exist() {
    let scratch = Scratch::new();
    let found = run(&scratch, &["explain", "--contract"], b"");
    assert_eq!(found.code, 0);
    let text = found.text().to_lowercase();
    for word in [
        "canonicalize",
        "per-segment",
        "lstat",
        "atomic",
        "rename",
        "allowlist",
    ] {
        assert!(text.contains(word), "{word}");
    }
    assert!(!text.contains("zip slip") && !text.contains("decompression bomb"));
}

#[test]
fn without_context_there_is_one_open_question_and_nothing_else() {
    let scratch = Scratch::new();
    let file = path(
        &scratch,
        "e.ts",
        "const p = base + '/' + name;\nfs.writeFileSync(p, body);\n",
    );
    let found = run(&scratch, &[&file], b"");
    assert_eq!(found.code, 1, "{found:?}");
    let text = found.text();
    assert!(text.starts_with("Verdict: BLOCK\nTarget: "), "{text}");
    assert!(text.contains("  Classification: Open question\n  Trigger: trusted-root-undeclared\n"));
    for never in [
        "Coverage summary",
        "Checklist evidence",
        "Cross-cutting",
        "Residual risk",
        "\n2. ",
    ] {
        assert!(!text.contains(never), "{never}");
    }
    // In a directory such a target is listed, and changes nothing.
    let listed = run(
        &scratch,
        &["--format", "json", scratch.inside().to_str().unwrap()],
        b"",
    );
    let value: Value = serde_json::from_str(listed.text()).unwrap();
    assert_eq!(
        (listed.code, &value["verdict"]),
        (0, &"NOT_APPLICABLE".into()),
        "{value}"
    );
    assert_eq!(
        value["insufficient"][0]["missing"],
        "trusted-root-undeclared"
    );
}

#[test]
fn windows_only_code_is_not_asked_for_no_follow() {
    let scratch = Scratch::new();
    let text = "import fs from 'fs';
import path from 'path';
const ROOT = 'C:\\\\ProgramData\\\\AppName\\\\jobs';
export function handler(req) {
  fs.writeFileSync(path.win32.join(ROOT, req.query.name), 'x');
}
";
    let file = path(&scratch, "win.ts", text);
    let found = run(&scratch, &[&file], b"");
    assert_eq!(found.code, 1, "{found:?}");
    assert!(
        found.text().contains("D2: N/A because")
            && found.text().contains("FILE_FLAG_OPEN_REPARSE_POINT"),
        "{}",
        found.text()
    );
    assert!(found.text().contains("realpath"));
}

#[test]
fn quick_shows_blockers_only() {
    let scratch = Scratch::new();
    let text = "import { rmSync } from 'fs';
import { join } from 'path';
const root = '/srv/jobs';
export function drop(tenant: string, name: string) { rmSync(join(root, tenant, name)); }
";
    let file = path(&scratch, "rm.ts", text);
    let found = run(&scratch, &["--depth", "quick", &file], b"");
    assert_eq!(found.code, 1);
    assert!(found.text().contains("Depth: quick"));
    assert!(!found.text().contains("MEDIUM"), "{}", found.text());
}

#[test]
fn what_has_no_external_path_has_no_report() {
    let scratch = Scratch::new();
    let go = "package a\nimport \"os\"\nfunc Load() { os.ReadFile(\"/etc/app/config.toml\") }\n";
    let file = path(&scratch, "c.go", go);
    let found = run(&scratch, &["--format", "json", &file], b"");
    let value: Value = serde_json::from_str(found.text()).unwrap();
    assert_eq!(
        (found.code, &value["verdict"]),
        (0, &"NOT_APPLICABLE".into()),
        "{value}"
    );
    assert_eq!(value["reports"].as_array().unwrap().len(), 0);
    // What is no source text is said to be none: no report, and no quiet success.
    for (name, text) in [
        ("zip.txt", "How do I validate entry names of a zip?"),
        ("trail.txt", "Which hiking trails are open?"),
    ] {
        let file = path(&scratch, name, text);
        let found = run(&scratch, &["--format", "json", &file], b"");
        assert_eq!((found.code, found.text()), (3, ""), "{name}: {found:?}");
    }
}

#[test]
fn what_cannot_be_read_is_said_and_is_three() {
    let scratch = Scratch::new();
    let php = path(&scratch, "a.php", "<?php readfile($_GET['f']);");
    let found = run(&scratch, &[&php], b"");
    assert_eq!(found.code, 3, "{found:?}");
    assert!(found.stderr.contains("PHP is not supported"), "{found:?}");
    let empty = Scratch::new();
    let found = run(&empty, &[empty.inside().to_str().unwrap()], b"");
    assert_eq!(found.code, 3, "{found:?}");
    assert!(
        found
            .stderr
            .contains("no file there is in a supported language"),
        "{found:?}"
    );
}

#[test]
fn the_gate_is_the_exit_code_in_every_form() {
    let scratch = Scratch::new();
    let file = path(&scratch, "w.ts", WRITER);
    let dir = scratch.inside();
    let dir = dir.to_str().unwrap();
    // Parameters of a public function are a guess: BLOCK by the checklist, no confirmed hole.
    for (args, code) in [
        (&[file.as_str()][..], 1),
        (&["--fail-on", "confirmed", &file], 0),
        (&[dir], 0),
        (&["--fail-on", "block", dir], 1),
        (&["--fail-on", "concerns", dir], 1),
    ] {
        for format in ["short", "text", "json", "sarif", "markdown"] {
            let all = [&["--format", format], args].concat();
            assert_eq!(run(&scratch, &all, b"").code, code, "{all:?}");
        }
    }
    let short = run(&scratch, &["--format", "short", dir], b"");
    let text = short.text();
    assert!(text.contains("verdict BLOCK, gate pass"), "{text}");
    assert!(
        text.contains("the verdict is BLOCK and the gate passes"),
        "{text}"
    );
    let json = run(&scratch, &["--format", "json", dir], b"");
    let value: Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!(
        (&value["gate"], &value["verdict"]),
        (&"pass".into(), &"BLOCK".into())
    );
}

#[test]
fn the_short_form_shows_the_line_and_fits_the_terminal() {
    let scratch = Scratch::new();
    let text = "import os\nfrom flask import request\nROOT = '/srv'\ndef show():\n    return open(os.path.join(ROOT, request.args['name'])).read()\n";
    let file = path(&scratch, "app.py", text);
    let found = run(&scratch, &["--format", "short", &file], b"");
    assert_eq!(found.code, 1, "{found:?}");
    let text = found.text();
    assert!(
        text.starts_with("error: external text reaches `open`"),
        "{text}"
    );
    assert!(
        text.contains("open(os.path.join(ROOT, request.args['name']))"),
        "{text}"
    );
    assert!(text.contains("^^^^"), "{text}");
    assert!(
        text.contains("= external text `request.args.name`"),
        "{text}"
    );
}

#[test]
fn a_date_that_is_none_is_refused() {
    let scratch = Scratch::new();
    let file = path(&scratch, "w.ts", WRITER);
    let found = run(&scratch, &["--today", "2027-02-30", &file], b"");
    assert_eq!(found.code, 2, "{found:?}");
    assert!(found.stderr.contains("is no date"), "{found:?}");
    let text = format!("// handfast-accept: D1 owner=@a until=2027-13-01 reason=\"x\"\n{WRITER}");
    let file = path(&scratch, "b.ts", &text);
    let found = run(&scratch, &[&file], b"");
    assert!(
        found.text().contains("`2027-13-01` is no date"),
        "{found:?}"
    );
    assert!(!found.text().contains("expired"), "{found:?}");
}

#[test]
fn standard_input_has_a_name() {
    let scratch = Scratch::new();
    let found = run(
        &scratch,
        &["--stdin-filename", "w.ts", "--input", "tenant,relPath", "-"],
        WRITER.as_bytes(),
    );
    assert_eq!(found.code, 1);
    assert!(found.text().contains("Target: w.ts"));
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let scratch = Scratch::new();
    for index in 0..12 {
        scratch.file(&format!("w{index}.ts"), WRITER);
    }
    let dir = scratch.inside();
    let dir = dir.to_str().unwrap();
    for format in ["text", "json", "sarif", "markdown"] {
        let one = run(&scratch, &["--format", format, "--threads", "1", dir], b"");
        for threads in ["2", "8"] {
            let many = run(
                &scratch,
                &["--format", format, "--threads", threads, dir],
                b"",
            );
            assert!(
                one.stdout == many.stdout && one.code == many.code,
                "{format} {threads}"
            );
        }
    }
}

#[test]
fn acceptance_needs_an_owner_a_reason_and_time() {
    let scratch = Scratch::new();
    let json = |line: &str| {
        let text = format!("// handfast-accept: D1 {line}\n{WRITER}");
        let file = path(&scratch, "a.ts", &text);
        let found = run(
            &scratch,
            &[
                "--today",
                "2026-06-01",
                "--format",
                "json",
                "--input",
                "tenant,relPath",
                &file,
            ],
            b"",
        );
        let value: Value = serde_json::from_str(found.text()).unwrap();
        let findings = value["reports"][0]["findings"].as_array().unwrap().clone();
        findings
            .into_iter()
            .find(|one| one["items"][0] == "D1")
            .unwrap()["classification"]
            .clone()
    };
    assert_eq!(
        json("owner=@storage until=2027-01-01 reason=\"tmpfs per tenant\""),
        "Accepted tradeoff"
    );
    assert_eq!(
        json("owner=@storage until=2026-01-01 reason=\"tmpfs per tenant\""),
        "Confirmed issue"
    );
    assert_eq!(json("reason=\"tmpfs per tenant\""), "Confirmed issue");
    assert_eq!(json("owner=@storage"), "Confirmed issue");
}

#[test]
fn bad_files_are_skipped_with_a_reason_and_nothing_hangs() {
    let scratch = Scratch::new();
    scratch.file("w.ts", WRITER);
    scratch.file("binary.py", b"\0\x01\x02");
    scratch.file("latin.py", b"import os\nx = '\xff\xfe'\n");
    scratch.file("minified.js", "a=1;".repeat(300_000));
    scratch.file("half.py", "def f(:\n  open(");
    scratch.file(
        "deep.js",
        format!("x = {}1{}", "(".repeat(20_000), ")".repeat(20_000))
            .replace("((((((((((", "((((((((((\n"),
    );
    scratch.fifo("pipe.py");
    scratch.link("/etc", "out");
    let found = run(
        &scratch,
        &[
            "--format",
            "json",
            "--fail-on",
            "block",
            scratch.inside().to_str().unwrap(),
        ],
        b"",
    );
    let value: Value = serde_json::from_str(found.text()).unwrap();
    assert_eq!(found.code, 1);
    let reasons = value["skipped"].to_string();
    assert!(
        reasons.contains("binary") && reasons.contains("minified"),
        "{reasons}"
    );
    assert_eq!(value["reports"].as_array().unwrap().len(), 1, "{value}");
}

#[test]
fn wrong_usage_of_audit_is_two_and_nothing_to_read_is_three() {
    let scratch = Scratch::new();
    for args in [
        &[][..],
        &["--depth", "deep", "x.py"],
        &["--format", "xml", "x.py"],
        &["explain", "G9"],
        &["explain", "A1", "--lang", "cobol"],
    ] {
        assert_eq!(run(&scratch, args, b"").code, 2, "{args:?}");
    }
    assert_eq!(run(&scratch, &["no/such/file.py"], b"").code, 3);
}

/// Thousands of files, names and identifiers that would move a terminal, links and pipes that lead
/// out: every report is bounded, whole and escaped, and nothing outside is read.
#[test]
fn many_and_hostile_files_are_bounded_and_escaped() {
    let scratch = Scratch::new();
    for index in 0..3000 {
        let name = format!("d{}/m{index}.py", index % 50);
        scratch.file(&name, format!("import os\nx{index} = {index}\n"));
    }
    let hostile = WRITER
        .replace("ROOT", "RO\u{202e}OT")
        .replace("relPath", "rel\u{1b}[2JPath");
    scratch.file("evil\u{1b}[31m\n.ts", &hostile);
    scratch.file("w.ts", WRITER);
    std::fs::write(scratch.outside().join("secret.ts"), WRITER).unwrap();
    scratch.link(scratch.outside(), "away");
    scratch.link(scratch.outside().join("secret.ts"), "secret.ts");
    scratch.fifo("pipe.ts");
    scratch.file("large.js", "var a = 1;\n".repeat(300_000));
    scratch.file(
        "nested.c",
        format!("int f() {}{}", "{".repeat(30_000), "}".repeat(30_000)),
    );
    let dir = scratch.inside();
    let dir = dir.to_str().unwrap();
    let before = scratch.snapshot();
    for format in ["short", "text", "json", "sarif", "markdown"] {
        let args = ["--format", format, "--fail-on", "block", dir];
        let found = run(&scratch, &args, b"");
        assert_eq!(found.code, 1, "{format}");
        let text = found.text();
        assert!(text.contains("w.ts"), "{format}");
        assert!(!text.contains("secret"), "{format}: a link was followed");
        let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(bad), "{format}: {text:?}");
        assert!(!found.stderr.contains(bad), "{format}: {:?}", found.stderr);
    }
    let json = run(&scratch, &["--format", "json", dir], b"");
    let value: Value = serde_json::from_str(json.text()).unwrap();
    let skipped = value["skipped"].to_string();
    assert!(
        skipped.contains("large.js") && skipped.contains("larger than"),
        "{skipped}"
    );
    assert!(scratch.snapshot() == before, "an audit changes nothing");
}
