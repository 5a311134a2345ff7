//! `handfast lease`: against a running broker, one file a command.

mod acquire;
mod confined;
mod identity;
mod open;
mod revoke;
mod run;
mod show;
mod token;
pub(crate) mod told;
mod write;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use handfast_broker::{Client, default_socket};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const HELP: &str = crate::exit::help!(
    "  ID=$(handfast lease acquire --paths 'src/**' --verbs read --ttl 10m)
  handfast lease open $ID src/main.rs
  handfast lease renew $ID --increment 10m
  handfast lease revoke $ID
  handfast lease run --paths 'src/**' --verbs read -- ./agent"
);

/// Ask a broker for leases, and use them
///
/// A lease says which paths may be used how, for how long and what for. The broker
/// checks it at every use. It ends by itself.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LeaseArgs {
    /// Talk to this broker [default: $HANDFAST_SOCKET, or below the user's runtime directory]
    #[arg(long, global = true, value_name = "PATH", display_order = 800)]
    socket: Option<OsString>,

    #[command(flatten)]
    identity: identity::IdentityArgs,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Acquire(acquire::AcquireArgs),
    Renew(show::RenewArgs),
    Lookup(show::LookupArgs),
    List(show::ListArgs),
    Revoke(revoke::RevokeArgs),
    Open(open::OpenArgs),
    Write(write::WriteArgs),
    Run(run::RunArgs),
    Export(token::ExportArgs),
    Narrow(token::NarrowArgs),
    #[command(hide = true)]
    Confined(confined::ConfinedArgs),
}

/// How a command went.
type LeaseExit = Result<Exit, Box<Failure>>;

impl LeaseArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        match self.answer(out) {
            Ok(exit) => exit,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn answer(&self, out: &mut Output) -> LeaseExit {
        match &self.command {
            Command::Acquire(args) => args.run(&mut self.client()?, out),
            Command::Renew(args) => args.run(&mut self.client()?, out),
            Command::Lookup(args) => args.run(&mut self.client()?, out),
            Command::List(args) => args.run(&mut self.client()?, out),
            Command::Revoke(args) => args.run(&mut self.client()?, out),
            Command::Open(args) => args.run(&mut self.client()?, out),
            Command::Write(args) => args.run(&mut self.client()?, out),
            Command::Run(args) => {
                let socket = socket_path("lease", self.socket.as_deref())?;
                args.run(&mut self.client()?, &socket, out)
            }
            Command::Export(args) => args.run(&mut self.client()?, out),
            Command::Narrow(args) => args.run(out),
            Command::Confined(args) => args.run(|| self.client()),
        }
    }

    fn client(&self) -> Result<Client, Box<Failure>> {
        let mut client = connect("lease", self.socket.as_deref())?;
        self.identity.prove(&mut client)?;
        Ok(client)
    }
}

/// A connection to the broker that is meant.
pub(crate) fn connect(verb: &'static str, socket: Option<&OsStr>) -> Result<Client, Box<Failure>> {
    let path = socket_path(verb, socket)?;
    Client::connect(&path).map_err(|error| {
        let shown = handfast::escape(path.as_os_str().as_encoded_bytes());
        let mut failure = told::broken("reach the broker", &error.to_string());
        failure.sentence = format!("cannot reach a broker at `{shown}`");
        failure.path = shown;
        failure.hints.push(
            "`handfast serve DIR` starts one; `--socket PATH` or HANDFAST_SOCKET names its socket"
                .to_owned(),
        );
        failure
    })
}

/// Where the broker's socket is: as asked, as the environment says, or the user's own.
pub(crate) fn socket_path(
    verb: &'static str,
    asked: Option<&OsStr>,
) -> Result<PathBuf, Box<Failure>> {
    let given = asked.map(OsStr::to_owned);
    if let Some(path) = given.or_else(|| std::env::var_os("HANDFAST_SOCKET")) {
        return Ok(PathBuf::from(path));
    }
    let uid = rustix::process::geteuid().as_raw();
    default_socket(|name| std::env::var_os(name), uid).ok_or_else(|| {
        let why = "neither XDG_RUNTIME_DIR nor HOME is set; give `--socket PATH`";
        crate::session::misused(verb, "find the socket", why)
    })
}
