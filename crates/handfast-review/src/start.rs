//! Starts the page's process behind the keeper.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use handfast::Error;

use crate::keeper::Keeper;
use crate::protocol::{self, Hello, Limits, Ready};

/// A page that is served.
#[derive(Debug)]
pub struct Started {
    /// The address for a browser, with the token behind `#`. It is good once.
    pub url: String,
    /// What is missing of the wall around the page's process; nothing if it is whole.
    pub weaker: Vec<String>,
    child: Child,
    page: UnixStream,
}

/// Starts a program as the page's process. Its standard input is the socket to the keeper, its standard
/// output the listening socket; it has no other descriptor and no environment. It must call
/// [`crate::page::run`] with these.
///
/// # Errors
/// What the system says; `UnexpectedEof` if the process ends before it is ready.
pub fn start(program: Command, port: u16, only: Option<String>) -> io::Result<Started> {
    start_with(program, port, only, Limits::default())
}

/// As [`start`], with other limits for those who connect.
///
/// # Errors
/// As [`start`].
pub fn start_with(
    mut program: Command,
    port: u16,
    only: Option<String>,
    limits: Limits,
) -> io::Result<Started> {
    let listener = listen(port)?;
    let address = listener.local_addr()?;
    let (mut keeper, page) = UnixStream::pair()?;
    let child = program
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(page)))
        .stdout(Stdio::from(OwnedFd::from(listener)))
        // What comes from a browser could otherwise reach the terminal.
        .stderr(Stdio::null())
        .spawn()?;
    let hello = Hello {
        token: secret()?,
        cookie: secret()?,
        path: secret()?,
        host: address.to_string(),
        only,
        limits,
    };
    protocol::send(&mut keeper, &hello)?;
    let ready: Option<Ready> = protocol::receive(&mut keeper, protocol::MAX_REQUEST)?;
    let ready = ready.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the page's process ended before it was ready",
        )
    })?;
    Ok(Started {
        url: format!("http://{}/#{}", hello.host, hello.token),
        weaker: ready.weaker,
        child,
        page: keeper,
    })
}

impl Started {
    /// The number of the page's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Answers the page until it is gone.
    ///
    /// # Errors
    /// What the socket says; how the page's process ended, if not well.
    pub fn serve(mut self, keeper: &mut Keeper) -> io::Result<()> {
        let served = keeper.serve(&mut self.page);
        // The socket is closed first, so that a page that still waits ends too.
        drop(self.page);
        let ended = self.child.wait()?;
        served?;
        match ended.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "the page's process ended: {ended}"
            ))),
        }
    }
}

/// Listens on an address of this machine that no other server uses. Cookies know no ports: on an address of
/// its own, no other local server gets to see ours.
fn listen(port: u16) -> io::Result<TcpListener> {
    let mut random = [0; 3];
    fill(&mut random)?;
    let [a, b, c] = random;
    // Neither the network's own address nor its broadcast address.
    let address = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
    TcpListener::bind(SocketAddrV4::new(address, port))
}

fn secret() -> io::Result<String> {
    let mut random = [0; 32];
    fill(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn fill(buffer: &mut [u8]) -> io::Result<()> {
    let got = rustix::rand::getrandom(&mut *buffer, rustix::rand::GetRandomFlags::empty())?;
    match got == buffer.len() {
        true => Ok(()),
        false => Err(Error::refused(handfast::ErrorKind::Io, "no random numbers").into()),
    }
}
