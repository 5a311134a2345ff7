//! Commands that this build lacks: known by name, and able to say how they are had.

use std::ffi::OsString;

use clap::Args;
use handfast::{Effect, ErrorKind};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Form, Output};

/// Defines the arguments of a command that takes anything and does nothing.
macro_rules! absent {
    ($name:ident, $command:literal, $feature:literal) => {
        #[cfg(not(feature = $feature))]
        #[doc = concat!("Not in this build: it needs the feature `", $feature, "`")]
        #[derive(Debug, Args)]
        #[command(disable_help_flag = true)]
        pub(crate) struct $name {
            /// Whatever the command takes elsewhere
            #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
            rest: Vec<OsString>,
        }

        #[cfg(not(feature = $feature))]
        impl $name {
            pub(crate) fn run(&self, out: &mut Output) -> Exit {
                refuse(out, $command, $feature, &self.rest)
            }
        }
    };
}

absent!(AuditArgs, "audit", "audit");
absent!(LeaseArgs, "lease", "broker");
absent!(MountArgs, "mount", "run");
absent!(ReviewArgs, "review", "review");
absent!(RunArgs, "run", "run");
absent!(ServeArgs, "serve", "broker");
absent!(SiegeArgs, "siege", "siege");
absent!(TopArgs, "top", "broker");
absent!(TourArgs, "tour", "tour");

/// Says what is missing and how to get it. Nothing was tried.
fn refuse(out: &mut Output, command: &'static str, feature: &str, rest: &[OsString]) -> Exit {
    // Among arguments that are not understood here, `--json` still says how to answer.
    let wants_json = rest
        .iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json");
    if wants_json {
        *out = Output::new(Form::Json, out.is_quiet());
    }
    out.failure(&Failure {
        kind: ErrorKind::Unsupported,
        verb: command,
        sentence: format!("cannot run `handfast {command}`"),
        path: String::new(),
        destination: None,
        detail: format!("this build lacks the feature `{feature}`"),
        effect: Effect::None,
        exit: Exit::Usage,
        hints: vec![format!(
            "every command: `cargo install --locked --path crates/handfast-cli`; this one beside the \
             others: add `--no-default-features --features core,{feature}`"
        )],
    });
    Exit::Usage
}
