//! Changes as unified text.

use crate::overlay::Sides;
use crate::whole::Changed;

/// The unified diff of two texts; `None` if a side is not text.
pub(crate) fn unified(change: &Changed, sides: &Sides) -> Option<String> {
    let before = text(sides.before.as_deref())?;
    let after = text(sides.after.as_deref())?;
    let old = match (&sides.before, &change.from) {
        (None, _) => "/dev/null".to_owned(),
        (Some(_), Some(from)) => format!("a{from}"),
        (Some(_), None) => format!("a{}", change.path),
    };
    let new = match &sides.after {
        None => "/dev/null".to_owned(),
        Some(_) => format!("b{}", change.path),
    };
    let diff = similar::TextDiff::from_lines(before, after);
    let text = diff
        .unified_diff()
        .context_radius(3)
        .header(&old, &new)
        .to_string();
    Some(text)
}

/// Text is UTF-8 without NUL.
fn text(bytes: Option<&[u8]>) -> Option<&str> {
    match bytes {
        None => Some(""),
        Some(bytes) => std::str::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0')),
    }
}
