//! `search_files`: full paths below the resolved directory, depth first.

use handfast::FileKind;
use handfast::files::LastLink;
use handfast_session::VirtualPath;

use super::directory_tree::compile;
use super::walk::Walk;
use crate::answer::Answer;
use crate::call::Call;
use crate::text::names;
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
    let real = names::path(&call.resolved(&top)?);
    let mut walk = Walk::new(call, &top)?;
    let mut paths = Vec::new();
    while let Some(found) = walk.next() {
        // A link that leads nowhere, or outside, is not there.
        let leads = |path: &VirtualPath| call.looking().metadata(path.as_rel(), LastLink::Follow);
        let dead = found.kind == FileKind::Symlink && leads(&found.path).is_err();
        if dead || excluded.iter().any(|glob| glob.matches(&found.relative)) {
            continue;
        }
        if pattern.matches(&found.relative) {
            if paths.len() == MOST {
                walk.stop(format!("after {MOST} paths"));
                break;
            }
            paths.push(format!("{}/{}", real.trim_end_matches('/'), found.relative));
        }
        if found.kind == FileKind::Dir {
            walk.enter(&found);
        }
    }
    let text = match paths.is_empty() {
        true => "No matches found".to_owned(),
        false => paths.join("\n"),
    };
    Ok(Answer::text(text).with_note(walk.note()))
}
