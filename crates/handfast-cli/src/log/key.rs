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
    let content = read_given(verb, OsStr::new(text)).map_err(|mut failure| {
        // A text with a `+` was meant as a key, not as a file name.
        if text.contains('+') {
            return usage(verb, "cannot use the key", error.to_string());
        }
        let hint =
            "`--key` takes the line that `handfast log init` printed, or a file that holds it";
        failure.hints.push(hint.to_owned());
        failure
    })?;
    let line = String::from_utf8_lossy(&content);
    let line = line.lines().next().unwrap_or_default();
    VerifierKey::parse(line.trim()).map_err(|error| {
        let sentence = format!("no key in `{}`", handfast::escape(text.as_bytes()));
        usage(verb, &sentence, error.to_string())
    })
}
