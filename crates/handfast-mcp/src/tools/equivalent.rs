//! Names that look the same: accents written in one character or two, special blanks, and bytes
//! that are shown as `\xHH`.
//!
//! A path is taken as it is if it is there. Otherwise each of its names may stand for the one
//! entry that looks the same; two such entries are an error.

use handfast::files::{Entry, LastLink};
use handfast::{ErrorKind, Name, NameRef};
use handfast_session::VirtualPath;
use unicode_normalization::UnicodeNormalization;

use crate::call::Call;
use crate::place::Location;
use crate::text::names;
use crate::trouble::Trouble;

/// The place under the names that are there.
pub(crate) fn settle(call: &Call<'_>, place: Location) -> Result<Location, Trouble> {
    let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b' ' | b'\\');
    if place.rel().as_bytes().iter().all(plain) || is_there(call, &place.path) {
        return Ok(place);
    }
    // Above and at the allowed directories names are what the operator typed.
    let base = call.view.holder(&place.path);
    let Some((base, rest)) = base.and_then(|base| Some((base, place.path.strip_prefix(base)?)))
    else {
        return Ok(place);
    };
    let mut at = base.clone();
    let mut missing = false;
    for name in rest.components() {
        let found = match missing {
            true => None,
            false => in_directory(call, &at, name)?,
        };
        // Below the first name that is new, everything is.
        missing |= found.is_none();
        at = at.join(&found.unwrap_or_else(|| meant(name)));
    }
    Ok(Location {
        shown: place.shown,
        path: at,
    })
}

fn is_there(call: &Call<'_>, path: &VirtualPath) -> bool {
    let looked = call.looking().metadata(path.as_rel(), LastLink::Itself);
    !matches!(looked, Err(error) if error.kind() == ErrorKind::NotFound)
}

/// The entry that a name stands for.
fn in_directory(
    call: &Call<'_>,
    dir: &VirtualPath,
    name: NameRef<'_>,
) -> Result<Option<Name>, Trouble> {
    if is_there(call, &dir.join(name)) {
        return Ok(Some(name.to_name()));
    }
    let Ok(entries) = call.looking().entries(dir.as_rel()) else {
        return Ok(None);
    };
    let exact = meant(name);
    let wanted = looks(name.as_bytes());
    let mut found = None;
    for Entry { name: entry, .. } in entries.flatten() {
        if entry == exact {
            return Ok(Some(exact));
        }
        if looks(entry.as_bytes()) == wanted && found.replace(entry).is_some() {
            let shown = names::shown(name.as_bytes());
            let text = format!("Ambiguous Unicode path component: {shown}");
            return Err(Trouble::new(ErrorKind::Invalid, text));
        }
    }
    Ok(found)
}

/// The bytes that a name stands for, if it holds `\xHH` and they make a name.
fn meant(name: NameRef<'_>) -> Name {
    let decoded = name.to_str().and_then(names::meant);
    decoded
        .and_then(|bytes| Name::parse(bytes).ok())
        .unwrap_or_else(|| name.to_name())
}

/// A name as it looks: composed, with plain blanks.
fn looks(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) => text
            .nfc()
            .map(|c| {
                if matches!(c, '\u{a0}' | '\u{202f}') {
                    ' '
                } else {
                    c
                }
            })
            .collect::<String>()
            .into_bytes(),
        Err(_) => name.to_vec(),
    }
}
