//! `read_text_file`, and its old name `read_file`.

use handfast::ErrorKind;

use super::content;
use crate::answer::Answer;
use crate::call::Call;
use crate::text::lines::{self, Part};
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let place = call.place("path")?;
    let (head, tail) = (call.number("head"), call.number("tail"));
    if head.is_some() && tail.is_some() {
        return Err(Trouble::new(
            ErrorKind::Invalid,
            "Cannot specify both head and tail parameters simultaneously",
        ));
    }
    if head.or(tail).is_some() {
        let file = content::open(call, &place)?;
        let version = content::version(call, &*file);
        let limit = usize::try_from(call.server.read_limit()).unwrap_or(usize::MAX);
        let part = match (head, tail) {
            (Some(count), _) => lines::head(&*file, count, limit),
            (None, count) => lines::tail(&*file, count.unwrap_or_default(), limit),
        };
        let Part { bytes, cut } =
            part.map_err(|error| content::unreadable(call, &error, &place))?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if tail.is_some() {
            text = text.replace("\r\n", "\n");
        }
        let note = cut.then(|| {
            format!("[These lines are longer than the {limit} bytes that one answer holds. Ask for fewer, or read from an offset.]")
        });
        return Ok(Answer::text(text).with_version(version).with_note(note));
    }
    let content = match call.number("offset") {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a saturating cast of what a client sent; beyond the end there is nothing"
        )]
        Some(offset) => content::from(call, &place, offset.max(0.0) as u64)?,
        None => content::whole(call, &place)?,
    };
    let (text, version, note) = content.into_text();
    Ok(Answer::text(text).with_version(version).with_note(note))
}
