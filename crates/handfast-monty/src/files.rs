//! From a call to an answer: check the text, find the mount, do it.

use std::sync::Arc;

use handfast::{Files, RelPath, RelPathRef, WriteOptions};
use handfast_session::{Mode, Session};
use monty_types::{ExtFunctionResult, MontyObject, OsFunctionCall};

use crate::calls;
use crate::error::CallError;
use crate::limits::{MountLimits, WrittenBytes};
use crate::path;
use crate::scan;

/// What became of a call.
#[derive(Debug)]
pub enum Outcome {
    /// The session answered.
    Answered(Result<MontyObject, CallError>),
    /// The call is not about files, or nothing is mounted where it points: for somebody else.
    NotOurs(OsFunctionCall),
}

/// Answers Monty's filesystem calls from a session. It can be shared between threads.
#[derive(Debug)]
pub struct MontyFiles {
    session: Arc<Session>,
    /// Deepest first, so that the first that fits is the longest.
    mounts: Vec<Mounted>,
}

/// One mount as the adapter sees it.
#[derive(Debug)]
pub(crate) struct Mounted {
    pub(crate) at: RelPath,
    pub(crate) mode: Mode,
    pub(crate) limits: MountLimits,
    pub(crate) written: WrittenBytes,
    /// How whole files are written: as the session was told.
    pub(crate) options: WriteOptions,
}

/// A path in a mount.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) mount: &'a Mounted,
    /// As it was asked for: errors show it.
    pub(crate) asked: &'a str,
    /// The path in the session, without `.` and `..`: the session is asked with it.
    pub(crate) path: &'a RelPath,
    /// What lies below the mount; nothing for the mount itself.
    pub(crate) below: RelPathRef<'a>,
}

impl MontyFiles {
    /// Serves a session, with Monty's default limits.
    #[must_use]
    pub fn new(session: Arc<Session>) -> Self {
        let options = WriteOptions::new().durability(session.durability());
        let mounts = session
            .mount_points()
            .into_iter()
            .map(|(at, mode)| Mounted {
                at: at.as_rel().clone(),
                mode,
                limits: MountLimits::default(),
                written: WrittenBytes::default(),
                options,
            });
        let mounts = mounts.collect();
        Self { session, mounts }
    }

    /// Sets the limits of the mount at a virtual path; nothing happens if there is none.
    #[must_use]
    pub fn with_limits(mut self, at: &str, limits: MountLimits) -> Self {
        let at = path::parse(at);
        for mount in &mut self.mounts {
            if Some(&mount.at) == at.as_ref() {
                mount.limits = limits;
            }
        }
        self
    }

    /// The session that is served.
    #[must_use]
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The files that calls are answered from.
    pub(crate) fn served(&self) -> &dyn Files {
        &*self.session
    }

    /// Answers a call, or says in Monty's words that nobody does.
    #[must_use]
    pub fn answer(&self, call: OsFunctionCall) -> ExtFunctionResult {
        match self.handle(call) {
            Outcome::Answered(Ok(value)) => value.into(),
            Outcome::Answered(Err(error)) => error.into_exception().into(),
            Outcome::NotOurs(call) => call.on_no_handler().into(),
        }
    }

    /// Answers a call that is about files in a mount, and gives every other one back.
    #[must_use]
    pub fn handle(&self, call: OsFunctionCall) -> Outcome {
        let Some(asked) = call.fs_primary_path() else {
            return Outcome::NotOurs(call);
        };
        // The length first: nothing else is cheap on a path of any size.
        let checked = path::check_length(asked).and_then(|()| match asked.contains('\0') {
            true => Err(CallError::Nul(call.embedded_null_message(false))),
            false => Ok(()),
        });
        if let Err(error) = checked {
            let answer = match call.is_existence_check() {
                true => Ok(MontyObject::bool(false)),
                false => Err(error),
            };
            return Outcome::Answered(answer);
        }
        if let OsFunctionCall::Rename(ends) = &call {
            return match self.rename(&ends.src, &ends.dst, &call) {
                Some(done) => Outcome::Answered(done),
                None => Outcome::NotOurs(call),
            };
        }
        // Owned, because the call itself is taken apart next.
        let asked = asked.to_owned();
        let path = path::parse(&asked);
        let target = path.as_ref().and_then(|path| self.target(&asked, path));
        let Some(target) = target else {
            return Outcome::NotOurs(call);
        };
        Outcome::Answered(self.act(call, target))
    }

    fn act(&self, call: OsFunctionCall, target: Target<'_>) -> Result<MontyObject, CallError> {
        // On a read-only mount the session says so, whatever the name; and the log hears of it.
        let refused = call.is_write() && target.mount.mode == Mode::ReadOnly;
        match call {
            OsFunctionCall::Resolve(_) | OsFunctionCall::Absolute(_) => {
                Ok(MontyObject::path(path::shown(target.path)))
            }
            OsFunctionCall::Scan(args) => scan::scan(self, &args, target),
            call => {
                if !refused {
                    target.refuse_foreign()?;
                }
                calls::act(self.served(), call, target)
            }
        }
    }

    fn rename(
        &self,
        from: &str,
        to: &str,
        call: &OsFunctionCall,
    ) -> Option<Result<MontyObject, CallError>> {
        if let Err(error) = path::check_length(to) {
            return Some(Err(error));
        }
        if to.contains('\0') {
            return Some(Err(CallError::Nul(call.embedded_null_message(true))));
        }
        let (source, destination) = (path::parse(from), path::parse(to));
        let source = source.as_ref().and_then(|path| self.target(from, path));
        let destination = destination.as_ref().and_then(|path| self.target(to, path));
        match (source, destination) {
            (None, None) => None,
            (Some(source), Some(target)) if std::ptr::eq(source.mount, target.mount) => {
                Some(calls::rename(self.served(), source, target))
            }
            _ => Some(Err(CallError::TwoMounts {
                from: from.to_owned(),
                to: to.to_owned(),
            })),
        }
    }

    /// Where a path lies.
    pub(crate) fn target<'a>(&'a self, asked: &'a str, path: &'a RelPath) -> Option<Target<'a>> {
        self.mounts.iter().find_map(|mount| {
            let below = path.strip_prefix(&mount.at)?;
            Some(Target {
                mount,
                asked,
                path,
                below,
            })
        })
    }
}

impl Target<'_> {
    /// Refuses names that mean something else on another host.
    pub(crate) fn refuse_foreign(&self) -> Result<(), CallError> {
        let mut names = self.below.components();
        if names.any(|name| name.to_str().is_none_or(path::is_foreign)) {
            return Err(CallError::Escape {
                path: path::shown(self.path),
            });
        }
        Ok(())
    }

    /// Refuses the mount itself.
    pub(crate) fn refuse_mount(&self) -> Result<(), CallError> {
        if self.below.is_root() {
            return Err(CallError::escape(self.asked));
        }
        Ok(())
    }

    /// What a session said about this path.
    pub(crate) fn said(&self, error: &handfast_session::Error) -> CallError {
        CallError::from_session(error, self.asked)
    }
}
