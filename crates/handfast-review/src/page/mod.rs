//! The process that speaks HTTP. It is behind a wall before it reads a byte from anybody.

mod door;
mod form;
mod html;
mod link;
mod routes;
mod views;
mod wall;

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::protocol::{self, Hello, Ready};
use routes::Page;

pub use wall::confine;

/// So many connections are served at a time.
const MAX_CONNECTIONS: usize = 256;
/// A browser has this long for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// A connection is for one request, and has this long for all of it: a program that does not read its
/// answer must not keep a seat. Programs of every user of this machine can connect.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves the page until the keeper is gone. The process is confined first, for good.
///
/// # Errors
/// What the sockets say; `Unsupported` once the process has several threads.
pub fn run(keeper: OwnedFd, listener: OwnedFd) -> io::Result<()> {
    let listener = TcpListener::from(listener);
    listener.set_nonblocking(true)?;
    let mut keeper = UnixStream::from(keeper);
    // A page without its keeper is of no use.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let weaker = confine()?;
    let hello: Hello = protocol::receive(&mut keeper, protocol::MAX_REQUEST)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    protocol::send(&mut keeper, &Ready { weaker })?;
    // Behind the wall the call that the standard library uses for this is refused.
    rustix::fs::fcntl_setfl(&keeper, rustix::fs::OFlags::NONBLOCK)?;
    let local = LocalSet::new();
    local.block_on(&runtime, serve(keeper, listener, hello))
}

async fn serve(keeper: UnixStream, listener: TcpListener, hello: Hello) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let keeper = tokio::net::UnixStream::from_std(keeper)?;
    let page = Rc::new(Page::new(hello, keeper));
    let seats = std::sync::Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The next connection waits in the kernel until there is a seat.
        let Ok(seat) = std::sync::Arc::clone(&seats).acquire_owned().await else {
            return Ok(());
        };
        let (stream, _) = listener.accept().await?;
        let page = Rc::clone(&page);
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let page = Rc::clone(&page);
                async move { Ok::<_, Infallible>(page.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .keep_alive(false)
                .max_buf_size(64 * 1024)
                .serve_connection(TokioIo::new(stream), service);
            // A browser that goes away is no error of ours.
            drop(tokio::time::timeout(CONNECTION_TIMEOUT, connection).await);
            drop(seat);
        });
    }
}
