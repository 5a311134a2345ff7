//! The interface `Files` by handles alone answers like a root's own shorter ways.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(target_os = "linux")]

mod support;

use std::path::Path;

use handfast::files::{
    AbsoluteLink, At, Attributes, Entries, FileHandle, Put, StagedContent, WhatToRemove,
};
use handfast::{
    BackendChoice, Error, Files, Links, Metadata, NameRef, Node, OpenOptions, RelPath, RenameMode,
    Root, RootOptions, SymlinkTarget, WriteOptions, Written,
};
use handfast_conformance::{Layer, compare};
use support::*;

/// A root that has handles only: every verb on a path is the provided one.
struct ByHandles(Root);

impl Files for ByHandles {
    fn absolute_link(&self, target: &[u8]) -> Result<Option<AbsoluteLink>, Error> {
        self.0.absolute_link(target)
    }

    fn links(&self) -> Links {
        self.0.links()
    }

    fn read_limit(&self) -> u64 {
        self.0.read_limit()
    }

    fn top(&self) -> Result<Node, Error> {
        self.0.top()
    }

    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error> {
        self.0.lookup(dir, name)
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        self.0.metadata_of(node)
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.0.link_of(link)
    }

    fn link_to_follow(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.0.link_to_follow(link)
    }

    fn require_search(&self, dir: &Node) -> Result<(), Error> {
        self.0.require_search(dir)
    }

    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error> {
        self.0.entries_of(dir)
    }

    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        self.0.open_node(node, how)
    }

    fn set_attributes_of(&self, node: &Node, attributes: &Attributes) -> Result<(), Error> {
        self.0.set_attributes_of(node, attributes)
    }

    fn create_at(&self, at: At<'_>, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        self.0.create_at(at, how)
    }

    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.0.put_at(at, data, put, options)
    }

    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        self.0.stage_at(at, options)
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.0.append_at(at, data, options)
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        self.0.create_dir_at(at, mode)
    }

    fn symlink_at(&self, target: &[u8], at: At<'_>) -> Result<(), Error> {
        self.0.symlink_at(target, at)
    }

    fn hard_link_at(&self, file: &Node, at: At<'_>) -> Result<(), Error> {
        self.0.hard_link_at(file, at)
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        self.0.rename_at(from, to, mode)
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        self.0.remove_at(at, what)
    }

    fn xattr_of(&self, node: &Node, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.0.xattr_of(node, name)
    }

    fn xattrs_of(&self, node: &Node) -> Result<Vec<String>, Error> {
        self.0.xattrs_of(node)
    }

    fn set_xattr_of(&self, node: &Node, name: &str, value: Option<&[u8]>) -> Result<(), Error> {
        self.0.set_xattr_of(node, name, value)
    }

    fn shown_path(&self, path: &RelPath) -> String {
        self.0.shown_path(path)
    }
}

/// A root's own ways.
struct Own(BackendChoice);

impl Layer for Own {
    fn name(&self) -> String {
        format!("root {}", backend_name(self.0))
    }

    fn open(&self, root: &Path, links: Links) -> Box<dyn Files> {
        let options = RootOptions::new().backend(self.0).links(links);
        Box::new(Root::open_ambient_with(root, options).unwrap())
    }
}

/// A root by handles alone.
struct Handles(BackendChoice);

impl Layer for Handles {
    fn name(&self) -> String {
        format!("handles {}", backend_name(self.0))
    }

    fn open(&self, root: &Path, links: Links) -> Box<dyn Files> {
        let options = RootOptions::new().backend(self.0).links(links);
        Box::new(ByHandles(Root::open_ambient_with(root, options).unwrap()))
    }
}

#[test]
fn handles_answer_like_a_roots_own_ways_where_links_are_refused() {
    each_backend(|backend| {
        let report = compare(&Own(backend), &Handles(backend), Links::Refuse);
        assert!(report.compared > 5_000 && report.done > 400, "{report:?}");
        assert_eq!(report.refused, 0);
    });
}

#[test]
fn handles_answer_like_a_roots_own_ways_where_links_are_followed() {
    each_backend(|backend| {
        for links in [Links::Beneath, Links::InRoot] {
            let report = compare(&Own(backend), &Handles(backend), links);
            assert!(report.compared > 5_000 && report.done > 400, "{report:?}");
            assert_eq!(report.refused, 0);
        }
    });
}
