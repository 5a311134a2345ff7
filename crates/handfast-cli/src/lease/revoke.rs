//! `lease revoke`: ends leases, and says what cannot be taken back.

use clap::Args;
use handfast_broker::Client;

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::json::{Json, JsonObject};
use crate::output::Output;

/// End a lease and all below it
///
/// When this returns, nothing is opened or committed under it any more. Descriptors that were
/// handed out cannot be taken back; they are listed. If the broker's disk is full the lease ends all
/// the same; the command says so, and its exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease revoke $ID"
))]
pub(super) struct RevokeArgs {
    /// Its id or handle; with `--prefix`, the prefix of handles
    lease: String,

    /// End all leases below a prefix
    #[arg(long)]
    prefix: bool,
}

impl RevokeArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let revoked = if self.prefix {
            client.revoke_prefix(&self.lease)
        } else {
            client.revoke(&self.lease)
        };
        let revoked = revoked.map_err(|error| told::failed("revoke the lease", b"", &error))?;
        let exit = match revoked.unkept {
            None => Exit::Yes,
            Some(_) => Exit::No,
        };
        if out.is_json() {
            let list = Json::from_iter(revoked.outstanding.iter().map(|given| {
                JsonObject::new()
                    .with("handle", given.handle.as_str())
                    .with_bytes("path", &given.path())
                    .with("mode", given.mode.as_str())
                    .with("object", given.object.as_str())
                    .with("count", given.count().to_string())
                    .with("pid", given.pid)
            }));
            let fields = JsonObject::new()
                .with("ended", revoked.ended)
                .with("outstanding", list)
                .with("unkept", revoked.unkept.as_deref());
            out.object(revoked.unkept.is_none(), fields);
            return Ok(exit);
        }
        out.note(&format!("ended {}", revoked.ended));
        for given in &revoked.outstanding {
            let pid = given
                .pid
                .map_or_else(|| "?".to_owned(), |pid| pid.to_string());
            out.line(&format!(
                "outstanding  {}  `{}`  {}  process {pid}",
                handfast::escape(given.mode.as_bytes()),
                handfast::escape(&given.path()),
                given.count(),
            ));
        }
        if let Some(why) = &revoked.unkept {
            let why = handfast::escape(why.as_bytes());
            out.alarm(&format!("warning: it ended, but {why}\n"));
        }
        Ok(exit)
    }
}
