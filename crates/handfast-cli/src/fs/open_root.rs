//! The root and its policies, the session or the lease, as options.

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
use crate::session::{StateArgs, misused};

use super::target::Target;

#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// Confine everything to this directory
    #[arg(long, global = true, value_name = "DIR", help_heading = "Root")]
    root: Option<OsString>,

    /// Work in this session instead; paths are absolute then
    #[arg(long, global = true, value_name = "NAME", help_heading = "Session")]
    session: Option<String>,

    /// Work under this lease of a broker instead; paths are absolute then
    ///
    /// The lease's id or a token, for the broker at $HANDFAST_SOCKET or at the user's usual place;
    /// or the path of a socket, which begins with `/` or `.`: then $HANDFAST_LEASE has the id.
    #[cfg(feature = "broker")]
    #[arg(long, global = true, value_name = "ID", help_heading = "Lease")]
    lease: Option<OsString>,

    #[command(flatten)]
    state: StateArgs,

    /// Choose what happens at symbolic links [default: refuse]
    #[arg(long, global = true, value_enum, value_name = "POLICY")]
    #[arg(help_heading = "Root")]
    links: Option<LinkPolicy>,

    /// Choose what happens to files that have several names [default: refuse-writes]
    #[arg(long, global = true, value_enum, value_name = "POLICY")]
    #[arg(help_heading = "Root")]
    hard_links: Option<HardLinkPolicy>,

    /// Choose what happens at other mounts [default: refuse]
    #[arg(long, global = true, value_enum, value_name = "POLICY")]
    #[arg(help_heading = "Root")]
    mounts: Option<MountPolicy>,

    /// Choose what resolves the path: one system call, or a walk by component [default: auto]
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
    /// Links are followed as in a chroot: `/` and `..` lead no higher than the root
    InRoot,
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
    /// The kernel (openat2) and nothing else
    Kernel,
    /// The component walk
    Walk,
}

impl TargetArgs {
    fn options(&self) -> RootOptions {
        RootOptions::new()
            .links(match self.links {
                None | Some(LinkPolicy::Refuse) => Links::Refuse,
                Some(LinkPolicy::Beneath) => Links::Beneath,
                Some(LinkPolicy::InRoot) => Links::InRoot,
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

    /// Opens what was named for a verb, with a log if one was asked for.
    ///
    /// Options may be given on both sides of the verb, where the parser of arguments compares none
    /// of them with each other; so they are compared here.
    pub(super) fn open(
        &self,
        verb: &'static str,
        log: &LogChoice,
    ) -> Result<(Target, Option<Recording>), Box<Failure>> {
        let wrong = |why: &str| misused(verb, "tell which files are meant", why);
        #[cfg(feature = "broker")]
        if let Some(lease) = &self.lease {
            return self.open_lease(verb, lease, log);
        }
        match (&self.root, &self.session) {
            (Some(_), Some(_)) => Err(wrong(
                "`--root` and `--session` were both given; leave out one",
            )),
            (None, None) => {
                let mut failure = wrong("give `--root DIR`, `--session NAME` or `--lease ID`");
                let hint = format!("for example `handfast fs --root DIR {verb} …`; see `--help`");
                failure.hints.push(hint);
                Err(failure)
            }
            (Some(_), None) if self.state.is_given() => Err(wrong(
                "`--state` is where sessions are kept; it does not go with `--root`",
            )),
            (Some(dir), None) => {
                let opened = log.open_root(verb, dir, self.options(), |options| {
                    self.pin(verb, dir, options)
                });
                opened.map(|(root, recording)| (Target::Root(root), recording))
            }
            (None, Some(_)) if self.has_policies() => {
                let why = "`--links`, `--hard-links`, `--mounts` and `--backend` go with `--root`; \
                           a session has rules of its own";
                Err(misused(verb, "use the session", why))
            }
            (None, Some(name)) => {
                let (opening, recording) = log.open_session(verb)?;
                let session = self.state.open_with(verb, name, opening)?;
                Ok((Target::Session(session), recording))
            }
        }
    }

    #[cfg(feature = "broker")]
    fn open_lease(
        &self,
        verb: &'static str,
        lease: &OsStr,
        log: &LogChoice,
    ) -> Result<(Target, Option<Recording>), Box<Failure>> {
        let wrong = |why: &str| misused(verb, "use the lease", why);
        if self.root.is_some() || self.session.is_some() || self.state.is_given() {
            return Err(wrong(
                "`--root`, `--session` and `--state` do not go with `--lease`",
            ));
        }
        if self.has_policies() {
            return Err(wrong(
                "`--links`, `--hard-links`, `--mounts` and `--backend` go with `--root`; \
                 the broker has rules of its own",
            ));
        }
        if log.is_given() {
            return Err(wrong(
                "`--log` and `--agent` do not go with `--lease`: the broker keeps the log",
            ));
        }
        let is_socket = matches!(lease.as_bytes().first(), Some(b'/' | b'.'));
        let id = match is_socket {
            true => std::env::var_os("HANDFAST_LEASE")
                .ok_or_else(|| wrong("that is a socket, and $HANDFAST_LEASE holds no lease"))?,
            false => lease.to_owned(),
        };
        let id = id
            .into_string()
            .map_err(|_| wrong("a lease's id is plain text"))?;
        let client = crate::lease::connect(verb, is_socket.then_some(lease))?;
        let files = handfast_broker::LeaseFiles::new(client, id).map_err(|error| {
            crate::lease::told::broken("ask the broker what it serves", &error.detail())
        })?;
        Ok((Target::Lease(files), None))
    }

    /// Whether something was said about how a root behaves.
    fn has_policies(&self) -> bool {
        self.links.is_some()
            || self.hard_links.is_some()
            || self.mounts.is_some()
            || self.backend.is_some()
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
}

/// Whether other mounts are noticed, bind mounts of the same filesystem included, where they are
/// to be refused.
fn tells_mounts_apart(enforcement: &Enforcement) -> bool {
    enforcement.mounts == Mounts::Allow
        || enforcement.backend == Backend::Kernel
        || enforcement.mount_identity == MountIdentity::MountId
}

fn no_mount_ids(verb: &'static str, root: &OsStr) -> Box<Failure> {
    let detail = "mounts cannot all be distinguished here, and `--mounts refuse` asks for it";
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
