//! `lease renew`, `lookup`, `list`.

use clap::Args;
use handfast_broker::{Client, LeaseInfo};

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::json::{Json, JsonObject};
use crate::output::Output;
use crate::width::{aligned, duration};

/// Make a lease longer, counted from now
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease renew $ID --increment 10m"
))]
pub(super) struct RenewArgs {
    /// Its id
    lease: String,

    /// How long the lease lasts from now; at most what the policy allows
    #[arg(long, value_name = "TIME", value_parser = told::seconds, visible_alias = "ttl")]
    increment: Option<u64>,
}

/// Show a lease
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease lookup $ID"
))]
pub(super) struct LookupArgs {
    /// Its id or handle
    lease: String,
}

/// List leases, by handle
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease list"
))]
pub(super) struct ListArgs {
    /// List what lies below this prefix only: `u1000` or `u1000/build`
    #[arg(default_value = "")]
    prefix: String,
}

fn print(out: &mut Output, lease: &LeaseInfo) -> Exit {
    if out.is_json() {
        out.object(true, JsonObject::new().with("lease", told::object(lease)));
    } else {
        for line in told::lines(lease) {
            out.line(&line);
        }
    }
    Exit::Yes
}

impl RenewArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let lease = client
            .renew(&self.lease, self.increment)
            .map_err(|error| told::failed("renew the lease", b"", &error))?;
        Ok(print(out, &lease))
    }
}

impl LookupArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let lease = client
            .lookup(&self.lease)
            .map_err(|error| told::failed("look up the lease", b"", &error))?;
        Ok(print(out, &lease))
    }
}

impl ListArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let leases = client
            .list(&self.prefix)
            .map_err(|error| told::failed("list leases", b"", &error))?;
        if out.is_json() {
            let list = Json::from_iter(leases.iter().map(told::object));
            out.object(true, JsonObject::new().with("leases", list));
            return Ok(Exit::Yes);
        }
        if leases.is_empty() {
            out.note("note: there are no leases; `handfast lease acquire` asks for one");
        }
        let safe = |text: &str| handfast::escape(text.as_bytes());
        let rows: Vec<[String; 5]> = leases
            .iter()
            .map(|lease| {
                [
                    safe(&lease.handle),
                    told::bound(lease),
                    duration(lease.ttl),
                    safe(&lease.verbs.join(",")),
                    safe(&lease.paths.join(" ")),
                ]
            })
            .collect();
        for line in aligned(&rows) {
            out.line(&line);
        }
        Ok(Exit::Yes)
    }
}
