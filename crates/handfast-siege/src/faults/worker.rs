//! The process that works while the machine fails, and reports by its exit code what the library answered.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use handfast::{BackendChoice, Effect, Root, RootOptions};
use rustix::fs::Access;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::judge::FaultAnswer;
use super::scenario::{self, Scenario};
use super::{mask, mounted};

/// Calls that stand out in a trace: the operation lies between them.
pub(super) const BEGIN: &str = "/handfast-faults-begin";
pub(super) const END: &str = "/handfast-faults-end";

/// Told when a worker could not begin: nothing about the operation.
pub(super) const CANNOT: u8 = 3;

/// The orders of a worker process: the arguments after those that make it one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkOrder {
    scenario: String,
    top: PathBuf,
    backend: String,
    lack: String,
}

impl WorkOrder {
    /// Reads an order as it was given on the command line.
    #[must_use]
    pub fn parse(words: &[OsString]) -> Option<Self> {
        let [scenario, top, backend, lack] = words else {
            return None;
        };
        Some(Self {
            scenario: scenario.to_str()?.to_owned(),
            top: PathBuf::from(top),
            backend: backend.to_str()?.to_owned(),
            lack: lack.to_str()?.to_owned(),
        })
    }
}

/// Works once, and says by its exit code what came of it: 0 done, 10 to 12 failed without effect,
/// with a visible one, with an unknown one; 3 if it could not begin.
#[must_use]
pub fn serve_worker(order: &WorkOrder) -> u8 {
    let Some(scenario) = scenario::find(&order.scenario) else {
        return CANNOT;
    };
    match order.lack.as_str() {
        "full-disk" => return mounted::full_disk(scenario, &order.top, &order.backend),
        "read-only" => return mounted::read_only(scenario, &order.top, &order.backend),
        _ => {}
    }
    match work(scenario, &order.top, &order.backend, &order.lack) {
        Some(result) => FaultAnswer::code(result),
        None => CANNOT,
    }
}

pub(super) fn open(top: &Path, backend: &str) -> Option<Root> {
    let choice = match backend {
        "kernel" => BackendChoice::Kernel,
        "walk" => BackendChoice::Walk,
        _ => BackendChoice::Auto,
    };
    Root::open_ambient_with(top.join("root"), RootOptions::new().backend(choice)).ok()
}

fn work(scenario: &Scenario, top: &Path, backend: &str, lack: &str) -> Option<Result<(), Effect>> {
    let root = open(top, backend)?;
    let version = scenario.prepare(&root).ok()?;
    let dir = top.join("root");
    if let Some(free) = lack.strip_prefix("descriptors:") {
        leave_descriptors(free.parse().ok()?)?;
    } else if let Some(what) = lack.strip_prefix("mask:") {
        let (errno, call) = what.split_once(':')?;
        mask::apply(errno, call)?;
    }
    mark(BEGIN);
    let result = scenario.act(&root, version.as_ref(), &dir);
    mark(END);
    Some(result)
}

fn mark(name: &str) {
    // Nothing has this name; the call alone is what is wanted.
    let _ = rustix::fs::access(name, Access::EXISTS);
}

/// Takes all descriptors but so many.
fn leave_descriptors(free: u64) -> Option<()> {
    // The lowest that is free now: all below are taken.
    let next = std::os::fd::AsRawFd::as_raw_fd(&std::fs::File::open("/dev/null").ok()?);
    let limit = Some(u64::try_from(next).ok()? + free);
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(Resource::Nofile, limit).ok()
}
