//! `handfast mcp DIR…`: the MCP filesystem server.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use handfast::{Effect, ErrorKind, Links};
use handfast_mcp::{LogChoice, Options, Server, Source, StartError, Started, Tokens};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Form, Output};
use crate::session::StateArgs;

/// Serve directories to an MCP client, as the reference filesystem server does
///
/// Speaks on standard input and output until the input ends, or with `--http` on a loopback
/// address. Once the directories are open, the server gives up access to everything else,
/// where the kernel has Landlock.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help!(
    "  handfast mcp ~/project
  handfast mcp --read-only ~/docs ~/project
  handfast mcp --session review --protect workspace ~/project
  claude mcp add filesystem -- handfast mcp ~/project"
))]
pub(crate) struct McpArgs {
    /// The directories that clients may reach
    #[arg(value_name = "DIR", required_unless_present_any = ["policy", "session"])]
    dirs: Vec<PathBuf>,

    /// Change nothing, and offer no tool that would
    #[arg(long)]
    read_only: bool,

    /// Deny what a pattern matches, as in gitignore without `!`
    #[arg(long, value_name = "GLOB")]
    deny: Vec<String>,

    /// Protect what a preset names: `workspace`
    #[arg(long, value_name = "PRESET", visible_alias = "preset")]
    protect: Option<String>,

    /// What happens at symbolic links: followed while they stay inside, or refused [default: beneath]
    #[arg(long, value_name = "RULE")]
    links: Option<LinkRule>,

    /// Take directories, modes and rules from a policy file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dirs", "links"])]
    policy: Option<PathBuf>,

    /// Let files grow by this much in all, such as 100MiB
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    quota: Option<u64>,

    /// Keep changes in the overlay of this session, which is made if it is missing
    #[arg(long, value_name = "NAME", conflicts_with = "overlay")]
    session: Option<String>,

    /// Keep changes in the overlay of the project, which `handfast run` shares and the next start
    /// finds again; `--overlay=fresh` in a new one
    #[arg(
        long,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "project",
        conflicts_with = "policy"
    )]
    overlay: Option<WhichOverlay>,

    /// Log nothing; otherwise every call is in a log below the state directory
    #[arg(long)]
    no_log: bool,

    /// Keep at most this much of a log on the disk, such as 64MiB; older events go by themselves
    #[arg(long, value_name = "SIZE", value_parser = crate::size::of_log, conflicts_with = "no_log")]
    log_keep_bytes: Option<u64>,

    /// Keep events of a log for this long, such as 30d; older ones go by themselves as it grows
    #[arg(
        long,
        value_name = "TIME",
        value_parser = handfast_ledger::time::duration,
        conflicts_with = "no_log"
    )]
    log_keep_for: Option<Duration>,

    /// Wait until content is on the disk before a write is answered
    #[arg(long)]
    sync: bool,

    /// The largest file that is read whole [default: 8MiB]
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    read_limit: Option<u64>,

    /// How much one archive may extract to, and how large a zip may be [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    archive_limit: Option<u64>,

    /// Give whole files and lists in one answer, up to the read limit; otherwise at most 48 KiB
    #[arg(long)]
    full_answers: bool,

    /// Offer more tools: `audit`, in builds with the feature `mcp-audit`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tools: Vec<MoreTools>,

    /// Offer `delete_file` also where changes are not kept in an overlay
    #[arg(long, conflicts_with = "read_only")]
    allow_delete: bool,

    /// Commit what the person approves in a question that the client asks, and let the person answer there
    /// where a rule says `ask`; this trusts the client, which gives the answer
    #[arg(long, conflicts_with_all = ["read_only", "http"])]
    trust_client_approval: bool,

    /// Do not offer this tool
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    without_tool: Vec<String>,

    /// Listen on this loopback address instead, such as 127.0.0.1:8321
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    http: Option<SocketAddr>,

    /// Take the tokens of HTTP callers from this file, `NAME TOKEN` a line; it is made if missing
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    state: StateArgs,
}

// `handfast mcp` as a command line of its own, with the options that hold for every command. Its
// help is that of the arguments.
#[derive(Debug, Parser)]
#[command(name = "handfast mcp", bin_name = "handfast mcp")]
struct Alone {
    /// Print one JSON object on standard output if it cannot start
    #[arg(long)]
    json: bool,

    /// Print data and errors only: no notes and no hints
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    args: McpArgs,
}

/// Runs `handfast mcp …` without looking at the other commands.
pub(crate) fn run_alone() -> Result<Exit, clap::Error> {
    let alone = Alone::try_parse_from(std::env::args_os().skip(1))?;
    let form = if alone.json { Form::Json } else { Form::Words };
    let mut out = Output::new(form, alone.quiet);
    let verdict = alone.args.run(&mut out);
    Ok(out.finish(verdict))
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LinkRule {
    Beneath,
    Refuse,
}

/// Whose overlay takes the changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum WhichOverlay {
    /// The project's
    Project,
    /// That of a new session with a name of its own
    Fresh,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum MoreTools {
    Audit,
}

/// An address that nobody outside of this machine reaches. The server refuses others, too.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text
        .parse()
        .map_err(|_| "an address and a port are needed, such as 127.0.0.1:8321".to_owned())?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => {
            Err("only a loopback address is served; put a proxy in front for others".to_owned())
        }
    }
}

impl McpArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        // Before the start: behind the wall the file is out of reach.
        let http = self.http.map(|address| {
            let tokens = match &self.token_file {
                Some(file) => Tokens::read_ambient(file),
                None => Tokens::new(),
            };
            tokens.map(|tokens| (address, tokens))
        });
        let http = match http.transpose() {
            Ok(http) => http,
            Err(error) => {
                let failure = broken(&error);
                out.failure(&failure);
                return failure.exit;
            }
        };
        let started = self
            .options()
            .and_then(|options| Server::start(&options).map_err(|error| Box::new(refused(&error))));
        let started = match started {
            Ok(started) => started,
            Err(failure) => {
                out.failure(&failure);
                return failure.exit;
            }
        };
        let Started {
            server,
            warnings,
            summary,
            ..
        } = started;
        for warning in warnings {
            out.note(&format!("warning: {warning}"));
        }
        out.note(&format!("handfast mcp: {summary}"));
        let mut say = |line: &str| out.note(&format!("handfast mcp: {line}"));
        let served = match http {
            Some((address, tokens)) => server.serve_http(address, tokens, &mut say),
            None => server.serve_stdio(io::stdin(), io::stdout(), &mut say),
        };
        match served {
            Ok(()) => Exit::Yes,
            Err(error) => {
                let failure = broken(&error);
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn options(&self) -> Result<Options, Box<Failure>> {
        let source = match (&self.policy, self.dirs.is_empty()) {
            (Some(file), _) => Source::Policy(file.clone()),
            (None, true) => Source::Session,
            (None, false) => Source::Dirs(self.dirs.clone()),
        };
        let mut options = Options::new(source);
        options.session.clone_from(&self.session);
        match self.overlay {
            Some(WhichOverlay::Fresh) => options.session = Some(String::new()),
            Some(WhichOverlay::Project) => self.share_project(&mut options)?,
            None => {}
        }
        options.read_only = self.read_only;
        options.deny.clone_from(&self.deny);
        options.protect.clone_from(&self.protect);
        let no_rules = self.deny.is_empty() && self.protect.is_none();
        if self.overlay == Some(WhichOverlay::Fresh) && no_rules {
            // As in the overlay of a project, which has it from the server.
            options.protect = Some("workspace".to_owned());
        }
        options.links = self.links.map(|rule| match rule {
            LinkRule::Beneath => Links::Beneath,
            LinkRule::Refuse => Links::Refuse,
        });
        options.quota = self.quota;
        options.state = self.state.dir();
        if self.no_log {
            options.log = LogChoice::Off;
        }
        if let Some(bytes) = self.log_keep_bytes {
            options.log_keep = options.log_keep.bytes(bytes);
        }
        if let Some(time) = self.log_keep_for {
            options.log_keep = options.log_keep.time(time);
        }
        let home: Option<OsString> = std::env::var_os("HOME");
        options.home = home.map(PathBuf::from).filter(|home| home.is_absolute());
        options.sync = self.sync;
        options.delete = self.allow_delete;
        options.trust_client_approval = self.trust_client_approval;
        options.without_tools.clone_from(&self.without_tool);
        options.audit = self.tools.contains(&MoreTools::Audit);
        if let Some(limit) = self.read_limit {
            options.read_limit = limit;
        }
        if let Some(limit) = self.archive_limit {
            options.archive_limit = limit;
        }
        if self.full_answers {
            options.answer_limit = options.read_limit;
        }
        Ok(options)
    }

    /// Takes the session of the project that the directory belongs to.
    #[cfg(feature = "run")]
    fn share_project(&self, options: &mut Options) -> Result<(), Box<Failure>> {
        let misuse = |why: String, hint: &str| {
            let text = "cannot find the project's overlay";
            let failure = failure(ErrorKind::Invalid, text, why, Exit::Usage);
            Box::new(failure.with_hints(Some(hint.to_owned())))
        };
        let [dir] = &self.dirs[..] else {
            let why = "a project is one directory".to_owned();
            let hint = "`--overlay=fresh` and `--session NAME` take several";
            return Err(misuse(why, hint));
        };
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let project = handfast_run::Project::find(dir, home.as_deref())
            .map_err(|refusal| misuse(refusal.why, "`--overlay=fresh` takes any directory"))?;
        if project.repository.is_some() {
            let why = "the project is a linked worktree or a submodule of git, whose session has two mounts";
            return Err(misuse(
                why.to_owned(),
                "`--overlay=fresh` takes any directory",
            ));
        }
        options.session = Some(project.session_name());
        options.project = Some(project.path);
        Ok(())
    }

    #[cfg(not(feature = "run"))]
    fn share_project(&self, _options: &mut Options) -> Result<(), Box<Failure>> {
        let text = "cannot find the project's overlay";
        let why = "this build has no `run`, which knows projects".to_owned();
        let failure = failure(ErrorKind::Unsupported, text, why, Exit::Usage);
        Err(Box::new(failure.with_hints(Some(
            "`--overlay=fresh` takes a new session".to_owned(),
        ))))
    }
}

fn failure(kind: ErrorKind, sentence: &str, detail: String, exit: Exit) -> Failure {
    Failure {
        kind,
        verb: "mcp",
        sentence: sentence.to_owned(),
        path: String::new(),
        destination: None,
        detail,
        effect: Effect::None,
        exit,
        hints: Vec::new(),
    }
}

fn refused(error: &StartError) -> Failure {
    let (kind, exit) = match error.is_usage {
        true => (ErrorKind::Invalid, Exit::Usage),
        false => (ErrorKind::Io, Exit::No),
    };
    let failure = failure(kind, "cannot start the server", error.text.clone(), exit);
    failure.with_hints(error.hint.map(str::to_owned))
}

fn broken(error: &io::Error) -> Failure {
    let exit = match error.kind() {
        io::ErrorKind::InvalidInput => Exit::Usage,
        _ => Exit::No,
    };
    failure(
        ErrorKind::Io,
        "cannot serve any longer",
        error.to_string(),
        exit,
    )
}
