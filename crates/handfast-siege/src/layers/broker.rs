//! A broker's client as a victim. To be replaced by the client's own `Files`: see [`Remote`].

use std::io::{self, Read};
use std::path::Path;

use handfast::{Error, ErrorKind, RelPath, Version};
use handfast_broker::{Acquire, Client, ClientError, Code, Opened};

use super::Remote;
use crate::victims::{Names, Seen};

/// Where the lease of an arena is kept for an accomplice.
const LEASE: &str = "lease";

/// A connection, and the lease that is used over it.
pub(super) struct Leased {
    client: Client,
    lease: String,
}

/// Connects and acquires a lease on everything.
pub(super) fn acquire(top: &Path) -> io::Result<Leased> {
    let mut client = Client::connect(socket(top))?;
    let wanted = Acquire::new(["**"], ["read", "write"])
        .bind("user")
        .ttl(3600);
    let lease = client.acquire(&wanted).map_err(io::Error::other)?.lease_id;
    std::fs::write(top.join(LEASE), &lease)?;
    Ok(Leased { client, lease })
}

/// Connects under the lease that the arena has.
pub(super) fn join(top: &Path) -> io::Result<Leased> {
    Ok(Leased {
        client: Client::connect(socket(top))?,
        lease: std::fs::read_to_string(top.join(LEASE))?,
    })
}

/// Where the broker of an arena listens: relative to it, so the place of the arena may be of any
/// length.
pub(super) const SOCKET: &str = "sock/broker";

fn socket(top: &Path) -> std::path::PathBuf {
    top.join(SOCKET)
}

impl Remote for Leased {
    fn call(&mut self, verb: &str, names: &Names<'_>) -> Result<Seen, Error> {
        self.ask(verb, names)?.map_err(error)
    }

    fn exchange(&mut self, one: &RelPath, other: &RelPath) -> Result<(), Error> {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        self.client
            .rename(&self.lease, one, other, "exchange")
            .map_err(error)
    }
}

impl Leased {
    fn ask(&mut self, verb: &str, names: &Names<'_>) -> Result<Result<Seen, ClientError>, Error> {
        let at = |name: &str| names.at(name).map(|path| path.as_bytes().to_vec());
        let (client, lease) = (&mut self.client, self.lease.as_str());
        let none = |_: ()| Seen::default();
        Ok(match verb {
            "read" | "open" => client.open(lease, at("data")?).and_then(seen),
            "read-versioned" => client.open_versioned(lease, at("data")?).and_then(seen),
            "metadata" => client.stat(lease, at("data")?).map(|_| Seen::default()),
            "read-dir" => client.list_dir(lease, at("tree/sub")?).map(|entries| {
                let names = entries.iter().flat_map(|entry| entry.name());
                Seen::text(names.collect::<Vec<_>>())
            }),
            "write" => client
                .write(lease, at("f")?, b"inside", None)
                .map(|_| Seen::default()),
            "write-if" => {
                let path = at("f")?;
                client.stat(lease, &path).and_then(|stat| {
                    let version = stat.version.as_deref();
                    let written = client.write(lease, &path, b"inside", version);
                    written.map(|_| Seen::default())
                })
            }
            "append" => client.append(lease, at("g")?, b"i").map(none),
            "create-dir" => client.mkdir(lease, at("d")?, false).map(none),
            "rename" => client
                .rename(lease, at("f")?, at("renamed")?, "replace")
                .map(none),
            "rename-onto" => client
                .rename(lease, at("f")?, at("spot")?, "no-replace")
                .map(none),
            "remove-file" => client.remove(lease, at("f")?, "file").map(none),
            _ => {
                return Err(Error::refused(
                    ErrorKind::Unsupported,
                    "the broker has no such verb",
                ));
            }
        })
    }
}

/// What is behind the descriptor that was handed out.
fn seen(mut opened: Opened) -> Result<Seen, ClientError> {
    use std::os::unix::fs::MetadataExt;
    let mut text = Vec::new();
    opened.file.read_to_end(&mut text)?;
    let object = opened.file.metadata()?;
    Ok(Seen {
        object: Some((object.dev(), object.ino())),
        version: opened
            .version
            .and_then(|version| version.parse::<Version>().ok()),
        ..Seen::text(text)
    })
}

fn error(error: ClientError) -> Error {
    let kind = match error.fault() {
        Some(fault) => match fault.code() {
            Code::Denied => ErrorKind::Denied,
            Code::Stale => ErrorKind::Stale,
            Code::Quota => ErrorKind::Quota,
            _ => fault.kind().unwrap_or(ErrorKind::Io),
        },
        None => ErrorKind::Io,
    };
    Error::refused(kind, error.to_string())
}
