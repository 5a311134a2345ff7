//! The session as a program in a run sees it: its files, and one file with what reviewers said.
//!
//! Names that begin with `.handfast-` are ours, so nothing of the project is covered. The file is in no
//! listing: tools that walk the project do not meet it.

use std::sync::Arc;

use handfast::files::{
    AbsoluteLink, At, Attributes, Entries, FileHandle, Files, Node, NodeData, Put, Space,
    StagedContent, Watchable, WhatToRemove,
};
use handfast::{
    Error, ErrorKind, FileKind, Links, Metadata, Name, NameRef, OpenOptions, RelPath, RenameMode,
    SymlinkTarget, Timestamp, Version, WriteOptions, Written,
};
use handfast_run::Project;
use handfast_session::{Caller, Session, VirtualPath};

use super::{summary, worktree};
use crate::approve::inside::{ANSWER, COMMENTS};

/// A session in a run.
pub(super) struct RunView {
    /// For the program.
    session: Session,
    /// For the comments, which no rule of the program speaks of.
    plain: Session,
    /// The project.
    top: Node,
    /// The project's repository, if that lies elsewhere.
    repository: Option<Node>,
}

impl RunView {
    /// The files of a project's session for a caller.
    pub(super) fn new(session: &Session, caller: Caller, project: &Project) -> Result<Self, Error> {
        let session_of_program = session.for_caller(caller);
        let find = |at: VirtualPath| {
            let names = at.as_rel().segments();
            names.fold(session_of_program.top(), |dir, name| {
                session_of_program.lookup(&dir?, name)
            })
        };
        let repository = worktree::place_of_repository(project);
        Ok(Self {
            top: find(worktree::place_of(project))?,
            repository: repository.map(find).transpose()?,
            session: session_of_program,
            plain: session.clone(),
        })
    }

    /// The project.
    pub(super) fn project_top(&self) -> &Node {
        &self.top
    }

    /// The project's repository, if that lies elsewhere.
    pub(super) fn repository_top(&self) -> Option<&Node> {
        self.repository.as_ref()
    }

    fn is_comments(&self, dir: &Node, name: NameRef<'_>) -> bool {
        name.as_bytes() == COMMENTS.as_bytes() && dir.is_same(&self.top)
    }

    fn comments(&self) -> Result<Comments, Error> {
        let said = self.plain.comments()?;
        let mut text = String::new();
        for comment in &said {
            text.push_str(&summary::comment(comment));
            text.push('\n');
        }
        let mut metadata = *self.top.metadata();
        metadata.kind = FileKind::File;
        metadata.mode = 0o444;
        metadata.nlink = 1;
        metadata.len = text.len() as u64;
        metadata.blocks = metadata.len.div_ceil(512);
        metadata.mount_root = false;
        // No object of the base has this number.
        metadata.identity.inode = 0;
        metadata.identity.born = None;
        if let Some(newest) = said.iter().map(|comment| comment.made).max() {
            let time = Timestamp {
                seconds: i64::try_from(newest / 1_000_000_000).unwrap_or(i64::MAX),
                nanoseconds: u32::try_from(newest % 1_000_000_000).unwrap_or(0),
            };
            (metadata.modified, metadata.changed) = (time, time);
        }
        Ok(Comments { text, metadata })
    }

    /// A name that only `handfast approve` makes: it was started inside of the run.
    fn refuse_answer(&self, at: At<'_>) -> Result<(), Error> {
        let Some(tried) = at.name.as_bytes().strip_prefix(ANSWER.as_bytes()) else {
            return Ok(());
        };
        let tried = handfast::escape(tried);
        let why = format!("it came from inside of the run ({tried})");
        self.session.record_refused_answer(&why)?;
        Err(Error::refused(
            ErrorKind::Denied,
            "an answer comes from a terminal outside of any run",
        ))
    }
}

/// What reviewers said, as a file.
#[derive(Debug)]
struct Comments {
    text: String,
    metadata: Metadata,
}

impl NodeData for Comments {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn is_same(&self, other: &dyn NodeData) -> bool {
        let other: &dyn std::any::Any = other;
        other.is::<Self>()
    }
}

impl FileHandle for Comments {
    fn opened_metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata(&self) -> Result<Metadata, Error> {
        Ok(self.metadata)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.text.as_bytes().get(begin..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize, Error> {
        Err(only_read())
    }

    fn set_len(&self, _: u64) -> Result<(), Error> {
        Err(only_read())
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    fn version(&self, _: bool) -> Result<Version, Error> {
        Err(Error::refused(
            ErrorKind::Unsupported,
            "what reviewers said has no version",
        ))
    }
}

fn only_read() -> Error {
    Error::refused(
        ErrorKind::Denied,
        "what reviewers said can only be read; `handfast review` is where it is written",
    )
}

fn is_said(node: &Node) -> bool {
    node.data::<Comments>().is_ok()
}

fn refuse_said(node: &Node) -> Result<(), Error> {
    match is_said(node) {
        true => Err(only_read()),
        false => Ok(()),
    }
}

impl Files for RunView {
    fn links(&self) -> Links {
        Files::links(&self.session)
    }

    fn read_limit(&self) -> u64 {
        Files::read_limit(&self.session)
    }

    fn top(&self) -> Result<Node, Error> {
        self.session.top()
    }

    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error> {
        match self.is_comments(dir, name) {
            true => Ok(Node::new(self.comments()?)),
            false => self.session.lookup(dir, name),
        }
    }

    fn lookup_all(&self, dir: &Node, names: &[&Name]) -> Vec<Result<Node, Error>> {
        self.session.lookup_all(dir, names)
    }

    fn record_refused_look(&self, at: At<'_>, error: &Error) {
        self.session.record_refused_look(at, error);
    }

    fn asked_by(&self, pid: u32) -> Option<Arc<dyn Files>> {
        let caller = self.session.caller();
        // Where nothing is recorded, nobody is told who asks.
        self.session.asked_by(pid)?;
        Some(Arc::new(Self {
            session: self.session.for_caller(caller.clone().process(pid)),
            plain: self.plain.clone(),
            top: self.top.clone(),
            repository: self.repository.clone(),
        }))
    }

    fn watchable(&self, dir: &Node) -> Result<Watchable, Error> {
        self.session.watchable(dir)
    }

    fn changes_by_others(&self) -> Result<u64, Error> {
        self.session.changes_by_others()
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        match is_said(node) {
            true => Ok(self.comments()?.metadata),
            false => self.session.metadata_of(node),
        }
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.session.link_of(link)
    }

    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error> {
        self.session.entries_of(dir)
    }

    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        match (is_said(node), how.changes() || how.creates()) {
            (true, true) => Err(only_read()),
            (true, false) => Ok(Box::new(self.comments()?)),
            (false, _) => self.session.open_node(node, how),
        }
    }

    fn set_attributes_of(&self, node: &Node, attributes: &Attributes) -> Result<(), Error> {
        refuse_said(node)?;
        self.session.set_attributes_of(node, attributes)
    }

    fn create_at(&self, at: At<'_>, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        self.refuse_answer(at)?;
        self.session.create_at(at, how)
    }

    fn create_node_at(
        &self,
        at: At<'_>,
        how: OpenOptions,
    ) -> Result<(Node, Box<dyn FileHandle>), Error> {
        self.refuse_answer(at)?;
        self.session.create_node_at(at, how)
    }

    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.session.put_at(at, data, put, options)
    }

    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        self.session.stage_at(at, options)
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.session.append_at(at, data, options)
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        self.session.create_dir_at(at, mode)
    }

    fn symlink_at(&self, target: &[u8], at: At<'_>) -> Result<(), Error> {
        self.session.symlink_at(target, at)
    }

    fn hard_link_at(&self, file: &Node, at: At<'_>) -> Result<(), Error> {
        refuse_said(file)?;
        self.session.hard_link_at(file, at)
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        self.session.rename_at(from, to, mode)
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        match self.is_comments(at.dir, at.name) {
            true => Err(only_read()),
            false => self.session.remove_at(at, what),
        }
    }

    fn absolute_link(&self, target: &[u8]) -> Result<Option<AbsoluteLink>, Error> {
        self.session.absolute_link(target)
    }

    fn link_to_follow(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.session.link_to_follow(link)
    }

    fn require_search(&self, dir: &Node) -> Result<(), Error> {
        self.session.require_search(dir)
    }

    fn space_of(&self, dir: &Node) -> Result<Space, Error> {
        self.session.space_of(dir)
    }

    fn xattr_of(&self, node: &Node, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match is_said(node) {
            true => Ok(None),
            false => self.session.xattr_of(node, name),
        }
    }

    fn xattrs_of(&self, node: &Node) -> Result<Vec<String>, Error> {
        match is_said(node) {
            true => Ok(Vec::new()),
            false => self.session.xattrs_of(node),
        }
    }

    fn set_xattr_of(&self, node: &Node, name: &str, value: Option<&[u8]>) -> Result<(), Error> {
        refuse_said(node)?;
        self.session.set_xattr_of(node, name, value)
    }

    fn shown_path(&self, path: &RelPath) -> String {
        self.session.shown_path(path)
    }
}
