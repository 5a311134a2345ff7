//! `Open` and `Resume`: a file is opened on behalf of the caller, and its descriptor handed over.

use std::os::fd::OwnedFd;

use handfast::files::FileHandle;
use handfast::{Identity, Verb, Version};
use handfast_session::policy::Writes;
use handfast_session::{Error as SessionError, OpenOptions, Session, SessionFile, VirtualPath};
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use crate::broker::{Broker, Tally};
use crate::caller::{Caller, Claim};
use crate::differs;
use crate::fault::{Code, Fault};
use crate::lease::GivenMode;
use crate::path;
use crate::wire::{Big, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open<'a> {
    #[serde(borrow)]
    lease: Text<'a>,
    #[serde(borrow)]
    path: Option<Text<'a>>,
    path_b64: Option<String>,
    /// `read`, or `write` where the policy hands out descriptors that write in place.
    #[serde(borrow)]
    mode: Option<Text<'a>>,
    /// Tell which version it is, for a later `Resume` or `Begin`.
    version: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    handle: String,
    version: String,
}

#[derive(Debug, Serialize)]
struct OpenedFile {
    /// The descriptor's index in this message.
    fd: u32,
    /// Which object it is, whatever its name.
    handle: String,
    size: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The descriptor is of a copy that nobody can write: the caller may write the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<bool>,
}

impl Broker {
    pub(crate) fn open(&self, caller: &mut Caller, asked: Open<'_>) -> Result<CallResult, Fault> {
        let path = path::from_fields("path", asked.path, asked.path_b64)?;
        let mode = match asked.mode.as_deref() {
            None | Some("read") => GivenMode::Read,
            Some("write") => GivenMode::Write,
            Some(_) => return Err(Fault::parameter("mode", "read or write")),
        };
        let verb = match mode {
            GivenMode::Read => Verb::Open,
            GivenMode::Write => Verb::OpenWrite,
        };
        let claim = caller.claim(self, &asked.lease, verb, &path)?;
        if mode == GivenMode::Write && self.rulebook().terms.writes != Writes::Direct {
            let why =
                "the policy takes writes by commit (`Begin`, `Commit`), not through descriptors";
            return Err(claim.refuse(self, verb, &path, Fault::denied(why)));
        }
        let held = claim.hold(self, verb, &path)?;
        held.has_opens()
            .map_err(|fault| claim.refuse(self, verb, &path, fault))?;
        let wants_version = asked.version == Some(true);
        let (file, version) = self.act(&claim, verb, &path, |session| {
            Self::open_at(session, &path, mode, wants_version)
        })?;
        held.count_open(&*self.store)
            .map_err(|fault| claim.refuse(self, verb, &path, fault))?;
        self.give(caller, &claim, &path, mode, file, version)
    }

    pub(crate) fn resume(&self, caller: &mut Caller, asked: Resume) -> Result<CallResult, Fault> {
        let path = path::from_fields("path", asked.path.map(Text::from), asked.path_b64)?;
        let seen: Version = asked
            .version
            .parse()
            .map_err(|_| Fault::parameter("version", "not a version this broker gave"))?;
        let claim = caller.claim(self, &asked.lease, Verb::Open, &path)?;
        let held = claim.hold(self, Verb::Open, &path)?;
        let stale = |fault: Fault| claim.refuse(self, Verb::Open, &path, fault);
        let opened = self.act(&claim, Verb::Open, &path, |session| {
            open_versioned(session, &path)
        });
        let (file, now) = match opened {
            Err(fault) if fault.kind() == Some(handfast::ErrorKind::NotFound) => {
                let fault = Fault::new(Code::Stale, "the object is gone").differing("gone");
                return Err(stale(fault.of_kind(handfast::ErrorKind::Stale)));
            }
            opened => opened?,
        };
        if handle_of(&file.metadata().identity) != asked.handle {
            let fault = Fault::new(Code::Stale, "another object has this name now");
            return Err(stale(
                fault
                    .differing("object")
                    .of_kind(handfast::ErrorKind::Stale),
            ));
        }
        let content = differs::content(&seen, &now, &file).map_err(|error| {
            stale(Fault::new(
                Code::Failed,
                format!("the file cannot be compared: {error}"),
            ))
        })?;
        if let Some(what) = seen.differs_from(&now).or(content) {
            let what = what.name();
            let fault = Fault::new(Code::Stale, format!("it was changed since: {what}"));
            return Err(stale(
                fault.differing(what).of_kind(handfast::ErrorKind::Stale),
            ));
        }
        held.count_open(&*self.store).map_err(stale)?;
        self.give(caller, &claim, &path, GivenMode::Read, file, Some(now))
    }

    fn open_at(
        session: &Session,
        path: &VirtualPath,
        mode: GivenMode,
        version: bool,
    ) -> Result<(SessionFile, Option<Version>), SessionError> {
        match mode {
            GivenMode::Read if version => {
                let (file, version) = open_versioned(session, path)?;
                Ok((file, Some(version)))
            }
            GivenMode::Read => Ok((session.open(path)?, None)),
            GivenMode::Write => {
                let how = OpenOptions::new().write(true);
                Ok((session.open_with(path, how)?, None))
            }
        }
    }

    /// Notes a descriptor as handed out, and hands it out.
    fn give(
        &self,
        caller: &Caller,
        claim: &Claim,
        path: &VirtualPath,
        mode: GivenMode,
        file: SessionFile,
        version: Option<Version>,
    ) -> Result<CallResult, Fault> {
        let handle = handle_of(&file.metadata().identity);
        let size = file.metadata().len;
        let copy = match mode {
            GivenMode::Write => None,
            GivenMode::Read => self
                .sealed_for(&caller.peer, path, &file, version)
                .map_err(|fault| claim.refuse(self, Verb::Open, path, fault))?,
        };
        let is_copy = copy.is_some();
        let (copy, version) = match copy {
            Some((copy, copied)) => (Some(copy), Some(copied)),
            None => (None, version),
        };
        let fd: OwnedFd =
            match copy.map_or_else(|| file.into_std_beyond_the_session().map(Into::into), Ok) {
                Ok(fd) => fd,
                // A bare descriptor would get round the quota.
                Err(_) => {
                    let why = "a root with a quota takes writes by commit only";
                    return Err(claim.refuse(self, Verb::OpenWrite, path, Fault::denied(why)));
                }
            };
        let out = claim.lease.outstanding.lock();
        out.unwrap_or_else(std::sync::PoisonError::into_inner).add(
            path,
            mode,
            &handle,
            caller.peer.process_ref(),
        );
        Tally::add(&self.tally.opened);
        let answer = CallResult::of(&OpenedFile {
            fd: 0,
            handle,
            size: Big(size),
            version: version.map(|version| version.to_string()),
            copy: is_copy.then_some(true),
        })?;
        Ok(answer.with_fd(fd))
    }
}

/// An object whatever its name, as the log writes it.
pub(crate) fn handle_of(identity: &Identity) -> String {
    let mut text = String::with_capacity(64);
    push_number(&mut text, identity.device, 16, 1);
    text.push(':');
    push_number(&mut text, identity.inode, 10, 1);
    if let Some(born) = identity.born {
        text.push('@');
        if born.seconds < 0 {
            text.push('-');
        }
        push_number(&mut text, born.seconds.unsigned_abs(), 10, 1);
        text.push('.');
        push_number(&mut text, born.nanoseconds.into(), 10, 9);
    }
    text
}

/// Writes a number with at least so many digits. Every open writes four, and `format!` took a
/// tenth of the broker's own time for that.
fn push_number(text: &mut String, number: u64, base: u64, least: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut rest = number;
    while rest > 0 || digits.len() - at < least {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(rest % base) as usize];
        rest /= base;
    }
    text.extend(digits[at..].iter().copied().map(char::from));
}

/// Opens a file and says which version of it was opened: the version is of the open file.
fn open_versioned(
    session: &Session,
    path: &VirtualPath,
) -> Result<(SessionFile, Version), SessionError> {
    let file = session.open(path)?;
    let version = FileHandle::version(&file, false)?;
    Ok((file, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_format_does() {
        for number in [0, 1, 9, 10, 255, 4_294_967_296, u64::MAX] {
            let mut text = String::new();
            push_number(&mut text, number, 16, 1);
            text.push(' ');
            push_number(&mut text, number, 10, 1);
            text.push(' ');
            push_number(&mut text, number, 10, 9);
            assert_eq!(text, format!("{number:x} {number} {number:09}"));
        }
    }
}
