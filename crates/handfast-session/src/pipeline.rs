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
use crate::place::{Guard, ResolvedPlace, Spot};
use crate::rules::{Access, Rule, Shape};
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
    Held(&'a ResolvedPlace<'a>),
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
    pub(crate) fn held(self, place: &'a ResolvedPlace<'a>) -> Self {
        Self {
            target: Target::Held(place),
            ..self
        }
    }

    /// Whether content is opened, or something changed. Looking asks nobody.
    pub(crate) fn may_ask(&self) -> bool {
        let opens = matches!(
            self.verb,
            Verb::Read | Verb::Open | Verb::Version | Verb::Copy
        );
        // A file that nobody sees yet is asked about when it gets its name.
        self.access == Access::Change && self.verb != Verb::TempFile || opens
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
        act: impl FnMut(&ResolvedPlace<'_>, &Guard<'_>, &Op<'_>) -> Result<T, Error>,
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
        mut act: impl FnMut(&ResolvedPlace<'_>, &Guard<'_>, &Op<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut place = self.begin(request, path)?;
        let mut followed = false;
        for _ in 0..MAX_RETRIES {
            self.settle_rules(&mut place, request)?;
            self.ask_to_change(&mut [(&mut place, request)], op)?;
            let guard = self.guard(&place, request);
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
                self.settle_rules(&mut source, &from)?;
                self.settle_rules(&mut target, &to)?;
                self.ask_to_change(&mut [(&mut source, &from), (&mut target, &to)], &op)?;
                let moving = Moving {
                    from: &source,
                    to: &target,
                    from_guard: self.guard(&source, &from),
                    to_guard: self.guard(&target, &to),
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
                let is_there = |next: &Option<ResolvedPlace<'_>>, now: &ResolvedPlace<'_>| {
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

    pub(crate) fn guard<'a>(
        &'a self,
        place: &'a ResolvedPlace<'a>,
        request: &Request<'_>,
    ) -> Guard<'a> {
        Guard {
            mount: place.mount,
            caller: self.caller(),
            access: request.access,
            shape: request.shape,
            is_step: false,
            asked_at: request.may_ask().then_some(&place.path),
            granted: place.granted,
        }
    }

    /// The rule because of which a request at a place would wait for a person.
    pub(crate) fn would_ask(
        &self,
        place: &ResolvedPlace<'_>,
        request: &Request<'_>,
    ) -> Option<Rule> {
        let mut asks = place.mount.asks(&place.path, request.shape);
        if is_made_here(place) {
            asks.clear();
        }
        asks.into_iter().chain(place.asks.iter().cloned()).next()
    }

    /// Asks the rules about a place, and says in it what follows for those who use it.
    fn settle_rules(
        &self,
        place: &mut ResolvedPlace<'_>,
        request: &Request<'_>,
    ) -> Result<(), Error> {
        place.must_own = self.guard(place, request).check(&place.path)?.0;
        let asks = match request.may_ask() {
            true => place.mount.asks(&place.path, request.shape),
            false => Vec::new(),
        };
        // What the session itself made is its own, for as long as it is that.
        if !asks.is_empty() && is_made_here(place) {
            place.must_own = true;
        } else {
            add_rules(&mut place.asks, asks);
        }
        Ok(())
    }

    /// Where a request begins: what is held, or the mount that the path belongs to.
    fn begin<'a>(
        &'a self,
        request: &Request<'a>,
        path: &VirtualPath,
    ) -> Result<ResolvedPlace<'a>, Error> {
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
    ) -> Result<Option<ResolvedPlace<'a>>, Error> {
        if matches!(request.target, Target::Held(_)) {
            return Ok(None);
        }
        if self.route(path)?.mount.links == Links::Refuse {
            return Ok(None);
        }
        let mut links = 0;
        let mut asks = Vec::new();
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
            let place = ResolvedPlace::at(mount, node.path_in(mount));
            let guard = Guard {
                is_step: true,
                shape: Shape::MaybeDir,
                ..self.guard(&place, request)
            };
            if request.may_ask() {
                add_rules(&mut asks, mount.asks(&place.path, Shape::MaybeDir));
            }
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
        let mut place = self.place_of(&found)?;
        place.asks = asks;
        Ok(Some(place))
    }

    /// Where a verb would end up: behind the links that it would follow.
    pub(crate) fn settle<'a>(
        &'a self,
        request: &Request<'_>,
        place: &ResolvedPlace<'a>,
    ) -> Result<ResolvedPlace<'a>, Error> {
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
            event.process = self.caller().told_process();
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
    pub(crate) fn route(&self, path: &VirtualPath) -> Result<ResolvedPlace<'_>, Error> {
        match self.mounts().route(path) {
            Route::Mount(mount, path) => Ok(ResolvedPlace::at(mount, path)),
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

/// Adds the rules that are not there yet.
pub(crate) fn add_rules(to: &mut Vec<Rule>, more: Vec<Rule>) {
    for rule in more {
        if !to.contains(&rule) {
            to.push(rule);
        }
    }
}

/// Whether an overlay has something at a place that the session made under a name that was free.
fn is_made_here(place: &ResolvedPlace<'_>) -> bool {
    let Some(overlay) = place.mount.layer.overlay() else {
        return false;
    };
    let own = Spot {
        must_own: true,
        ..place.spot()
    };
    overlay.symlink_metadata(own).is_ok()
}

/// A verb with a source and a destination.
pub(crate) struct Moving<'a> {
    pub(crate) from: &'a ResolvedPlace<'a>,
    pub(crate) to: &'a ResolvedPlace<'a>,
    pub(crate) from_guard: Guard<'a>,
    pub(crate) to_guard: Guard<'a>,
}

/// A name with a slash behind it asks for the directory that a link leads to: a layer, which follows
/// no link, would say that it is none.
fn refuse_link_as_dir(place: &ResolvedPlace<'_>, request: &Request<'_>) -> Result<(), Error> {
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
fn top_is_a_directory(error: Error, verb: Verb, places: &[&ResolvedPlace<'_>]) -> Error {
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
