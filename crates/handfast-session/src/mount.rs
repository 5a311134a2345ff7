//! What lies where in a session's namespace.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use handfast::{
    ErrorKind, FilesystemKind, HardLinks, Identity, Links, Metadata, RelPath, Root, escape,
};

use crate::error::Error;
use crate::folding;
use crate::judge::MountJudge;
use crate::layer::MountLayer;
use crate::overlay::{Tree, base_path};
use crate::quota::Quota;
use crate::rules::{Access, Protect, Rule, Rules, Shape};
use crate::session::OpenedBase;
use crate::vpath::VirtualPath;

/// What may be done below a mount point.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum Mode {
    /// Nothing is changed.
    ReadOnly,
    /// Changes go to the directory itself.
    ReadWrite,
    /// Changes go to an overlay on disk, until they are committed or discarded.
    #[default]
    Overlay,
    /// Changes go to an overlay in memory and are gone with the session.
    Memory,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::ReadWrite, Self::Overlay, Self::Memory];

    /// The mode as it stands in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::Overlay => "overlay",
            Self::Memory => "memory",
        }
    }

    /// The mode of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One directory of the host and where a session sees it.
#[derive(Clone, Debug)]
pub struct MountSpec {
    pub(crate) host: PathBuf,
    /// The directory itself, where the caller holds it already.
    pub(crate) held: Option<Root>,
    pub(crate) at: VirtualPath,
    pub(crate) mode: Mode,
    pub(crate) protect: Protect,
    pub(crate) links: Links,
    pub(crate) hard_links: HardLinks,
    pub(crate) allow_network_fs: bool,
    pub(crate) quota: Quota,
}

impl MountSpec {
    /// A directory of the host at a virtual path, as an overlay. Links are followed while they
    /// stay beneath it; files with several names are not written in place.
    #[must_use]
    pub fn new(host: impl Into<PathBuf>, at: VirtualPath) -> Self {
        Self {
            host: host.into(),
            held: None,
            at,
            mode: Mode::Overlay,
            protect: Protect::new(),
            links: Links::Beneath,
            hard_links: HardLinks::RefuseWrites,
            allow_network_fs: false,
            quota: Quota::new(),
        }
    }

    /// A directory that is open already, whatever its name leads to by now; otherwise as
    /// [`MountSpec::new`]. Not for a session with a home, which must find it again by name.
    #[must_use]
    pub fn of_root(dir: &Root, at: VirtualPath) -> Self {
        let mut spec = Self::new(PathBuf::new(), at);
        spec.held = Some(dir.clone());
        spec
    }

    /// The directory of the host.
    #[must_use]
    pub fn host(&self) -> &Path {
        &self.host
    }

    /// Where the session sees it.
    #[must_use]
    pub fn at(&self) -> &VirtualPath {
        &self.at
    }

    /// What it is protected by.
    #[must_use]
    pub fn protection(&self) -> &Protect {
        &self.protect
    }

    /// How it is mounted.
    #[must_use]
    pub fn mounted_as(&self) -> Mode {
        self.mode
    }

    /// The same terms for a directory of another name, at another place.
    #[must_use]
    pub fn moved(mut self, host: impl Into<PathBuf>, at: VirtualPath) -> Self {
        self.host = host.into();
        self.at = at;
        self
    }

    /// Whether another mount has the same mode, patterns and limits, and does the same at links.
    #[must_use]
    pub fn has_terms_of(&self, other: &Self) -> bool {
        let terms = |of: &Self| {
            (
                of.mode,
                of.links,
                of.hard_links,
                of.allow_network_fs,
                of.quota,
            )
        };
        terms(self) == terms(other) && self.protect == other.protect
    }

    /// Sets the mode.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the protected patterns.
    #[must_use]
    pub fn protect(mut self, protect: Protect) -> Self {
        self.protect = protect;
        self
    }

    /// Sets what happens at symbolic links.
    ///
    /// A session with a mount that has [`Links::InRoot`] is refused as `Unsupported`.
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

    /// Allows a directory on a network or FUSE filesystem, where locks and identities mean less.
    #[must_use]
    pub fn allow_network_fs(mut self, allow: bool) -> Self {
        self.allow_network_fs = allow;
        self
    }

    /// Limits what may be used below this mount.
    #[must_use]
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quota = quota;
        self
    }
}

/// A mount that is in use.
pub(crate) struct Mount {
    /// Its place in the session's specification.
    pub(crate) number: u32,
    pub(crate) at: VirtualPath,
    /// What the host calls the directory; only ever compared with the text of links.
    host: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) links: Links,
    pub(crate) hard_links: HardLinks,
    /// The directory of the host, as the library sees it; links are never followed by it.
    pub(crate) base: Root,
    pub(crate) layer: MountLayer,
    pub(crate) quota: Quota,
    /// Directories that do not move: Handfast's own state lies in them.
    kept: Vec<(u64, u64)>,
    pub(crate) judge: Arc<MountJudge>,
}

impl Mount {
    pub(crate) fn new(
        spec: &MountSpec,
        number: u32,
        layer: MountLayer,
        opened: OpenedBase,
    ) -> Self {
        Self {
            number,
            at: spec.at.clone(),
            host: spec.host.clone(),
            mode: spec.mode,
            links: spec.links,
            hard_links: spec.hard_links,
            base: opened.root,
            layer,
            quota: spec.quota,
            kept: opened.kept,
            judge: opened.judge,
        }
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.judge.rules
    }

    /// Whether an object is Handfast's own state or leads to it.
    pub(crate) fn keeps(&self, object: &Metadata) -> bool {
        let identity = (object.identity.device, object.identity.inode);
        self.kept.contains(&identity)
    }

    /// Whether Handfast's own state lies below.
    pub(crate) fn holds_own_state(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether some rule denies, or asks a person.
    pub(crate) fn denies_or_asks(&self) -> bool {
        self.judge.denies_or_asks
    }

    /// A path below this mount in the session's namespace.
    pub(crate) fn full(&self, path: &RelPath) -> VirtualPath {
        self.at.join(path)
    }

    /// What an absolute link target says below this mount, if it begins with the host's name of
    /// the directory. Only the text is compared: what is left is walked like any other target.
    pub(crate) fn below_host<'t>(&self, target: &'t [u8]) -> Option<&'t [u8]> {
        use std::os::unix::ffi::OsStrExt;
        let mut host = self.host.as_os_str().as_bytes();
        if host.is_empty() {
            // A directory that was given open has no name that a link could say.
            return None;
        }
        while let Some(shorter) = host.strip_suffix(b"/") {
            host = shorter;
        }
        match target.strip_prefix(host)? {
            [] => Some(b"."),
            [b'/', rest @ ..] => Some(rest),
            _ => None,
        }
    }

    /// The rule that forbids an access to a path below this mount.
    pub(crate) fn forbids(&self, path: &RelPath, access: Access, shape: Shape) -> Option<Rule> {
        #[cfg(handfast_sabotage)]
        if handfast::sabotage::is("judge-last-name") {
            let last = RelPath::from(path.name()?);
            return self.rules().decide(&last, access, shape, || false);
        }
        self.rules()
            .decide(path, access, shape, || self.folds(path, None))
    }

    /// As [`Mount::forbids`], by somebody who holds the overlay's tree.
    pub(crate) fn forbids_in(
        &self,
        path: &RelPath,
        access: Access,
        shape: Shape,
        tree: &Tree,
    ) -> Option<Rule> {
        self.rules()
            .decide(path, access, shape, || self.folds(path, Some(tree)))
    }

    /// The rules because of which a person is asked before a path is opened or changed.
    pub(crate) fn asks(&self, path: &RelPath, shape: Shape) -> Vec<Rule> {
        self.judge.asks(path, shape, || self.folds(path, None))
    }

    /// The rule because of which a change of a path waits in the overlay until the path is named.
    pub(crate) fn holds_back(&self, path: &RelPath) -> Option<Rule> {
        self.forbids(path, Access::Change, Shape::MaybeDir)
    }

    /// Whether no rule speaks of what lies below a path because of where it lies.
    pub(crate) fn is_ordinary_below(&self, path: &RelPath) -> bool {
        self.rules()
            .is_ordinary_below(path, || self.folds(path, None))
    }

    /// Whether a lookup of the path may find a name of another case: by where it stands, and by
    /// where the directories of an overlay came from.
    fn folds(&self, path: &RelPath, tree: Option<&Tree>) -> bool {
        folding::folds(&self.base, path)
            || self.layer.overlay().is_some_and(|overlay| {
                let origin = match tree {
                    Some(tree) => base_path(&tree.origin_of(path)),
                    None => overlay.origin_of(path),
                };
                // When in doubt the answer is yes.
                origin.map_or(true, |origin| folding::folds(&self.base, &origin))
            })
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount")
            .field("at", &self.at)
            .field("mode", &self.mode)
            .finish()
    }
}

/// All mounts, deepest first, so that the first that fits is the longest.
#[derive(Debug)]
pub(crate) struct MountTable {
    mounts: Vec<Mount>,
}

/// Where a virtual path belongs.
pub(crate) enum Route<'a> {
    /// In a mount, at a path below it.
    Mount(&'a Mount, RelPath),
    /// Above mounts: a directory that exists only in the namespace.
    Above,
    /// Nowhere.
    Nowhere,
}

impl MountTable {
    /// Orders the mounts and refuses those that contradict each other.
    pub(crate) fn new(mut mounts: Vec<Mount>) -> Result<Self, Error> {
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.at.as_rel().depth()));
        for (index, one) in mounts.iter().enumerate() {
            for other in &mounts[index + 1..] {
                refuse_overlap(one, other)?;
            }
        }
        Ok(Self { mounts })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter()
    }

    pub(crate) fn route(&self, path: &VirtualPath) -> Route<'_> {
        for mount in &self.mounts {
            if let Some(rest) = path.as_rel().strip_prefix(mount.at.as_rel()) {
                let rest = rest.to_path().with_must_be_dir(path.as_rel().must_be_dir());
                return Route::Mount(mount, rest);
            }
        }
        if path.is_root()
            || self
                .mounts
                .iter()
                .any(|mount| mount.at.as_rel().starts_with(path.as_rel()))
        {
            return Route::Above;
        }
        Route::Nowhere
    }

    /// Names of mount points, or of directories above them, directly in a virtual directory.
    pub(crate) fn names_in(&self, path: &VirtualPath) -> Vec<(handfast::Name, &Mount)> {
        let mut found: Vec<(handfast::Name, &Mount)> = Vec::new();
        for mount in &self.mounts {
            let rest = mount.at.as_rel().strip_prefix(path.as_rel());
            let first = rest.and_then(|rest| rest.split_first());
            if let Some((name, _)) = first
                && let name = name.to_name()
                && !found.iter().any(|(known, _)| *known == name)
            {
                found.push((name, mount));
            }
        }
        found
    }

    /// Whether a path is a mount point or lies above one: such names are not moved or removed.
    pub(crate) fn holds_mount(&self, path: &VirtualPath) -> bool {
        self.mounts
            .iter()
            .any(|mount| mount.at.as_rel().starts_with(path.as_rel()))
    }
}

fn refuse_overlap(one: &Mount, other: &Mount) -> Result<(), Error> {
    let both = format!("`{}` and `{}`", one.at, other.at);
    if one.at.as_rel().as_bytes() == other.at.as_rel().as_bytes() {
        return Err(Error::refused(
            ErrorKind::Invalid,
            format!("two mounts have the same virtual path `{}`", one.at),
        ));
    }
    let (first, second) = (one.base.identity(), other.base.identity());
    if same(&first, &second) {
        return Err(Error::refused(
            ErrorKind::Invalid,
            format!("the mounts {both} are the same host directory; the weaker mode would win"),
        ));
    }
    if folding::lies_below(&one.base, &second)? || folding::lies_below(&other.base, &first)? {
        return Err(Error::refused(
            ErrorKind::Invalid,
            format!(
                "the host directories of the mounts {both} lie in one another; the weaker mode would win"
            ),
        ));
    }
    Ok(())
}

fn same(one: &Identity, other: &Identity) -> bool {
    (one.device, one.inode) == (other.device, other.inode)
}

/// Refuses a policy for links that a session cannot honour: its paths have more than one root.
pub(crate) fn refuse_links_in_root(spec: &MountSpec) -> Result<(), Error> {
    match spec.links {
        Links::Refuse | Links::Beneath => Ok(()),
        Links::InRoot => Err(Error::refused(
            ErrorKind::Unsupported,
            format!(
                "the mount `{}` asks for links that begin at its root; a session follows links beneath, or refuses them",
                escape(spec.at.to_string().as_bytes())
            ),
        )),
    }
}

/// Refuses filesystems on which another machine or program decides what is there.
pub(crate) fn refuse_network(spec: &MountSpec, kind: FilesystemKind) -> Result<(), Error> {
    if kind.is_remote() && !spec.allow_network_fs {
        return Err(Error::refused(
            ErrorKind::Unsupported,
            format!(
                "the mount `{}` lies on {kind}, where {}; set `allow_network_fs` to accept that",
                escape(spec.at.to_string().as_bytes()),
                kind.weaknesses().first().unwrap_or(&"promises mean less")
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filesystems_of_others_are_refused_unless_allowed() {
        let spec = MountSpec::new("/srv", VirtualPath::parse("/net").unwrap());
        for kind in [
            FilesystemKind::Nfs,
            FilesystemKind::Smb,
            FilesystemKind::Plan9,
            FilesystemKind::Ceph,
            FilesystemKind::Fuse,
        ] {
            let error = refuse_network(&spec, kind).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{kind}");
            assert!(error.detail().contains("allow_network_fs"), "{error}");
            assert!(refuse_network(&spec.clone().allow_network_fs(true), kind).is_ok());
        }
        for kind in [
            FilesystemKind::Ext,
            FilesystemKind::Tmpfs,
            FilesystemKind::Overlay,
        ] {
            assert!(refuse_network(&spec, kind).is_ok(), "{kind}");
        }
    }
}
