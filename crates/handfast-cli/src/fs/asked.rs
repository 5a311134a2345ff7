//! What was asked, as it was typed: where text becomes a path, and where errors get their names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use handfast::files::Files;
use handfast::{Effect, Error, ErrorKind, RelPath, escape};

use super::hints;
use super::target::Target;
use crate::exit::Exit;
use crate::failure::{Failure, exit_of};
use crate::json::JsonObject;

/// One verb on one path or two.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(super) target: &'a Target,
    /// The verb as it is typed.
    pub(super) verb: &'static str,
    /// The verb as people say it: `cannot <deed> …`.
    deed: &'static str,
    path: &'a OsStr,
    destination: Option<&'a OsStr>,
    /// What is between the two: `to`, `with`, `as`.
    joint: &'static str,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        target: &'a Target,
        verb: &'static str,
        deed: &'static str,
        path: &'a OsStr,
    ) -> Self {
        Self {
            target,
            verb,
            deed,
            path,
            destination: None,
            joint: "to",
        }
    }

    /// The same with a second path: ``cannot exchange `a` with `b` ``.
    pub(crate) fn and(mut self, joint: &'static str, destination: &'a OsStr) -> Self {
        self.joint = joint;
        self.destination = Some(destination);
        self
    }

    /// As [`Asked::new`], for a path that may be the top.
    pub(crate) fn new_dir(
        target: &'a Target,
        verb: &'static str,
        deed: &'static str,
        path: &'a OsStr,
    ) -> Self {
        Self::new(target, verb, deed, target.or_top(path))
    }

    /// The files that are asked.
    pub(crate) fn files(&self) -> &'a dyn Files {
        self.target.files()
    }

    /// The path, which may be the top.
    pub(crate) fn path_or_root(&self) -> Result<RelPath, Box<Failure>> {
        let path = self.target.parse(self.path.as_bytes());
        path.map_err(|error| self.failed(&error))
    }

    /// The path, which must name something below the top.
    pub(crate) fn path(&self) -> Result<RelPath, Box<Failure>> {
        self.inside(self.path)
    }

    /// The second path, which must name something below the top.
    pub(crate) fn destination(&self) -> Result<RelPath, Box<Failure>> {
        self.inside(self.destination.unwrap_or_default())
    }

    /// The second path, which may be the top.
    pub(crate) fn destination_or_root(&self) -> Result<RelPath, Box<Failure>> {
        let path = self
            .target
            .parse(self.destination.unwrap_or_default().as_bytes());
        path.map_err(|error| self.failed(&error))
    }

    fn inside(&self, text: &OsStr) -> Result<RelPath, Box<Failure>> {
        let path = self.target.parse(text.as_bytes());
        let path = path.map_err(|error| self.failed(&error))?;
        if path.is_root() {
            let top = self.target.top();
            let detail = format!("`{top}` is the root itself; name something in it");
            return Err(self.refused(ErrorKind::Invalid, &detail));
        }
        Ok(path)
    }

    /// The library said no.
    pub(crate) fn failed(&self, error: &Error) -> Box<Failure> {
        let failure = self.failure(error.kind(), error.detail(), error.effect());
        Box::new(failure.with_hints(hints::hints(self, error.kind(), Some(error))))
    }

    /// The library said no to something below what was asked for, whose path is given as it is
    /// typed, escaped.
    pub(crate) fn failed_below(&self, path: String, error: &Error) -> Failure {
        let mut failure = *self.failed(error);
        failure.sentence = format!("cannot {} `{path}`", self.deed);
        failure.path = path;
        failure
    }

    /// We say no.
    pub(crate) fn refused(&self, kind: ErrorKind, detail: &str) -> Box<Failure> {
        let failure = self.failure(kind, detail.to_owned(), Effect::None);
        Box::new(failure.with_hints(hints::hints(self, kind, None)))
    }

    /// What was typed is wrong, whatever the tree holds.
    pub(crate) fn misused(&self, detail: String) -> Box<Failure> {
        let mut failure = self.refused(ErrorKind::Invalid, &detail);
        failure.exit = Exit::Usage;
        failure
    }

    fn failure(&self, kind: ErrorKind, detail: String, effect: Effect) -> Failure {
        Failure {
            kind,
            verb: self.verb,
            sentence: self.sentence(),
            path: self.shown_path(),
            destination: self.destination.map(|text| escape(text.as_bytes())),
            detail,
            effect,
            exit: exit_of(kind),
            hints: Vec::new(),
        }
    }

    fn sentence(&self) -> String {
        let sentence = format!("cannot {} `{}`", self.deed, self.shown_path());
        match self.destination {
            Some(_) => format!("{sentence} {} `{}`", self.joint, self.shown_destination()),
            None => sentence,
        }
    }

    /// The path as it was given, escaped.
    pub(crate) fn shown_path(&self) -> String {
        escape(self.path.as_bytes())
    }

    /// The second path as it was given, escaped.
    pub(crate) fn shown_destination(&self) -> String {
        escape(self.destination.unwrap_or_default().as_bytes())
    }

    /// Whether both paths must exist.
    pub(super) fn exchanges(&self) -> bool {
        self.deed == "exchange"
    }

    pub(super) fn path_bytes(&self) -> &[u8] {
        self.path.as_bytes()
    }

    pub(super) fn destination_bytes(&self) -> Option<&[u8]> {
        self.destination.map(OsStrExt::as_bytes)
    }

    /// The paths, as every answer for programs begins.
    pub(crate) fn fields(&self) -> JsonObject {
        let fields = JsonObject::new().with_bytes("path", self.path_bytes());
        match self.destination_bytes() {
            Some(destination) => fields.with_bytes("destination", destination),
            None => fields,
        }
    }
}
