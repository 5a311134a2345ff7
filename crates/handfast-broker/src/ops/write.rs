//! `Begin`, `Commit`, `Abort`: a file is written privately and published whole.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use handfast::files::{Files, Put};
use handfast::{Durability, ErrorKind, Verb, Version, Written};
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use super::held::HeldName;
use super::manner::Manner;
use super::open::handle_of;
use crate::broker::{Broker, Tally};
use crate::caller::Caller;
use crate::drafts::{self, Draft, Expect, Room};
use crate::fault::{Code, Fault};
use crate::path;
use crate::wire::{Big, Text};

/// No handle is longer: a device, an inode and a time.
const MAX_HANDLE: usize = 128;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin<'a> {
    #[serde(borrow)]
    lease: Text<'a>,
    #[serde(borrow)]
    path: Option<Text<'a>>,
    path_b64: Option<String>,
    /// The file will be no larger.
    max_size: Big,
    /// Commit only if the file is still this version.
    #[serde(borrow)]
    version: Option<Text<'a>>,
    /// Commit only if the name is free.
    new: Option<bool>,
    #[serde(borrow)]
    file_mode: Option<Text<'a>>,
    #[serde(borrow)]
    created_mode: Option<Text<'a>>,
    #[serde(borrow)]
    durability: Option<Text<'a>>,
    /// The handle of the directory that holds the name; it is committed into no other.
    dir: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commit<'a> {
    #[serde(borrow)]
    lease: Text<'a>,
    #[serde(borrow)]
    draft: Text<'a>,
    /// How much of the private file is the content.
    size: Big,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Abort {
    lease: String,
    draft: String,
}

#[derive(Debug, Serialize)]
struct Begun<'a> {
    fd: u32,
    draft: &'a str,
    max_size: Big,
}

/// What is there now.
#[derive(Debug, Serialize)]
pub(super) struct WriteTarget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    pub(super) size: Big,
    /// Which object it is.
    pub(super) handle: String,
}

impl WriteTarget {
    pub(super) fn of(written: &Written, size: u64) -> Self {
        Self {
            // It is there, whether or not it can still be said which version it is.
            version: written.version().ok().map(|version| version.to_string()),
            size: Big(size),
            handle: handle_of(&written.identity()),
        }
    }
}

impl Broker {
    pub(crate) fn begin(&self, caller: &mut Caller, asked: Begin<'_>) -> Result<CallResult, Fault> {
        let path = path::from_fields("path", asked.path, asked.path_b64)?;
        let expect = match (&asked.version, asked.new) {
            (None, Some(true)) => Expect::Free,
            (None, _) => Expect::Anything,
            (Some(_), Some(true)) => {
                return Err(Fault::parameter("new", "a new file has no version yet"));
            }
            (Some(text), _) => Expect::Version(
                text.parse::<Version>()
                    .map_err(|_| Fault::parameter("version", "not a version this broker gave"))?,
            ),
        };
        let manner = Manner {
            file_mode: asked.file_mode.as_deref(),
            created_mode: asked.created_mode.as_deref(),
            durability: asked.durability.as_deref(),
        };
        let options = manner.options(Durability::File)?;
        // It is kept with the draft.
        if asked.dir.as_ref().is_some_and(|dir| dir.len() > MAX_HANDLE) {
            return Err(Fault::parameter("dir", "not a handle this broker gave"));
        }
        let verb = verb_of(&expect);
        let claim = caller.claim(self, &asked.lease, verb, &path)?;
        let held = claim.hold(self, verb, &path)?;
        let refuse = |fault: Fault| claim.refuse(self, verb, &path, fault);
        self.judge(&claim, verb, &path)?;
        let (root, _) = self.rulebook().route(&path).ok_or_else(|| {
            refuse(Fault::new(Code::Failed, "nothing is served there").of_kind(ErrorKind::NotFound))
        })?;
        let size = asked.max_size.0;
        let quota = self.rulebook().roots[root].spec.limits();
        if quota.file_bytes.is_some_and(|most| size > most) {
            let why = "the quota allows no file of that size";
            return Err(refuse(
                Fault::new(Code::Quota, why).of_kind(ErrorKind::Quota),
            ));
        }
        if size > self.limits.draft_bytes {
            let why = format!("at most {} bytes can be begun", self.limits.draft_bytes);
            return Err(refuse(Fault::new(Code::Limit, why)));
        }
        let room = self.room(root).map_err(refuse)?;
        held.has_opens().map_err(refuse)?;
        let file = drafts::memory_file(size).map_err(|error| {
            refuse(Fault::new(
                Code::Unavailable,
                format!("no private file: {error}"),
            ))
        })?;
        let given = file
            .try_clone()
            .map_err(|error| refuse(Fault::new(Code::Unavailable, error.to_string())))?;
        held.count_open(&*self.store).map_err(refuse)?;
        self.scribe.begun(&claim.recorder, path.as_rel())?;
        let draft = Draft {
            lease: claim.lease.record.handle.clone(),
            connection: caller.number,
            uid: caller.peer.uid,
            root,
            path: path.clone(),
            expect,
            dir: asked.dir,
            options,
            max_size: size,
            file,
            taken: AtomicBool::default(),
            begun: Instant::now(),
        };
        let name = self
            .drafts
            .begin(draft, &self.limits, room)
            .map_err(refuse)?;
        let answer = CallResult::of(&Begun {
            fd: 0,
            draft: &name,
            max_size: Big(size),
        })?;
        Ok(answer.with_fd(given))
    }

    /// How many bytes the quotas still allow in a root, if they are limited.
    fn room(&self, root: usize) -> Result<Option<Room>, Fault> {
        let rulebook = self.rulebook();
        let own = rulebook.roots[root].spec.limits().bytes;
        let whole = rulebook.quota.bytes;
        if own.is_none() && whole.is_none() {
            return Ok(None);
        }
        let usage = self.in_force.looking().usage()?;
        let at = rulebook.roots[root].spec.mount_point();
        let used = usage.iter().find(|mount| mount.at == *at);
        let used = used.map_or(0, |mount| mount.used.bytes);
        let all: u64 = usage.iter().map(|mount| mount.used.bytes).sum();
        let left = [
            own.map(|most| most.saturating_sub(used)),
            whole.map(|most| most.saturating_sub(all)),
        ];
        let left = left.into_iter().flatten().min();
        Ok(left.map(|bytes| Room {
            bytes,
            bytes_of_user: match rulebook.serves_others() {
                true => bytes / 2,
                false => bytes,
            },
        }))
    }

    pub(crate) fn commit(
        &self,
        caller: &mut Caller,
        asked: &Commit<'_>,
    ) -> Result<CallResult, Fault> {
        let handle = Caller::handle_of(self, &asked.lease).ok_or_else(Self::no_such_lease)?;
        // Taken first: whatever happens next, it is not committed twice.
        let taken = self.drafts.take(&asked.draft, &handle, caller.number);
        let Some(draft) = taken else {
            // Who lost it with its lease hears that.
            let claim = caller.present(self, &asked.lease);
            drop(claim.map_err(|fault| caller.note(self, &asked.lease, fault))?);
            let why = "there is no such file begun on this connection under this lease";
            return Err(Fault::new(Code::Failed, why).of_kind(ErrorKind::NotFound));
        };
        let verb = verb_of(&draft.expect);
        let claim = caller.claim(self, &asked.lease, verb, &draft.path)?;
        // Held to the end: when a revocation is answered, this has happened or will not.
        let _held = claim.hold(self, verb, &draft.path)?;
        let size = asked.size.0;
        if size > draft.max_size {
            let fault = Fault::parameter("size", "more than was begun with");
            return Err(claim.refuse(self, verb, &draft.path, fault));
        }
        // A copy that the client cannot reach: what is judged and counted is what is written.
        let data = drafts::read_exactly(&draft.file, size).map_err(|error| {
            let fault = Fault::new(Code::Failed, format!("the private file: {error}"));
            claim.refuse(self, verb, &draft.path, fault)
        })?;
        let at = &draft.path;
        let put = match &draft.expect {
            Expect::Anything => Put::Replace,
            Expect::Free => Put::New,
            Expect::Version(version) => Put::If(version),
        };
        let written = self.act(&claim, verb, at, |session| {
            match (&draft.dir, draft.options) {
                (Some(dir), options) => {
                    let held = HeldName::find(session, at, dir)?;
                    Files::put_at(session, held.at(), &data, put, options.unwrap_or_default())
                }
                (None, Some(options)) => session.put(at, &data, put, options),
                (None, None) => session.put_as_usual(at, &data, put),
            }
        })?;
        Tally::add(&self.tally.committed);
        CallResult::of(&WriteTarget::of(&written, size))
    }

    pub(crate) fn abort(&self, caller: &mut Caller, asked: &Abort) -> Result<CallResult, Fault> {
        let claim = caller.present(self, &asked.lease);
        let claim = claim.map_err(|fault| caller.note(self, &asked.lease, fault))?;
        let handle = &claim.lease.record.handle;
        match self.drafts.take(&asked.draft, handle, caller.number) {
            Some(draft) => {
                drop(draft);
                Ok(CallResult::empty())
            }
            None => {
                let why = "there is no such file begun on this connection under this lease";
                Err(Fault::new(Code::Failed, why).of_kind(ErrorKind::NotFound))
            }
        }
    }
}

fn verb_of(expect: &Expect) -> Verb {
    match expect {
        Expect::Anything => Verb::Write,
        Expect::Free => Verb::WriteNew,
        Expect::Version(_) => Verb::WriteIf,
    }
}
