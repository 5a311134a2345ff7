//! Options that say how strong the wall is, and those that a run does not have.

use clap::ValueEnum;

use super::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::misused;

/// What enforces the session.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Engine {
    /// A FUSE mount in a user namespace
    Fuse,
    /// The kernel's overlay, imported afterwards
    Overlayfs,
    /// Landlock alone, without an overlay
    Landlock,
}

impl RunArgs {
    /// Refuses by name what is asked for and is not there.
    pub(super) fn refuse_missing(&self) -> Result<(), Box<Failure>> {
        let missing = |option: &str, why: &str| {
            let mut failure = misused("run", "run the program", &format!("`{option}`: {why}"));
            failure.kind = handfast::ErrorKind::Unsupported;
            failure.exit = Exit::CannotTell;
            Err(failure)
        };
        if self.policy.is_some() {
            return missing(
                "--policy",
                "a run takes no policy file; give its rules with `--protect` and `--deny`",
            );
        }
        if self.nested {
            return missing(
                "--nested",
                "no program can build namespaces of its own in a run; turn off its own sandbox",
            );
        }
        match self.engine {
            None | Some(Engine::Fuse) => Ok(()),
            Some(Engine::Overlayfs) => missing(
                "--engine overlayfs",
                "the kernel's overlay denies no file that appears later; there is `fuse`",
            ),
            Some(Engine::Landlock) => missing(
                "--engine landlock",
                "Landlock has no overlay, so changes would not wait; there is `fuse`",
            ),
        }
    }
}
