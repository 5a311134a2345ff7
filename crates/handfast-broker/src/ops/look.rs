//! `Stat`, `ListDir`, `Walk`. A lease shows what it covers, and the directories on the way to it.

use handfast::files::{FileHandle, Files, LastLink};
use handfast::{FileKind, Metadata, Timestamp, TreeLimits, Verb, Version};
use handfast_session::VirtualPath;
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use super::held::held;
use super::open::handle_of;
use super::page::Page;
use crate::broker::Broker;
use crate::caller::{Caller, Claim};
use crate::fault::Fault;
use crate::path;
use crate::wire::{Big, PathField, path_field};

/// As many entries stand in one answer, if a message holds them.
const PAGE: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Look {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    /// Of `ListDir`: the last name of the page before.
    after: Option<String>,
    after_b64: Option<String>,
    /// Of `ListDir`: the handle of the directory; no other one is listed.
    handle: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stat {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    /// Follow a link as last component, which is usual.
    follow: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadLink {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    /// The handle of the link; no other one is read.
    handle: Option<String>,
}

#[derive(Debug, Serialize)]
struct Target {
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_b64: Option<String>,
}

#[derive(Debug, Serialize)]
struct Status {
    kind: &'static str,
    mode: String,
    uid: u32,
    gid: u32,
    size: Big,
    links: Big,
    handle: String,
    modified: String,
    blocks: Big,
    accessed_ns: String,
    modified_ns: String,
    changed_ns: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

#[derive(Debug, Serialize)]
struct EntryView {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_b64: Option<String>,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Entries {
    entries: Vec<EntryView>,
    end: bool,
}

impl Broker {
    pub(crate) fn stat(&self, caller: &mut Caller, asked: Stat) -> Result<CallResult, Fault> {
        let (claim, path) = self.look(
            caller,
            asked.lease,
            asked.path,
            asked.path_b64,
            Verb::Metadata,
        )?;
        let _held = claim.hold(self, Verb::Metadata, &path)?;
        let follow = asked.follow != Some(false);
        let status = self.act(&claim, Verb::Metadata, &path, |session| match follow {
            true => session.metadata(&path),
            false => session.symlink_metadata(&path),
        })?;
        let (status, version) = self.with_version(&claim, &path, status);
        let nanoseconds = |time: Timestamp| time.as_nanoseconds().to_string();
        CallResult::of(&Status {
            kind: status.kind.name(),
            mode: format!("{:04o}", status.mode),
            uid: status.uid,
            gid: status.gid,
            size: Big(status.len),
            links: Big(status.nlink),
            handle: handle_of(&status.identity),
            modified: handfast_ledger::event::rfc3339(status.modified.as_nanoseconds()),
            blocks: Big(status.blocks),
            accessed_ns: nanoseconds(status.accessed),
            modified_ns: nanoseconds(status.modified),
            changed_ns: nanoseconds(status.changed),
            version: version.map(|version| version.to_string()),
        })
    }

    pub(crate) fn read_link(
        &self,
        caller: &mut Caller,
        asked: ReadLink,
    ) -> Result<CallResult, Fault> {
        let verb = Verb::ReadLink;
        let (claim, path) = self.look(caller, asked.lease, asked.path, asked.path_b64, verb)?;
        let _held = claim.hold(self, verb, &path)?;
        let target = self.act(&claim, verb, &path, |session| match &asked.handle {
            Some(handle) => {
                session.link_of(&held(session, path.as_rel(), LastLink::Itself, handle)?)
            }
            None => session.read_link(&path),
        })?;
        let PathField { text, base64 } = path_field(target.as_bytes());
        CallResult::of(&Target {
            target: text,
            target_b64: base64,
        })
    }

    pub(crate) fn list_dir(&self, caller: &mut Caller, asked: Look) -> Result<CallResult, Fault> {
        let after = match (asked.after, asked.after_b64) {
            (None, None) => None,
            (text, base64) => {
                Some(PathField::bytes(text, base64).map_err(|why| Fault::parameter("after", why))?)
            }
        };
        let (claim, path) = self.look(
            caller,
            asked.lease,
            asked.path,
            asked.path_b64,
            Verb::ReadDir,
        )?;
        let _held = claim.hold(self, Verb::ReadDir, &path)?;
        let found = self.act(&claim, Verb::ReadDir, &path, |session| {
            match &asked.handle {
                Some(handle) => {
                    let dir = held(session, path.as_rel(), LastLink::Follow, handle)?;
                    session.entries_of(&dir)?.collect()
                }
                None => session.read_dir(&path),
            }
        })?;
        let mut rest = found
            .into_iter()
            .filter(|entry| {
                after
                    .as_deref()
                    .is_none_or(|after| entry.name.as_bytes() > after)
            })
            .map(|entry| view(entry.name.as_bytes(), entry.kind))
            .peekable();
        let mut page = Page::of_at_most(PAGE);
        page.fill(&mut rest)?;
        CallResult::of(&Entries {
            entries: page.take(),
            end: rest.peek().is_none(),
        })
    }

    /// Walks a tree; `send` gets page after page, and whether more follow.
    pub(crate) fn walk(
        &self,
        caller: &mut Caller,
        asked: Look,
        mut send: impl FnMut(CallResult, bool) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if asked.handle.is_some() || asked.after.is_some() || asked.after_b64.is_some() {
            return Err(Fault::parameter(
                "handle",
                "`handle` and `after` are for `ListDir`",
            ));
        }
        let (claim, path) =
            self.look(caller, asked.lease, asked.path, asked.path_b64, Verb::Walk)?;
        // Checked again for every page, and not held: a walk may take long, a revocation may not.
        drop(claim.hold(self, Verb::Walk, &path)?);
        let mut page = Page::of_at_most(PAGE);
        // A refusal is noted here; looking names up is not.
        self.act(&claim, Verb::Walk, &path, |session| session.metadata(&path))?;
        let session = self
            .in_force
            .looking()
            .for_caller(self.caller_for(&claim, Verb::Walk));
        let walk = session.walk(&path, TreeLimits::new());
        let mut walk = walk.map_err(crate::log::fault_of)?;
        loop {
            let entry = {
                let _held = claim.hold(self, Verb::Walk, &path)?;
                walk.next_entry().map_err(crate::log::fault_of)?
            };
            let Some(entry) = entry else {
                break;
            };
            let rest = entry.path.strip_prefix(&path);
            let rest = rest.map_or(&b""[..], |rest| rest.as_bytes());
            page.push(view(rest, entry.kind))?;
            if page.is_full() {
                send(
                    CallResult::of(&Entries {
                        entries: page.take(),
                        end: false,
                    })?,
                    true,
                )?;
            }
        }
        send(
            CallResult::of(&Entries {
                entries: page.take(),
                end: true,
            })?,
            false,
        )
    }

    /// The version of a file, for a peer who may know it: it tells the content of young files. It
    /// is of the object whose status is told.
    fn with_version(
        &self,
        claim: &Claim,
        path: &VirtualPath,
        status: Metadata,
    ) -> (Metadata, Option<Version>) {
        if !status.is_file() || !claim.lease.grants(Verb::Version) {
            return (status, None);
        }
        let quiet = self.caller_for(claim, Verb::Version).quiet();
        let opened = self.in_force.looking().for_caller(quiet).open(path);
        match opened {
            Ok(file) if file.metadata().identity.same_object(&status.identity) => {
                let version = FileHandle::version(&file, false).ok();
                (*file.metadata(), version)
            }
            _ => (status, None),
        }
    }

    fn look(
        &self,
        caller: &mut Caller,
        lease: String,
        text: Option<String>,
        base64: Option<String>,
        verb: Verb,
    ) -> Result<(Claim, VirtualPath), Fault> {
        let text = PathField::bytes(text, base64).map_err(|why| Fault::parameter("path", why))?;
        // The top of the namespace has an empty path.
        let path = path::parse("path", if text.is_empty() { b"/" } else { &text })?;
        let claim = caller.claim(self, &lease, verb, &path)?;
        Ok((claim, path))
    }
}

fn view(name: &[u8], kind: FileKind) -> EntryView {
    let PathField { text, base64 } = path_field(name);
    EntryView {
        name: text,
        name_b64: base64,
        kind: kind.name(),
    }
}
