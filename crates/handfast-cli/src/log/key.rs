//! `--key`: a public key, or a file that holds one.

use std::ffi::OsStr;

use handfast_ledger::note::VerifierKey;

use super::trouble::{read_given, usage};
use crate::failure::Failure;

/// The key that was given, as text or in a file; `log init` prints one on a line of its own.
pub(crate) fn given(verb: &'static str, text: &str) -> Result<VerifierKey, Box<Failure>> {
    let error = match VerifierKey::parse(text.trim()) {
        Ok(key) => return Ok(key),
        Err(error) => error,
    };
    let content = read_given(verb, OsStr::new(text)).map_err(|failure| {
        // What has the form of a key was not meant as a file.
        match text.contains('+') {
            true => usage(verb, "cannot use the key", error.to_string()),
            false => failure,
        }
    })?;
    let line = String::from_utf8_lossy(&content);
    let line = line.lines().next().unwrap_or_default();
    VerifierKey::parse(line.trim()).map_err(|error| {
        let sentence = format!("no key in `{}`", handfast::escape(text.as_bytes()));
        usage(verb, &sentence, error.to_string())
    })
}
