//! `lease --svid` and the like: who the workload is, by SPIFFE.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use handfast_broker::{Client, X509Svid};

use super::told;
use crate::failure::Failure;

/// How a SPIFFE id is proved, if one is.
#[derive(Debug, Args)]
pub(super) struct IdentityArgs {
    /// Prove a SPIFFE id first, by the JWT-SVID in this file
    #[arg(long, global = true, value_name = "FILE", display_order = 801)]
    svid: Option<OsString>,

    /// Prove a SPIFFE id first, by the X.509-SVID in this file (PEM) and its key
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        display_order = 802,
        conflicts_with = "svid"
    )]
    svid_x509: Option<OsString>,

    /// The key of the X.509-SVID: PKCS #8 in PEM
    #[arg(long, global = true, value_name = "FILE", display_order = 803)]
    svid_key: Option<OsString>,

    /// Prove a SPIFFE id first, by the X.509-SVID that the Workload API on this socket gives
    #[arg(
        long,
        global = true,
        value_name = "SOCKET",
        display_order = 804,
        conflicts_with_all = ["svid", "svid_x509"]
    )]
    workload_api: Option<OsString>,
}

impl IdentityArgs {
    /// Proves who the workload is, if it was asked for.
    pub(super) fn prove(&self, client: &mut Client) -> Result<(), Box<Failure>> {
        // Not left to the parser: it does not see options that come behind the subcommand together.
        if self.svid_x509.is_some() != self.svid_key.is_some() {
            let why = "`--svid-x509` and `--svid-key` belong together";
            return Err(crate::session::misused("lease", "prove a SPIFFE id", why));
        }
        let refused = |error| told::failed("prove a SPIFFE id", b"", &error);
        if let Some(file) = &self.svid {
            let text = read("read the JWT-SVID", file)?;
            let text = String::from_utf8_lossy(&text);
            client.identify(text.trim()).map_err(refused)?;
        }
        if let (Some(chain), Some(key)) = (&self.svid_x509, &self.svid_key) {
            let deed = "read the X.509-SVID";
            let svid = X509Svid::from_pem(&read(deed, chain)?, &read(deed, key)?)
                .map_err(|why| told::broken(deed, &why))?;
            client.identify_x509(&svid).map_err(refused)?;
        }
        if let Some(socket) = &self.workload_api {
            let svid = X509Svid::from_workload_api(Path::new(socket))
                .map_err(|why| told::broken("get an X.509-SVID", &why))?;
            client.identify_x509(&svid).map_err(refused)?;
        }
        Ok(())
    }
}

fn read(deed: &'static str, file: &OsStr) -> Result<Vec<u8>, Box<Failure>> {
    crate::serve::read_text(Path::new(file)).map_err(|error| told::broken(deed, &error.to_string()))
}
