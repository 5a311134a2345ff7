//! `handfast doctor`: what this kernel and filesystem enforce, and what is missing.

#[cfg(feature = "run")]
mod engines;
mod report;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast::{Root, escape};
use handfast_doctor::Diagnosis;

use crate::exit::Exit;
use crate::fs::open_failure;
use crate::output::Output;

/// Check what this kernel and filesystem enforce, and what is missing
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
        // While there is one thread.
        #[cfg(feature = "run")]
        let engines = engines::checks();
        #[cfg(not(feature = "run"))]
        let engines = Vec::new();
        let diagnosis = Diagnosis::of(&root);
        let shown = escape(self.root.as_bytes());
        report::print(&diagnosis, &engines, &shown, out);
        report::exit(diagnosis.verdict())
    }
}
