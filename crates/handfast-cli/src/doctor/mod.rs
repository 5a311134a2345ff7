//! `handfast doctor`: what this kernel and filesystem enforce, and what is missing.
//!
//! Everything is tried, nothing is guessed from a version. What has to be made for that is made in
//! a private directory that is gone afterwards.

mod check;
mod findings;
mod probe;
mod report;
mod scratch;
mod trials;

use std::ffi::OsString;

use clap::Args;
use handfast::Root;

use crate::exit::Exit;
use crate::fs::open_failure;
use crate::output::Output;

use report::Report;
use scratch::Scratch;

/// Say what this kernel and filesystem enforce, and what is missing
///
/// What has to be tried is tried in a private directory that is removed at the end: in the system's
/// temporary directory if that lies on the root's filesystem, otherwise in the root where that is
/// writable.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help!("  handfast doctor\n  handfast doctor --root /srv/data --json"))]
pub(crate) struct DoctorArgs {
    /// Look at this directory and its filesystem
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: OsString,
}

impl DoctorArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let root = match Root::open_ambient(&self.root) {
            Ok(root) => root,
            Err(error) => {
                let failure = open_failure("doctor", &self.root, &error);
                out.failure(&failure);
                return failure.exit;
            }
        };
        let scratch = Scratch::near(&root);
        let report = Report::new(&self.root, &root, scratch.as_ref());
        drop(scratch);
        report.print(out);
        report.verdict()
    }
}
