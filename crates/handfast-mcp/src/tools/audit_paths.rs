//! `audit_paths`: the auditor over files of the session. Not in the reference, and off unless the
//! operator asks for it.

use handfast::files::{Files, LastLink};
use handfast::{ErrorKind, FileKind, OpenOptions};
use handfast_audit::{Input, Knowledge, Lang, MAX_FILE, Options, audit, render};

use super::content;
use super::directory_tree::compile;
use super::position::Begin;
use super::walk::ToolWalk;
use crate::answer::ToolResult;
use crate::call::Call;
use crate::place::Location;
use crate::trouble::Trouble;

/// After so many files, or so many bytes, it is enough.
const FILES: usize = 2_000;
const ALL_LIMIT: u64 = 16 << 20;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let excluded = call.texts("excludePatterns");
    let excluded = excluded
        .into_iter()
        .map(compile)
        .collect::<Result<Vec<_>, _>>()?;
    let top = call.place("path")?;
    let status = call
        .files()
        .metadata(top.rel(), LastLink::Follow)
        .map_err(|error| call.trouble(&error, "stat", &top))?;
    let mut inputs = Vec::new();
    let mut cut = None;
    if status.is_dir() {
        let mut walk = ToolWalk::new(call, &top, false, Begin::First)?;
        let mut read = 0;
        while let Some(found) = walk.next() {
            let left_out = excluded.iter().any(|glob| glob.matches(&found.relative));
            if left_out || found.name().starts_with('.') {
                continue;
            }
            if found.kind == FileKind::Dir {
                walk.enter(&found);
            } else if found.kind == FileKind::File && Lang::of_path(&found.relative).is_some() {
                // What is protected, or gone by now, is not looked at.
                let Ok(bytes) = content(call, call.looking(), &found.place) else {
                    continue;
                };
                read += bytes.len() as u64;
                inputs.push(input(found.relative.clone(), bytes, false));
                if inputs.len() >= FILES || read > ALL_LIMIT {
                    walk.stop(format!("after {} files", inputs.len()));
                    break;
                }
            }
        }
        cut = Some(walk);
    } else {
        let name = top.shown.rsplit('/').next().unwrap_or_default().to_owned();
        inputs.push(input(name, content(call, call.files(), &top)?, true));
    }
    let knowledge = Knowledge::new(&[])
        .map_err(|error| Trouble::new(ErrorKind::Io, format!("the auditor's own data: {error}")))?;
    let outcome = audit(inputs, &knowledge, &Options::default());
    let mut text = render::text(&outcome);
    if text.trim().is_empty() {
        text = "Nothing here lets a path from outside reach a file operation.".to_owned();
    }
    let answer = ToolResult::text(text);
    Ok(match cut {
        Some(walk) => walk.finish(answer, None),
        None => answer,
    })
}

fn content(call: &Call<'_>, files: &dyn Files, place: &Location) -> Result<Vec<u8>, Trouble> {
    // One more than is parsed: it is skipped then, and the report says so.
    files
        .open(place.rel(), OpenOptions::new())
        .and_then(|file| content::read_some(&*file, 0, MAX_FILE as u64 + 1))
        .map_err(|error| call.trouble(&error, "open", place))
}

fn input(path: String, bytes: Vec<u8>, is_named: bool) -> Input {
    Input {
        path,
        bytes,
        is_named,
        is_context: false,
    }
}
