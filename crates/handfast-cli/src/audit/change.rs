//! `--diff`: what changed, and the files it changed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use handfast_audit::Lang;
use handfast_audit::diff::{Change, parse};

use super::{failure, files};
use crate::exit::Exit;
use crate::failure::Failure;

/// A diff larger than this is no change that a person reads.
const MAX_DIFF: u64 = 64 * 1024 * 1024;

/// The changes since a revision, or those of a diff on standard input.
pub(super) fn read(rev: &str, paths: &[PathBuf]) -> Result<Vec<Change>, Box<Failure>> {
    let mut text = Vec::new();
    if rev == "-" {
        let read = std::io::stdin()
            .lock()
            .take(MAX_DIFF)
            .read_to_end(&mut text);
        read.map_err(|error| refused("standard input", &error.to_string(), Exit::CannotTell))?;
    } else {
        if rev.starts_with('-') {
            return Err(refused(
                rev,
                "a revision does not begin with a dash",
                Exit::Usage,
            ));
        }
        let run = Command::new("git")
            .args([
                "diff",
                "--no-color",
                "--no-ext-diff",
                "--relative",
                rev,
                "--",
            ])
            .args(paths)
            .stdin(Stdio::null())
            .output();
        let run = run.map_err(|error| refused("git", &error.to_string(), Exit::CannotTell))?;
        if !run.status.success() {
            let words = String::from_utf8_lossy(&run.stderr);
            let first = words.lines().next().unwrap_or_default();
            let first = first
                .trim_start_matches("fatal: ")
                .trim_start_matches("warning: ");
            let hint = if first.contains("Not a git repository") {
                "this directory is in no git repository; run it in one, or give a diff on standard input with `--diff -`"
            } else {
                first
            };
            return Err(refused(rev, hint, Exit::Usage));
        }
        text = run.stdout;
    }
    Ok(parse(&String::from_utf8_lossy(&text)))
}

/// The changed files as they are now, each with the lines around it.
pub(super) fn inputs(changes: &[Change]) -> Result<files::AuditInputs, Box<Failure>> {
    let mut out = files::AuditInputs::default();
    for change in changes {
        if Lang::of_path(&change.path).is_some() {
            files::collect(Path::new(&change.path), &mut out)
                .map_err(|detail| refused(&change.path, &detail, Exit::CannotTell))?;
        }
    }
    Ok(out)
}

fn refused(what: &str, detail: &str, exit: Exit) -> Box<Failure> {
    Box::new(failure(&handfast::escape(what.as_bytes()), detail, exit))
}
