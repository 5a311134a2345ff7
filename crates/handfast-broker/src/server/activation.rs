//! Started by a service manager: its socket, and the word that we are ready.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::time::Duration;

/// The listening socket that the service manager passed, if it did (`LISTEN_FDS`).
///
/// # Errors
/// If it passed something else than one listening Unix socket.
pub fn listener_from_environment() -> io::Result<Option<UnixListener>> {
    let number = |name: &str| -> Option<u32> { std::env::var(name).ok()?.parse().ok() };
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    if number("LISTEN_FDS") != Some(1) {
        return Err(wrong(
            "exactly one socket is expected from the service manager",
        ));
    }
    let listener = UnixListener::from(crate::sys::passed_descriptor()?);
    if !rustix::net::sockopt::socket_acceptconn(&listener)? {
        return Err(wrong(
            "the descriptor of the service manager does not listen",
        ));
    }
    listener.local_addr()?;
    Ok(Some(listener))
}

/// Tells the service manager that connections are taken (`NOTIFY_SOCKET`). Without one, nothing.
///
/// # Errors
/// What the system says.
pub fn notify_ready() -> io::Result<()> {
    notify("READY=1\nSTATUS=accepting connections")
}

/// How often the service manager wants to hear that the broker is alive, if it does
/// (`WATCHDOG_USEC`): half of the time after which it would end it.
#[must_use]
pub fn watchdog_interval() -> Option<Duration> {
    let number = |name: &str| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    let meant = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let usec = number("WATCHDOG_USEC").filter(|usec| meant && *usec > 0)?;
    Some(Duration::from_micros(usec / 2))
}

/// Tells the service manager that the broker is alive, and what troubles it.
///
/// # Errors
/// What the system says.
pub fn notify_alive(troubles: &[String]) -> io::Result<()> {
    let status = match troubles {
        [] => "accepting connections".to_owned(),
        some => some.join("; "),
    };
    notify(&format!("WATCHDOG=1\nSTATUS={status}"))
}

fn notify(words: &str) -> io::Result<()> {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return Ok(());
    };
    let socket = UnixDatagram::unbound()?;
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(Path::new(&path))?,
    };
    socket.send_to_addr(words.as_bytes(), &address)?;
    Ok(())
}
