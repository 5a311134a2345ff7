//! What a mount shows: the broker's session, with the lease as judge.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use handfast::files::{
    At, Attributes, Entries, FileHandle, Files, Node, Put, Space, StagedContent, WhatToRemove,
};
use handfast::{
    Error, ErrorKind, Identity, Links, Metadata, NameRef, OpenOptions, RenameMode, SymlinkTarget,
    Verb, WriteOptions, Written,
};
use handfast_session::{Reason, Session, VirtualPath};

use super::Mounted;
use super::file::LeaseFile;
use super::node::{self, LeaseNode};
use crate::broker::Broker;
use crate::caller::Claim;
use crate::clock;
use crate::fault::Fault;
use crate::lease::Held;

/// On whose behalf a mount is served.
pub(super) struct Seat {
    broker: Weak<Broker>,
    claim: Claim,
    mounted: Arc<Mounted>,
}

/// The files of a mount.
pub(super) struct LeaseView {
    seat: Arc<Seat>,
}

fn refused(fault: &Fault) -> Error {
    Error::refused(ErrorKind::Denied, fault.why().to_owned()).because(Reason::OutOfScope)
}

impl Seat {
    /// Does something while the lease is in force, and keeps it from ending meanwhile. A refusal goes to
    /// the log.
    pub(super) fn under_lease<T>(
        &self,
        verb: Verb,
        path: &VirtualPath,
        act: impl FnOnce(&Broker, &Held<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let gone = || Error::refused(ErrorKind::Denied, "the broker has ended");
        let broker = self.broker.upgrade().ok_or_else(gone)?;
        let held = self.claim.lease.hold(clock::now_ns());
        let held = held.map_err(|fault| refused(&self.claim.refuse(&broker, verb, path, fault)))?;
        act(&broker, &held)
    }

    /// Does something with the session on behalf of the lease.
    fn act<T>(
        &self,
        verb: Verb,
        path: &VirtualPath,
        act: impl FnOnce(&Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.under_lease(verb, path, |broker, held| {
            let is_open = matches!(verb, Verb::Open | Verb::OpenWrite);
            let no_more = |fault| refused(&self.claim.refuse(broker, verb, path, fault));
            if is_open {
                held.has_opens().map_err(no_more)?;
            }
            let caller = broker.caller_for(&self.claim, verb);
            let session = broker.in_force.looking().for_caller(caller);
            let done = act(&session);
            if let Err(error) = &done
                && error.kind() == ErrorKind::Denied
            {
                self.claim.remember(broker, verb, path, &error.detail());
            }
            if is_open && done.is_ok() {
                held.count_open(&*broker.store).map_err(no_more)?;
            }
            done
        })
    }

    /// See [`Claim::may_lapse`].
    pub(super) fn may_lapse(&self) -> bool {
        self.claim.may_lapse()
    }

    /// Whether lease and policy still let something be done to a path.
    pub(super) fn judge(
        &self,
        broker: &Broker,
        verb: Verb,
        path: &VirtualPath,
    ) -> Result<(), Error> {
        let judged = broker.judge(&self.claim, verb, path);
        judged.map_err(|fault| refused(&fault))
    }

    /// Whether the rules of the roots still let an object be used that is open. It is opened once more by its
    /// path, as the program would do it now: what is judged is the object that is open, or it is refused.
    pub(super) fn judge_object(
        &self,
        broker: &Broker,
        verb: Verb,
        path: &VirtualPath,
        object: &Identity,
    ) -> Result<(), Error> {
        let how = match verb {
            Verb::OpenWrite => OpenOptions::new().write(true),
            _ => OpenOptions::new(),
        };
        let caller = broker.caller_for(&self.claim, verb);
        let session = broker.in_force.looking().for_caller(caller);
        let found = session.open_with(path, how).inspect_err(|error| {
            if error.kind() == ErrorKind::Denied {
                self.claim.remember(broker, verb, path, &error.detail());
            }
        })?;
        if found.identity().same_object(object) {
            return Ok(());
        }
        let why = "the rules have changed, and the file is not where it was opened; open it again";
        let fault = self.claim.refuse(broker, verb, path, Fault::denied(why));
        Err(refused(&fault))
    }

    /// How often the policy and the rules of the roots have changed. Read before a file is opened: what
    /// changes meanwhile is judged at its first use.
    fn judged_by(&self) -> (u64, u64) {
        let broker = self.broker.upgrade();
        broker.map_or((0, 0), |broker| {
            (broker.in_force.changes(), broker.in_force.rules())
        })
    }

    /// As the kernel is told of it. Who may do what is decided here and not by owners: the kernel, which
    /// checks modes besides, takes everything for the program's user's own.
    pub(super) fn shown(&self, mut found: Metadata) -> Metadata {
        (found.uid, found.gid) = (self.claim.peer.uid, self.claim.peer.gid);
        self.mounted.known.number(&mut found);
        found
    }

    /// The kernel is given pages of a file, which it may keep.
    pub(super) fn gives_pages(&self, of: &Metadata) {
        if self.mounted.known.given(of.identity.inode) {
            Arc::clone(&self.mounted).forget();
        }
    }
}

impl LeaseView {
    pub(super) fn new(broker: Weak<Broker>, claim: Claim, mounted: Arc<Mounted>) -> Self {
        let seat = Seat {
            broker,
            claim,
            mounted,
        };
        Self {
            seat: Arc::new(seat),
        }
    }

    fn node(&self, inner: Node, path: VirtualPath) -> Node {
        let shown = self.seat.shown(*inner.metadata());
        Node::new(LeaseNode { inner, path, shown })
    }

    /// Does something to an object.
    fn on<T>(
        &self,
        verb: Verb,
        node: &Node,
        act: impl FnOnce(&Session, &Node) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let node = node::of(node)?;
        let act = |session: &Session| act(session, &node.inner);
        self.seat.act(verb, &node.path, act)
    }

    /// Does something to a name in a directory.
    fn at<T>(
        &self,
        verb: Verb,
        at: At<'_>,
        act: impl FnOnce(&Session, At<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let dir = node::of(at.dir)?;
        let inner = At {
            dir: &dir.inner,
            name: at.name,
        };
        let act = |session: &Session| act(session, inner);
        self.seat.act(verb, &dir.child(at.name), act)
    }

    fn file(
        &self,
        inner: Box<dyn FileHandle>,
        path: VirtualPath,
        verb: Verb,
        (policy, rules): (u64, u64),
    ) -> LeaseFile {
        LeaseFile {
            opened: self.seat.shown(*inner.opened_metadata()),
            inner,
            seat: Arc::clone(&self.seat),
            path,
            verb,
            policy: AtomicU64::new(policy),
            rules: AtomicU64::new(rules),
        }
    }
}

fn verb_of(how: OpenOptions) -> Verb {
    match how.changes() {
        true => Verb::OpenWrite,
        false => Verb::Open,
    }
}

impl Files for LeaseView {
    fn links(&self) -> Links {
        Links::Beneath
    }

    fn read_limit(&self) -> u64 {
        u64::MAX
    }

    fn top(&self) -> Result<Node, Error> {
        let top = VirtualPath::root();
        let inner = self.seat.act(Verb::Metadata, &top, Files::top)?;
        Ok(self.node(inner, top))
    }

    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error> {
        let found = self.at(Verb::Metadata, At { dir, name }, |session, at| {
            session.lookup(at.dir, at.name)
        })?;
        Ok(self.node(found, node::of(dir)?.child(name)))
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        let found = self.on(Verb::Metadata, node, |session, node| {
            session.metadata_of(node)
        })?;
        Ok(self.seat.shown(found))
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.on(Verb::ReadLink, link, |session, link| session.link_of(link))
    }

    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error> {
        let entries = self.on(Verb::ReadDir, dir, |session, dir| {
            Ok(session.entries_of(dir)?.collect::<Vec<_>>())
        })?;
        Ok(Box::new(entries.into_iter()))
    }

    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        let verb = verb_of(how);
        let judged_by = self.seat.judged_by();
        let file = self.on(verb, node, |session, node| session.open_node(node, how))?;
        let path = node::of(node)?.path.clone();
        Ok(Box::new(self.file(file, path, verb, judged_by)))
    }

    fn set_attributes_of(&self, node: &Node, attributes: &Attributes) -> Result<(), Error> {
        self.on(attributes.verb(), node, |session, node| {
            session.set_attributes_of(node, attributes)
        })
    }

    fn create_at(&self, at: At<'_>, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        let verb = Verb::OpenWrite;
        let judged_by = self.seat.judged_by();
        let file = self.at(verb, at, |session, at| session.create_at(at, how))?;
        let path = node::of(at.dir)?.child(at.name);
        Ok(Box::new(self.file(file, path, verb, judged_by)))
    }

    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.at(put.verb(), at, |session, at| {
            session.put_at(at, data, put, options)
        })
    }

    fn stage_at(&self, _: At<'_>, _: WriteOptions) -> Result<Box<dyn StagedContent + '_>, Error> {
        let why = "a mount stages nothing";
        Err(Error::refused(ErrorKind::Unsupported, why))
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.at(Verb::Append, at, |session, at| {
            session.append_at(at, data, options)
        })
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        let made = self.at(Verb::CreateDir, at, |session, at| {
            session.create_dir_at(at, mode)
        })?;
        Ok(self.node(made, node::of(at.dir)?.child(at.name)))
    }

    fn symlink_at(&self, target: &[u8], at: At<'_>) -> Result<(), Error> {
        self.at(Verb::Symlink, at, |session, at| {
            session.symlink_at(target, at)
        })
    }

    fn hard_link_at(&self, file: &Node, at: At<'_>) -> Result<(), Error> {
        let file = node::of(file)?;
        self.at(Verb::HardLink, at, |session, at| {
            session.hard_link_at(&file.inner, at)
        })
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        let dir = node::of(to.dir)?;
        self.at(Verb::Rename, from, |session, from| {
            let to = At {
                dir: &dir.inner,
                name: to.name,
            };
            session.rename_at(from, to, mode)
        })
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        self.at(what.verb(), at, |session, at| session.remove_at(at, what))
    }

    fn space_of(&self, dir: &Node) -> Result<Space, Error> {
        self.on(Verb::Metadata, dir, |session, dir| session.space_of(dir))
    }

    fn xattr_of(&self, node: &Node, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.on(Verb::GetXattr, node, |session, node| {
            session.xattr_of(node, name)
        })
    }

    fn xattrs_of(&self, node: &Node) -> Result<Vec<String>, Error> {
        self.on(Verb::ListXattr, node, |session, node| {
            session.xattrs_of(node)
        })
    }

    fn set_xattr_of(&self, node: &Node, name: &str, value: Option<&[u8]>) -> Result<(), Error> {
        self.on(Verb::SetXattr, node, |session, node| {
            session.set_xattr_of(node, name, value)
        })
    }
}
