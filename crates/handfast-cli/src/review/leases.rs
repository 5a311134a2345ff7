//! The broker's leases for the page: a connection a question.

use std::ffi::OsStr;
use std::path::PathBuf;

use handfast_broker::{Client, LeaseInfo};
use handfast_review::keeper::{EndedLeases, HeldLease, LeaseDesk};

use crate::failure::Failure;
use crate::lease::socket_path;

pub(super) struct Desk {
    socket: PathBuf,
}

impl Desk {
    pub(super) fn new(socket: Option<&OsStr>) -> Result<Self, Box<Failure>> {
        let socket = socket_path("review", socket)?;
        Ok(Self { socket })
    }

    fn client(&self) -> Result<Client, String> {
        let shown = handfast::escape(self.socket.as_os_str().as_encoded_bytes());
        Client::connect(&self.socket).map_err(|error| format!("`{shown}`: {error}"))
    }
}

impl LeaseDesk for Desk {
    fn list(&self) -> Result<Vec<HeldLease>, String> {
        let found = self.client()?.list("").map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(held).collect())
    }

    fn revoke(&self, handle: &str) -> Result<EndedLeases, String> {
        let ended = self.client()?.revoke(handle);
        let ended = ended.map_err(|error| error.to_string())?;
        let open = ended.outstanding.iter().map(|open| {
            let path = handfast::escape(&open.path());
            format!(
                "`{path}` may still be open ({}, {} times)",
                open.mode,
                open.count()
            )
        });
        Ok(EndedLeases {
            count: ended.ended,
            notes: open.chain(ended.unkept.clone()).collect(),
        })
    }
}

fn held(lease: LeaseInfo) -> HeldLease {
    let process = lease.pid.map(|pid| format!(", process {pid}"));
    HeldLease {
        holder: format!(
            "user {}, bound to a {}{}",
            lease.uid,
            lease.bind,
            process.unwrap_or_default()
        ),
        opens: (lease.opens(), lease.max_opens()),
        outstanding: lease.outstanding(),
        handle: lease.handle,
        paths: lease.paths,
        verbs: lease.verbs,
        purpose: lease.purpose,
        issued: lease.issue_time,
        expires: lease.expire_time,
    }
}
