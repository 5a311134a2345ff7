//! `propose_changes`: what waits in the overlay is ready for a person. Not in the reference.
//!
//! The id is made of what waits, so nothing is kept for it: the same changes have the same id for every
//! server of the session. A client that can ask the person in front of it does so; see `approval.rs` for what
//! comes of the answer.

use handfast::ErrorKind;
use sha2::{Digest, Sha256};

use super::{approval, list_changes};
use crate::answer::ToolResult;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let waiting = Waiting::of(call)?;
    let Some(asked) = call.optional_text("id") else {
        return waiting.propose(call);
    };
    let is_id = asked.len() == 16 && asked.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        let text = "Input validation error: id is not one that this tool gave";
        return Err(Trouble::new(ErrorKind::Invalid, text));
    }
    let text = if waiting.count == 0 {
        format!("Nothing waits any more: a person committed or discarded proposal {asked}.")
    } else if waiting.id == asked {
        format!("Proposal {asked} waits for a person, as it was proposed.")
    } else {
        format!(
            "Proposal {asked} is not what waits now: files were changed since, or a person decided about a part of it. {} now; list_changes names them, and propose_changes without an id proposes them.",
            waits(waiting.count)
        )
    };
    Ok(ToolResult::text(text))
}

/// What waits in the overlay.
struct Waiting {
    id: String,
    count: usize,
}

impl Waiting {
    fn of(call: &Call<'_>) -> Result<Self, Trouble> {
        let changes = call.changes().map_err(|error| {
            let text = format!("EIO: the overlay cannot be read: {}", error.detail());
            Trouble::new(ErrorKind::Io, text)
        })?;
        let mut digest = Sha256::new();
        for change in &changes {
            // Which bytes they are: the version of the file, where there is one.
            let version = call.looking().version(change.path.as_rel(), false);
            let version = version.map_or_else(|_| String::new(), |version| version.to_string());
            digest.update(format!(
                "{}\0{version}\0",
                list_changes::line(call.view, change)
            ));
        }
        let id = digest.finalize();
        let id = id
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            id,
            count: changes.len(),
        })
    }

    fn propose(&self, call: &Call<'_>) -> Result<ToolResult, Trouble> {
        if self.count == 0 {
            let text = "Nothing was changed, so there is nothing to propose";
            return Err(Trouble::new(ErrorKind::Invalid, text));
        }
        if let Some(said) = approval::ask(call, &self.id)? {
            return Ok(ToolResult::text(said));
        }
        let name = call.server.overlay().unwrap_or_default();
        Ok(ToolResult::text(format!(
            "Proposal {}: {} for a person, who looks with `handfast review {name}` or `handfast session diff {name}` and decides with `handfast session commit {name}` or `handfast session discard {name}`. Tell the person so. Nothing is on disk yet.",
            self.id,
            waits(self.count)
        )))
    }
}

/// How many changes.
pub(super) fn counted(count: usize) -> String {
    match count {
        1 => "1 change".to_owned(),
        _ => format!("{count} changes"),
    }
}

/// That so many changes wait.
fn waits(count: usize) -> String {
    let verb = if count == 1 { "waits" } else { "wait" };
    format!("{} {verb}", counted(count))
}
