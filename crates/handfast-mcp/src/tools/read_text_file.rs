//! `read_text_file`, and its old name `read_file`.

use handfast::ErrorKind;

use super::content::{self, TextOfFile};
use crate::answer::{Cut, ToolResult};
use crate::call::Call;
use crate::place::Location;
use crate::text::lines::{self, Part};
use crate::trouble::Trouble;

/// Which part is asked for.
enum Wanted {
    Whole,
    From(u64),
    Head { from: u64, count: f64 },
    Tail(f64),
    Lines { first: u64, last: Option<u64> },
}

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    let wanted = wanted(call)?;
    let (content, first) = match wanted {
        Wanted::Whole => (content::whole(call, &place)?, Some(1)),
        Wanted::From(0) => (content::from(call, &place, 0)?, Some(1)),
        Wanted::From(offset) => (content::from(call, &place, offset)?, None),
        Wanted::Head { from, count } => {
            let first = (from == 0).then_some(1);
            (head(call, &place, from, count)?, first)
        }
        Wanted::Tail(count) => (tail(call, &place, count)?, None),
        Wanted::Lines { first, last } => (range(call, &place, first, last)?, Some(first)),
    };
    call.saw(&place, content.shown());
    let mut text = content::text(content.bytes);
    if matches!(wanted, Wanted::Tail(_)) {
        text = text.replace("\r\n", "\n");
    }
    if call.flag("lineNumbers") {
        let first = first.ok_or_else(|| {
            invalid("lineNumbers needs a beginning that is known: use startLine and endLine")
        })?;
        text = numbered(&text, first);
    }
    Ok(ToolResult::text(text)
        .with_version(content.version)
        .with_cut(content.cut))
}

fn invalid(text: &str) -> Trouble {
    Trouble::new(ErrorKind::Invalid, text)
}

fn wanted(call: &Call<'_>) -> Result<Wanted, Trouble> {
    let (head, tail) = (call.number("head"), call.number("tail"));
    let offset = match call.optional_text("cursor") {
        Some(cursor) => Some(cursor.parse().map_err(|_| call.bad_cursor())?),
        None => call.count("offset"),
    };
    let (start, end) = (call.count("startLine"), call.count("endLine"));
    match (head, tail, offset, start.or(end)) {
        (Some(_), Some(_), ..) => Err(invalid(
            "Cannot specify both head and tail parameters simultaneously",
        )),
        (None, Some(_), Some(_), _) => Err(invalid("tail cannot go with offset or cursor")),
        (Some(_), .., Some(_)) | (_, Some(_), _, Some(_)) | (_, _, Some(_), Some(_)) => Err(
            invalid("startLine and endLine cannot go with head, tail, offset or cursor"),
        ),
        (Some(count), _, offset, _) => Ok(Wanted::Head {
            from: offset.unwrap_or(0),
            count,
        }),
        (_, Some(count), ..) => Ok(Wanted::Tail(count)),
        (_, _, Some(offset), _) => Ok(Wanted::From(offset)),
        (.., Some(_)) => Ok(Wanted::Lines {
            first: start.unwrap_or(1).max(1),
            last: end,
        }),
        _ => Ok(Wanted::Whole),
    }
}

fn limit(call: &Call<'_>) -> usize {
    usize::try_from(call.server.answer_limit()).unwrap_or(usize::MAX)
}

fn head(call: &Call<'_>, place: &Location, from: u64, count: f64) -> Result<TextOfFile, Trouble> {
    let file = content::open(call, place)?;
    let version = content::version(call, &*file);
    let part = lines::head(&*file, from, count, limit(call));
    let part = part.map_err(|error| content::unreadable(call, &error, place))?;
    Ok(of_part(
        call,
        part,
        from,
        file.opened_metadata().len,
        version,
    ))
}

fn tail(call: &Call<'_>, place: &Location, count: f64) -> Result<TextOfFile, Trouble> {
    let file = content::open(call, place)?;
    let version = content::version(call, &*file);
    let part = lines::tail(&*file, count, limit(call));
    let part = part.map_err(|error| content::unreadable(call, &error, place))?;
    let len = file.opened_metadata().len;
    let from = len.saturating_sub(part.bytes.len() as u64);
    let mut content = of_part(call, part, from, len, version);
    // The end was asked for: what is before it is nothing to go on with.
    if let Some(cut) = &mut content.cut {
        cut.next = None;
    }
    Ok(content)
}

/// Lines from one number to another.
fn range(
    call: &Call<'_>,
    place: &Location,
    first: u64,
    last: Option<u64>,
) -> Result<TextOfFile, Trouble> {
    if last.is_some_and(|last| last < first) {
        return Err(invalid("endLine lies before startLine"));
    }
    let file = content::open(call, place)?;
    let version = content::version(call, &*file);
    let failed = |error| content::unreadable(call, &error, place);
    let len = file.opened_metadata().len;
    let from = lines::start_of(&*file, first).map_err(failed)?;
    let from = from.ok_or_else(|| invalid("startLine lies beyond the end of the file"))?;
    #[allow(clippy::cast_precision_loss, reason = "no file has so many lines")]
    let count = last.map_or(f64::INFINITY, |last| (last - first + 1) as f64);
    let part = lines::head(&*file, from, count, limit(call)).map_err(failed)?;
    Ok(of_part(call, part, from, len, version))
}

fn of_part(
    call: &Call<'_>,
    part: Part,
    offset: u64,
    len: u64,
    version: Option<handfast::Version>,
) -> TextOfFile {
    let Part { bytes, cut } = part;
    let next = offset + bytes.len() as u64;
    let limit = limit(call);
    TextOfFile {
        cut: cut.then(|| Cut {
            note: format!(
                "[These lines are longer than the {limit} bytes that one answer holds. Ask for fewer, or go on at offset {next}.]"
            ),
            next: Some(next.to_string()),
        }),
        bytes,
        offset,
        len,
        version,
    }
}

/// The text with the number of each line before it.
fn numbered(text: &str, first: u64) -> String {
    let lines = (first..).zip(text.split_inclusive('\n'));
    lines
        .map(|(number, line)| format!("{number:>6}\t{line}"))
        .collect()
}
