//! `read_multiple_files`: one failure spoils nothing.

use super::content::{self, Content};
use crate::answer::Answer;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let mut left = call.server.read_limit();
    let mut blocks = Vec::new();
    for path in call.texts("paths") {
        let read = call.patiently(|| content::whole(call, &call.place_of(path)?));
        let content = match read {
            Ok(Content {
                note: None, bytes, ..
            }) if bytes.len() as u64 <= left => bytes,
            Ok(_) => {
                blocks.push(format!(
                    "{path}: Error - it does not fit into this answer any more. Call read_text_file for it alone."
                ));
                continue;
            }
            Err(trouble) => {
                blocks.push(format!("{path}: Error - {}", trouble.text));
                continue;
            }
        };
        left -= content.len() as u64;
        blocks.push(format!("{path}:\n{}\n", String::from_utf8_lossy(&content)));
    }
    Ok(Answer::text(blocks.join("\n---\n")))
}
