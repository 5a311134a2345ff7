//! `lease run`: a program with a lease that ends with it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use clap::Args;
use handfast_broker::{Client, ClientError, Code};

use super::acquire::WantedArgs;
use super::{LeaseExit, confined, told};
use crate::exit::Exit;
use crate::output::Output;

/// Run a program under a lease, which is revoked when it ends
///
/// The program finds the lease's id in HANDFAST_LEASE and the socket in HANDFAST_SOCKET; what it
/// starts may use them too. Its exit code is passed on.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease run --paths 'src/**' --verbs read -- ./agent
  handfast lease run --confine --paths '**' --verbs read,write -- ./agent
  handfast lease run --mount project --paths 'src/**' --verbs read -- ls project/src"
))]
pub(super) struct RunArgs {
    #[command(flatten)]
    wanted: WantedArgs,

    /// Let the program read system directories only: no root, and nothing of the user's
    #[arg(long)]
    confine: bool,

    /// Show the program what the lease covers at this directory, through a mount that the broker
    /// serves; when the lease ends, files that are open there give errors
    #[arg(long, value_name = "DIR")]
    mount: Option<OsString>,

    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl RunArgs {
    pub(super) fn run(&self, client: &mut Client, socket: &Path, out: &mut Output) -> LeaseExit {
        // Used by the program and what it starts; gone with this process too, if it is killed.
        let wanted = self.wanted.acquire().bind("user").tethered();
        let scratch = match self.confine {
            true => Some(confined::prepare(client)?),
            false => None,
        };
        let acquired = client
            .acquire(&wanted)
            .map_err(|error| told::failed("acquire a lease", b"", &error))?;
        let socket = std::path::absolute(socket).unwrap_or_else(|_| socket.to_owned());
        let mut command = match (&scratch, &self.mount) {
            (None, None) => {
                let mut command = Command::new(&self.command[0]);
                command.args(&self.command[1..]);
                command
            }
            (scratch, mount) => {
                confined::command(scratch.as_ref(), mount.as_deref(), &self.command)?
            }
        };
        command
            .env("HANDFAST_LEASE", &acquired.lease_id)
            .env("HANDFAST_SOCKET", &socket);
        let ended = command.status();
        // Whatever became of the program, the lease ends now.
        match client.revoke(&acquired.lease_id) {
            Ok(_) => {}
            Err(ClientError::Fault(fault))
                if matches!(fault.code(), Code::LeaseExpired | Code::LeaseRevoked) => {}
            Err(error) => out.note(&format!("note: the lease could not be revoked: {error}")),
        }
        let status = ended.map_err(|error| {
            let name = handfast::escape(self.command[0].as_encoded_bytes());
            let mut failure = told::broken("start the program", &error.to_string());
            failure.path = name;
            failure.exit = Exit::Usage;
            failure
        })?;
        let code = status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal));
        let code = code.and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(Exit::CannotTell, Exit::Child))
    }
}
