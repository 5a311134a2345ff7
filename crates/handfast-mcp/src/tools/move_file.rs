//! `move_file`: nothing is replaced, and a link moves itself.

use std::io::Write as _;

use handfast::files::{LastLink, Put, WhatToRemove};
use handfast::{Difference, Error, ErrorKind, Metadata, OpenOptions, RenameMode, Version, Written};
use handfast_session::{Reason, SessionError as _};
use sha2::{Digest as _, Sha256};

use super::{content, versions};
use crate::answer::ToolResult;
use crate::call::Call;
use crate::place::Location;
use crate::trouble::Trouble;

const OTHER_FILE: &str = "another file has this name now";

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let expected = call.expected_version()?;
    let from = call.place("source")?;
    let to = call.place("destination")?;
    let before = match &expected {
        Some(expected) => Some(require(call, &from, expected)?),
        None => None,
    };
    rename(call, &from, &to)?;
    if let Some((version, before)) = before {
        check_moved(call, (&from, &to), &version, &before)?;
    }
    let text = format!(
        "Successfully moved {} to {}",
        call.text("source"),
        call.text("destination")
    );
    Ok(ToolResult::text(text))
}

fn rename(call: &Call<'_>, from: &Location, to: &Location) -> Result<(), Trouble> {
    let renamed = call
        .files()
        .rename(from.rel(), to.rel(), RenameMode::NoReplace);
    let is_file = || itself(call, from).is_ok_and(|status| status.is_file());
    match &renamed {
        Err(error) if error.reason() == Some(Reason::TwoMounts) && is_file() => {
            return across(call, from, to);
        }
        _ => {}
    }
    renamed.map_err(|error| two_failed(call, &error, from, to))
}

/// Why nothing came from one place to another.
pub(super) fn two_failed(
    call: &Call<'_>,
    error: &Error,
    from: &Location,
    to: &Location,
) -> Trouble {
    match error.kind() {
        ErrorKind::Exists => taken(to),
        // A file on the way: the reference names the path that it is on the way to.
        ErrorKind::NotADirectory => {
            let is_source = itself(call, from).is_err();
            call.trouble(error, "realpath", if is_source { from } else { to })
        }
        _ => Trouble::of_two(error, from, to, call.view),
    }
}

/// Moves a file from one allowed directory to another: a new file, then the old one is removed if
/// it is still the one that was copied. Never are both gone.
fn across(call: &Call<'_>, from: &Location, to: &Location) -> Result<(), Trouble> {
    let files = call.files();
    let (version, copied) =
        copy(call, from, to).map_err(|error| two_failed(call, &error, from, to))?;
    let moved = files.remove(from.rel(), WhatToRemove::FileIf(&version));
    moved.map_err(|error| {
        let mut trouble = call.trouble(&error, "rename", from);
        trouble.may_pass = false;
        // Only the copy is removed: somebody else may have put something there by now.
        let removed = copied
            .version()
            .and_then(|copy| files.remove(to.rel(), WhatToRemove::FileIf(&copy)));
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => trouble
                .text
                .push_str(" (what is at the destination was left there)"),
            Ok(()) => {}
        }
        trouble
    })
}

/// Copies a file to a free name. The version is that of the object whose content was copied.
pub(super) fn copy(
    call: &Call<'_>,
    from: &Location,
    to: &Location,
) -> Result<(Version, Written), Error> {
    let source = call.files().open(from.rel(), OpenOptions::new())?;
    let version = source.version(false)?;
    let mode = source.opened_metadata().mode & 0o777;
    let options = call.write_options().mode(mode);
    let mut staged = call.files().stage(to.rel(), options)?;
    let mut buffer = vec![0; 64 * 1024];
    let mut at = 0;
    loop {
        let got = source.read_at(&mut buffer, at)?;
        if got == 0 {
            break;
        }
        staged.write_all(&buffer[..got])?;
        at += got as u64;
    }
    Ok((version, staged.publish(Put::New)?))
}

/// What stands at a place, a link itself.
fn itself(call: &Call<'_>, place: &Location) -> Result<Metadata, Error> {
    call.looking().metadata(place.rel(), LastLink::Itself)
}

fn taken(to: &Location) -> Trouble {
    let text = format!("Destination already exists: {}", to.shown);
    Trouble::new(ErrorKind::Exists, text)
}

/// The file must be the version that was expected. Gives that, and what its name leads to.
fn require(
    call: &Call<'_>,
    place: &Location,
    expected: &Version,
) -> Result<(Version, Metadata), Trouble> {
    let (bytes, now) =
        content::versioned(call, place)?.ok_or_else(|| content::too_large(call, place))?;
    if let Some(why) = versions::difference(expected, &now, &bytes) {
        return Err(versions::stale(why, place, Some(now)));
    }
    // The name is looked up again: what moves must be the file that was read, and no link to it. It must
    // be as it was read, too: what is found here is what the moved file is compared with.
    let status = itself(call, place).map_err(|error| content::unreadable(call, &error, place))?;
    let why = if now.is_of(&status) {
        return Ok((now, status));
    } else if !now.is_of_object(&status) {
        OTHER_FILE
    } else if now.is_of_renamed(&status) {
        Difference::Metadata.sentence()
    } else {
        Difference::Content.sentence()
    };
    Err(versions::stale(why, place, None))
}

/// Between the look and the move another file may have taken the name, or the file may have been
/// changed: then it is moved back.
fn check_moved(
    call: &Call<'_>,
    (from, to): (&Location, &Location),
    version: &Version,
    before: &Metadata,
) -> Result<(), Trouble> {
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
    let same = itself(call, to).is_ok_and(|now| facts(&now) == facts(before));
    if same && has_content_of(call, to, version) {
        return Ok(());
    }
    let back = call
        .files()
        .rename(to.rel(), from.rel(), RenameMode::NoReplace);
    let mut trouble = versions::stale(
        "it was changed, or another file has this name now",
        from,
        None,
    );
    if back.is_err() {
        trouble
            .text
            .push_str(" (it was moved, and could not be moved back)");
    }
    Err(trouble)
}

/// Whether a file has the content of a version. One that was written a moment before it was read has a
/// digest: the next change may have left it the same times.
fn has_content_of(call: &Call<'_>, place: &Location, version: &Version) -> bool {
    let Some(digest) = version.digest() else {
        return true;
    };
    let found: Option<[u8; 32]> = content::versioned(call, place)
        .ok()
        .flatten()
        .map(|(bytes, _)| Sha256::digest(bytes).into());
    found == Some(digest)
}
