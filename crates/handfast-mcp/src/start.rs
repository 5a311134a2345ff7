//! From the operator's options to a server behind its wall.
//!
//! In this order: pin the directories, open the session, raise the wall, and only then the first
//! thread and the first byte of input.

mod plan;

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use handfast::harden::{Hardening, Wall};
use handfast::{Durability, ErrorKind, RelPath, Root};
use handfast_session::{Caller, Catalogue, Mode, MountSpec, Session, SessionOptions};

use self::plan::{Plan, existing_session, plan};
use crate::log::Log;
use crate::options::{LogChoice, Options};
use crate::schema;
use crate::server::{Server, StartReport, Started};
use crate::standing::AllowedDirectories;

/// Why a server did not start.
#[derive(Debug)]
pub struct StartError {
    /// What the operator asked for is wrong, as opposed to what could not be done.
    pub is_usage: bool,
    /// In words.
    pub text: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for StartError {}

fn usage(text: impl Into<String>) -> StartError {
    StartError {
        is_usage: true,
        text: text.into(),
        hint: None,
    }
}

fn failed(what: &str, error: &handfast_session::Error) -> StartError {
    StartError {
        is_usage: error.kind() == ErrorKind::Invalid,
        text: format!("{what}: {}", error.detail()),
        hint: None,
    }
}

/// State of ours on disk.
struct State {
    dir: PathBuf,
    catalogue: Catalogue,
    root: Root,
}

/// Starts a server; nothing has been read from anybody when this returns.
pub(crate) fn start(options: &Options) -> Result<Started, StartError> {
    if options.audit && !cfg!(feature = "audit") {
        return Err(StartError {
            hint: Some(
                "build it with `cargo install --path crates/handfast-cli --features mcp-audit`",
            ),
            ..usage("the auditor is not in this build")
        });
    }
    if let Some(name) = options
        .without_tools
        .iter()
        .find(|name| !schema::exists(name))
    {
        return Err(usage(format!("there is no tool `{name}`")));
    }
    let wants_state = options.log == LogChoice::On || options.session.is_some();
    let state = match wants_state {
        true => Some(open_state(options)?),
        false => None,
    };
    let name = session_name(options);
    let (mut plan, session) = open_session(options, state.as_ref(), name.as_deref())?;
    check_pinned(&plan, &session)?;
    let session_name = name.clone();
    let kept = ChangesGo::of(&plan, options, name);
    if options.trust_client_approval && !matches!(kept, ChangesGo::Overlay(_)) {
        return Err(StartError {
            hint: Some("take `--overlay` or `--session NAME`"),
            ..usage("without an overlay there is nothing to approve")
        });
    }
    let logs = match (&state, options.log) {
        (Some(state), LogChoice::On) => Some(make_logs(state)?),
        _ => None,
    };
    let mut wall = Hardening::new();
    for root in &plan.roots {
        wall = wall.root(root);
    }
    if let Some(state) = &state {
        wall = wall.root(&state.root);
    }
    let wall = wall.harden_process().map_err(|error| StartError {
        is_usage: false,
        text: format!("the second wall cannot be raised: {}", error.detail()),
        hint: None,
    })?;
    let log = match &logs {
        Some(dir) => {
            let log = Log::open(dir, options.log_keep).map_err(|error| StartError {
                is_usage: false,
                text: format!("the log's thread cannot be started: {error}"),
                hint: Some("`--no-log` does without"),
            })?;
            Some(Arc::new(log))
        }
        None => None,
    };
    let mut standing = AllowedDirectories::default();
    for (mount, root) in plan.spec.mounts().iter().zip(&plan.roots) {
        standing.add(mount.at(), mount.host().to_owned(), root);
    }
    let protect = plan.protection();
    if !protect.ask.is_empty() && session_name.is_none() {
        let text = "a rule says `ask`; without `--session NAME` nobody can be asked, so it denies";
        plan.warnings.push(text.to_owned());
    }
    let identity = plan.roots.first().map(Root::identity);
    let waiting = match &kept {
        // An overlay that cannot be read says so at the first call.
        ChangesGo::Overlay(_) => session.diff().map_or(0, |changes| changes.len()),
        _ => 0,
    };
    let summary = summary(&plan, wall, logs.as_deref(), (&kept, waiting));
    let read_only = matches!(kept, ChangesGo::Nothing);
    let overlay = match kept {
        ChangesGo::Overlay(name) => Some(name),
        _ => None,
    };
    Ok(Started {
        server: Server::new(
            session,
            plan.view,
            log,
            identity.ok_or_else(|| usage("there is no directory"))?,
            StartReport {
                overlay,
                standing,
                protect,
                read_only,
                waiting,
                session_name,
                parent: parent(),
            },
            options,
        ),
        wall,
        warnings: plan.warnings,
        summary,
    })
}

/// The process that started this one. The first process of a system or a container started everything, people's
/// shells as well.
fn parent() -> Option<u32> {
    let parent = rustix::process::getppid()?.as_raw_nonzero().get();
    u32::try_from(parent).ok().filter(|parent| *parent > 1)
}

fn open_state(options: &Options) -> Result<State, StartError> {
    let Some(dir) = &options.state else {
        return Err(StartError {
            hint: Some("give `--state DIR`, or `--no-log`"),
            ..usage(
                "neither XDG_STATE_HOME nor HOME is set, so there is no place for logs and sessions",
            )
        });
    };
    let told = |error: &handfast_session::Error| StartError {
        hint: Some("give another with `--state DIR`, or do without logs with `--no-log`"),
        ..failed("the state directory cannot be used", error)
    };
    let dir = std::path::absolute(dir).map_err(|error| usage(error.to_string()))?;
    let catalogue = Catalogue::open_ambient(&dir).map_err(|error| told(&error))?;
    let root = Root::open_ambient(&dir).map_err(|error| told(&error))?;
    Ok(State {
        dir,
        catalogue,
        root,
    })
}

/// The session's name: as given, or one that nobody uses.
fn session_name(options: &Options) -> Option<String> {
    match options.session.as_deref() {
        Some("") => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let seconds = now.map_or(0, |now| now.as_secs());
            Some(format!("mcp-{seconds}-{}", std::process::id()))
        }
        other => other.map(str::to_owned),
    }
}

/// Makes the session, or opens the one of that name.
fn open_session(
    options: &Options,
    state: Option<&State>,
    name: Option<&str>,
) -> Result<(Plan, Session), StartError> {
    let durability = match options.sync {
        true => Durability::Full,
        false => Durability::None,
    };
    let how = SessionOptions::new()
        .read_limit(options.read_limit)
        .durability(durability);
    // Only to open it: every call asks on its own behalf.
    let caller = Caller::new("mcp start");
    let (Some(state), Some(name)) = (state, name) else {
        let plan = plan(options, None, name)?;
        let how = match state {
            Some(state) => how.private(&state.root),
            None => how,
        };
        let opened = Session::with_options(&plan.spec, how, caller);
        let opened = opened.map_err(|error| StartError {
            hint: match error.kind() {
                handfast::ErrorKind::Denied => Some("this user must be able to read the directory"),
                _ => Some("an overlay needs `--session NAME`"),
            },
            ..failed("the session cannot be opened", &error)
        })?;
        return Ok((plan, opened));
    };
    let plan = make_session(options, state, name)?;
    let opened = state.catalogue.open_with(name, how, caller);
    let opened = opened.map_err(|error| failed("the session cannot be opened", &error))?;
    Ok((plan, opened))
}

/// What the session of a name is made of. It is made if it is missing; if somebody else made it in
/// the meantime, it is checked like any session that exists.
fn make_session(options: &Options, state: &State, name: &str) -> Result<Plan, StartError> {
    let mut existing = existing_session(options, Some(state), Some(name))?;
    if existing.is_none() {
        let new = plan(options, None, Some(name))?;
        match state.catalogue.create(name, &new.spec) {
            Ok(()) => return Ok(new),
            Err(error) if error.kind() == ErrorKind::Exists => {}
            Err(error) => return Err(failed("the session cannot be made", &error)),
        }
        existing = existing_session(options, Some(state), Some(name))?;
    }
    plan(options, existing, Some(name))
}

/// The session opened its directories by name; they must be the ones that were pinned.
fn check_pinned(plan: &Plan, session: &Session) -> Result<(), StartError> {
    for (mount, root) in plan.spec.mounts().iter().zip(&plan.roots) {
        let found = session.metadata(mount.at());
        let found = found.map_err(|error| failed("a directory cannot be looked at", &error))?;
        let (one, other) = (found.identity, root.identity());
        if (one.device, one.inode) != (other.device, other.inode) {
            return Err(StartError {
                is_usage: false,
                text: format!("the directory for `{}` was replaced meanwhile", mount.at()),
                hint: Some("start again"),
            });
        }
    }
    Ok(())
}

fn make_logs(state: &State) -> Result<PathBuf, StartError> {
    let told = |error: handfast::Error| StartError {
        is_usage: false,
        text: format!("the directory for logs cannot be made: {}", error.detail()),
        hint: Some("`--no-log` does without"),
    };
    let path = RelPath::parse("logs").map_err(told)?;
    match state.root.create_dir_with(&path, 0o700) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::Exists => {}
        Err(error) => return Err(told(error)),
    }
    Ok(state.dir.join("logs"))
}

/// What becomes of changes.
enum ChangesGo {
    Nothing,
    /// All of them are in the overlay of this session.
    Overlay(String),
    Disk,
}

impl ChangesGo {
    fn of(plan: &Plan, options: &Options, name: Option<String>) -> Self {
        let modes = || plan.spec.mounts().iter().map(MountSpec::mounted_as);
        if options.read_only || modes().all(|mode| mode == Mode::ReadOnly) {
            return Self::Nothing;
        }
        // A policy may mix them: then it is not said that a person reviews.
        match name {
            Some(name) if !modes().any(|mode| mode == Mode::ReadWrite) => Self::Overlay(name),
            _ => Self::Disk,
        }
    }
}

/// One line for people: what is granted, and what stands around it.
fn summary(
    plan: &Plan,
    wall: Wall,
    logs: Option<&Path>,
    (kept, waiting): (&ChangesGo, usize),
) -> String {
    let what = match kept {
        ChangesGo::Nothing => "read-only".to_owned(),
        ChangesGo::Overlay(name) => {
            let waits = match waiting {
                0 => String::new(),
                1 => ", 1 change waits for review".to_owned(),
                count => format!(", {count} changes wait for review"),
            };
            format!("overlay of session `{name}`{waits} (see `handfast session diff {name}`)")
        }
        ChangesGo::Disk => "read-write".to_owned(),
    };
    let wall = match wall {
        Wall::Full => "second wall: Landlock, full",
        Wall::Partial => "second wall: Landlock, partial",
        Wall::None => "no second wall: this kernel has no Landlock",
    };
    let log = match logs {
        Some(dir) => format!("log below {}", handfast::escape(dir.as_os_str().as_bytes())),
        None => "no log".to_owned(),
    };
    let dirs = plan.view.texts().join(", ");
    format!("{dirs}; {what}; {wall}; {log}")
}
