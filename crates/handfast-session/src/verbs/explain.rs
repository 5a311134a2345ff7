//! Which rule decides about a path, without doing anything.

use handfast::{HardLinks, Verb};

use crate::error::{Error, Reason};
use crate::mount::{Mode, Route};
use crate::pipeline::{Last, decide};
use crate::resolve;
use crate::rules::{Access, Rule, Shape};
use crate::session::Session;
use crate::vpath::VirtualPath;

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
    pub fn explain(&self, path: impl AsRef<[u8]>, wanted: Wanted) -> Result<Explanation, Error> {
        let path = VirtualPath::parse(path.as_ref())?;
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
        said.hard_links = match (mount.rules.is_empty(), mount.hard_links) {
            (true, _) => "no patterns are set",
            (false, HardLinks::Refuse) => "files with several names are refused: certain",
            (false, _) => mount.other_names(),
        };
        let mut place = self.route(&path)?;
        let verdict = decide(&place, access, shape).and_then(|()| {
            let last = match verb {
                Verb::Rename | Verb::RemoveFile | Verb::RemoveDir | Verb::Symlink => Last::Itself,
                _ => Last::Follow,
            };
            if let Some(settled) = resolve::settle(self.mounts(), self.route(&path)?, last, access)?
            {
                place = settled;
            }
            decide(&place, access, shape)
        });
        said.decided_on = Some(mount.full(&place.path));
        match verdict {
            Ok(()) => {
                said.allowed = true;
                said.why = "no rule forbids it".to_owned();
            }
            Err(error) => {
                said.rule = mount.forbids(&place.path, access, shape);
                said.reason = error.reason();
                said.why = error.detail().to_owned();
            }
        }
        Ok(said)
    }
}
