//! `lease export`, `narrow`: leases as tokens, to be handed on.

use clap::Args;
use handfast::ErrorKind;
use handfast_broker::{Client, Narrowing, narrow_token};

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Make a token of a lease, for another program to present
///
/// The token represents a new lease below this one, with the same paths and verbs. The new lease
/// ends with this one, or when its own handle is revoked. Any process that has the token may use it
/// wherever a lease's id is asked for.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  TOKEN=$(handfast lease export $ID --ttl 10m)"
))]
pub(super) struct ExportArgs {
    /// The lease's id
    lease: String,

    /// How long the token lasts, at most as long as the lease
    #[arg(long, value_name = "TIME", value_parser = told::seconds)]
    ttl: Option<u64>,
}

/// Narrow a token, without asking the broker
///
/// Earlier limits still hold: a token can never be widened.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease narrow $TOKEN --path src --read-only"
))]
pub(super) struct NarrowArgs {
    /// The token
    token: String,

    /// Only what lies at or below this path; may be given several times
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,

    /// Only reading
    #[arg(long)]
    read_only: bool,

    /// Only for this long from now, by the wall clock
    #[arg(long, value_name = "TIME", value_parser = told::seconds)]
    ttl: Option<u64>,

    /// Only for processes of this user
    #[arg(long)]
    uid: Option<u32>,

    /// Only if this caveat in the token's own language holds, of `operation`, `access`, `path`, `uid`
    /// and `time`
    #[arg(long, value_name = "CHECK")]
    check: Option<String>,
}

impl ExportArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let exported = client
            .export(&self.lease, self.ttl)
            .map_err(|error| told::failed("export the lease", b"", &error))?;
        if out.is_json() {
            let fields = JsonObject::new()
                .with("token", exported.token.as_str())
                .with("lease", told::object(&exported.lease));
            out.object(true, fields);
            return Ok(Exit::Yes);
        }
        out.line(&exported.token);
        let handle = handfast::escape(exported.lease.handle.as_bytes());
        out.note(&format!(
            "note: for {}; it ends with {handle}",
            crate::width::duration(exported.lease.ttl)
        ));
        Ok(Exit::Yes)
    }
}

impl NarrowArgs {
    pub(super) fn run(&self, out: &mut Output) -> LeaseExit {
        let mut by = Narrowing::default();
        by.paths.clone_from(&self.path);
        by.read_only = self.read_only;
        by.seconds = self.ttl;
        by.uid = self.uid;
        by.check.clone_from(&self.check);
        let token = narrow_token(&self.token, &by).map_err(|why| {
            let mut failure = told::broken("narrow the token", &why);
            failure.kind = ErrorKind::Invalid;
            failure.exit = Exit::Usage;
            failure
        })?;
        if out.is_json() {
            out.object(true, JsonObject::new().with("token", token));
        } else {
            out.line(&token);
        }
        Ok(Exit::Yes)
    }
}
