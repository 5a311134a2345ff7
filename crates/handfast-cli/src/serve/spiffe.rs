//! `serve --spiffe-bundle` and `--workload-api`: what SPIFFE ids are checked with.
//!
//! The bundle is read by a child outside the broker's wall, at the start as later.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use handfast::ErrorKind;
use handfast_broker::{
    BundleReader, BundleSource, TrustBundle, serve_bundle, witness_socket_from_stdin,
};

use super::{absolute, cannot};
use crate::exit::Exit;
use crate::failure::Failure;

/// Which workloads are known by a SPIFFE id.
#[derive(Debug, Args)]
pub(super) struct SpiffeArgs {
    /// Take SVIDs that a key of this SPIFFE bundle vouches for as proof of a client's identity
    ///
    /// The file is read again every few seconds.
    #[arg(long, value_name = "FILE", requires = "spiffe_domain")]
    spiffe_bundle: Option<OsString>,

    /// Take SVIDs that the bundle of the Workload API on this socket vouches for
    ///
    /// The bundle is fetched again every few seconds.
    #[arg(
        long,
        value_name = "SOCKET",
        requires = "spiffe_domain",
        conflicts_with = "spiffe_bundle"
    )]
    workload_api: Option<OsString>,

    /// The bundle's trust domain
    #[arg(long, value_name = "DOMAIN")]
    spiffe_domain: Option<String>,

    /// The audience that JWT-SVIDs must name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "handfast",
        requires = "spiffe_domain"
    )]
    spiffe_audience: String,
}

impl SpiffeArgs {
    /// Where the bundle comes from, if there is one.
    pub(super) fn source(&self) -> Option<BundleSource> {
        let domain = self.spiffe_domain.clone()?;
        let path = |given: &OsString| absolute(Path::new(given));
        match (&self.spiffe_bundle, &self.workload_api) {
            (Some(file), _) => Some(BundleSource::File(path(file))),
            (None, Some(socket)) => Some(BundleSource::WorkloadApi {
                socket: path(socket),
                domain,
            }),
            (None, None) => None,
        }
    }

    /// Starts the child that reads the bundle, and reads it for the first time.
    pub(super) fn start(&self) -> Result<Option<(TrustBundle, BundleReader)>, Box<Failure>> {
        let wrong = |why: &dyn std::fmt::Display| {
            cannot(Exit::Usage, ErrorKind::Invalid, "use the trust bundle", why)
        };
        let Some(domain) = &self.spiffe_domain else {
            return Ok(None);
        };
        let Some(source) = self.source() else {
            let why =
                "`--spiffe-domain` goes with `--spiffe-bundle FILE` or `--workload-api SOCKET`";
            return Err(wrong(&why));
        };
        let reader = start_reader(&source, domain).map_err(|error| wrong(&error))?;
        let text = reader.read().map_err(|why| wrong(&why))?;
        let bundle = TrustBundle::parse(domain, &self.spiffe_audience, &text);
        Ok(Some((bundle.map_err(|why| wrong(&why))?, reader)))
    }
}

fn start_reader(source: &BundleSource, domain: &str) -> io::Result<BundleReader> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--witness", "--spiffe-domain", domain]);
    match source {
        BundleSource::File(path) => command.arg("--spiffe-bundle").arg(path),
        BundleSource::WorkloadApi { socket, .. } => command.arg("--workload-api").arg(socket),
    };
    // It ends when the broker's end of the socket is closed.
    command
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    BundleReader::new(ours)
}

/// The child itself.
pub(super) fn run(source: &BundleSource) -> Exit {
    let socket = witness_socket_from_stdin();
    match socket.and_then(|socket| serve_bundle(socket, source)) {
        Ok(()) => Exit::Yes,
        Err(_) => Exit::CannotTell,
    }
}
