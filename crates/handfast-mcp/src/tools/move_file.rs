//! `move_file`: nothing is replaced, and a link moves itself.

use handfast::{ErrorKind, Metadata, RenameMode, Version};

use super::{content, versions};
use crate::answer::Answer;
use crate::call::Call;
use crate::log;
use crate::place::Place;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let expected = call.expected_version()?;
    let from = call.place("source")?;
    let to = call.place("destination")?;
    let before = match &expected {
        Some(expected) => Some(require(call, &from, expected)?),
        None => None,
    };
    rename(call, &from, &to)?;
    if let Some(before) = before {
        check_moved(call, &from, &to, &before)?;
    }
    let text = format!(
        "Successfully moved {} to {}",
        call.text("source"),
        call.text("destination")
    );
    Ok(Answer::text(text))
}

fn rename(call: &Call<'_>, from: &Place, to: &Place) -> Result<(), Trouble> {
    let session = call.session();
    session
        .rename(&from.path, &to.path, RenameMode::NoReplace)
        .map_err(|error| match error.kind() {
            ErrorKind::Exists => Trouble::new(
                ErrorKind::Exists,
                format!("Destination already exists: {}", to.shown),
            ),
            // A file on the way: the reference names the path that it is on the way to.
            ErrorKind::NotADirectory => {
                let is_source = log::quietly(|| session.symlink_metadata(&from.path)).is_err();
                call.trouble(&error, "realpath", if is_source { from } else { to })
            }
            _ => Trouble::of_two(&error, from, to, call.view),
        })
}

/// The file must be the version that was expected.
fn require(call: &Call<'_>, place: &Place, expected: &Version) -> Result<Metadata, Trouble> {
    let session = call.session();
    let (bytes, now) =
        content::versioned(call, place)?.ok_or_else(|| content::too_large(call, place))?;
    if let Some(why) = versions::difference(expected, &now, &bytes) {
        return Err(versions::stale(why, place, Some(now)));
    }
    log::quietly(|| session.symlink_metadata(&place.path))
        .map_err(|error| content::unreadable(call, &error, place))
}

/// Between the look and the move another file may have taken the name: then it is moved back.
fn check_moved(
    call: &Call<'_>,
    from: &Place,
    to: &Place,
    before: &Metadata,
) -> Result<(), Trouble> {
    let same = log::quietly(|| call.session().symlink_metadata(&to.path)).is_ok_and(|now| {
        let facts = |status: &Metadata| {
            let identity = status.identity;
            (
                identity.device,
                identity.inode,
                identity.born,
                status.len,
                status.modified,
            )
        };
        facts(&now) == facts(before)
    });
    if same {
        return Ok(());
    }
    let back = call
        .session()
        .rename(&to.path, &from.path, RenameMode::NoReplace);
    let mut trouble = versions::stale("another file stands under the name", from, None);
    if back.is_err() {
        trouble
            .text
            .push_str(" (it was moved, and could not be moved back)");
    }
    Err(trouble)
}
