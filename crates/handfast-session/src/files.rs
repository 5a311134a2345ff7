//! A session behind the interface that every kind of files has.
//!
//! A path counts from `/` of the session. Looking a name up is not recorded, unless a face says that a
//! rule refused it; what is opened or changed is.

use std::sync::Arc;

use handfast::files::{
    AbsoluteLink, At, Attributes, Entries, FileHandle, Files, LastLink, Node, Put, Space,
    StagedContent, Watchable, WhatToRemove,
};
use handfast::{
    Effect, ErrorKind, Links, Metadata, Name, NameRef, OpenOptions, RelPath, RenameMode,
    SymlinkTarget, TreeLimits, Verb, Version, WriteOptions, Written,
};

use crate::error::Error;
use crate::node::SessionNode;
use crate::op::Op;
use crate::pipeline::Request;
use crate::session::Session;
use crate::verbs::Staged;
use crate::vpath::VirtualPath;

fn virtual_path(path: &RelPath) -> VirtualPath {
    VirtualPath::from(path.clone())
}

impl Files for Session {
    fn links(&self) -> Links {
        // Each mount says for itself; the walk asks it for every link.
        Links::Beneath
    }

    fn read_limit(&self) -> u64 {
        Self::read_limit(self)
    }

    fn top(&self) -> Result<Node, Error> {
        self.top_node()
    }

    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error> {
        self.child(At { dir, name })
    }

    fn lookup_all(&self, dir: &Node, names: &[&Name]) -> Vec<Result<Node, Error>> {
        self.children(dir, names)
    }

    fn record_refused_look(&self, at: At<'_>, error: &Error) {
        // What the system refuses, and what is missing, was not decided here.
        let is_by_rule = error.kind() == ErrorKind::Denied && error.raw_os_error().is_none();
        if let (true, Ok(dir)) = (is_by_rule, at.dir.data::<SessionNode>()) {
            let path = dir.path().join(at.name);
            Op::new(self, Verb::Resolve, &path, None).refused(error);
        }
    }

    fn asked_by(&self, pid: u32) -> Option<Arc<dyn Files>> {
        let caller = self.caller();
        let named = || self.for_caller(caller.clone().process(pid));
        caller.is_recorded().then(|| Arc::new(named()) as _)
    }

    fn watchable(&self, dir: &Node) -> Result<Watchable, Error> {
        // A scope may end, and nobody hears of that.
        let mount = dir.data::<SessionNode>()?.mount(self);
        match mount.and_then(|mount| mount.layer.overlay()) {
            Some(overlay) if !self.caller().has_scope() => {
                overlay.watchable(self.place_of_node(dir)?.spot())
            }
            _ => Ok(Watchable::Unknown),
        }
    }

    fn changes_by_others(&self) -> Result<u64, Error> {
        let overlays = self
            .mounts()
            .iter()
            .filter_map(|mount| mount.layer.overlay());
        overlays
            .map(crate::overlay::Overlay::changes_by_others)
            .sum()
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        let data = node.data::<SessionNode>()?;
        if data.mount(self).is_none() {
            return Ok(*node.metadata());
        }
        self.judge_again(node)?;
        let place = self.place_of_node(node)?;
        let guard = self.look_guard(place.mount, node.kind());
        place
            .mount
            .layer
            .symlink_metadata(place.spot().judged_by(&guard))
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.judge_again(link)?;
        let place = self.place_of_node(link)?;
        let guard = self.look_guard(place.mount, link.kind());
        place.mount.layer.read_link(place.spot().judged_by(&guard))
    }

    fn link_to_follow(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        let mount = link.data::<SessionNode>()?.mount(self);
        if mount.is_some_and(|mount| mount.links == Links::Refuse) {
            return Err(Error::refused(
                ErrorKind::Link,
                "a symbolic link is in the way",
            ));
        }
        self.link_of(link)
    }

    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error> {
        let data = dir.data::<SessionNode>()?;
        let entries = match data.mount(self) {
            None => self.read_dir(data.path())?,
            Some(_) => {
                let place = self.place_of_node(dir)?;
                let request = Request::look(Verb::ReadDir, data.path()).held(&place);
                self.list(request, data.path())?
            }
        };
        Ok(Box::new(entries.into_iter().map(Ok)))
    }

    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        if how.creates() {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "a file that is there is not created",
            ));
        }
        let place = self.place_of_node(node)?;
        let path = node.data::<SessionNode>()?.path();
        let file = match how.changes() {
            false => self.open_reading(Request::read(Verb::Open, path).held(&place))?,
            true => {
                let request = Request::change(Verb::OpenWrite, path).held(&place);
                self.open_writing(request, how)?
            }
        };
        Ok(Box::new(file))
    }

    fn set_attributes_of(&self, node: &Node, attributes: &Attributes) -> Result<(), Error> {
        let place = self.place_of_node(node)?;
        let path = node.data::<SessionNode>()?.path();
        let verb = attributes.verb();
        self.set_attributes_as(Request::change(verb, path).held(&place), attributes)
    }

    fn create_at(&self, at: At<'_>, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        let place = self.place_at(at)?;
        let path = place.full();
        let request = Request::change(Verb::OpenWrite, &path).held(&place);
        Ok(Box::new(self.open_writing(request, how)?))
    }

    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let place = self.place_at(at)?;
        let path = place.full();
        let request = Request::change(put.verb(), &path).itself().held(&place);
        self.put_as(request, data, put, options)
    }

    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        let place = self.place_at(at)?;
        Ok(Box::new(self.stage_in(place, options)?))
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        let place = self.place_at(at)?;
        let path = place.full();
        self.append_as(
            Request::change(Verb::Append, &path).held(&place),
            data,
            options,
        )
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        let place = self.place_at(at)?;
        let path = place.full();
        let request = Request::change(Verb::CreateDir, &path).itself();
        let made = self.create_dir_as(request.held(&place), mode)?;
        let node = self
            .child(at)
            .map_err(|error| error.with_effect(Effect::Visible))?;
        match made {
            // A co-owner of the parent renamed a directory of his own over the new one.
            Some(made) if !made.same_object(&node.metadata().identity) => {
                let why = "another object has the name right after it was made";
                Err(Error::refused(ErrorKind::Raced, why).with_effect(Effect::Visible))
            }
            _ => Ok(node),
        }
    }

    fn symlink_at(&self, target: &[u8], at: At<'_>) -> Result<(), Error> {
        let place = self.place_at(at)?;
        let path = place.full();
        let request = Request::change(Verb::Symlink, &path).itself();
        self.symlink_as(target, request.held(&place))
    }

    fn hard_link_at(&self, file: &Node, at: At<'_>) -> Result<(), Error> {
        let (source, target) = (self.place_of_node(file)?, self.place_at(at)?);
        let (from, to) = (source.full(), target.full());
        self.hard_link_as(
            Request::change(Verb::HardLink, &from)
                .itself()
                .held(&source),
            Request::change(Verb::HardLink, &to).itself().held(&target),
        )
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        let (source, target) = (self.place_at(from)?, self.place_at(to)?);
        let (from, to) = (source.full(), target.full());
        self.rename_as(
            Request::change(Verb::Rename, &from).itself().held(&source),
            Request::change(Verb::Rename, &to).itself().held(&target),
            mode,
        )
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        let place = self.place_at(at)?;
        let path = place.full();
        let request = Request::change(what.verb(), &path).itself();
        self.remove_as(request.held(&place), what)
    }

    fn absolute_link(&self, target: &[u8]) -> Result<Option<AbsoluteLink>, Error> {
        // An absolute target in a mount's directory is taken from its top.
        let found = self
            .mounts()
            .iter()
            .find_map(|mount| Some((mount, mount.below_host(target)?)));
        let Some((mount, rest)) = found else {
            return Ok(None);
        };
        let mut way = vec![self.top_node()?];
        for name in mount.at.as_rel().segments() {
            let here = way.last().expect("it begins with the top");
            way.push(self.child(At { dir: here, name })?);
        }
        Ok(Some(AbsoluteLink {
            way,
            rest: rest.to_vec(),
        }))
    }

    fn space_of(&self, dir: &Node) -> Result<Space, Error> {
        let node = dir.data::<SessionNode>()?;
        let mount = (node.mount(self)).or_else(|| self.mounts().iter().next());
        let mount =
            mount.ok_or_else(|| Error::refused(ErrorKind::NotFound, "nothing is mounted"))?;
        let mut space = mount.base.space_of(&mount.base.top()?)?;
        let used = self.account().used(mount.number)?;
        for quota in [mount.quota, self.quota()] {
            if let Some(bytes) = quota.bytes {
                space.bytes = space.bytes.min(bytes);
                let free = bytes.saturating_sub(used.bytes);
                space.bytes_free = space.bytes_free.min(free);
            }
            if let Some(names) = quota.inodes {
                space.names = space.names.min(names);
                let free = names.saturating_sub(used.inodes);
                space.names_free = space.names_free.min(free);
            }
        }
        Ok(space)
    }

    fn xattr_of(&self, node: &Node, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let place = self.place_of_node(node)?;
        let path = node.data::<SessionNode>()?.path();
        self.get_xattr_as(Request::look(Verb::GetXattr, path).held(&place), name)
    }

    fn xattrs_of(&self, node: &Node) -> Result<Vec<String>, Error> {
        let place = self.place_of_node(node)?;
        let path = node.data::<SessionNode>()?.path();
        self.list_xattrs_as(Request::look(Verb::ListXattr, path).held(&place))
    }

    fn set_xattr_of(&self, node: &Node, name: &str, value: Option<&[u8]>) -> Result<(), Error> {
        let place = self.place_of_node(node)?;
        let path = node.data::<SessionNode>()?.path();
        self.set_xattr_as(
            Request::change(Verb::SetXattr, path).held(&place),
            name,
            value,
        )
    }

    // The shorter ways: the mount is asked for the whole path at once, as long as no link is met.

    fn metadata(&self, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        match last {
            LastLink::Follow => Self::metadata(self, virtual_path(path)),
            LastLink::Itself => self.symlink_metadata(virtual_path(path)),
        }
    }

    fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        Self::read_link(self, virtual_path(path))
    }

    fn open(&self, path: &RelPath, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        Ok(Box::new(self.open_with(virtual_path(path), how)?))
    }

    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, Error> {
        self.read_to_limit(virtual_path(path), limit)
    }

    fn read_versioned(&self, path: &RelPath, limit: u64) -> Result<(Vec<u8>, Version), Error> {
        self.read_versioned_to_limit(virtual_path(path), limit)
    }

    fn shown_path(&self, path: &RelPath) -> String {
        virtual_path(path).to_string()
    }

    fn version(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        match digest {
            true => self.version_with_digest(virtual_path(path)),
            false => Self::version(self, virtual_path(path)),
        }
    }

    fn put(
        &self,
        path: &RelPath,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        Self::put(self, virtual_path(path), data, put, options)
    }

    fn stage(
        &self,
        path: &RelPath,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        Ok(Box::new(self.stage_with(virtual_path(path), options)?))
    }

    fn append(&self, path: &RelPath, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.append_with(virtual_path(path), data, options)
    }

    fn entries(&self, path: &RelPath) -> Result<Entries<'_>, Error> {
        let entries = self.read_dir(virtual_path(path))?;
        Ok(Box::new(entries.into_iter().map(Ok)))
    }

    fn create_dir(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.create_dir_with(virtual_path(path), mode)
    }

    fn create_dir_all(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.create_dir_all_with(virtual_path(path), mode)
    }

    fn symlink(&self, target: &[u8], path: &RelPath) -> Result<(), Error> {
        Self::symlink(self, target, virtual_path(path))
    }

    fn hard_link(&self, source: &RelPath, new: &RelPath) -> Result<(), Error> {
        Self::hard_link(self, virtual_path(source), virtual_path(new))
    }

    fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        Self::rename(self, virtual_path(from), virtual_path(to), mode)
    }

    fn remove(&self, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
        let path = virtual_path(path);
        self.remove_as(Request::change(what.verb(), &path).itself(), what)
    }

    fn copy(&self, from: &RelPath, to: &RelPath, put: Put<'_>) -> Result<Written, Error> {
        self.copy_with(virtual_path(from), virtual_path(to), put)
    }

    fn copy_tree(&self, from: &RelPath, to: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        self.copy_tree_with(virtual_path(from), virtual_path(to), limits)
    }

    fn remove_tree(&self, path: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        self.remove_tree_with(virtual_path(path), limits)
    }

    fn set_attributes(&self, path: &RelPath, attributes: &Attributes) -> Result<(), Error> {
        Self::set_attributes(self, virtual_path(path), attributes)
    }
}

impl StagedContent for Staged<'_> {
    fn publish(self: Box<Self>, put: Put<'_>) -> Result<Written, Error> {
        (*self).put(put)
    }
}
