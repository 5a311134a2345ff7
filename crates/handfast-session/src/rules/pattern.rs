//! A pattern as it is written in a policy, checked once.

use handfast::{ErrorKind, escape};

use super::glob::Segment;
use crate::error::Error;

/// A protected pattern: gitignore's syntax without `!`.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// As it was written.
    pub(super) text: String,
    pub(super) segments: Vec<Segment>,
    /// It ended in `/`: directories only.
    pub(super) dir_only: bool,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| {
            Error::refused(
                ErrorKind::Invalid,
                format!(
                    "the pattern `{}` is not valid: {why}",
                    escape(text.as_bytes())
                ),
            )
        };
        if text.starts_with('!') {
            return Err(bad(
                "exceptions with `!` are not supported; write `\\!` for the character",
            ));
        }
        if text.starts_with('#') {
            return Err(bad(
                "a comment protects nothing; write `\\#` for the character",
            ));
        }
        if text.as_bytes().contains(&0) {
            return Err(bad("it holds a NUL byte"));
        }
        if text.ends_with(' ') && !text.ends_with("\\ ") {
            return Err(bad("it ends in a space; write `\\ ` if that is meant"));
        }
        let mut body = text;
        let dir_only = body.ends_with('/');
        body = body.strip_suffix('/').unwrap_or(body);
        let anchored = body.contains('/');
        body = body.strip_prefix('/').unwrap_or(body);
        if body.is_empty() {
            return Err(bad("it is empty"));
        }
        let mut segments = Vec::new();
        if !anchored {
            segments.push(Segment::AnyDepth);
        }
        for part in body.split('/') {
            let segment = Segment::parse(part.as_bytes()).map_err(bad)?;
            // `a/**/**/b` is `a/**/b`.
            if segment != Segment::AnyDepth || segments.last() != Some(&Segment::AnyDepth) {
                segments.push(segment);
            }
        }
        // A trailing `**` is everything inside: any name at any depth.
        if segments.last() == Some(&Segment::AnyDepth) {
            segments.push(Segment::Suffix(Vec::new()));
        }
        Ok(Self {
            text: text.to_owned(),
            segments,
            dir_only,
        })
    }
}
