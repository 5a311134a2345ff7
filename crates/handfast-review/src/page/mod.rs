//! The process that speaks HTTP. It is behind a wall before it reads a byte from anybody.

mod door;
mod form;
mod highlight;
mod html;
mod languages;
mod link;
mod news;
mod routes;
mod views;
mod wall;

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::protocol::{self, Hello, Ready};
use routes::Page;

pub use wall::confine;

/// A browser has this long for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// A connection for news that ended has this long for its last bytes.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

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
    let weaker = confine(&[keeper.as_fd(), listener.as_fd()])?;
    let hello: Hello = protocol::receive(&mut keeper, protocol::MAX_REQUEST)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    protocol::send(&mut keeper, &Ready { weaker })?;
    // Behind the wall the call that the standard library uses for this is refused.
    rustix::fs::fcntl_setfl(&keeper, rustix::fs::OFlags::NONBLOCK)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, serve(keeper, listener, hello))
}

async fn serve(keeper: UnixStream, listener: TcpListener, hello: Hello) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let keeper = tokio::net::UnixStream::from_std(keeper)?;
    let limits = hello.limits;
    let page = Rc::new(Page::new(hello, keeper));
    let seats = std::sync::Arc::new(Semaphore::new(limits.connections));
    loop {
        // The next connection waits in the kernel until there is a seat.
        let Ok(seat) = std::sync::Arc::clone(&seats).acquire_owned().await else {
            return Ok(());
        };
        let (stream, _) = listener.accept().await?;
        let page = Rc::clone(&page);
        tokio::task::spawn_local(async move {
            serve_one(page, stream, limits.connection).await;
            drop(seat);
        });
    }
}

/// One connection: a request and its answer, within a time. Only an answer that is a subscription may
/// stay longer, until the subscription ends.
async fn serve_one(page: Rc<Page>, stream: TcpStream, limit: Duration) {
    let stays: Rc<RefCell<Option<oneshot::Receiver<()>>>> = Rc::default();
    let held = Rc::clone(&stays);
    let service = service_fn(move |request| {
        let (page, held) = (Rc::clone(&page), Rc::clone(&held));
        async move {
            let (answer, subscription) = page.answer(request).await;
            *held.borrow_mut() = subscription;
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT.min(limit))
        .keep_alive(false)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A browser that goes away is no error of ours.
    if timeout(limit, &mut connection).await.is_ok() {
        return;
    }
    let subscription = stays.borrow_mut().take();
    if let Some(ended) = subscription {
        tokio::select! {
            _ = &mut connection => {}
            _ = ended => drop(timeout(FLUSH_TIMEOUT, &mut connection).await),
        }
    }
}
