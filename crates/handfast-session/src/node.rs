//! Handles on what a session shows.

use handfast::files::{At, Node, NodeData, Resolved};
use handfast::{ErrorKind, FileKind, Metadata, Name, RelPath, Verb};

use crate::error::{Error, Reason};
use crate::layer::FoundObject;
use crate::mount::{Mount, Route};
use crate::place::{Guard, LayerDir, ObjectKey, ResolvedPlace};
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::vpath::VirtualPath;

/// An object of a session.
#[derive(Debug)]
pub(crate) struct SessionNode {
    /// The path that was walked to it, without links.
    path: VirtualPath,
    metadata: Metadata,
    /// The number of its mount; nothing for a directory that only holds mount points.
    mount: Option<u32>,
    /// Whether it is the top of its mount.
    is_top: bool,
    /// The object as a directory, if it is one.
    dir: Option<LayerDir>,
    /// The directory that holds its name, and which object the name must still lead to.
    found_in: Option<(LayerDir, Option<ObjectKey>)>,
    /// Whether its content is the base's.
    is_of_base: bool,
}

impl NodeData for SessionNode {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn is_boundary(&self) -> bool {
        self.is_top
    }

    fn is_watched_with_its_directory(&self) -> bool {
        self.is_of_base
    }

    /// A file keeps its key when it is copied up; its numbers on the disk change then.
    fn is_same(&self, other: &dyn NodeData) -> bool {
        let any: &dyn std::any::Any = other;
        let Some(other) = any.downcast_ref::<Self>() else {
            return false;
        };
        if self.mount != other.mount || self.metadata.kind != other.metadata.kind {
            return false;
        }
        match (&self.found_in, &other.found_in) {
            (
                Some((_, Some(ObjectKey::Overlay(one)))),
                Some((_, Some(ObjectKey::Overlay(other)))),
            ) => one == other,
            _ => self.is_same_dir(other),
        }
    }
}

impl SessionNode {
    fn is_same_dir(&self, other: &Self) -> bool {
        match (&self.dir, &other.dir) {
            (Some(LayerDir::Overlay(one)), Some(LayerDir::Overlay(other))) => one.is_same(other),
            (None, None) if self.mount.is_none() => self.path == other.path,
            _ => (self.metadata.identity).same_object(&other.metadata.identity),
        }
    }

    pub(crate) fn mount<'a>(&self, session: &'a Session) -> Option<&'a Mount> {
        let number = self.mount?;
        session.mounts().iter().find(|mount| mount.number == number)
    }

    /// The path below its mount.
    pub(crate) fn path_in(&self, mount: &Mount) -> RelPath {
        match self.path.strip_prefix(&mount.at) {
            Some(rest) => rest.to_path(),
            None => RelPath::root(),
        }
    }

    pub(crate) fn path(&self) -> &VirtualPath {
        &self.path
    }
}

impl Session {
    /// The node of `/`.
    pub(crate) fn top_node(&self) -> Result<Node, Error> {
        self.node_at(VirtualPath::root(), None)
    }

    /// The node of a name in a directory.
    pub(crate) fn child(&self, at: At<'_>) -> Result<Node, Error> {
        let dir = at.dir.data::<SessionNode>()?;
        let path = dir.path.join(at.name);
        let shown = path.clone();
        self.node_at(path, Some((dir, at)))
            .map_err(|error| told_here(error, &shown))
    }

    fn node_at(
        &self,
        path: VirtualPath,
        found_in: Option<(&SessionNode, At<'_>)>,
    ) -> Result<Node, Error> {
        let (mount, rest) = match self.mounts().route(&path) {
            Route::Mount(mount, rest) => (mount, rest),
            Route::Above => return self.above_mounts(path),
            Route::Nowhere => {
                let nothing = Error::refused(ErrorKind::NotFound, "nothing is mounted there");
                return Err(nothing.because(Reason::NotMounted));
            }
        };
        if rest.is_root() {
            return Ok(Node::new(SessionNode {
                path,
                metadata: mount.layer.top()?,
                mount: Some(mount.number),
                is_top: true,
                dir: Some(LayerDir::Top),
                found_in: None,
                is_of_base: true,
            }));
        }
        let Some((dir, at)) = found_in else {
            return Err(Error::refused(ErrorKind::NotFound, ""));
        };
        let here = dir
            .dir
            .as_ref()
            .ok_or_else(|| Error::refused(ErrorKind::NotADirectory, ""))?;
        self.judged_node(
            mount,
            path,
            &rest,
            (here, mount.layer.lookup(here, at.name)),
        )
    }

    /// The node of what a layer found in a directory, if the caller may look at it.
    fn judged_node(
        &self,
        mount: &Mount,
        path: VirtualPath,
        rest: &RelPath,
        (here, found): (&LayerDir, Result<FoundObject, Error>),
    ) -> Result<Node, Error> {
        let found = found.map_err(|error| {
            // What the caller may not reach is not told to be missing.
            let passes = self.caller().check_step(&path, Access::Read);
            passes.err().unwrap_or(error)
        })?;
        self.judge_look(mount, rest, found.metadata.kind)?;
        Ok(Node::new(SessionNode {
            path,
            metadata: found.metadata,
            mount: Some(mount.number),
            is_top: false,
            dir: found.dir,
            found_in: Some((here.clone(), found.key)),
            is_of_base: found.is_of_base,
        }))
    }

    /// The nodes of several names in a directory.
    pub(crate) fn children(&self, dir: &Node, names: &[&Name]) -> Vec<Result<Node, Error>> {
        let one_by_one = || {
            let each = names.iter();
            each.map(|name| self.child(At::new(dir, name))).collect()
        };
        let Ok(data) = dir.data::<SessionNode>() else {
            return one_by_one();
        };
        let (Some(mount), Some(here)) = (data.mount(self), &data.dir) else {
            return one_by_one();
        };
        let Some(overlay) = mount.layer.overlay() else {
            return one_by_one();
        };
        // A mount point in it covers what the layer has under that name.
        if !self.mounts().names_in(&data.path).is_empty() {
            return one_by_one();
        }
        let above = data.path_in(mount);
        let each = names.iter().zip(overlay.lookup_all(here, names));
        each.map(|(name, found)| {
            let (path, rest) = (data.path.join(*name), above.join(*name));
            let shown = path.clone();
            self.judged_node(mount, path, &rest, (here, found))
                .map_err(|error| told_here(error, &shown))
        })
        .collect()
    }

    /// Judges a node again: the caller's scope may have ended since it was looked up.
    pub(crate) fn judge_again(&self, node: &Node) -> Result<(), Error> {
        let data = node.data::<SessionNode>()?;
        match data.mount(self) {
            Some(mount) => self.judge_look(mount, &data.path_in(mount), node.kind()),
            None => Ok(()),
        }
    }

    /// What may not be read may not be looked at either; what may lead further is a step.
    pub(crate) fn look_guard<'a>(&'a self, mount: &'a Mount, kind: FileKind) -> Guard<'a> {
        Guard {
            mount,
            caller: self.caller(),
            access: Access::Read,
            shape: match kind {
                FileKind::File => Shape::File,
                _ => Shape::MaybeDir,
            },
            is_step: matches!(kind, FileKind::Dir | FileKind::Symlink),
            asked_at: None,
            granted: None,
        }
    }

    fn judge_look(&self, mount: &Mount, path: &RelPath, kind: FileKind) -> Result<(), Error> {
        self.look_guard(mount, kind).check(path).map(drop)
    }

    /// A directory that exists only in the namespace, above mounts.
    fn above_mounts(&self, path: VirtualPath) -> Result<Node, Error> {
        let below = self.mounts().names_in(&path);
        let Some((_, mount)) = below.first() else {
            return Err(Error::refused(ErrorKind::NotFound, ""));
        };
        let mut metadata = mount.base.metadata(&RelPath::root())?;
        metadata.mode = 0o555;
        metadata.len = 0;
        metadata.identity.inode = 0;
        metadata.identity.born = None;
        Ok(Node::new(SessionNode {
            path,
            metadata,
            mount: None,
            is_top: false,
            dir: None,
            found_in: None,
            is_of_base: false,
        }))
    }

    /// The node of a directory that a verb was allowed to work in, whatever the caller may see of the
    /// way there.
    pub(crate) fn dir_node(&self, place: &ResolvedPlace<'_>) -> Result<Node, Error> {
        let layer = &place.mount.layer;
        let mut here = place.dir.clone();
        for name in place.rest.segments() {
            let found = layer.lookup(&here, name)?;
            here = found
                .dir
                .ok_or_else(|| Error::refused(ErrorKind::NotADirectory, "not a directory"))?;
        }
        Ok(Node::new(SessionNode {
            path: place.full(),
            metadata: layer.symlink_metadata(place.spot())?,
            mount: Some(place.mount.number),
            is_top: place.path.is_root(),
            dir: Some(here),
            found_in: None,
            is_of_base: false,
        }))
    }

    /// The place of a name in a directory.
    pub(crate) fn place_at(&self, at: At<'_>) -> Result<ResolvedPlace<'_>, Error> {
        let dir = at.dir.data::<SessionNode>()?;
        let path = dir.path.join(at.name);
        let mut place = self.route(&path)?;
        let same = dir.mount == Some(place.mount.number);
        if let (true, Some(here)) = (same, &dir.dir) {
            place.dir = here.clone();
            place.rest = RelPath::from(at.name);
        } else if same {
            return Err(Error::refused(ErrorKind::NotADirectory, ""));
        }
        Ok(place)
    }

    /// The place of an object that was looked up: its name must still lead to it.
    pub(crate) fn place_of_node(&self, node: &Node) -> Result<ResolvedPlace<'_>, Error> {
        let node = node.data::<SessionNode>()?;
        let mut place = self.route(&node.path)?;
        if let Some(dir @ LayerDir::Overlay(_)) = &node.dir {
            // The directory itself, wherever it is seen now: no name is asked.
            place.dir = dir.clone();
            place.rest = RelPath::root();
        } else if let (Some((dir, key)), Some(name)) = (&node.found_in, node.path.as_rel().name()) {
            place.dir = dir.clone();
            place.rest = RelPath::from(name);
            place.expected = key.clone();
        }
        Ok(place)
    }

    /// The place that a resolved path leads to.
    pub(crate) fn place_of(&self, found: &Resolved) -> Result<ResolvedPlace<'_>, Error> {
        let mut place = match (&found.dir, &found.name, &found.node) {
            (Some(dir), Some(name), _) => self.place_at(At::new(dir, name))?,
            (_, _, Some(node)) => self.place_of_node(node)?,
            _ => return Err(Error::refused(ErrorKind::NotFound, "")),
        };
        place.through_link = found.through_link;
        place.rest = place.rest.with_must_be_dir(found.must_be_dir);
        Ok(place)
    }
}

/// A layer says where it looked, below its own top; the caller is told the path of the session.
fn told_here(error: Error, path: &VirtualPath) -> Error {
    match error.path().is_empty() {
        true => error,
        false => error.on(Verb::Resolve, path.to_string()),
    }
}
