//! `handfast review`: a local page on which a person reviews what waits in sessions.

#[cfg(feature = "broker")]
mod leases;

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use handfast::{Effect, ErrorKind};
use handfast_review::keeper::{Keeper, Recorded};
use handfast_review::page;
use handfast_session::Caller;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::log::{LogChoice, Recording, given_key};
use crate::output::{Form, Output};
use crate::session::{StateArgs, misused};

/// What starts the page's process; nobody types it.
const PAGE_PROCESS: &str = "--page-process";

const HELP: &str = crate::exit::help!(
    "  handfast review
  handfast review project --log log --key log.key"
);

/// Review, commit and undo an agent's changes on a local page
///
/// Prints an address for the browser, which works once, and serves the page until it is
/// interrupted. The page is served on this machine only. The process that speaks HTTP cannot open
/// files. This process reads the sessions and commits, and it commits only what it gave the page to
/// show.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReviewArgs {
    /// Listen on this port [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,

    /// Require that this key signed the log; the key, or a file with it
    #[arg(long, value_name = "KEY", help_heading = "Log")]
    key: Option<String>,

    /// Show the leases of this broker [default: $HANDFAST_SOCKET, or below the user's runtime directory]
    #[cfg(feature = "broker")]
    #[arg(long, value_name = "PATH")]
    socket: Option<std::ffi::OsString>,

    #[command(flatten)]
    state: StateArgs,

    #[command(flatten)]
    log: LogChoice,

    /// Be the process that serves the page
    #[arg(long, hide = true, exclusive = true)]
    page_process: bool,

    /// Show one session; all of them otherwise
    name: Option<String>,
}

impl ReviewArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let done = match self.page_process {
            true => serve_page(),
            false => self.serve(out),
        };
        match done {
            Ok(()) => Exit::Yes,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn serve(&self, out: &mut Output) -> Result<(), Box<Failure>> {
        crate::approve::inside::refuse("review", "review")?;
        let key = match &self.key {
            Some(key) => Some(given_key("review", key)?),
            None => None,
        };
        let log = self.log.dir().map(PathBuf::from);
        if key.is_some() && log.is_none() {
            let why = "`--key` is about a log; give `--log DIR` too";
            return Err(misused("review", "check the log", why));
        }
        let (opening, recording) = self.log.open_session("review")?;
        let catalogue = match &self.name {
            // Opened once, so that a wrong name is known before anybody opens a browser.
            Some(name) => {
                drop(self.state.open_with("review", name, Default::default())?);
                self.state.catalogue("review")?
            }
            None => self.state.catalogue("review")?,
        };
        let mut keeper = Keeper::new(
            catalogue,
            opening.options,
            Caller::new(opening.caller.actor()),
        );
        drop(opening.caller);
        if let Some(name) = &self.name {
            keeper = keeper.only(name);
        }
        #[cfg(feature = "broker")]
        // Without a place to look for a broker the page says that it knows none.
        if let Ok(desk) = leases::Desk::new(self.socket.as_deref()) {
            keeper = keeper.leases_of(std::sync::Arc::new(desk));
        }
        if recording.is_some() {
            let choice = self.log.clone();
            keeper = keeper.recording(move || begin(&choice));
        }
        // Others write to the log while the page only looks.
        drop(recording);
        if let Some(dir) = log {
            keeper = keeper.log(dir, key);
        }
        if !out.is_quiet() {
            keeper = keeper.telling(|line| Output::new(Form::Words, false).note(line));
        }
        let own = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut program = Command::new(own);
        program.args(["review", PAGE_PROCESS]);
        let started = handfast_review::start(program, self.port, self.name.clone())
            .map_err(|error| failed(&error))?;
        for weaker in &started.weaker {
            out.note(&format!("weaker: {weaker}"));
        }
        if out.is_json() {
            out.object(true, JsonObject::new().with("url", started.url.as_str()));
        } else {
            out.line(&started.url);
        }
        out.note("open it in a browser of this machine; it works once, and Ctrl-C ends it");
        out.flush();
        started.serve(&mut keeper).map_err(|error| failed(&error))
    }
}

/// Opens the log for one commit or undo; it is published and closed behind it.
fn begin(choice: &LogChoice) -> Result<Recorded, handfast::Error> {
    let (opening, recording) = choice
        .open_session("review")
        .map_err(|failure| handfast::Error::refused(failure.kind, failure.detail.clone()))?;
    Ok(Recorded {
        caller: opening.caller,
        guard: Box::new(Publishing(recording)),
    })
}

/// Publishes a log when it is dropped.
struct Publishing(Option<Recording>);

impl Drop for Publishing {
    fn drop(&mut self) {
        if let Some(recording) = self.0.take() {
            recording.finish("review", &mut Output::new(Form::Words, false));
        }
    }
}

/// The other process: its standard input is the keeper, its standard output listens.
fn serve_page() -> Result<(), Box<Failure>> {
    use std::os::fd::AsFd;
    let keeper = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = std::io::stdout().as_fd().try_clone_to_owned();
    let both = keeper.and_then(|keeper| Ok((keeper, listener?)));
    both.and_then(|(keeper, listener)| page::run(keeper, listener))
        .map_err(|error| failed(&error))
}

fn failed(error: &std::io::Error) -> Box<Failure> {
    Box::new(Failure {
        kind: ErrorKind::Io,
        verb: "review",
        sentence: "cannot serve the page".to_owned(),
        path: String::new(),
        destination: None,
        detail: handfast::escape(error.to_string().as_bytes()),
        effect: Effect::None,
        exit: Exit::No,
        hints: Vec::new(),
    })
}
