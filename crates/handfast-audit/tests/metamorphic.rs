//! What must not matter: pulling a part of a program out into a function of its own, or into a file
//! of its own, changes no answer of any fixture it can be done to.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

#[path = "checklist/index.rs"]
mod index;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use handfast_audit::{Input, Knowledge, Options, audit};

type Files = Vec<(String, String)>;

fn cases() -> BTreeMap<String, Files> {
    let mut out: BTreeMap<String, Files> = BTreeMap::new();
    for (path, text) in index::FILES {
        let parts: Vec<&str> = path.split('/').collect();
        let case = parts[..3].join("/");
        let name = parts.last().unwrap();
        let files = out.entry(case).or_default();
        files.push(((*name).to_owned(), (*text).to_owned()));
    }
    out
}

/// Item → `yes`, `na` or `finding`, over all reports.
fn answers(files: &Files) -> BTreeMap<String, &'static str> {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    let knowledge = KNOWLEDGE.get_or_init(|| Knowledge::new(&[]).unwrap());
    let inputs = files.iter().map(|(name, text)| Input {
        path: name.clone(),
        bytes: text.clone().into_bytes(),
        is_named: text.contains("expect: "),
        is_context: !text.contains("expect: "),
    });
    let outcome = audit(inputs.collect(), knowledge, &Options::default());
    let mut out = BTreeMap::new();
    for report in &outcome.reports {
        for one in &report.evidence {
            let answer = if one.is_yes { "yes" } else { "na" };
            out.entry(one.item.clone()).or_insert(answer);
        }
        for finding in &report.findings {
            for item in &finding.items {
                out.insert(item.clone(), "finding");
            }
        }
    }
    out
}

/// One way to pull a call out: what it begins with, how the helper is called, and the helper.
struct Extraction {
    ends: &'static str,
    call: &'static str,
    args: usize,
    helper_call: &'static str,
    helper: &'static str,
}

const EXTRACTIONS: [Extraction; 8] = [
    Extraction {
        ends: ".py",
        call: "os.path.join(",
        args: 2,
        helper_call: "_below(",
        helper: "\n\ndef _below(one, two):\n    return os.path.join(one, two)\n",
    },
    Extraction {
        ends: ".py",
        call: "os.lstat(",
        args: 1,
        helper_call: "_look(",
        helper: "\n\ndef _look(one):\n    return os.lstat(one)\n",
    },
    Extraction {
        ends: ".ts",
        call: "path.join(",
        args: 2,
        helper_call: "below(",
        helper: "\nfunction below(one: string, two: string) {\n  return path.join(one, two);\n}\n",
    },
    Extraction {
        ends: ".ts",
        call: "fs.lstatSync(",
        args: 1,
        helper_call: "look(",
        helper: "\nfunction look(one: string) {\n  return fs.lstatSync(one);\n}\n",
    },
    Extraction {
        ends: ".go",
        call: "filepath.Join(",
        args: 2,
        helper_call: "below(",
        helper: "\nfunc below(one, two string) string {\n\treturn filepath.Join(one, two)\n}\n",
    },
    Extraction {
        ends: ".go",
        call: "os.Lstat(",
        args: 1,
        helper_call: "look(",
        helper: "\nfunc look(one string) (os.FileInfo, error) {\n\treturn os.Lstat(one)\n}\n",
    },
    Extraction {
        ends: ".rs",
        call: "fs::symlink_metadata(",
        args: 1,
        helper_call: "look(",
        helper: "\nfn look(one: &Path) -> std::io::Result<fs::Metadata> {\n    fs::symlink_metadata(one)\n}\n",
    },
    Extraction {
        ends: ".c",
        call: "lstat(",
        args: 2,
        helper_call: "look(",
        helper: "\nstatic int look(const char *one, struct stat *two)\n{\n\treturn lstat(one, two);\n}\n",
    },
];

impl Extraction {
    /// Every call with plain arguments goes through the helper.
    fn apply(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        let mut changed = false;
        while let Some(at) = rest.find(self.call) {
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            let inner = &after[self.call.len()..];
            let end = inner.find(')')?;
            let args: Vec<&str> = inner[..end].split(", ").collect();
            let is_plain = |arg: &&str| {
                !arg.is_empty()
                    && arg
                        .trim_start_matches('&')
                        .chars()
                        .all(|c| c.is_alphanumeric() || c == '_')
            };
            let is_word = before.ends_with(|c: char| c.is_alphanumeric() || "_.:".contains(c));
            if !is_word && args.len() == self.args && args.iter().all(is_plain) {
                out.push_str(self.helper_call);
                changed = true;
            } else {
                out.push_str(self.call);
            }
            rest = inner;
        }
        out.push_str(rest);
        changed.then_some(out)
    }

    /// The helper at the end of the same file.
    fn inline(&self, files: &Files) -> Option<Files> {
        let mut again = files.clone();
        let mut any = false;
        for (name, text) in &mut again {
            if name.ends_with(self.ends)
                && text.contains("expect: ")
                && let Some(new) = self.apply(text)
            {
                *text = new + self.helper;
                any = true;
            }
        }
        any.then_some(again)
    }

    /// The helper in a file of its own, imported as the language does it.
    fn moved(&self, files: &Files) -> Option<Files> {
        let mut again = files.clone();
        let mut any = false;
        let called = self.helper_call.trim_end_matches('(');
        let (import, head) = match self.ends {
            ".py" => (
                format!("\nfrom aside import {called}\n"),
                "import os\n".to_owned(),
            ),
            ".ts" => (
                format!("\nimport {{ {called} }} from './aside';\n"),
                "import fs from 'fs';\nimport path from 'path';\n".to_owned(),
            ),
            ".go" => {
                let (_, text) = files.iter().find(|(name, _)| name.ends_with(".go"))?;
                let package = text.lines().find(|line| line.starts_with("package "))?;
                let head = format!("{package}\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n)\n");
                (String::new(), head)
            }
            _ => return None,
        };
        for (name, text) in &mut again {
            if name.ends_with(self.ends)
                && text.contains("expect: ")
                && let Some(new) = self.apply(text)
            {
                *text = new + &import;
                any = true;
            }
        }
        let helper = self.helper.replace("\nfunction ", "\nexport function ");
        again.push((format!("aside{}", self.ends), head + &helper));
        any.then_some(again)
    }
}

/// Compares the answers of every fixture before and after a change.
fn compare(change: impl Fn(&Extraction, &Files) -> Option<Files>) -> usize {
    let mut wrong = Vec::new();
    let mut changed = 0;
    for (case, files) in cases() {
        let mut before = None;
        for one in &EXTRACTIONS {
            let Some(again) = change(one, &files) else {
                continue;
            };
            changed += 1;
            let before = before.get_or_insert_with(|| answers(&files));
            let after = answers(&again);
            if *before != after {
                let differs: Vec<_> = before
                    .iter()
                    .filter(|(item, answer)| after.get(*item) != Some(answer))
                    .map(|(item, answer)| format!("{item}: {answer} → {:?}", after.get(item)))
                    .collect();
                wrong.push(format!("{case} {}: {}", one.call, differs.join(", ")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    changed
}

#[test]
fn extracting_a_helper_changes_no_answer() {
    let changed = compare(Extraction::inline);
    assert!(changed > 100, "only {changed} programs have such a call");
}

#[test]
fn moving_a_helper_to_another_file_changes_no_answer() {
    let changed = compare(Extraction::moved);
    assert!(changed > 80, "only {changed} programs have such a call");
}
