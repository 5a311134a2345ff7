//! `read_multiple_files`: one failure spoils nothing.

use super::content;
use crate::answer::{Cut, ToolResult};
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let mut left = call.server.answer_limit();
    let mut blocks = Vec::new();
    let mut missing = 0;
    for path in call.texts("paths") {
        let read = call.patiently(|| {
            let place = call.place_of(path)?;
            Ok((content::whole(call, &place)?, place))
        });
        match read {
            Ok((content, place)) if content.cut.is_none() && content.bytes.len() as u64 <= left => {
                call.saw(&place, content.shown());
                left -= content.bytes.len() as u64;
                blocks.push(format!("{path}:\n{}\n", content::text(content.bytes)));
            }
            Ok(_) => {
                missing += 1;
                blocks.push(format!(
                    "{path}: Error - it does not fit into this answer any more. Call read_text_file for it alone."
                ));
            }
            Err(trouble) => blocks.push(format!("{path}: Error - {}", trouble.text)),
        }
    }
    let cut = (missing > 0).then(|| Cut {
        note: format!("[This is not all: {missing} of the files did not fit.]"),
        next: None,
    });
    Ok(ToolResult::text(blocks.join("\n---\n")).with_cut(cut))
}
