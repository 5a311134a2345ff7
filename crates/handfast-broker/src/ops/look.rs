//! `Stat`, `ListDir`, `Walk`. A lease shows what it covers, and the directories on the way to it.

use handfast::{FileKind, RelPath, TreeLimits, Verb};
use handfast_session::VirtualPath;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::open::handle_of;
use super::page::Page;
use crate::broker::Broker;
use crate::caller::{Caller, Claim};
use crate::fault::Fault;
use crate::path::{Asked, Last, absolute};
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
    pub(crate) fn stat(&self, caller: &mut Caller, asked: Look) -> Result<Answer, Fault> {
        let (claim, path) = self.look(
            caller,
            asked.lease,
            asked.path,
            asked.path_b64,
            Verb::Metadata,
        )?;
        let _held = claim.hold(self, Verb::Metadata, path.rel())?;
        let (status, version) = self.act_on(
            &claim,
            &caller.peer,
            Verb::Metadata,
            &path,
            Last::Follow,
            |session, at| {
                let status = session.metadata(absolute(at))?;
                // The version tells the content of young files: only for who may know it.
                let known = claim.lease.grants(Verb::Version) && claim.lease.covers(at);
                let version = (known && status.is_file())
                    .then(|| self.looking.version(absolute(at)).ok())
                    .flatten();
                Ok((status, version))
            },
        )?;
        Answer::of(&Status {
            kind: status.kind.name(),
            mode: format!("{:04o}", status.mode),
            uid: status.uid,
            gid: status.gid,
            size: Big(status.len),
            links: Big(status.nlink),
            handle: handle_of(&status),
            modified: handfast_ledger::event::rfc3339(status.modified.as_nanoseconds()),
            version: version.map(|version| version.to_string()),
        })
    }

    pub(crate) fn list_dir(&self, caller: &mut Caller, asked: Look) -> Result<Answer, Fault> {
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
        let _held = claim.hold(self, Verb::ReadDir, path.rel())?;
        let found = self.act_on(
            &claim,
            &caller.peer,
            Verb::ReadDir,
            &path,
            Last::Follow,
            |session, at| {
                let mut found = session.read_dir(absolute(at))?;
                found.retain(|entry| {
                    let path = at.join(entry.name.as_ref());
                    shows(&claim, Verb::ReadDir, &path, entry.kind)
                });
                Ok(found)
            },
        )?;
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
        Answer::of(&Entries {
            entries: page.take(),
            end: rest.peek().is_none(),
        })
    }

    /// Walks a tree; `send` gets page after page, and whether more follow.
    pub(crate) fn walk(
        &self,
        caller: &mut Caller,
        asked: Look,
        mut send: impl FnMut(Answer, bool) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (claim, path) =
            self.look(caller, asked.lease, asked.path, asked.path_b64, Verb::Walk)?;
        // Checked anew for every page, and not held: a walk may take long, a revocation may not.
        drop(claim.hold(self, Verb::Walk, path.rel())?);
        let mut page = Page::of_at_most(PAGE);
        let top = self.act_on(
            &claim,
            &caller.peer,
            Verb::Walk,
            &path,
            Last::Follow,
            |session, at| session.metadata(absolute(at)).map(|_| at.clone()),
        )?;
        let limits = TreeLimits::new();
        let session = claim.session(self);
        let walk = session.walk(absolute(&top), limits);
        let mut walk = walk.map_err(crate::log::fault_of)?;
        loop {
            let entry = {
                let _held = claim.hold(self, Verb::Walk, path.rel())?;
                walk.next_entry().map_err(crate::log::fault_of)?
            };
            let Some(entry) = entry else {
                break;
            };
            if !shows(&claim, Verb::Walk, entry.path.as_rel(), entry.kind) {
                continue;
            }
            page.push(view(below(&top, &entry.path), entry.kind))?;
            if page.is_full() {
                send(
                    Answer::of(&Entries {
                        entries: page.take(),
                        end: false,
                    })?,
                    true,
                )?;
            }
        }
        send(
            Answer::of(&Entries {
                entries: page.take(),
                end: true,
            })?,
            false,
        )
    }

    fn look(
        &self,
        caller: &mut Caller,
        lease: String,
        text: Option<String>,
        base64: Option<String>,
        verb: Verb,
    ) -> Result<(Claim, Asked), Fault> {
        let path = PathField::bytes(text, base64).map_err(|why| Fault::parameter("path", why))?;
        // The top of the namespace has an empty path.
        let path = Asked::parse("path", if path.is_empty() { b"/" } else { &path })?;
        let claim = caller.claim(self, &lease, verb, &path)?;
        Ok((claim, path))
    }
}

/// Whether a lease shows an entry: it covers it, or something below it.
fn shows(claim: &Claim, verb: Verb, path: &RelPath, kind: FileKind) -> bool {
    let leads = matches!(kind, FileKind::Dir | FileKind::Unknown);
    (claim.lease.covers(path) || (leads && claim.lease.leads_to_covered(path)))
        && claim.token_allows(verb, path).is_ok()
}

fn view(name: &[u8], kind: FileKind) -> EntryView {
    let PathField { text, base64 } = path_field(name);
    EntryView {
        name: text,
        name_b64: base64,
        kind: kind.name(),
    }
}

/// The part of a path below the top of a walk.
fn below<'a>(top: &RelPath, path: &'a VirtualPath) -> &'a [u8] {
    let whole = path.as_rel().as_bytes();
    let rest = whole.strip_prefix(top.as_bytes()).unwrap_or(whole);
    rest.strip_prefix(b"/").unwrap_or(rest)
}
