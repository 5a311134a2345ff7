//! `handfast run`: a program in a session of the project.

pub(crate) mod asking;
mod engine;
mod explain;
mod fast;
mod folded;
mod lifetime;
mod policy;
mod preset;
mod rules;
mod summary;
mod view;
mod worktree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use handfast::{Effect, Metadata};
use handfast_run::{
    Ended, Net, Plan, Profile, Project, ProjectView, Refusal, RefusalKind, Request, Wall,
};
use handfast_session::{Mode, Session};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::log::{LogChoice, Recording};
use crate::output::Output;
use crate::session::{StateArgs, failed, misused};
use lifetime::Lifetime;

const HELP: &str = crate::exit::help!(
    "  handfast run -- npm install
  handfast run --net none -- cargo test
  handfast run --deny 'secrets/**' --env OPENAI_API_KEY -- ./agent
  handfast run --ask 'deploy/**' -- ./agent
  handfast run --fast --protect none -- cargo test
  handfast run --explain -- make"
);

/// The variable that names the file with what reviewers said.
const COMMENTS_VARIABLE: &str = "HANDFAST_COMMENTS";

/// Run a program whose changes to the project wait for review
///
/// The project is the nearest directory above with .git, .jj or .hg, else the working directory. The
/// program sees it under its own path, through a session. System directories and tool chains are
/// read-only; /tmp, /run and the home directory are private and empty; the rest is absent. The
/// program's exit code is passed on.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Use this session instead of the project's own
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    /// What becomes of changes [default: overlay]
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<RunMode>,

    /// Protect what a preset names: `workspace` or `none` [default: workspace]
    #[arg(long, value_name = "PRESET")]
    protect: Option<String>,

    /// Deny what a pattern matches too, now and later, as in gitignore without `!`
    #[arg(long, value_name = "GLOB")]
    deny: Vec<String>,

    /// Ask a person before what a pattern matches is read or changed: see `handfast approve`
    #[arg(long, value_name = "GLOB")]
    ask: Vec<String>,

    /// Let the program's changes grow to this size, like `512MiB`, in a new session
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    quota: Option<u64>,

    /// Which network the program has
    #[arg(long, value_enum, value_name = "NET", default_value_t = RunNet::Host)]
    net: RunNet,

    /// Let the program change this directory, past the session
    #[arg(long, value_name = "DIR")]
    write: Vec<PathBuf>,

    /// Let the program read this directory
    #[arg(long, value_name = "DIR")]
    read: Vec<PathBuf>,

    /// Pass on this variable
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    /// Grant what a well-known program needs: `claude`, `codex`, `node`, … or a file of yours
    #[arg(long, value_name = "NAME")]
    profile: Vec<String>,

    /// Take mode, rules and limits of the project from a policy file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mode", "protect", "deny", "ask", "quota"])]
    policy: Option<PathBuf>,

    /// What enforces the session [default: fuse]
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Option<engine::Engine>,

    /// Show the project by the kernel's own overlay: nearly native speed, and no file can be denied. The
    /// same as `--engine overlayfs`
    #[arg(long, conflicts_with = "engine")]
    fast: bool,

    /// Let the program build a sandbox of its own inside (bubblewrap): a weaker wall, without Landlock
    #[arg(long)]
    nested: bool,

    /// Commit every change of the session if the program ends with 0
    #[arg(long, conflicts_with_all = ["discard", "keep"])]
    commit: bool,

    /// Discard every change of the session at the end
    #[arg(long, conflicts_with = "keep")]
    discard: bool,

    /// Keep the changes for review, which is the default
    #[arg(long)]
    keep: bool,

    /// Print what would be granted, and start nothing
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    state: StateArgs,

    #[command(flatten)]
    log: LogChoice,

    /// The program and its arguments; without one, your shell
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What becomes of changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum RunMode {
    /// They wait in the session
    Overlay,
    /// They are made at once
    ReadWrite,
    /// There are none
    ReadOnly,
}

impl RunMode {
    fn mode(self) -> Mode {
        match self {
            Self::Overlay => Mode::Overlay,
            Self::ReadWrite => Mode::ReadWrite,
            Self::ReadOnly => Mode::ReadOnly,
        }
    }
}

/// Which network a program has.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum RunNet {
    /// The host's
    Host,
    /// None but a loopback of its own
    None,
}

/// A session that was chosen or will be made.
struct Chosen {
    name: String,
    mode: Mode,
    /// Whether it is there already.
    is_there: bool,
    protect: handfast_session::Protect,
    /// What a policy says of a session that will be made.
    terms: Option<policy::Terms>,
    /// What the session that is there does not keep from a program, if nobody asked for its rules now.
    weaker: Option<String>,
}

impl RunArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        match self.try_run(out) {
            Ok(exit) => exit,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn try_run(&self, out: &mut Output) -> Result<Exit, Box<Failure>> {
        if out.is_json() && !self.explain {
            let why = "standard output is the program's; `--json` goes with `--explain` only";
            return Err(misused("run", "run a program", why));
        }
        self.refuse_missing()?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let cwd = std::env::current_dir()
            .map_err(|error| misused("run", "find the working directory", &error.to_string()))?;
        let project = Project::find(&cwd, home.as_deref())?;
        if self.wall() == Wall::Landlock {
            return self.run_confined(project, out);
        }
        let chosen = self.choose(&project)?;
        if self.is_fast() {
            self.refuse_rules(&chosen)?;
        }
        let mut plan = Plan::new(project, self.request(chosen.mode)?)?;
        plan.weaker.extend(chosen.weaker.clone());
        if self.is_fast() {
            return self.run_fast(plan, chosen, out);
        }
        let said = plan.project.path.join(crate::approve::inside::COMMENTS);
        plan.env.push((COMMENTS_VARIABLE.into(), said.into()));
        if self.explain {
            explain::tell(&plan, &chosen.name, chosen.mode, &chosen.protect, out);
            return Ok(Exit::Yes);
        }
        let chosen = self.make(chosen, &plan)?;
        summary::begin(&plan, &chosen.name, chosen.mode, out);
        let mut kept: Option<(Session, Option<Recording>)> = None;
        let mut lifetime = None;
        let ended = handfast_run::run(&plan, |processes| -> Result<ProjectView, Box<Failure>> {
            let (mut opening, recording) = self.log.open_session("run")?;
            if let Some(recording) = &recording {
                let watched = Some(processes.clone());
                let folded = folded::FoldedReads::new(recording.recorder(), watched);
                opening.caller = opening.caller.recorder(Arc::new(folded));
            }
            let caller = opening.caller.clone();
            let session = self.state.open_with("run", &chosen.name, opening)?;
            self.refuse_beside_fast(&session, &chosen.name)?;
            // The program asks. The command that shows and commits its changes does not.
            let caller = caller.asker(Arc::new(asking::ByMount::new(processes)));
            let opened = |error| failed("run", "open the session", &chosen.name, &error);
            let files = view::RunView::new(&session, caller, &plan.project).map_err(opened)?;
            let pinned = pinned(&session, &plan.project, &chosen.name)?;
            if let Some(recording) = &recording {
                let session = (chosen.name.as_str(), chosen.mode);
                let begun = Lifetime::begin(&plan, session, pinned.identity, recording)?;
                lifetime = Some(begun);
            }
            kept = Some((session, recording));
            Ok(ProjectView {
                top: files.project_top().clone(),
                repository: files.repository_top().cloned(),
                files: Arc::new(files),
                waiting: asking::room([&chosen.protect]),
                fifos_and_sockets: chosen.mode == Mode::Overlay,
            })
        });
        let Some((session, recording)) = kept else {
            return ended.map(|ended| Exit::Child(ended.code));
        };
        if let (Some(lifetime), Some(recording)) = (lifetime, &recording)
            && let Err(error) = lifetime.end(&ended, recording)
        {
            out.note(&format!(
                "note: the end of the run is not in the log: {error}"
            ));
        }
        if let Ok(ended) = &ended
            && ended.is_partly_unwatched
            && chosen.mode == Mode::Overlay
        {
            out.note(
                "note: not every directory could be watched, so its names were cached for a second \
                 only (`fs.inotify` limits how many)",
            );
        }
        if let Err(error) = session.record_taken_back() {
            out.note(&format!(
                "note: an answer that was taken back is not in the log: {}",
                error.detail()
            ));
        }
        self.tell_left_out(&session, &chosen.name, out)?;
        let exit = ended.and_then(|ended| self.end(&session, &chosen, ended, out));
        if let Some(recording) = recording {
            recording.finish("run", out);
        }
        exit
    }

    fn request(&self, mode: Mode) -> Result<Request, Box<Failure>> {
        let shell = || {
            let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
            vec![shell.unwrap_or_else(|| "/bin/sh".into())]
        };
        let (mut read, mut write, mut env) =
            (self.read.clone(), self.write.clone(), self.env.clone());
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        for name in &self.profile {
            let profile = Profile::find(name, own_profiles(&home).as_deref(), &home)?;
            read.extend(profile.read);
            write.extend(profile.write);
            env.extend(profile.env);
        }
        let mut private: Vec<PathBuf> = self.state.dir().into_iter().collect();
        private.extend(self.log.places("run")?);
        Ok(Request {
            command: match self.command.is_empty() {
                true => shell(),
                false => self.command.clone(),
            },
            read,
            write,
            env,
            net: match self.net {
                RunNet::Host => Net::Host,
                RunNet::None => Net::None,
            },
            read_only: mode == Mode::ReadOnly,
            wall: self.wall(),
            fast: self.is_fast(),
            private,
        })
    }

    /// What is done with the changes, and what is printed about them.
    fn end(
        &self,
        session: &Session,
        chosen: &Chosen,
        ended: Ended,
        out: &mut Output,
    ) -> Result<Exit, Box<Failure>> {
        if chosen.mode != Mode::Overlay {
            return Ok(Exit::Child(ended.code));
        }
        let did = |deed: &'static str| {
            let name = chosen.name.clone();
            move |error: handfast_session::Error| failed("run", deed, &name, &error)
        };
        if self.discard {
            session
                .discard(&[])
                .map_err(did("discard the changes of"))?;
            out.note("the changes were discarded");
            return Ok(Exit::Child(ended.code));
        }
        if self.commit && ended.code == 0 {
            let options = handfast_session::CommitOptions::default();
            let report = session
                .commit(&options, &mut |_, _| {})
                .map_err(did("commit the changes of"))?;
            return Ok(summary::committed(&report, &chosen.name, out));
        }
        let mut changes = summary::Changes::default();
        let facts_only = handfast_session::ReviewOptions {
            text_limit: 0,
            ..Default::default()
        };
        session
            .review(&facts_only, &mut |change| {
                changes.take(&change);
                Ok(())
            })
            .map_err(did("compare the session"))?;
        summary::end(&changes, &chosen.name, self.commit, out);
        let comments = session.comments().map_err(did("read the comments on"))?;
        summary::comments(&comments, out);
        Ok(Exit::Child(ended.code))
    }
}

/// The project's directory as the session holds it, and not what took its place meanwhile. So is its
/// repository.
fn pinned(session: &Session, project: &Project, name: &str) -> Result<Metadata, Box<Failure>> {
    let look = |at| {
        let looked = session.metadata(at);
        looked.map_err(|error| failed("run", "look at the project of", name, &error))
    };
    let pinned = look(worktree::place_of(project))?;
    let mut is_same = project.is(&pinned);
    if let (Some(at), Some(repository)) =
        (worktree::place_of_repository(project), &project.repository)
    {
        is_same &= repository.is(&look(at)?);
    }
    match is_same {
        true => Ok(pinned),
        false => {
            let why = "the project's directory was replaced meanwhile";
            Err(misused("run", "open the session", why))
        }
    }
}

/// Where the user keeps profiles.
fn own_profiles(home: &std::path::Path) -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|dir| dir.is_absolute());
    let config = config.or_else(|| home.is_absolute().then(|| home.join(".config")));
    Some(config?.join("handfast/profiles"))
}

impl From<Refusal> for Box<Failure> {
    fn from(refusal: Refusal) -> Self {
        let mut failure = misused("run", "run the program", &refusal.why);
        if refusal.kind == RefusalKind::System {
            failure.kind = handfast::ErrorKind::Unsupported;
            failure.effect = Effect::None;
            failure.exit = Exit::CannotTell;
        }
        failure
    }
}
