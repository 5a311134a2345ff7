//! The witness: a child that says which program a process runs. The broker cannot ask that itself
//! once its wall is up.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use handfast_broker::{ExeReader, serve_witness, witness_socket_from_stdin};

use crate::exit::Exit;

/// Starts the witness. It ends when the broker does.
pub(super) fn start() -> io::Result<(ExeReader, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(std::env::current_exe()?)
        .args(["serve", "--witness"])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    Ok((ExeReader::witness(ours)?, child))
}

/// The witness itself.
pub(super) fn run() -> Exit {
    match witness_socket_from_stdin().and_then(serve_witness) {
        Ok(()) => Exit::Yes,
        Err(_) => Exit::CannotTell,
    }
}
