//! Names that look the same: accents written in one character or two, special blanks, and bytes
//! that are shown as `\xHH`.
//!
//! A path is taken as it is if it is there. Otherwise each of its names may stand for the one
//! entry that looks the same; two such entries are an error.

use handfast::{ErrorKind, NameRef};
use unicode_normalization::UnicodeNormalization;

use crate::call::Call;
use crate::place::Place;
use crate::text::names;
use crate::trouble::Trouble;

/// The place under the names that are there.
pub(crate) fn settle(call: &Call<'_>, place: Place) -> Result<Place, Trouble> {
    let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b' ' | b'\\');
    if place.path.iter().all(plain) || is_there(call, &place.path) {
        return Ok(place);
    }
    // Above and at the allowed directories names are what the operator typed.
    let base = call
        .view
        .allowed
        .iter()
        .filter_map(|allowed| {
            let rest = crate::view::below(&allowed.place, &place.path)?;
            Some((allowed.place.clone(), rest))
        })
        .max_by_key(|(base, _)| base.len());
    let Some((mut at, rest)) = base else {
        return Ok(place);
    };
    let mut missing = false;
    for name in rest
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        let found = match missing {
            true => None,
            false => in_directory(call, &at, name)?,
        };
        // Below the first name that is new, everything is.
        missing |= found.is_none();
        at = crate::view::join(&at, &found.unwrap_or_else(|| meant(name)));
    }
    Ok(Place {
        shown: place.shown,
        path: at,
    })
}

fn is_there(call: &Call<'_>, path: &[u8]) -> bool {
    let looked = call.looking().symlink_metadata(path);
    !matches!(looked, Err(error) if error.kind() == ErrorKind::NotFound)
}

/// The entry that a name stands for.
fn in_directory(call: &Call<'_>, dir: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, Trouble> {
    if is_there(call, &crate::view::join(dir, name)) {
        return Ok(Some(name.to_vec()));
    }
    let Ok(entries) = call.looking().read_dir(dir) else {
        return Ok(None);
    };
    let exact = meant(name);
    let wanted = looks(name);
    let mut found = None;
    for entry in &entries {
        let bytes = entry.name.as_bytes();
        if bytes == exact {
            return Ok(Some(exact));
        }
        if looks(bytes) == wanted && found.replace(bytes.to_vec()).is_some() {
            let text = format!("Ambiguous Unicode path component: {}", names::shown(name));
            return Err(Trouble::new(ErrorKind::Invalid, text));
        }
    }
    Ok(found)
}

/// The bytes that a name stands for, if it holds `\xHH` and they make a name.
fn meant(name: &[u8]) -> Vec<u8> {
    let decoded = std::str::from_utf8(name).ok().and_then(names::meant);
    decoded
        .filter(|bytes| NameRef::parse(bytes).is_ok())
        .unwrap_or_else(|| name.to_vec())
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
