//! Where a request leads, and whether it may be done there.

use std::sync::Arc;

use handfast::{Dir, ErrorKind, FileKind, Identity, Metadata, NameRef, RelPath};

use crate::asking::Looked;
use crate::caller::Caller;
use crate::error::{Error, Reason};
use crate::judge::protected_by;
use crate::layer::MountLayer;
use crate::mount::{Mode, Mount};
use crate::overlay::{DirHandle, FileKey, Owner, Tree};
use crate::rules::{Access, DENY, Rule, Rules, Shape};
use crate::vpath::VirtualPath;

/// A directory of a mount that is held.
#[derive(Clone, Debug)]
pub(crate) enum LayerDir {
    /// The mount's own top.
    Top,
    /// A pinned directory of the host.
    Direct(Box<Dir>),
    /// A directory of an overlay, wherever it is seen now.
    Overlay(Arc<DirHandle>),
}

/// Which object a name must still lead to.
#[derive(Clone, Debug)]
pub(crate) enum ObjectKey {
    Direct(Identity),
    Overlay(FileKey),
}

/// A directory that is held, and a path below it without links. The layer refuses links.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) dir: &'a LayerDir,
    pub(crate) rest: &'a RelPath,
    /// The whole path below the mount, as it was walked.
    pub(crate) walked: &'a RelPath,
    pub(crate) expected: Option<&'a ObjectKey>,
    /// Who is asked about the path that the directory has now, where it may be another than the one
    /// that was walked.
    pub(crate) guard: Option<&'a Guard<'a>>,
    /// It may be looked at only as long as it is the session's own: a rule denies the name.
    pub(crate) must_own: bool,
}

impl<'a> Spot<'a> {
    /// The same, to be looked at only where the guard allows it.
    pub(crate) fn judged_by(self, guard: &'a Guard<'a>) -> Self {
        Self {
            guard: Some(guard),
            ..self
        }
    }
}

/// Where a request leads.
#[derive(Clone)]
pub(crate) struct ResolvedPlace<'a> {
    pub(crate) mount: &'a Mount,
    pub(crate) dir: LayerDir,
    pub(crate) rest: RelPath,
    /// The path below the mount that was walked to get there: rules are asked about this one.
    pub(crate) path: RelPath,
    pub(crate) expected: Option<ObjectKey>,
    /// The last component was a link that was followed: nothing is created under it.
    pub(crate) through_link: bool,
    /// See [`Spot::must_own`].
    pub(crate) must_own: bool,
    /// Because of which rules a person is asked before it is opened or changed.
    pub(crate) asks: Vec<Rule>,
    /// The file that is changed in place, where rules ask: a person was asked about it, or no rule
    /// asks about any of its names.
    pub(crate) granted: Option<Identity>,
    /// What a person saw there before saying yes to a change of it.
    pub(crate) shown: Option<Arc<Looked>>,
}

impl<'a> ResolvedPlace<'a> {
    /// A path below a mount, not walked yet.
    pub(crate) fn at(mount: &'a Mount, path: RelPath) -> Self {
        Self {
            mount,
            dir: LayerDir::Top,
            rest: path.clone(),
            path,
            expected: None,
            through_link: false,
            must_own: false,
            asks: Vec::new(),
            granted: None,
            shown: None,
        }
    }

    pub(crate) fn spot(&self) -> Spot<'_> {
        Spot {
            dir: &self.dir,
            rest: &self.rest,
            walked: &self.path,
            expected: self.expected.as_ref(),
            guard: None,
            must_own: self.must_own,
        }
    }

    /// Holds the directory of the name, in a mount of the host itself: another process that exchanges
    /// directories while a person thinks does not lead the answer to another file. What cannot be
    /// held, the verb refuses by itself.
    pub(crate) fn hold_parent(&mut self) {
        let MountLayer::Direct(direct) = &self.mount.layer else {
            return;
        };
        let (Some(name), Some(parent)) = (self.rest.name(), self.rest.parent()) else {
            return;
        };
        if parent.is_root() {
            return;
        }
        let spot = Spot {
            expected: None,
            ..self.spot()
        };
        if let Ok(dir) = direct.open_dir(spot, &parent) {
            let must_be_dir = self.rest.must_be_dir();
            self.rest = RelPath::from(&name.to_name()).with_must_be_dir(must_be_dir);
            self.dir = LayerDir::Direct(Box::new(dir));
        }
    }

    /// Lets only this file be changed under the name.
    pub(crate) fn hold_to(&mut self, file: Option<&Metadata>) {
        let identity = file.filter(|file| file.is_file()).map(|file| file.identity);
        self.granted = identity;
        if let (MountLayer::Direct(_), Some(identity), 1) =
            (&self.mount.layer, identity, self.rest.depth())
        {
            self.expected = Some(ObjectKey::Direct(identity));
        }
    }

    /// A name in the directory that this place is.
    pub(crate) fn inside(&self, name: NameRef<'_>) -> Self {
        Self {
            rest: self.rest.join(name),
            path: self.path.join(name),
            expected: None,
            through_link: false,
            must_own: false,
            asks: Vec::new(),
            granted: None,
            shown: None,
            ..self.clone()
        }
    }

    /// The directory that holds this place's name.
    pub(crate) fn parent(&self) -> Self {
        let up = |path: &RelPath| path.parent().unwrap_or_else(RelPath::root);
        Self {
            rest: up(&self.rest),
            path: up(&self.path),
            expected: None,
            through_link: false,
            must_own: false,
            asks: Vec::new(),
            granted: None,
            shown: None,
            ..self.clone()
        }
    }

    /// Whether both places lie in one mount.
    pub(crate) fn require_same_mount(&self, other: &Self) -> Result<(), Error> {
        if std::ptr::eq(self.mount, other.mount) {
            return Ok(());
        }
        Err(Error::refused(
            ErrorKind::Mount,
            "the two ends lie in different mounts; copy and remove instead",
        )
        .because(Reason::TwoMounts))
    }

    /// The place in the session's namespace.
    pub(crate) fn full(&self) -> VirtualPath {
        self.mount.full(&self.path)
    }
}

/// Asks the rules of a mount and of the caller about one kind of access. An overlay asks it again
/// under its lock, with the path that the directory has then.
#[derive(Clone, Copy)]
pub(crate) struct Guard<'a> {
    pub(crate) mount: &'a Mount,
    pub(crate) caller: &'a Caller,
    pub(crate) access: Access,
    pub(crate) shape: Shape,
    /// It is only passed, or looked at, on the way to something else.
    pub(crate) is_step: bool,
    /// Where content is opened or something changed, the path that was walked: what a person was
    /// asked about. Nothing for those who only look.
    pub(crate) asked_at: Option<&'a RelPath>,
    /// See [`ResolvedPlace::granted`].
    pub(crate) granted: Option<Identity>,
}

impl Guard<'_> {
    /// May this be done to a path of the mount? If so because the session made what is there, the
    /// answer says that it must still be that.
    pub(crate) fn check(&self, path: &RelPath) -> Result<MustOwn, Error> {
        self.check_scope(path)?;
        self.check_asked(path)?;
        let mut must_own = MustOwn(false);
        if let Some(rule) = self.mount.forbids(path, self.access, self.shape) {
            if !self.is_let_be(path, &rule, None)? {
                return Err(protected_by(&rule));
            }
            must_own = MustOwn(rule.list == DENY && self.access == Access::Read);
        }
        self.check_change(path)?;
        Ok(must_own)
    }

    /// As [`Guard::check`], by somebody who holds the overlay's tree.
    pub(crate) fn check_in(&self, path: &RelPath, tree: &Tree) -> Result<(), Error> {
        self.check_scope(path)?;
        self.check_asked(path)?;
        let rule = self.mount.forbids_in(path, self.access, self.shape, tree);
        if let Some(rule) = rule
            && !self.is_let_be(path, &rule, Some(tree))?
        {
            return Err(protected_by(&rule));
        }
        self.check_change(path)
    }

    /// A person is asked about the path that was walked. Under another path, by which the object is
    /// seen meanwhile or besides, nobody was asked.
    fn check_asked(&self, path: &RelPath) -> Result<(), Error> {
        if self.asked_at.is_none_or(|walked| walked == path) {
            return Ok(());
        }
        match self.mount.asks(path, self.shape).first() {
            Some(rule) => Err(Error::refused(
                ErrorKind::Denied,
                format!("a person is asked about another of its names: {rule}"),
            )
            .because(Reason::NotGranted)),
            None => Ok(()),
        }
    }

    /// May this be done to what the base has at a path?
    pub(crate) fn check_held(&self, path: &RelPath) -> Result<(), Error> {
        match self.mount.forbids(path, Access::Read, self.shape) {
            Some(rule) => Err(protected_by(&rule)),
            None => Ok(()),
        }
    }

    /// What the caller may reach.
    pub(crate) fn check_scope(&self, path: &RelPath) -> Result<(), Error> {
        if !self.caller.has_scope() {
            return Ok(());
        }
        let full = self.mount.full(path);
        match self.is_step {
            true => self.caller.check_step(&full, self.access),
            false => self.caller.check(&full, self.access),
        }
    }

    /// Whether an overlay lets something be that a rule forbids. A change of a read-only name waits
    /// there until a commit names it. A denied name is the session's own if the base has nothing there.
    fn is_let_be(&self, path: &RelPath, rule: &Rule, tree: Option<&Tree>) -> Result<bool, Error> {
        let Some(overlay) = self.mount.layer.overlay() else {
            return Ok(false);
        };
        if rule.list != DENY {
            return Ok(true);
        }
        let owner = match tree {
            Some(tree) => tree.owner(path),
            None => overlay.owner(path)?,
        };
        Ok(match owner {
            Owner::Session => true,
            Owner::Base => false,
            Owner::Nobody(at) => self.access == Access::Change && overlay.is_free(&at),
        })
    }

    fn check_change(&self, path: &RelPath) -> Result<(), Error> {
        if self.access == Access::Read {
            return Ok(());
        }
        if path.segments().any(is_ours) {
            return Err(Error::refused(
                ErrorKind::Denied,
                "names that begin with `.handfast-` are kept for unfinished work; `recover` cleans up",
            )
            .because(Reason::Protected));
        }
        if self.mount.mode == Mode::ReadOnly {
            return Err(Error::refused(ErrorKind::Denied, "the mount is read-only")
                .because(Reason::ReadOnlyMount));
        }
        Ok(())
    }

    /// May something of a kind come under a name? `None` if the kind is not known for certain.
    pub(crate) fn check_new(&self, path: &RelPath, kind: Option<FileKind>) -> Result<(), Error> {
        // In an overlay a file of that name waits until a commit names it.
        let waits = kind == Some(FileKind::File) && self.mount.layer.overlay().is_some();
        if kind != Some(FileKind::Dir) && !waits && self.mount.rules().keeps_for_a_directory(path) {
            return Err(would_lose(
                "a file here would lead git away from its protected settings; only a directory may \
                 be made under this name",
            ));
        }
        if kind == Some(FileKind::Symlink) && !self.mount.is_ordinary_below(path) {
            return Err(would_lose(
                "a link here would lead away from protected names below it",
            ));
        }
        Ok(())
    }

    /// May something move from one name to the other? Nothing below it gains or loses a rule. A
    /// file has nothing below it, but only where its kind is certain: a link may lead to a
    /// directory, and what is not held may be swapped for one.
    pub(crate) fn check_move(
        &self,
        from: &RelPath,
        to: &RelPath,
        kind: Option<FileKind>,
    ) -> Result<(), Error> {
        self.check_new(to, kind)?;
        let says_the_same = |rules: &Rules| {
            rules.is_empty()
                || rules.judge(from).below() == rules.judge(to).below()
                    && rules.judge_folded(from).below() == rules.judge_folded(to).below()
        };
        let is_file = kind == Some(FileKind::File);
        if is_file || says_the_same(self.mount.rules()) && says_the_same(&self.mount.judge.ask) {
            return Ok(());
        }
        Err(would_lose(
            "names below it would come under a protected pattern, or leave one; copy a file instead",
        ))
    }

    /// Judges a file of the base that is about to be read or copied, by its other names.
    pub(crate) fn check_file(&self, file: &Metadata) -> Result<(), Error> {
        if self
            .granted
            .is_some_and(|granted| !granted.same_object(&file.identity))
        {
            return Err(crate::asking::changed_meanwhile());
        }
        // An overlay changes a copy: the other names keep what they have.
        let access = match self.mount.layer.overlay() {
            Some(_) => Access::Read,
            None => self.access,
        };
        self.mount.judge.check_other_names(file, access)
    }

    /// The directories that lead to Handfast's own state stay where they are.
    pub(crate) fn refuse_kept(&self, object: &Metadata) -> Result<(), Error> {
        if self.mount.keeps(object) {
            return Err(Error::refused(
                ErrorKind::Denied,
                "Handfast's own state lies in this directory; it stays where it is",
            )
            .because(Reason::Protected));
        }
        Ok(())
    }
}

/// Whether what was allowed is allowed only for as long as the session itself made it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MustOwn(pub(crate) bool);

/// Whether a name looks like what the library and commits leave behind when they are killed: what
/// an agent put there could be taken for that, and finished.
fn is_ours(name: NameRef<'_>) -> bool {
    name.as_bytes().starts_with(b".handfast-")
}

fn would_lose(why: &'static str) -> Error {
    Error::refused(ErrorKind::Denied, why).because(Reason::Protected)
}
