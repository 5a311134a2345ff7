//! The root and its policies, as options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{Args, ValueEnum};
use handfast::{
    Backend, BackendChoice, Effect, Enforcement, Error, ErrorKind, HardLinks, Links, MountIdentity,
    Mounts, Root, RootOptions, escape,
};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::log::{LogChoice, Recording};
use crate::session::InSession;

#[derive(Debug, Args)]
pub(super) struct RootArgs {
    /// Confine everything to this directory
    #[arg(long, value_name = "DIR", help_heading = "Root")]
    #[arg(required_unless_present = "session")]
    root: Option<OsString>,

    #[command(flatten)]
    session: InSession,

    /// Choose what happens at symbolic links [default: refuse]
    #[arg(long, global = true, value_enum, value_name = "POLICY")]
    #[arg(help_heading = "Root")]
    links: Option<LinkPolicy>,

    /// Choose what happens to files that have several names [default: refuse-writes]
    #[arg(long, global = true, value_enum, value_name = "POLICY")]
    #[arg(help_heading = "Root")]
    hard_links: Option<HardLinkPolicy>,

    /// Choose what happens where something is mounted [default: refuse]
    #[arg(long, global = true, value_enum, value_name = "POLICY")]
    #[arg(help_heading = "Root")]
    mounts: Option<MountPolicy>,

    /// Choose who walks the path [default: auto]
    #[arg(long, global = true, value_enum, value_name = "WHO")]
    #[arg(help_heading = "Root")]
    backend: Option<BackendPolicy>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LinkPolicy {
    /// Any link on the way is an error
    Refuse,
    /// Links are followed while they stay beneath the root
    Beneath,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HardLinkPolicy {
    /// They are refused altogether
    Refuse,
    /// They can be read, and are not changed in place
    RefuseWrites,
    /// They are files like any other
    Allow,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MountPolicy {
    /// Other mounts are not entered, bind mounts included
    Refuse,
    /// Other mounts are part of the tree
    Allow,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BackendPolicy {
    /// The kernel where it can, the component walk otherwise
    Auto,
    /// The kernel (openat2), or nobody
    Kernel,
    /// The component walk
    Walk,
}

impl RootArgs {
    fn options(&self) -> RootOptions {
        RootOptions::new()
            .links(match self.links {
                None | Some(LinkPolicy::Refuse) => Links::Refuse,
                Some(LinkPolicy::Beneath) => Links::Beneath,
            })
            .hard_links(match self.hard_links {
                Some(HardLinkPolicy::Refuse) => HardLinks::Refuse,
                None | Some(HardLinkPolicy::RefuseWrites) => HardLinks::RefuseWrites,
                Some(HardLinkPolicy::Allow) => HardLinks::Allow,
            })
            .mounts(match self.mounts {
                None | Some(MountPolicy::Refuse) => Mounts::Refuse,
                Some(MountPolicy::Allow) => Mounts::Allow,
            })
            .backend(match self.backend {
                None | Some(BackendPolicy::Auto) => BackendChoice::Auto,
                Some(BackendPolicy::Kernel) => BackendChoice::Kernel,
                Some(BackendPolicy::Walk) => BackendChoice::Walk,
            })
    }

    /// Pins the root for a verb, with a log if one was asked for.
    pub(super) fn open(
        &self,
        verb: &'static str,
        log: &LogChoice,
    ) -> Result<(Root, Option<Recording>), Box<Failure>> {
        let dir = self.root.clone().unwrap_or_default();
        log.open_root(verb, &dir, self.options(), |options| {
            self.pin(verb, &dir, options)
        })
    }

    fn pin(
        &self,
        verb: &'static str,
        dir: &OsStr,
        options: RootOptions,
    ) -> Result<Root, Box<Failure>> {
        let root = Root::open_ambient_with(dir, options)
            .map_err(|error| open_failure(verb, dir, &error))?;
        if self.mounts.is_some() && !tells_mounts_apart(&root.enforcement()) {
            return Err(no_mount_ids(verb, dir));
        }
        Ok(root)
    }

    /// The session, if one was named instead of a root. It has policies of its own.
    pub(super) fn session(&self) -> Option<Result<&InSession, Box<Failure>>> {
        if !self.session.is_given() {
            return None;
        }
        let ours = [
            self.links.is_some(),
            self.hard_links.is_some(),
            self.mounts.is_some(),
            self.backend.is_some(),
        ];
        if ours.contains(&true) {
            let why = "policies of a root do not go with `--session`, which has its own";
            return Some(Err(crate::session::misused("fs", "use the session", why)));
        }
        Some(Ok(&self.session))
    }
}

/// Whether other mounts are noticed, bind mounts of the same filesystem included, where they are
/// to be refused.
fn tells_mounts_apart(enforcement: &Enforcement) -> bool {
    enforcement.mounts == Mounts::Allow
        || enforcement.backend == Backend::Kernel
        || enforcement.mount_identity == MountIdentity::MountId
}

fn no_mount_ids(verb: &'static str, root: &OsStr) -> Box<Failure> {
    let detail = "mounts cannot all be told apart here, and `--mounts refuse` asks for it";
    let hint = "`handfast doctor` says what this system can enforce";
    Box::new(
        failure(verb, root, ErrorKind::Unsupported, detail.to_owned())
            .with_hints([hint.to_owned()]),
    )
}

/// A root that could not be opened: the operator's mistake, or something this system cannot do.
///
/// Its path is the operator's. People get it back as they typed it; programs may pass errors on to
/// others, and do not.
pub(crate) fn open_failure(verb: &'static str, root: &OsStr, error: &Error) -> Box<Failure> {
    let hint = match error.kind() {
        ErrorKind::NotFound => "`--root` takes a directory that exists",
        ErrorKind::NotADirectory => "`--root` takes a directory",
        ErrorKind::Link => "name the directory that the link points to",
        ErrorKind::Unsupported => "`--backend auto` takes the component walk instead",
        _ => "",
    };
    let hints = [hint].into_iter().filter(|hint| !hint.is_empty());
    let failure = failure(verb, root, error.kind(), error.detail());
    Box::new(failure.with_hints(hints.map(str::to_owned)))
}

fn failure(verb: &'static str, root: &OsStr, kind: ErrorKind, detail: String) -> Failure {
    Failure {
        kind,
        verb,
        sentence: format!("cannot open the root `{}`", escape(root.as_bytes())),
        path: "<root>".to_owned(),
        destination: None,
        detail,
        effect: Effect::None,
        exit: match kind {
            ErrorKind::Unsupported => Exit::CannotTell,
            _ => Exit::Usage,
        },
        hints: Vec::new(),
    }
}
