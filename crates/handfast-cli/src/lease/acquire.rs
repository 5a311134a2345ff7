//! `lease acquire`: asks for a lease and prints its id.

use std::os::fd::AsFd;

use clap::Args;
use handfast_broker::{Acquire, Client, VerbSet};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::output::Output;
use crate::width::duration;

/// Ask for a lease and print its id
///
/// Any process of the user that has the id may use a lease that is bound to the user. It is printed once.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease acquire --paths 'src/**' --verbs read --ttl 10m
  handfast lease acquire --paths notes.txt --verbs read,write --max-opens 1"
))]
pub(super) struct AcquireArgs {
    #[command(flatten)]
    pub(super) wanted: WantedArgs,

    /// Bind it to the user, or to the control group of this command
    #[arg(long, value_name = "WHO", default_value = "user", value_parser = ["user", "cgroup"], conflicts_with = "pid")]
    bind: String,

    /// Bind it to this process: only it may use the lease, which ends with it
    #[arg(long, value_name = "PID")]
    pid: Option<i32>,

    /// Make it a narrower lease below this one, which ends with it
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct WantedArgs {
    /// Cover these paths: patterns as in a policy
    #[arg(long, value_name = "GLOB", num_args = 1.., required = true)]
    paths: Vec<String>,

    /// Grant these verbs: read, write, list, stat, append, mkdir, rename, remove, commit
    #[arg(long, value_name = "VERB", value_delimiter = ',', required = true, value_parser = verb)]
    verbs: Vec<String>,

    /// How long the lease lasts: 30s, 10m, 1h [default: what the policy says]
    #[arg(long, value_name = "TIME", value_parser = told::seconds)]
    ttl: Option<u64>,

    /// What the lease is for; the log records it
    #[arg(long, value_name = "TEXT")]
    purpose: Option<String>,

    /// Name the task; it becomes a part of the lease's id
    #[arg(long, value_name = "NAME")]
    task: Option<String>,

    /// Allow this many opens in all
    #[arg(long, value_name = "N")]
    max_opens: Option<u64>,
}

/// A word that the broker will understand.
fn verb(text: &str) -> Result<String, String> {
    VerbSet::parse(&[text]).map(|_| text.to_owned())
}

impl WantedArgs {
    pub(super) fn acquire(&self) -> Acquire {
        let mut wanted = Acquire::new(self.paths.clone(), self.verbs.clone());
        if let Some(ttl) = self.ttl {
            wanted = wanted.ttl(ttl);
        }
        if let Some(purpose) = &self.purpose {
            wanted = wanted.purpose(purpose);
        }
        if let Some(task) = &self.task {
            wanted = wanted.task(task);
        }
        if let Some(count) = self.max_opens {
            wanted = wanted.max_opens(count);
        }
        wanted
    }
}

impl AcquireArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let mut wanted = self.wanted.acquire();
        if let Some(parent) = &self.parent {
            wanted = wanted.parent(parent);
        }
        let acquired = match self.pid {
            None => client.acquire(&wanted.bind(self.bind.as_str())),
            Some(pid) => {
                let process = Pid::from_raw(pid)
                    .ok_or(rustix::io::Errno::SRCH)
                    .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()))
                    .map_err(|errno| told::broken("find the process", &errno.to_string()))?;
                client.acquire_for(&wanted, process.as_fd())
            }
        };
        let acquired = acquired.map_err(|error| told::failed("acquire a lease", b"", &error))?;
        if out.is_json() {
            let fields = crate::json::JsonObject::new()
                .with("lease_id", acquired.lease_id.as_str())
                .with("lease_duration", acquired.lease_duration)
                .with("renewable", acquired.renewable)
                .with("lease", told::object(&acquired.lease));
            out.object(true, fields);
        } else {
            out.line(&acquired.lease_id);
            if acquired.lease.paths != self.wanted.paths {
                let paths = acquired.lease.paths.join(", ");
                let paths = handfast::escape(paths.as_bytes());
                out.note(&format!("note: the policy grants {paths}"));
            }
            out.note(&format!(
                "note: for {}; in lists and in the log it is {}",
                duration(acquired.lease_duration),
                acquired.lease.handle
            ));
        }
        Ok(Exit::Yes)
    }
}
