//! The client: blocking, one call at a time.

mod copied;
mod error;
mod exact;
mod files;
mod lease_calls;
mod lease_files;
mod leases;
mod mount;
mod staged;
mod told;
mod types;

use std::borrow::Cow;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use error::ClientError;
pub use files::Draft;
pub use lease_files::LeaseFiles;
pub use types::{
    Acquire, Acquired, Denial, Entry, Exported, LeaseInfo, Opened, Outstanding, Revoked, Stat,
};

use crate::fault::Fault;
use crate::wire::{Address, Call, Channel, Method};

/// How long an answer may take. A commit waits for the disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a broker.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
}

impl Client {
    /// Connects to a broker's socket.
    ///
    /// # Errors
    /// What the system says; `ConnectionRefused` if nobody listens.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let address = Address::of(path.as_ref())?;
        Self::over(UnixStream::connect(address.path())?)
    }

    /// Uses a socket that is connected.
    ///
    /// # Errors
    /// What the system says.
    pub fn over(socket: UnixStream) -> io::Result<Self> {
        Ok(Self {
            channel: Channel::new(socket, PATIENCE)?.waits_at_most(PATIENCE),
        })
    }

    /// Calls any method of the broker; `method` is its name without the interface.
    ///
    /// # Errors
    /// The broker's refusal, or trouble with the connection. After trouble the connection is of no
    /// use any more.
    pub fn call<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: &str,
        parameters: &P,
    ) -> Result<R, ClientError> {
        self.call_with(method, parameters, &[])
            .map(|(answer, _)| answer)
    }

    /// As [`Client::call`], with descriptors in both directions.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_with<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: &str,
        parameters: &P,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(R, Vec<OwnedFd>), ClientError> {
        self.ask(method, parameters, false, fds)?;
        let (answer, fds, _) = self.answer()?;
        Ok((answer, fds))
    }

    /// Calls a method that answers in parts.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_more<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: &str,
        parameters: &P,
        mut each: impl FnMut(R),
    ) -> Result<(), ClientError> {
        self.ask(method, parameters, true, &[])?;
        loop {
            let (answer, _, continues) = self.answer()?;
            each(answer);
            if !continues {
                return Ok(());
            }
        }
    }

    fn ask<P: Serialize>(
        &mut self,
        method: &str,
        parameters: &P,
        more: bool,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), ClientError> {
        let call = Call {
            method: Method(method),
            parameters,
            more,
        };
        let mut json = Vec::with_capacity(256);
        serde_json::to_writer(&mut json, &call)?;
        match self.channel.send(&mut json, fds) {
            // Who was turned away at the door finds the reason waiting.
            Err(crate::wire::Trouble::Closed) => Ok(()),
            sent => Ok(sent.map_err(io::Error::from)?),
        }
    }

    fn answer<R: DeserializeOwned>(&mut self) -> Result<(R, Vec<OwnedFd>, bool), ClientError> {
        let frame = self.channel.receive().map_err(io::Error::from)?;
        let reply: Reply<'_> = serde_json::from_slice(&frame.json)?;
        let parameters = reply.parameters.map_or("{}", RawValue::get);
        if let Some(name) = reply.error {
            let parameters: Value = serde_json::from_str(parameters)?;
            return Err(Fault::from_wire(&name, &parameters).into());
        }
        Ok((
            serde_json::from_str(parameters)?,
            frame.fds,
            reply.continues,
        ))
    }
}

/// An answer, taken apart no further than needed.
#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
    #[serde(default)]
    continues: bool,
}
