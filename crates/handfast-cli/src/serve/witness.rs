//! The witness: a child that says which program a process runs, and opens the policy again. The broker
//! can do neither once its wall is up.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use handfast_broker::{ExeReader, serve_witness, witness_socket_from_stdin};

use crate::exit::Exit;

/// Starts the witness. It ends when the broker does.
pub(super) fn start(policy: Option<&Path>) -> io::Result<(ExeReader, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--witness"]);
    if let Some(policy) = policy {
        command.arg("--policy").arg(policy);
    }
    let child = command
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    Ok((ExeReader::witness(ours)?, child))
}

/// The witness itself.
pub(super) fn run(policy: Option<&Path>) -> Exit {
    let socket = witness_socket_from_stdin();
    match socket.and_then(|socket| serve_witness(socket, policy)) {
        Ok(()) => Exit::Yes,
        Err(_) => Exit::CannotTell,
    }
}
