//! From a call to an answer: check the text, find the mount, do it.

use std::sync::Arc;

use handfast_session::{Mode, Session};
use monty_types::{ExtFunctionResult, MontyObject, OsFunctionCall, normalize_virtual_path};

use crate::calls;
use crate::error::CallError;
use crate::limits::{MountLimits, Written};
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
    pub(crate) at: String,
    pub(crate) mode: Mode,
    pub(crate) limits: MountLimits,
    pub(crate) written: Written,
}

/// A path in a mount.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) mount: &'a Mounted,
    /// As it was asked for: errors show it.
    pub(crate) asked: &'a str,
    /// Without `.`, `..` and double slashes: the session is asked with it.
    pub(crate) path: &'a str,
    /// What lies below the mount; empty for the mount itself.
    pub(crate) below: &'a str,
}

impl MontyFiles {
    /// Serves a session, with Monty's default limits.
    #[must_use]
    pub fn new(session: Arc<Session>) -> Self {
        let mounts = session
            .mount_points()
            .into_iter()
            .map(|(at, mode)| Mounted {
                // The display form escapes; Monty's paths are text that needs none of that.
                at: format!("/{}", String::from_utf8_lossy(at.as_rel().as_bytes())),
                mode,
                limits: MountLimits::default(),
                written: Written::default(),
            });
        let mounts = mounts.collect();
        Self { session, mounts }
    }

    /// Sets the limits of the mount at a virtual path; nothing happens if there is none.
    #[must_use]
    pub fn with_limits(mut self, at: &str, limits: MountLimits) -> Self {
        let at = normalize_virtual_path(at);
        for mount in &mut self.mounts {
            if mount.at == at {
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
        let path = normalize_virtual_path(&asked);
        let Some(target) = self.target(&asked, &path) else {
            return Outcome::NotOurs(call);
        };
        Outcome::Answered(self.act(call, target))
    }

    fn act(&self, call: OsFunctionCall, target: Target<'_>) -> Result<MontyObject, CallError> {
        // On a read-only mount the session says so, whatever the name; and the log hears of it.
        let refused = call.is_write() && target.mount.mode == Mode::ReadOnly;
        match call {
            OsFunctionCall::Resolve(_) | OsFunctionCall::Absolute(_) => {
                Ok(MontyObject::path(target.path))
            }
            OsFunctionCall::Scan(args) => scan::scan(self, &args, target),
            call => {
                if !refused {
                    target.refuse_foreign()?;
                }
                calls::act(&self.session, call, target)
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
        let (source, destination) = (normalize_virtual_path(from), normalize_virtual_path(to));
        match (self.target(from, &source), self.target(to, &destination)) {
            (None, None) => None,
            (Some(source), Some(target)) if std::ptr::eq(source.mount, target.mount) => {
                Some(calls::rename(&self.session, source, target))
            }
            _ => Some(Err(CallError::TwoMounts {
                from: from.to_owned(),
                to: to.to_owned(),
            })),
        }
    }

    /// Where a normalized path lies.
    pub(crate) fn target<'a>(&'a self, asked: &'a str, path: &'a str) -> Option<Target<'a>> {
        self.mounts.iter().find_map(|mount| {
            let below = path::below(&mount.at, path)?;
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
        if self.below.split('/').any(path::is_foreign) {
            return Err(CallError::Escape {
                path: self.path.to_owned(),
            });
        }
        Ok(())
    }

    /// Refuses the mount itself.
    pub(crate) fn refuse_mount(&self) -> Result<(), CallError> {
        if self.below.is_empty() {
            return Err(CallError::escape(self.asked));
        }
        Ok(())
    }

    /// What a session said about this path.
    pub(crate) fn said(&self, error: &handfast_session::Error) -> CallError {
        CallError::from_session(error, self.asked)
    }
}
