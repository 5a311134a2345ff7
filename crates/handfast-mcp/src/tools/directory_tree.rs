//! `directory_tree`: JSON, indented by two.

use handfast::{ErrorKind, FileKind};
use serde::Serialize;

use super::position::Begin;
use super::walk::ToolWalk;
use crate::answer::ToolResult;
use crate::call::Call;
use crate::text::glob::Glob;
use crate::trouble::Trouble;

#[derive(Serialize)]
struct Node {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Node>>,
}

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let excluded = Excluded::new(&call.texts("excludePatterns"))?;
    let top = call.place("path")?;
    let mut walk = ToolWalk::new(call, &top, call.flag("skipIgnored"), Begin::First)?;
    // The directories from the top to where we are; the last is being filled.
    let mut open: Vec<Vec<Node>> = vec![Vec::new()];
    let mut held = 0;
    let limit = call.server.answer_limit();
    let depth = call.count("depth").unwrap_or(u64::MAX);
    let mut deeper = 0_u64;
    while let Some(found) = walk.next() {
        close_to(&mut open, found.depth);
        if excluded.matches(&found.relative) {
            continue;
        }
        // Roughly what the entry takes in the answer.
        held += found.name().len() as u64 + 4 * found.depth as u64 + 48;
        if held > limit {
            walk.stop(format!("at the {limit} bytes that one answer holds"));
            break;
        }
        let is_dir = found.kind == FileKind::Dir;
        if is_dir && (found.depth as u64) + 1 < depth {
            walk.enter(&found);
        } else if is_dir {
            deeper += 1;
        }
        if let Some(last) = open.last_mut() {
            last.push(Node {
                name: found.name().to_owned(),
                kind: if is_dir { "directory" } else { "file" },
                children: is_dir.then(Vec::new),
            });
        }
        if is_dir {
            open.push(Vec::new());
        }
    }
    close_to(&mut open, 0);
    let tree = open.pop().unwrap_or_default();
    let text = serde_json::to_string_pretty(&tree)
        .map_err(|error| Trouble::new(ErrorKind::Io, format!("EIO: {error}")))?;
    let deeper =
        (deeper > 0).then(|| format!("[{deeper} directories at depth {depth} were not entered.]"));
    Ok(walk.finish(ToolResult::text(text).with_note(deeper), None))
}

/// Puts finished directories into their parents until as many are open as an entry is deep.
fn close_to(open: &mut Vec<Vec<Node>>, depth: usize) {
    while open.len() > depth + 1 {
        let Some(children) = open.pop() else { return };
        let parent = open.last_mut().and_then(|above| above.last_mut());
        if let Some(parent) = parent {
            parent.children = Some(children);
        }
    }
}

/// Patterns of what is left out. One without a star fits at any depth, and what is below it.
pub(super) struct Excluded(Vec<Glob>);

impl Excluded {
    fn new(patterns: &[&str]) -> Result<Self, Trouble> {
        let mut globs = Vec::new();
        for pattern in patterns {
            globs.push(compile(pattern)?);
            if !pattern.contains('*') {
                globs.push(compile(&format!("**/{pattern}"))?);
                globs.push(compile(&format!("**/{pattern}/**"))?);
            }
        }
        Ok(Self(globs))
    }

    fn matches(&self, relative: &str) -> bool {
        self.0.iter().any(|glob| glob.matches(relative))
    }
}

/// Reads a pattern.
pub(super) fn compile(pattern: &str) -> Result<Glob, Trouble> {
    Glob::new(pattern)
        .map_err(|why| Trouble::new(ErrorKind::Invalid, format!("Invalid pattern: {why}")))
}
