//! The one way from a request to an effect: parse → route → decide → record → act.
//!
//! Every verb of a session runs through [`Session::act`] or [`Session::act_on_two`]. Below a mount
//! the library is asked with links refused, so the components that a decision is made on are the
//! components that are walked. Where a link stops it and links may be followed, the path is resolved
//! once, name by name with every link judged, and the verb is done again on the directory that was
//! held at the end of that walk.

use std::borrow::Cow;

use handfast::files::{LastLink, Step};
use handfast::{Decision, ErrorKind, Event, Files as _, Links, Verb};

use crate::error::{Error, Reason};
use crate::mount::Route;
use crate::node::SessionNode;
use crate::op::{Op, not_recorded};
use crate::place::{Guard, Place, Spot};
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::vpath::{AsVirtualPath, VirtualPath};

/// How often a verb is done again because a link appeared under it.
const MAX_RETRIES: u32 = 8;

/// So much is told of text that is no path: it may be of any length.
const MAX_TOLD_TEXT: usize = 4096;

/// A request.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) verb: Verb,
    pub(crate) target: Target<'a>,
    pub(crate) last: LastLink,
    pub(crate) access: Access,
    pub(crate) shape: Shape,
}

/// What a request is about.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    /// A path, or text that becomes one.
    Path(&'a dyn AsVirtualPath),
    /// A place that was walked to before: no link is followed any more.
    Held(&'a Place<'a>),
}

impl<'a> Request<'a> {
    /// Reading a file.
    pub(crate) fn read(verb: Verb, path: &'a dyn AsVirtualPath) -> Self {
        Self {
            verb,
            target: Target::Path(path),
            last: LastLink::Follow,
            access: Access::Read,
            shape: Shape::File,
        }
    }

    /// Looking at what may be a directory.
    pub(crate) fn look(verb: Verb, path: &'a dyn AsVirtualPath) -> Self {
        Self {
            shape: Shape::MaybeDir,
            ..Self::read(verb, path)
        }
    }

    /// Changing something.
    pub(crate) fn change(verb: Verb, path: &'a dyn AsVirtualPath) -> Self {
        Self {
            access: Access::Change,
            ..Self::look(verb, path)
        }
    }

    /// The same on a place that is held.
    pub(crate) fn held(self, place: &'a Place<'a>) -> Self {
        Self {
            target: Target::Held(place),
            ..self
        }
    }

    /// The entry itself, also if it is a link.
    pub(crate) fn itself(self) -> Self {
        Self {
            last: LastLink::Itself,
            ..self
        }
    }
}

impl Session {
    /// Runs a verb on one path.
    pub(crate) fn act<T>(
        &self,
        request: Request<'_>,
        act: impl FnMut(&Place<'_>, &Guard<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.path_of(request.verb, request.target)?;
        let op = Op::new(self, request.verb, &path, None);
        let done = self.act_at(&request, &path, &op, act);
        op.finish(done.map_err(|error| gone(&request, &path, error)))
    }

    fn act_at<T>(
        &self,
        request: &Request<'_>,
        path: &VirtualPath,
        op: &Op<'_>,
        mut act: impl FnMut(&Place<'_>, &Guard<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut place = self.begin(request, path)?;
        let mut followed = false;
        for _ in 0..MAX_RETRIES {
            let guard = self.guard(&place, request);
            place.must_own = guard.check(&place.path)?.0;
            if request.access == Access::Change {
                op.allow(place.mount, None)?;
            }
            let done = refuse_link_as_dir(&place, request).and_then(|()| act(&place, &guard, op));
            match done {
                Err(error) if error.kind() == ErrorKind::Link => {
                    match self.follow(request, path)? {
                        Some(next) if !followed || next.path != place.path => place = next,
                        // Where the links lead now is where we were: the error is not about them.
                        _ => return Err(error),
                    }
                    followed = true;
                }
                Err(error) if followed => {
                    return Err(top_is_a_directory(error, request.verb, &[&place]));
                }
                done => return done,
            }
        }
        Err(links_keep_changing())
    }

    /// Runs a verb on a source and a destination.
    pub(crate) fn act_on_two<T>(
        &self,
        from: Request<'_>,
        to: Request<'_>,
        mut act: impl FnMut(&Moving<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.path_of(from.verb, from.target)?;
        let destination = self.path_of(from.verb, to.target)?;
        let op = Op::new(self, from.verb, &path, Some(&destination));
        let mut run = || {
            let mut source = self.begin(&from, &path)?;
            let mut target = self.begin(&to, &destination)?;
            let mut followed = false;
            for _ in 0..MAX_RETRIES {
                let from_guard = self.guard(&source, &from);
                let to_guard = self.guard(&target, &to);
                source.must_own = from_guard.check(&source.path)?.0;
                target.must_own = to_guard.check(&target.path)?.0;
                let moving = Moving {
                    from: &source,
                    to: &target,
                    from_guard,
                    to_guard,
                };
                op.allow(source.mount, None)?;
                let links = refuse_link_as_dir(&source, &from)
                    .and_then(|()| refuse_link_as_dir(&target, &to));
                let error = match links.and_then(|()| act(&moving, &op)) {
                    Err(error) if error.kind() == ErrorKind::Link => error,
                    Err(error) if followed => {
                        return Err(top_is_a_directory(error, from.verb, &[&source, &target]));
                    }
                    done => return done,
                };
                let (one, other) = (self.follow(&from, &path)?, self.follow(&to, &destination)?);
                let is_there = |next: &Option<Place<'_>>, now: &Place<'_>| {
                    next.as_ref()
                        .is_none_or(|next| followed && next.path == now.path)
                };
                if is_there(&one, &source) && is_there(&other, &target) {
                    return Err(error);
                }
                followed = true;
                source = one.unwrap_or(source);
                target = other.unwrap_or(target);
            }
            Err(links_keep_changing())
        };
        op.finish(run())
    }

    pub(crate) fn guard<'a>(&'a self, place: &Place<'a>, request: &Request<'_>) -> Guard<'a> {
        Guard {
            mount: place.mount,
            caller: self.caller(),
            access: request.access,
            shape: request.shape,
            is_step: false,
        }
    }

    /// Where a request begins: what is held, or the mount that the path belongs to.
    fn begin<'a>(&'a self, request: &Request<'a>, path: &VirtualPath) -> Result<Place<'a>, Error> {
        match request.target {
            Target::Held(place) => Ok(place.clone()),
            // What the caller may not reach is not told to be missing.
            Target::Path(_) => {
                self.route(path)
                    .map_err(|error| match self.caller().check(path, request.access) {
                        Ok(()) => error,
                        Err(out_of_scope) => out_of_scope,
                    })
            }
        }
    }

    /// Resolves a path that a link is on. `None` if links are not followed here, or if there is
    /// none: then the verb's own error counts.
    fn follow<'a>(
        &'a self,
        request: &Request<'_>,
        path: &VirtualPath,
    ) -> Result<Option<Place<'a>>, Error> {
        if matches!(request.target, Target::Held(_)) {
            return Ok(None);
        }
        if self.route(path)?.mount.links == Links::Refuse {
            return Ok(None);
        }
        let mut links = 0;
        let mut judge = |step: Step<'_>| {
            let node = step.node.data::<SessionNode>()?;
            let Some(mount) = node.mount(self) else {
                return Ok(());
            };
            if !step.is_link {
                return Ok(());
            }
            links += 1;
            // The link has a name of its own, and may be protected by it.
            let place = Place::at(mount, node.path_in(mount));
            let guard = Guard {
                is_step: true,
                shape: Shape::MaybeDir,
                ..self.guard(&place, request)
            };
            guard.check(&place.path).map(drop)
        };
        let found = self.resolve(path.as_rel(), request.last, &mut judge)?;
        if links == 0 {
            return Ok(None);
        }
        let is_put = request.access == Access::Change && puts_content(request.verb);
        if is_put && found.node.is_none() {
            if path.as_rel().must_be_dir() && found.through_link && is_no_new_name(request.verb) {
                return Err(Error::refused(ErrorKind::NotFound, ""));
            }
            if found.dir.is_none() {
                return Err(Error::refused(ErrorKind::Link, "the link leads to nothing"));
            }
        }
        self.place_of(&found).map(Some)
    }

    /// Where a verb would end up: behind the links that it would follow.
    pub(crate) fn settle<'a>(
        &'a self,
        request: &Request<'_>,
        place: &Place<'a>,
    ) -> Result<Place<'a>, Error> {
        self.guard(place, request).check(&place.path)?;
        let followed = self.follow(request, &place.full())?;
        Ok(followed.unwrap_or_else(|| place.clone()))
    }

    /// Text becomes a path, once. What becomes none is refused, and the recorder hears of that too.
    pub(crate) fn parse<'a>(
        &self,
        verb: Verb,
        path: &'a dyn AsVirtualPath,
    ) -> Result<Cow<'a, VirtualPath>, Error> {
        self.path_of(verb, Target::Path(path))
    }

    fn path_of<'a>(&self, verb: Verb, target: Target<'a>) -> Result<Cow<'a, VirtualPath>, Error> {
        let text = match target {
            Target::Held(place) => return Ok(Cow::Owned(place.full())),
            Target::Path(text) => text,
        };
        let error = match text.as_virtual() {
            Ok(path) => return Ok(path),
            Err(error) => error.on(verb, handfast::escape(text.as_text())),
        };
        let recorder = self.caller().recorder_for(true);
        if let (Some(recorder), Some(mount)) = (recorder, self.mounts().iter().next()) {
            let top = handfast::RelPath::root();
            let backend = mount.base.backend();
            let mut event = Event::begin(verb, &top, mount.base.identity(), backend);
            event.actor = self.caller().told_actor();
            event.text = Some(&text.as_text()[..text.as_text().len().min(MAX_TOLD_TEXT)]);
            event.decision = Decision::Refused {
                kind: error.kind(),
                why: error.detail(),
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
            Route::Mount(mount, path) => Ok(Place::at(mount, path)),
            Route::Above => Err(Error::refused(
                ErrorKind::Denied,
                "this directory only holds mount points and cannot be changed",
            )
            .because(Reason::MountPoint)),
            Route::Nowhere => Err(
                Error::refused(ErrorKind::NotFound, "nothing is mounted there")
                    .because(Reason::NotMounted),
            ),
        }
    }
}

/// A verb with a source and a destination.
pub(crate) struct Moving<'a> {
    pub(crate) from: &'a Place<'a>,
    pub(crate) to: &'a Place<'a>,
    pub(crate) from_guard: Guard<'a>,
    pub(crate) to_guard: Guard<'a>,
}

/// A name with a slash behind it asks for the directory that a link leads to: a layer, which follows
/// no link, would say that it is none.
fn refuse_link_as_dir(place: &Place<'_>, request: &Request<'_>) -> Result<(), Error> {
    if request.last == LastLink::Itself || !place.rest.must_be_dir() || place.rest.is_root() {
        return Ok(());
    }
    let name = place.rest.clone().with_must_be_dir(false);
    let spot = Spot {
        rest: &name,
        ..place.spot()
    };
    match place.mount.layer.symlink_metadata(spot) {
        Ok(status) if status.is_symlink() => Err(Error::refused(
            ErrorKind::Link,
            "a symbolic link is in the way",
        )),
        _ => Ok(()),
    }
}

/// Whether a verb makes a file where there is none. Nothing is created through a link that leads to
/// nothing, and the error says so.
fn puts_content(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Write | Verb::WriteNew | Verb::WriteIf | Verb::Append | Verb::TempFile | Verb::Copy
    )
}

/// Whether a verb may find a file where it puts content.
fn is_no_new_name(verb: Verb) -> bool {
    matches!(verb, Verb::Write | Verb::WriteIf | Verb::Append)
}

/// A link that leads to the top of a mount leads to a directory: only a path that names the top
/// itself is no path of a file.
fn top_is_a_directory(error: Error, verb: Verb, places: &[&Place<'_>]) -> Error {
    let is_top = places.iter().any(|place| place.rest.is_root());
    match is_top && error.kind() == ErrorKind::Invalid && is_about_a_file(verb) {
        true => Error::refused(ErrorKind::IsADirectory, "is a directory"),
        false => error,
    }
}

fn is_about_a_file(verb: Verb) -> bool {
    let reads = matches!(
        verb,
        Verb::Read | Verb::Version | Verb::Open | Verb::OpenWrite
    );
    reads || puts_content(verb)
}

/// For a verb that expects a version: a file that is not there is not that version.
fn gone(request: &Request<'_>, path: &VirtualPath, error: Error) -> Error {
    let expects = match request.verb {
        Verb::WriteIf => true,
        Verb::RemoveIf => !path.as_rel().must_be_dir(),
        _ => false,
    };
    match expects && error.kind() == ErrorKind::NotFound {
        true => Error::refused(ErrorKind::Stale, "the file is gone"),
        false => error,
    }
}

fn links_keep_changing() -> Error {
    Error::refused(ErrorKind::Raced, "links on the way keep changing")
}
