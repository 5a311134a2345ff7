//! The one way from a request to an effect: parse → route → resolve → decide → record → act.
//!
//! Every verb of a session runs through [`Session::act`] or [`Session::act_on_two`]. Below a mount
//! the library is asked with links refused, so the components that a decision is made on are the
//! components that are walked. Where links may be followed, a link that stops the library is read
//! here, its target is put in its place, and everything is decided again on the new path.

use handfast::{
    Decision, ErrorKind, Event, Links, Metadata, NameRef, Phase, RecordError, RelPath, Verb,
};

use crate::error::{Error, Reason};
use crate::mount::{Mode, Mount, Route};
use crate::resolve;
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::vpath::VirtualPath;

/// As many links as the kernel follows.
pub(crate) const MAX_LINKS: u32 = 40;

/// So much is told of text that is no path: it may be of any length.
const TOLD_TEXT: usize = 4096;

/// What to do with a link as last component.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Last {
    /// Follow it, where the mount allows.
    Follow,
    /// The link itself is meant.
    Itself,
}

/// A request.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) verb: Verb,
    pub(crate) path: &'a [u8],
    pub(crate) last: Last,
    pub(crate) access: Access,
    pub(crate) shape: Shape,
    /// Whether links on the way are followed, where the mount allows.
    pub(crate) follow: bool,
}

impl<'a> Ask<'a> {
    /// Reading a file.
    pub(crate) fn read(verb: Verb, path: &'a [u8]) -> Self {
        Self {
            verb,
            path,
            last: Last::Follow,
            access: Access::Read,
            shape: Shape::File,
            follow: true,
        }
    }

    /// Looking at what may be a directory.
    pub(crate) fn look(verb: Verb, path: &'a [u8]) -> Self {
        Self {
            shape: Shape::MaybeDir,
            ..Self::read(verb, path)
        }
    }

    /// Changing something.
    pub(crate) fn change(verb: Verb, path: &'a [u8]) -> Self {
        Self {
            access: Access::Change,
            ..Self::look(verb, path)
        }
    }

    /// The entry itself, also if it is a link.
    pub(crate) fn itself(self) -> Self {
        Self {
            last: Last::Itself,
            ..self
        }
    }
}

impl Ask<'_> {
    /// No link is followed: the path was settled before.
    pub(crate) fn without_links(self) -> Self {
        Self {
            follow: false,
            ..self.itself()
        }
    }
}

/// A path in a mount, without links as far as is known; the layer below refuses if there is one.
pub(crate) struct Place<'a> {
    pub(crate) mount: &'a Mount,
    pub(crate) path: RelPath,
    /// The last component was a link that was followed: nothing is created under it.
    pub(crate) through_link: bool,
}

/// One operation and its events.
pub(crate) struct Op<'a> {
    session: &'a Session,
    verb: Verb,
    path: &'a VirtualPath,
    destination: Option<&'a VirtualPath>,
    told: std::cell::Cell<Option<u64>>,
    /// The recorder itself refused: it knows.
    silent: std::cell::Cell<bool>,
}

impl Session {
    /// Runs a verb on one path.
    pub(crate) fn act<T>(
        &self,
        ask: Ask<'_>,
        act: impl FnMut(&Place<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.parse(ask.verb, ask.path)?;
        let op = Op::new(self, ask.verb, &path, None);
        op.finish(self.act_at(ask, &path, &op, act))
    }

    fn act_at<T>(
        &self,
        ask: Ask<'_>,
        path: &VirtualPath,
        op: &Op<'_>,
        mut act: impl FnMut(&Place<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut place = self.route(path)?;
        for _ in 0..=MAX_LINKS {
            decide(&place, ask.access, ask.shape)?;
            if ask.access == Access::Change {
                op.allow(place.mount, None)?;
            }
            match act(&place, op) {
                Err(error) if error.kind() == ErrorKind::Link && ask.follow => {
                    place = resolve::settle(self.mounts(), place, ask.last, ask.access)?
                        .ok_or(error)?;
                }
                done => return done,
            }
        }
        Err(Error::new(ErrorKind::Link, "too many links, or a loop"))
    }

    /// Runs a verb on a source and a destination.
    pub(crate) fn act_on_two<T>(
        &self,
        ask: Ask<'_>,
        to: Ask<'_>,
        mut act: impl FnMut(&Place<'_>, &Place<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let refuse = |error: Error| {
            error
                .on(ask.verb, handfast::escape(ask.path))
                .and(Some(handfast::escape(to.path)))
        };
        let path = self.parse(ask.verb, ask.path).map_err(refuse)?;
        let destination = self.parse(ask.verb, to.path).map_err(refuse)?;
        let op = Op::new(self, ask.verb, &path, Some(&destination));
        let mut run = || {
            let mut source = self.route(&path)?;
            let mut target = self.route(&destination)?;
            for _ in 0..=2 * MAX_LINKS {
                decide(&source, ask.access, ask.shape)?;
                decide(&target, to.access, to.shape)?;
                op.allow(source.mount, None)?;
                let error = match act(&source, &target, &op) {
                    Err(error) if error.kind() == ErrorKind::Link => error,
                    done => return done,
                };
                let next = resolve::settle(self.mounts(), source.again(), ask.last, ask.access)?;
                let other = resolve::settle(self.mounts(), target.again(), to.last, to.access)?;
                if next.is_none() && other.is_none() {
                    return Err(error);
                }
                source = next.unwrap_or(source);
                target = other.unwrap_or(target);
            }
            Err(Error::new(ErrorKind::Link, "too many links, or a loop"))
        };
        op.finish(run())
    }

    /// Text becomes a path. What becomes none is refused, and the recorder hears of that too.
    pub(crate) fn parse(&self, verb: Verb, text: &[u8]) -> Result<VirtualPath, Error> {
        let error = match VirtualPath::parse(text) {
            Ok(path) => return Ok(path),
            Err(error) => error.on(verb, handfast::escape(text)),
        };
        if let (Some(recorder), Some(mount)) = (self.recorder(), self.mounts().iter().next()) {
            let top = RelPath::root();
            let backend = mount.base.backend();
            let mut event = Event::begin(verb, &top, mount.base.identity(), backend);
            event.actor = self.actor();
            event.text = Some(&text[..text.len().min(TOLD_TEXT)]);
            event.decision = Decision::Refused {
                kind: error.kind(),
                why: error.detail().to_owned(),
            };
            recorder
                .record(&event)
                .map_err(|refused| not_recorded(&refused))?;
        }
        Err(error)
    }

    /// The mount a path belongs to, and the path below it.
    pub(crate) fn route(&self, path: &VirtualPath) -> Result<Place<'_>, Error> {
        match self.mounts().route(path) {
            Route::Mount(mount, path) => Ok(Place {
                mount,
                path,
                through_link: false,
            }),
            Route::Above => Err(Error::new(
                ErrorKind::Denied,
                "this directory only holds mount points and cannot be changed",
            )
            .because(Reason::MountPoint)),
            Route::Nowhere => Err(Error::new(ErrorKind::NotFound, "nothing is mounted there")
                .because(Reason::NotMounted)),
        }
    }
}

impl Place<'_> {
    fn again(&self) -> Self {
        Self {
            mount: self.mount,
            path: self.path.clone(),
            through_link: self.through_link,
        }
    }

    /// Whether links of this mount are followed.
    pub(crate) fn follows_links(&self) -> bool {
        self.mount.links == Links::Beneath
    }
}

/// May this be done to this path?
pub(crate) fn decide(place: &Place<'_>, access: Access, shape: Shape) -> Result<(), Error> {
    if let Some(rule) = place.mount.forbids(&place.path, access, shape) {
        return Err(
            Error::new(ErrorKind::Denied, format!("protected by {rule}"))
                .with_rule(rule.to_string()),
        );
    }
    if access == Access::Change && place.path.segments().any(is_ours) {
        return Err(Error::new(
            ErrorKind::Denied,
            "names that begin with `.handfast-` are kept for unfinished work; `recover` cleans up",
        )
        .because(Reason::Protected));
    }
    if access == Access::Change && place.mount.mode == Mode::ReadOnly {
        return Err(
            Error::new(ErrorKind::Denied, "the mount is read-only").because(Reason::ReadOnlyMount)
        );
    }
    Ok(())
}

/// Whether a name looks like what the library and commits leave behind when they are killed: what
/// an agent put there could be taken for that, and finished.
fn is_ours(name: NameRef<'_>) -> bool {
    name.as_bytes().starts_with(b".handfast-")
}

impl<'a> Op<'a> {
    fn new(
        session: &'a Session,
        verb: Verb,
        path: &'a VirtualPath,
        destination: Option<&'a VirtualPath>,
    ) -> Self {
        Self {
            session,
            verb,
            path,
            destination,
            told: std::cell::Cell::new(None),
            silent: std::cell::Cell::new(false),
        }
    }

    /// The path that was asked for.
    pub(crate) fn path(&self) -> &VirtualPath {
        self.path
    }

    /// Tells the recorder what is about to happen, once. Nothing is given out or changed before.
    pub(crate) fn allow(&self, mount: &Mount, object: Option<&Metadata>) -> Result<(), Error> {
        if self.told.get().is_some() {
            return Ok(());
        }
        self.tell(Some(mount), object, None, None)
    }

    /// The result of a change, or the refusal of anything; puts the path into the error.
    fn finish<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        let result = result.map_err(|error| {
            error
                .on(self.verb, self.path)
                .and(self.destination.map(ToString::to_string))
        });
        if self.session.recorder().is_none() || self.silent.get() {
            return result;
        }
        let told = match (&result, self.told.get(), self.verb.changes()) {
            (Ok(_), Some(id), true) => self.tell(None, None, Some(id), None),
            (Err(error), Some(id), true) => self.tell(None, None, Some(id), Some(error)),
            (Err(error), None, _) => self.tell(None, None, None, Some(error)),
            _ => Ok(()),
        };
        match told {
            Err(error) if result.is_ok() => Err(error
                .with_effect(handfast::Effect::Visible)
                .on(self.verb, self.path)),
            _ => result,
        }
    }

    fn tell(
        &self,
        mount: Option<&Mount>,
        object: Option<&Metadata>,
        result_of: Option<u64>,
        error: Option<&Error>,
    ) -> Result<(), Error> {
        let Some(recorder) = self.session.recorder() else {
            self.told.set(Some(0));
            return Ok(());
        };
        let routed = match mount {
            Some(mount) => Some(mount),
            None => self.session.route(self.path).ok().map(|place| place.mount),
        };
        let base = match routed {
            Some(mount) => &mount.base,
            None => match self.session.mounts().iter().next() {
                Some(mount) => &mount.base,
                None => return Ok(()),
            },
        };
        let mut event = Event::begin(
            self.verb,
            self.path.as_rel(),
            base.identity(),
            base.backend(),
        );
        event.actor = self.session.actor();
        event.destination = self.destination.map(VirtualPath::as_rel);
        event.object = object;
        if let Some(id) = result_of {
            event.op_id = id;
            event.phase = Phase::Result;
        }
        if let Some(error) = error {
            event.decision = Decision::Refused {
                kind: error.kind(),
                why: error.detail().to_owned(),
            };
        }
        self.told.set(Some(event.op_id));
        recorder.record(&event).map_err(|refused| {
            self.silent.set(true);
            not_recorded(&refused)
        })
    }
}

/// What is not recorded is not done.
pub(crate) fn not_recorded(refused: &RecordError) -> Error {
    let kind = match refused {
        RecordError::Refused(_) => ErrorKind::Denied,
        RecordError::Failed(_) => ErrorKind::Io,
    };
    Error::new(kind, refused.to_string())
}
