//! Which rule decides about a path, without doing anything.

use handfast::files::LastLink;
use handfast::{ErrorKind, FileKind, HardLinks, Metadata, Verb};

use crate::error::{Error, Reason, SessionError as _};
use crate::mount::{Mode, Route};
use crate::pipeline::Request;
use crate::place::{Guard, ResolvedPlace};
use crate::rules::{Access, Rule, Shape};
use crate::session::Session;
use crate::vpath::{AsVirtualPath, VirtualPath};

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wanted(pub Verb);

impl Wanted {
    /// The verb of a name, as events and errors call it; `list`, `stat`, `mkdir`, `rm` and `mv`
    /// are understood too.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = match name {
            "list" | "ls" => "read-dir",
            "stat" => "metadata",
            "mkdir" => "create-dir",
            "rm" | "remove" => "remove-file",
            "mv" => "rename",
            "cp" => "copy",
            "link" => "hard-link",
            name => name,
        };
        Verb::ALL
            .iter()
            .find(|verb| verb.name() == name && !Verb::OF_SESSIONS.contains(verb))
            .map(|verb| Self(*verb))
    }
}

/// Why something would be allowed or refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Explanation {
    /// Whether the session's rules allow it. Whether it is there, and whether the system allows
    /// it, is another matter.
    pub allowed: bool,
    /// The mount the path belongs to.
    pub mount: Option<VirtualPath>,
    /// That mount's mode.
    pub mode: Option<Mode>,
    /// The path below the mount that was decided on, after links.
    pub decided_on: Option<VirtualPath>,
    /// The pattern that decided, if one did.
    pub rule: Option<Rule>,
    /// Because of which rule a person is asked first, if nothing else forbids it.
    pub asks: Option<Rule>,
    /// Which kind of rule refused.
    pub reason: Option<Reason>,
    /// In words.
    pub why: String,
    /// How other names of protected files are covered here.
    pub hard_links: &'static str,
}

impl Session {
    /// Says which rule decides about a path.
    ///
    /// # Errors
    /// `Invalid` or `TooLong` if it is no path; what stops links on the way from being read.
    pub fn explain(&self, path: impl AsVirtualPath, wanted: Wanted) -> Result<Explanation, Error> {
        let path = path.as_virtual()?;
        let Wanted(verb) = wanted;
        let access = if verb.changes() && verb != Verb::Copy {
            Access::Change
        } else {
            Access::Read
        };
        let shape = match verb {
            Verb::Read | Verb::Open | Verb::Version | Verb::Copy => Shape::File,
            _ => Shape::MaybeDir,
        };
        let mut said = Explanation {
            allowed: false,
            mount: None,
            mode: None,
            decided_on: None,
            rule: None,
            asks: None,
            reason: None,
            why: String::new(),
            hard_links: "no patterns are set",
        };
        let mount = match self.mounts().route(&path) {
            Route::Mount(mount, _) => mount,
            Route::Above if access == Access::Read => {
                said.allowed = true;
                said.why = "a directory that holds mount points".to_owned();
                return Ok(said);
            }
            Route::Above => {
                said.reason = Some(Reason::MountPoint);
                said.why = "a directory that only holds mount points cannot be changed".to_owned();
                return Ok(said);
            }
            Route::Nowhere => {
                said.reason = Some(Reason::NotMounted);
                said.why = "nothing is mounted there".to_owned();
                return Ok(said);
            }
        };
        said.mount = Some(mount.at.clone());
        said.mode = Some(mount.mode);
        said.hard_links = match (mount.judge.is_empty(), mount.hard_links) {
            (true, _) => "no patterns are set",
            (false, HardLinks::Refuse) => "files with several names are refused: certain",
            (false, _) => mount.judge.how_well(),
        };
        let mut decided_on = self.route(&path)?;
        let request = Request {
            access,
            shape,
            last: last_of(verb),
            ..Request::read(verb, &*path)
        };
        let verdict = self.dry_run(&request, &mut decided_on);
        let asks = match request.may_ask() {
            true => self.would_ask(&decided_on, &request),
            false => None,
        };
        said.decided_on = Some(decided_on.full());
        match verdict {
            Ok(()) => {
                said.allowed = true;
                said.why = "no rule forbids it".to_owned();
                said.let_be(&decided_on, access, shape);
            }
            // Whether something is there is another matter.
            Err(error) if is_missing(&error) => {
                said.allowed = true;
                said.why = format!("no rule forbids it, but {}", error.detail());
                said.let_be(&decided_on, access, shape);
            }
            Err(error) => {
                said.rule = decided_on.mount.forbids(&decided_on.path, access, shape);
                said.reason = error.reason();
                said.why = error.detail();
            }
        }
        if let (true, Some(rule)) = (said.allowed, asks) {
            said.why = format!("a person is asked first: {rule}");
            said.asks = Some(rule);
        }
        Ok(said)
    }

    /// Asks everything that the verb itself would ask, and does nothing: the same guard, on the
    /// same place, about the same file.
    fn dry_run<'a>(
        &'a self,
        request: &Request<'_>,
        decided_on: &mut ResolvedPlace<'a>,
    ) -> Result<(), Error> {
        match self.settle(request, decided_on) {
            Ok(place) => *decided_on = place,
            // Nothing is there yet. What would come there is judged all the same.
            Err(error) if is_missing(&error) => {
                if let Some(kind) = made_by(request.verb) {
                    let guard = self.guard(decided_on, request);
                    guard.check_new(&decided_on.path, Some(kind))?;
                }
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        let guard = self.guard(decided_on, request);
        guard.check(&decided_on.path)?;
        let there = decided_on.mount.layer.symlink_metadata(decided_on.spot());
        if let Ok(file) = &there
            && file.is_file()
            && let Some(access) = access_to_the_file(request, decided_on)
        {
            let guard = Guard { access, ..guard };
            guard.check_file(file)?;
            refuse_hard_link(&guard, file, request.verb)?;
        }
        match request.verb {
            Verb::Rename => {
                self.refuse_mount_point(decided_on)?;
                match &there {
                    Ok(object) => guard.refuse_kept(object),
                    Err(_) => Ok(()),
                }
            }
            Verb::RemoveDir | Verb::RemoveTree => self.refuse_mount_point(decided_on),
            verb => match made_by(verb) {
                Some(kind) => guard.check_new(&decided_on.path, Some(kind)),
                None => Ok(()),
            },
        }
    }
}

impl Explanation {
    /// Names the rule that forbids it in the base and lets it be in an overlay.
    fn let_be(&mut self, place: &ResolvedPlace<'_>, access: Access, shape: Shape) {
        if let Some(rule) = place.mount.forbids(&place.path, access, shape) {
            self.why = format!("it stays in the overlay until a commit names the path: {rule}");
            self.rule = Some(rule);
        }
    }
}

/// What the library says of a file with several names.
fn refuse_hard_link(guard: &Guard<'_>, file: &Metadata, verb: Verb) -> Result<(), Error> {
    let is_overlay = guard.mount.layer.overlay().is_some();
    let is_refused = match guard.mount.hard_links {
        HardLinks::Allow => false,
        // An overlay locks a path.
        HardLinks::Refuse => !(is_overlay && verb == Verb::Lock),
        // An overlay changes a copy.
        HardLinks::RefuseWrites => {
            guard.access == Access::Change && !is_overlay && verb != Verb::HardLink
        }
    };
    if is_refused && file.has_other_names() {
        return Err(Error::refused(
            ErrorKind::HardLink,
            "the file has several names",
        ));
    }
    Ok(())
}

/// The kind of what a verb puts under a name.
fn made_by(verb: Verb) -> Option<FileKind> {
    match verb {
        Verb::Write
        | Verb::WriteNew
        | Verb::WriteIf
        | Verb::Append
        | Verb::OpenWrite
        | Verb::HardLink
        | Verb::Lock => Some(FileKind::File),
        Verb::Symlink => Some(FileKind::Symlink),
        _ => None,
    }
}

/// Whether a verb is about a link itself, where the last name is one.
fn last_of(verb: Verb) -> LastLink {
    match verb {
        Verb::Rename
        | Verb::RemoveFile
        | Verb::RemoveIf
        | Verb::RemoveDir
        | Verb::RemoveTree
        | Verb::Symlink
        | Verb::HardLink
        | Verb::ReadLink
        | Verb::WriteNew
        | Verb::CreateDir
        | Verb::Lock => LastLink::Itself,
        _ => LastLink::Follow,
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What a verb does to the file that is there: it reads it or changes it in place. Other verbs give
/// its name to something else; an overlay asks for its version then.
fn access_to_the_file(request: &Request<'_>, place: &ResolvedPlace<'_>) -> Option<Access> {
    match request.verb {
        Verb::Read
        | Verb::Open
        | Verb::OpenWrite
        | Verb::Version
        | Verb::Copy
        | Verb::Append
        | Verb::Chmod
        | Verb::Chown
        | Verb::SetTimes
        | Verb::GetXattr
        | Verb::ListXattr
        | Verb::SetXattr
        | Verb::RemoveXattr
        | Verb::HardLink
        | Verb::Lock => Some(request.access),
        _ if place.mount.layer.overlay().is_none() => None,
        Verb::Write | Verb::WriteIf | Verb::RemoveFile | Verb::RemoveIf => Some(Access::Read),
        Verb::Rename => Some(Access::Change),
        _ => None,
    }
}
