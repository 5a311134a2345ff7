//! `search_files`: full paths below the resolved directory, depth first.

use handfast::FileKind;
use handfast::files::LastLink;

use super::directory_tree::compile;
use super::position::Begin;
use super::walk::ToolWalk;
use crate::answer::ToolResult;
use crate::call::{self, Call};
use crate::place::Location;
use crate::trouble::Trouble;

/// More paths than this are no answer any more.
const MOST: usize = 10_000;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let pattern = compile(call.text("pattern"))?;
    let excluded = call.texts("excludePatterns");
    let excluded = excluded
        .into_iter()
        .map(compile)
        .collect::<Result<Vec<_>, _>>()?;
    let top = call.place("path")?;
    let real = call.view.name_of(&call.resolved(&top)?);
    let begin = match call.cursor()? {
        Some(cursor) => Begin::Behind(cursor),
        None => Begin::First,
    };
    let mut walk = ToolWalk::new(call, &top, call.flag("skipIgnored"), begin)?;
    let mut paths: Vec<String> = Vec::new();
    let mut room = usize::try_from(call.server.answer_limit()).unwrap_or(usize::MAX);
    let mut told = None;
    let mut is_full = false;
    while let Some(found) = walk.next() {
        // A link that leads nowhere, or outside, is not there.
        let leads = |place: &Location| call.looking().metadata(place.rel(), LastLink::Follow);
        let dead = found.kind == FileKind::Symlink && leads(&found.place).is_err();
        if dead || excluded.iter().any(|glob| glob.matches(&found.relative)) {
            continue;
        }
        if !found.is_before && pattern.matches(&found.relative) {
            let path = format!("{}/{}", real.trim_end_matches('/'), found.relative);
            if paths.len() == MOST || room < path.len() {
                is_full = true;
                walk.stop(format!("after {} paths", paths.len()));
                break;
            }
            room = room.saturating_sub(path.len() + 1);
            paths.push(path);
            told = Some(found.place.path.clone());
        }
        if found.kind == FileKind::Dir {
            walk.enter(&found);
        }
    }
    let next = match &told {
        Some(path) if is_full => Some(walk.below_top(path)),
        _ => walk.last(),
    };
    let next = next.map(call::cursor);
    let text = match paths.is_empty() {
        true => "No matches found".to_owned(),
        false => paths.join("\n"),
    };
    Ok(walk.finish(ToolResult::text(text), next))
}
