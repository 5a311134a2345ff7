//! Through the broker, which runs in threads of this process, so that both sides are counted.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use handfast::{Durability, RelPath, Root, WriteOptions};
use handfast_broker::measure::LeaseCheck;
use handfast_broker::{Acquire, Client, Fence, Running, ServeOptions, bind_socket};

use super::{LEFTOVERS, SMALL};
use crate::Failure;
use crate::buffer::Buffer;
use crate::column::Column;
use crate::layers::{answer, round_trip, rulebook_of};
use crate::row::{Case, Group, Nothing, Row, Work};
use crate::site::Site;

/// As many leases as a busy broker has.
const LEASES: usize = 10_000;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [
        Row::new(
            "broker/open",
            "open under a lease, logged `ordered`; raw: a descriptor passed back and forth",
            open,
        ),
        Row::new(
            "broker/open-buffered",
            "open under a lease, logged `buffered`; raw: a descriptor passed back and forth",
            open_buffered,
        ),
        Row::new(
            "broker/commit",
            "begin + commit of 4 KiB; raw: a local atomic write, equally durable",
            commit,
        ),
        Row::new(
            "broker/lease-check",
            "find a lease among 10,000 and judge an open; raw: ask the boot clock",
            check,
        ),
    ]
    .into_iter()
    .map(|row| row.in_group(Group::Service))
}

/// A broker with a tree of its own, and a lease on it.
struct Served {
    client: Client,
    lease: String,
    // Declared last: it stops when nobody asks any more.
    _running: Stopping,
}

struct Stopping(Option<Running>);

impl Drop for Stopping {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.stop();
        }
    }
}

fn served(site: &Site, name: &str, level: &str) -> Result<Served, Failure> {
    let dir = site.path(&format!("broker-{name}-{}", counter()));
    std::fs::create_dir(&dir)?;
    std::fs::create_dir(dir.join("root"))?;
    std::fs::File::create(dir.join("root/file"))?.write_all_at(&Buffer::filled(), 0)?;
    let socket = dir.join("sock/broker.sock");
    let listener = bind_socket(&socket, false)?;
    let rulebook = rulebook_of(&dir, level)?;
    let options = ServeOptions::new(rulebook, dir.join("state")).fence(Fence::Thread);
    // On a thread of its own, which is walled in for good.
    let running = std::thread::spawn(move || options.start(listener))
        .join()
        .map_err(|_| "the broker's thread panicked")??;
    let mut client = Client::connect(socket)?;
    let wanted = Acquire::new(["**"], ["read", "write"]).ttl(3600);
    let lease = client.acquire(&wanted)?.lease_id;
    Ok(Served {
        client,
        lease,
        _running: Stopping(Some(running)),
    })
}

fn counter() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn open(site: &Site) -> Result<Work, Failure> {
    open_at(site, "ordered")
}

fn open_buffered(site: &Site) -> Result<Work, Failure> {
    open_at(site, "buffered")
}

fn open_at(site: &Site, level: &str) -> Result<Work, Failure> {
    let mut served = served(site, "open", level)?;
    let brokered = Case::new(Column::Kernel, move |_| {
        let opened = served.client.open(&served.lease, "file")?;
        Ok(opened.size)
    });
    Ok(Work::of(vec![bare_round_trip(site)?, brokered]))
}

/// Somebody who answers every message with the same descriptor.
fn bare_round_trip(site: &Site) -> Result<Case, Failure> {
    let path = site.path(&format!("bare-{}", counter()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    file.write_all_at(&Buffer::filled(), 0)?;
    let (ours, theirs) = UnixStream::pair()?;
    std::thread::spawn(move || answer(&theirs, &file));
    Ok(Case::new(Column::Raw, move |_| {
        round_trip(&ours)?;
        Ok(SMALL as u64)
    }))
}

fn commit(site: &Site) -> Result<Work, Failure> {
    let mut served = served(site, "commit", "ordered")?;
    let data = Buffer::filled();
    let brokered = Case::new(Column::Kernel, move |_| {
        served.client.write(&served.lease, "file", &data, None)?;
        Ok(SMALL as u64)
    });
    let dir = site.path(&format!("local-{}", counter()));
    std::fs::create_dir(&dir)?;
    let root = Root::open_ambient(&dir)?;
    let name = RelPath::parse("file")?;
    root.write(&name, &*Buffer::filled())?;
    let data = Buffer::filled();
    let options = WriteOptions::new().durability(Durability::File);
    let local = Case::new(Column::Raw, move |_| {
        root.write_with(&name, &*data, options)?;
        Ok(SMALL as u64)
    });
    let work = Work::of(vec![local, brokered]);
    Ok(work.staged(LEFTOVERS, Nothing))
}

fn check(_site: &Site) -> Result<Work, Failure> {
    let table = Arc::new(LeaseCheck::new(LEASES)?);
    let checked = Case::new(Column::Kernel, move |_| match table.check() {
        true => Ok(1),
        false => Err("the lease is not good".into()),
    });
    let clock = Case::new(Column::Raw, move |_| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Ok(u64::from(now.tv_sec >= 0))
    });
    Ok(Work::of(vec![clock, checked]))
}
