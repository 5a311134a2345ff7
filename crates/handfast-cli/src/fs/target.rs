//! The files that the verbs work on: a root, a session or a lease, behind one interface.

use std::ffi::OsStr;

use handfast::files::{Files, Put, StagedContent};
use handfast::{
    Durability, Error, FileKind, Identity, RelPath, Root, TreeLimits, Version, WriteOptions, escape,
};
use handfast_session::{Mode, Session, VirtualPath};

/// What was named on the command line. The verbs only see [`Target::files`].
#[derive(Debug)]
pub(crate) enum Target {
    /// `--root DIR`: paths are relative.
    Root(Root),
    /// `--session NAME`: paths are absolute.
    Session(Session),
    /// `--lease ID`: paths are absolute, and a broker does the work.
    #[cfg(feature = "broker")]
    Lease(handfast_broker::LeaseFiles),
}

impl Target {
    pub(super) fn files(&self) -> &dyn Files {
        match self {
            Self::Root(root) => root,
            Self::Session(session) => session,
            #[cfg(feature = "broker")]
            Self::Lease(lease) => lease,
        }
    }

    /// The root, for operations that only a root has.
    pub(super) fn root(&self) -> Option<&Root> {
        match self {
            Self::Root(root) => Some(root),
            _ => None,
        }
    }

    /// Whether a broker does the work.
    pub(super) fn is_lease(&self) -> bool {
        !matches!(self, Self::Root(_) | Self::Session(_))
    }

    /// Text becomes a path here, and only here. A refusal is recorded by the layer that refuses.
    pub(super) fn parse(&self, text: &[u8]) -> Result<RelPath, Error> {
        match self {
            Self::Root(root) => root.path(text),
            Self::Session(session) => match VirtualPath::parse(text) {
                Ok(path) => Ok(path.as_rel().clone()),
                // A verb that is given the text records that it is no path.
                Err(refused) => Err(session.symlink_metadata(text).err().unwrap_or(refused)),
            },
            #[cfg(feature = "broker")]
            Self::Lease(_) => VirtualPath::parse(text).map(|path| path.as_rel().clone()),
        }
    }

    /// The text of a path that may be the top: `.` means `/` where paths are absolute.
    pub(super) fn or_top<'a>(&self, text: &'a OsStr) -> &'a OsStr {
        match self {
            Self::Root(_) => text,
            _ if text == "." => OsStr::new("/"),
            _ => text,
        }
    }

    /// A path below the top as it is typed here.
    pub(super) fn typed(&self, below: &[u8]) -> Vec<u8> {
        match self {
            Self::Root(_) => below.to_vec(),
            _ => [b"/", below].concat(),
        }
    }

    /// The top itself, as it is typed here.
    pub(super) fn top(&self) -> &'static str {
        match self {
            Self::Root(_) => ".",
            _ => "/",
        }
    }

    /// Begins to write a file. What is not asked for is as usual: where nobody asks, an overlay waits
    /// for no disk.
    pub(super) fn stage(
        &self,
        path: &RelPath,
        durability: Option<Durability>,
        mode: Option<u32>,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        if let (Self::Session(session), None, None) = (self, durability, mode) {
            let staged = session.stage(VirtualPath::from(path.clone()))?;
            return Ok(Box::new(staged));
        }
        let durability = durability.unwrap_or_else(|| self.usual_durability());
        let options = WriteOptions::new().durability(durability);
        let options = match mode {
            Some(mode) => options.mode(mode),
            None => options,
        };
        self.files().stage(path, options)
    }

    /// Never less than what is usual in any of the mounts.
    fn usual_durability(&self) -> Durability {
        match self {
            Self::Session(session) if is_all_overlay(session) => Durability::None,
            _ => Durability::File,
        }
    }

    /// Content and version of one open file.
    pub(super) fn read_versioned(&self, path: &RelPath) -> Result<(Vec<u8>, Version), Error> {
        let files = self.files();
        files.read_versioned(path, files.read_limit())
    }

    /// Copies a file.
    pub(super) fn copy(&self, from: &RelPath, to: &RelPath) -> Result<(), Error> {
        self.files().copy(from, to, Put::Replace).map(drop)
    }

    /// Copies a tree. In a root it appears whole or not at all.
    pub(super) fn copy_tree(&self, from: &RelPath, to: &RelPath) -> Result<(), Error> {
        self.files().copy_tree(from, to, TreeLimits::new())
    }

    // What follows has a root's own way beside the interface's: a walk is one event in a log, and a
    // new directory is identified by its own handle.

    /// Makes a directory; says which one it is where the layer hands out what it made.
    pub(super) fn create_dir(
        &self,
        path: &RelPath,
        parents: bool,
    ) -> Result<Option<Identity>, Error> {
        const MODE: u32 = 0o777;
        let files = self.files();
        match (self, parents) {
            // A second lookup of the name could give the identity of another user's directory.
            (Self::Root(root), true) => root.create_dir_all(path).map(|dir| Some(dir.identity())),
            (Self::Root(root), false) => root.create_dir(path).map(|dir| Some(dir.identity())),
            (_, true) => files.create_dir_all(path, MODE).map(|()| None),
            (_, false) => files.create_dir(path, MODE).map(|()| None),
        }
    }

    /// Tells everything below a directory. Ends early when `each` answers false.
    pub(super) fn walk(
        &self,
        top: &RelPath,
        limits: TreeLimits,
        each: &mut dyn FnMut(NamedResult) -> bool,
    ) -> Result<(), Error> {
        match self {
            Self::Root(root) => walk_root(root, top, limits, each),
            _ => walk_files(self, top, limits, each),
        }
    }
}

/// An entry of a walk, by its path below the top; or a directory that was not entered, by its path as
/// it is shown, and why.
pub(super) type NamedResult = Result<(Vec<u8>, FileKind), (String, Error)>;

fn is_all_overlay(session: &Session) -> bool {
    let mounts = session.mount_points();
    mounts.iter().all(|(_, mode)| *mode == Mode::Overlay)
}

/// A root's own walk is one event in a log, however many entries it returns.
fn walk_root(
    root: &Root,
    top: &RelPath,
    limits: TreeLimits,
    each: &mut dyn FnMut(NamedResult) -> bool,
) -> Result<(), Error> {
    let mut walk = root.walk_with(top, limits)?;
    loop {
        let told = match walk.next_entry() {
            Ok(None) => return Ok(()),
            Ok(Some(entry)) => {
                let kind = match entry.kind() {
                    FileKind::Unknown => entry.metadata().map_or(FileKind::Unknown, |now| now.kind),
                    kind => kind,
                };
                Ok((below(top, &entry.path()), kind))
            }
            // The walk goes on beside it, or answers `None` next.
            Err(error) => Err((error.path().to_owned(), error)),
        };
        if !each(told) {
            return Ok(());
        }
    }
}

fn walk_files(
    target: &Target,
    top: &RelPath,
    limits: TreeLimits,
    each: &mut dyn FnMut(NamedResult) -> bool,
) -> Result<(), Error> {
    let files = target.files();
    let mut walk = files.walk(top, limits)?;
    // The directory that the walk enters next; it counts those that it could not enter.
    let mut entered: Option<RelPath> = None;
    loop {
        let skipped = walk.skipped();
        let next = walk.next_entry();
        let missed = (walk.skipped() > skipped).then(|| entered.take()).flatten();
        // Asked again for the reason alone; a directory that is gone by now has none.
        if let Some(dir) = missed
            && let Err(error) = files.entries(&dir).map(drop)
            && !each(Err((escape(&target.typed(dir.as_bytes())), error)))
        {
            return Ok(());
        }
        let told = match next? {
            None => return Ok(()),
            Some(entry) => {
                entered = (entry.kind == FileKind::Dir).then(|| entry.path.clone());
                Ok((entry.path.as_bytes().to_vec(), entry.kind))
            }
        };
        if !each(told) {
            return Ok(());
        }
    }
}

fn below(top: &RelPath, path: &[u8]) -> Vec<u8> {
    match top.is_root() {
        true => path.to_vec(),
        false => [top.as_bytes(), b"/", path].concat(),
    }
}
