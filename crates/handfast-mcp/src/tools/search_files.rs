//! `search_files`: full paths below the resolved directory, depth first.

use handfast::FileKind;
use handfast::files::LastLink;
use handfast_session::VirtualPath;

use super::directory_tree::compile;
use super::walk::Walk;
use crate::answer::Answer;
use crate::call::{self, Call};
use crate::trouble::Trouble;

/// More paths than this are no answer any more.
const MOST: usize = 10_000;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let pattern = compile(call.text("pattern"))?;
    let excluded = call.texts("excludePatterns");
    let excluded = excluded
        .into_iter()
        .map(compile)
        .collect::<Result<Vec<_>, _>>()?;
    let top = call.place("path")?;
    let real = call.view.name_of(&call.resolved(&top)?);
    let mut walk = Walk::new(call, &top, call.flag("skipIgnored"))?;
    if let Some(cursor) = call.cursor()? {
        let after = String::from_utf8(cursor).map_err(|_| call.bad_cursor())?;
        walk.begin_after(after);
    }
    let mut paths: Vec<String> = Vec::new();
    let mut room = usize::try_from(call.server.answer_limit()).unwrap_or(usize::MAX);
    let mut next = None;
    while let Some(found) = walk.next() {
        // A link that leads nowhere, or outside, is not there.
        let leads = |path: &VirtualPath| call.looking().metadata(path.as_rel(), LastLink::Follow);
        let dead = found.kind == FileKind::Symlink && leads(&found.path).is_err();
        if dead || excluded.iter().any(|glob| glob.matches(&found.relative)) {
            continue;
        }
        if !found.is_before && pattern.matches(&found.relative) {
            let path = format!("{}/{}", real.trim_end_matches('/'), found.relative);
            if paths.len() == MOST || room < path.len() {
                next = paths
                    .last()
                    .and_then(|path| path.get(real.trim_end_matches('/').len() + 1..));
                walk.stop(format!("after {} paths", paths.len()));
                break;
            }
            room = room.saturating_sub(path.len() + 1);
            paths.push(path);
        }
        if found.kind == FileKind::Dir {
            walk.enter(&found);
        }
    }
    let next = next
        .or(walk.last())
        .map(|relative| call::cursor(relative.as_bytes()));
    let text = match paths.is_empty() {
        true => "No matches found".to_owned(),
        false => paths.join("\n"),
    };
    Ok(walk.finish(Answer::text(text), next))
}
