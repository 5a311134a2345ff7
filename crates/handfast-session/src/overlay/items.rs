//! What a tree of changes comes to, one item a name: the common ground of `diff` and `commit`.

use std::collections::BTreeSet;

use handfast::FileKind;

use super::tree::{ContentLocation, NodeEntry, Now, Tree, Was};

/// What became of a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum What {
    /// What the base has there goes.
    Delete,
    /// A new directory.
    NewDir { mode: Option<u32> },
    /// A directory of the base comes here.
    MoveDir {
        from: Vec<u8>,
        mode: Option<u32>,
        old: Option<u32>,
    },
    /// A directory stays and has another mode; what it had.
    DirMode { mode: u32, old: Option<u32> },
    /// A file of the base comes here as it is.
    MoveFile { from: Vec<u8>, version: String },
    /// A file with content of the overlay; where it was in the base, if it was moved.
    File {
        object: u64,
        moved: Option<(Vec<u8>, String)>,
    },
    /// A link.
    Link { target: Vec<u8> },
}

impl What {
    /// The kind of what the name refers to afterwards; nothing if the name goes.
    pub(super) fn kind(&self) -> Option<FileKind> {
        match self {
            // A name that goes is as good as one of a directory: nothing comes under it.
            Self::Delete | Self::NewDir { .. } | Self::MoveDir { .. } | Self::DirMode { .. } => {
                Some(FileKind::Dir)
            }
            Self::MoveFile { .. } | Self::File { .. } => Some(FileKind::File),
            Self::Link { .. } => Some(FileKind::Symlink),
        }
    }
}

/// One changed name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ChangedName {
    /// Where the session sees it, below the mount.
    pub(super) path: Vec<u8>,
    /// Where the name lies in the base now; `None` if its directory is new.
    pub(super) home: Option<Vec<u8>>,
    /// What the base has there, as far as it goes away; moved things go by themselves.
    pub(super) was: Was,
    /// The same with what shows up elsewhere.
    pub(super) covered: Was,
    pub(super) what: What,
}

/// Every changed name, parents first.
pub(super) fn items(tree: &Tree) -> Vec<ChangedName> {
    let mut used = BTreeSet::new();
    tree.each(&mut |path, entry| {
        if let Some(origin) = moved_from(tree, path, entry) {
            used.insert(origin);
        }
    });
    let mut found = Vec::new();
    tree.each(&mut |path, entry| {
        let home = tree.base_of(path);
        let was = going(&entry.was, home.as_deref(), &used);
        let moved = moved_from(tree, path, entry);
        let what = match &entry.now {
            Now::Gone if was == Was::Absent => None,
            Now::Gone => Some(What::Delete),
            Now::Dir(dir) => match (moved, &dir.origin) {
                (Some(from), _) => Some(What::MoveDir {
                    from,
                    mode: dir.mode,
                    old: dir.old_mode,
                }),
                (None, None) => Some(What::NewDir { mode: dir.mode }),
                (None, Some(_)) => dir.mode.map(|mode| What::DirMode {
                    mode,
                    old: dir.old_mode,
                }),
            },
            Now::File(file) => match (file.content, moved, &file.origin) {
                (ContentLocation::Object { id, .. }, moved, origin) => Some(What::File {
                    object: id,
                    moved: moved.and(origin.clone()),
                }),
                (ContentLocation::Base, Some(from), Some((_, version))) => Some(What::MoveFile {
                    from,
                    version: version.clone(),
                }),
                (ContentLocation::Base, ..) => None,
            },
            Now::Link { target, .. } => match &was {
                Was::Link(old) if old == target => None,
                _ => Some(What::Link {
                    target: target.clone(),
                }),
            },
        };
        if let Some(what) = what {
            found.push(ChangedName {
                path: path.to_vec(),
                home,
                was,
                covered: entry.was.clone(),
                what,
            });
        }
    });
    found
}

/// The place in the base that an entry was moved away from.
fn moved_from(tree: &Tree, path: &[u8], entry: &NodeEntry) -> Option<Vec<u8>> {
    let origin = match &entry.now {
        Now::File(file) => file.origin.as_ref().map(|(path, _)| path),
        Now::Dir(dir) => dir.origin.as_ref(),
        _ => None,
    }?;
    (tree.base_of(path).as_ref() != Some(origin)).then(|| origin.clone())
}

/// What of the base goes away with a covered name: not what shows up elsewhere.
fn going(was: &Was, home: Option<&[u8]>, used: &BTreeSet<Vec<u8>>) -> Was {
    match was {
        Was::Moved(inner) => match home {
            Some(home) if used.contains(home) => Was::Absent,
            _ => going(inner, home, used),
        },
        Was::Dir(entries) => Was::Dir(
            entries
                .iter()
                .map(|(name, was)| {
                    let home = home.map(|home| super::tree::join(home, name));
                    (name.clone(), going(was, home.as_deref(), used))
                })
                .filter(|(_, was)| *was != Was::Absent)
                .collect(),
        ),
        was => was.clone(),
    }
}
