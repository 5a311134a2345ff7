//! What a root allows. Every default is the strict one; each option that widens sounds like it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::event::Recorder;
use crate::identity::Identity;
use crate::metadata::Metadata;

/// What happens when a path meets a symbolic link.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum Links {
    /// Any link on the way is an error.
    #[default]
    Refuse,
    /// Links are followed as long as they stay beneath the root; absolute links are an escape.
    Beneath,
    /// Links are followed as a process would see them whose root directory this is: an absolute link
    /// begins at the root, and `..` in the root is the root. For trees of a whole system, such as a
    /// container's, whose links are written that way.
    InRoot,
}

impl Links {
    /// Whether any link is followed.
    pub(crate) fn are_followed(self) -> bool {
        self != Self::Refuse
    }
}

/// What happens to regular files with several names.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum HardLinks {
    /// They can be read; what would change them in place is refused.
    #[default]
    RefuseWrites,
    /// They are refused altogether.
    Refuse,
    /// They are files like any other.
    Allow,
}

/// What happens where another filesystem is mounted below the root.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum Mounts {
    /// It is not entered, bind mounts included.
    #[default]
    Refuse,
    /// It is part of the tree.
    Allow,
}

/// What happens with FIFOs, sockets and devices.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum Specials {
    /// They are never handed out.
    #[default]
    Refuse,
    /// They are opened like files, without blocking on the open itself.
    Allow,
}

/// What happens when a mode with set-user-id or set-group-id bits is asked for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum SetId {
    /// Bits that an object does not have yet are not given.
    #[default]
    Refuse,
    /// They are given like any other.
    Allow,
}

/// Who walks the path.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum BackendChoice {
    /// The kernel where it can (`openat2`), the component walk otherwise.
    #[default]
    Auto,
    /// The kernel, or `Unsupported`.
    Kernel,
    /// The component walk.
    Walk,
}

/// A layer's own rules for files, checked against the opened or pinned file before it is given out or
/// changed.
///
/// A layer that decides by path cannot know which file the path leads to a moment later. The judge
/// sees the file itself, with its identity and the number of its names.
pub trait ObjectJudge: Send + Sync {
    /// May this file be read, or changed if `change` is set?
    ///
    /// # Errors
    /// The error that the caller of the verb gets; the library puts in the verb and the path.
    fn judge(&self, file: &Metadata, change: bool) -> Result<(), Error>;
}

/// Options of a [`Root`](crate::Root). [`RootOptions::new`] is strict.
#[derive(Clone, Default)]
pub struct RootOptions {
    pub(crate) links: Links,
    pub(crate) hard_links: HardLinks,
    pub(crate) mounts: Mounts,
    pub(crate) specials: Specials,
    pub(crate) set_id: SetId,
    pub(crate) backend: BackendChoice,
    pub(crate) read_limit: ReadLimit,
    pub(crate) denied: Arc<BTreeSet<(u64, u64)>>,
    pub(crate) judge: Option<Arc<dyn ObjectJudge>>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) actor: Option<Arc<str>>,
}

/// The largest whole-file read; a type of its own so that the default is not zero.
#[derive(Clone, Copy)]
pub(crate) struct ReadLimit(pub(crate) u64);

impl Default for ReadLimit {
    fn default() -> Self {
        Self(64 * 1024 * 1024)
    }
}

impl RootOptions {
    /// The strict options: no links, no writing to hard-linked files, no other mounts, no special
    /// files, whole-file reads up to 64 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what happens when a path meets a symbolic link.
    #[must_use]
    pub fn links(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// Sets what happens to files with several names.
    #[must_use]
    pub fn hard_links(mut self, hard_links: HardLinks) -> Self {
        self.hard_links = hard_links;
        self
    }

    /// Sets what happens where another filesystem is mounted below the root.
    #[must_use]
    pub fn mounts(mut self, mounts: Mounts) -> Self {
        self.mounts = mounts;
        self
    }

    /// Sets what happens with FIFOs, sockets and devices.
    #[must_use]
    pub fn specials(mut self, specials: Specials) -> Self {
        self.specials = specials;
        self
    }

    /// Sets what happens when a mode with set-id bits is asked for.
    #[must_use]
    pub fn set_id(mut self, set_id: SetId) -> Self {
        self.set_id = set_id;
        self
    }

    /// Chooses who walks the path.
    #[must_use]
    pub fn backend(mut self, backend: BackendChoice) -> Self {
        self.backend = backend;
        self
    }

    /// Sets the largest file that [`Root::read`](crate::Root::read) reads whole.
    #[must_use]
    pub fn read_limit(mut self, bytes: u64) -> Self {
        self.read_limit = ReadLimit(bytes);
        self
    }

    /// Refuses an object under whatever name, with everything below it if it is a directory.
    ///
    /// A root with such a list resolves component by component, since it has to see the identity
    /// of every directory on the way.
    #[must_use]
    pub fn deny(mut self, identity: Identity) -> Self {
        Arc::make_mut(&mut self.denied).insert((identity.device, identity.inode));
        self
    }

    /// Asks a judge about every file that was opened or pinned, before it is read or changed.
    #[must_use]
    pub fn judge(mut self, judge: Arc<dyn ObjectJudge>) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Tells every decision to a recorder before it takes effect.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Names the party on whose behalf the root is used; it is in every event.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<Arc<str>>) -> Self {
        self.actor = Some(actor.into());
        self
    }
}

impl fmt::Debug for RootOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootOptions")
            .field("links", &self.links)
            .field("hard_links", &self.hard_links)
            .field("mounts", &self.mounts)
            .field("specials", &self.specials)
            .field("set_id", &self.set_id)
            .field("backend", &self.backend)
            .field("read_limit", &self.read_limit.0)
            .field("denied", &self.denied.len())
            .field("judge", &self.judge.is_some())
            .field("recorder", &self.recorder.is_some())
            .field("actor", &self.actor)
            .finish()
    }
}
