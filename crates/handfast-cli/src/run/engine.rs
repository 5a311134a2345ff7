//! Options that say how strong the wall is, and those that an engine does not have.

use clap::ValueEnum;
use handfast_run::{Ended, Plan, Project, Wall};
use handfast_session::{Mode, Protect};

use super::{RunArgs, RunMode, RunNet, explain};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::misused;

/// What enforces the session.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Engine {
    /// A FUSE mount in a user namespace
    Fuse,
    /// The kernel's own overlay, whose changes become the session's at the end; denies nothing
    Overlayfs,
    /// Landlock alone, without an overlay and without patterns
    Landlock,
}

/// What was asked for and cannot be enforced.
pub(super) fn cannot(option: &str, why: &str) -> Box<Failure> {
    let mut failure = misused("run", "run the program", &format!("`{option}`: {why}"));
    failure.kind = handfast::ErrorKind::Unsupported;
    failure.exit = Exit::CannotTell;
    failure
}

impl RunArgs {
    /// What keeps the program in.
    pub(super) fn wall(&self) -> Wall {
        match (self.engine, self.nested) {
            (Some(Engine::Landlock), _) => Wall::Landlock,
            (_, true) => Wall::Nested,
            (_, false) => Wall::Whole,
        }
    }

    /// Whether the kernel's own overlay shows the project.
    pub(super) fn is_fast(&self) -> bool {
        self.fast || self.engine == Some(Engine::Overlayfs)
    }

    /// Refuses by name what is asked for and is not there.
    pub(super) fn refuse_missing(&self) -> Result<(), Box<Failure>> {
        match self.engine {
            _ if self.is_fast() => self.refuse_over_kernel(),
            None | Some(Engine::Fuse | Engine::Overlayfs) => Ok(()),
            Some(Engine::Landlock) => self.refuse_without_session(),
        }
    }

    /// Landlock grants directories to a program, and nothing else. There is no session.
    fn refuse_without_session(&self) -> Result<(), Box<Failure>> {
        if matches!(self.mode, None | Some(RunMode::Overlay)) {
            return Err(cannot(
                "--engine landlock",
                "Landlock has no overlay, so changes would not wait; there are `--mode read-write` \
                 and `--mode read-only`",
            ));
        }
        if self.protect.as_deref() != Some("none") {
            return Err(cannot(
                "--engine landlock",
                "Landlock denies nothing in a directory that it grants, and no file that appears \
                 later; `--protect none` does without",
            ));
        }
        let asked = [
            ("--deny", !self.deny.is_empty()),
            ("--ask", !self.ask.is_empty()),
            ("--policy", self.policy.is_some()),
            ("--quota", self.quota.is_some()),
            ("--session", self.session.is_some()),
            ("--commit", self.commit),
            ("--discard", self.discard),
            ("--keep", self.keep),
            ("--nested", self.nested),
            ("--net none", self.net == RunNet::None),
            ("--log", !self.log.places("run")?.is_empty()),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((option, _)) => Err(cannot(option, "the engine `landlock` cannot do that")),
            None => Ok(()),
        }
    }

    /// Runs the program behind Landlock alone.
    pub(super) fn run_confined(
        &self,
        project: Project,
        out: &mut Output,
    ) -> Result<Exit, Box<Failure>> {
        let mode = self.mode.map_or(Mode::ReadOnly, RunMode::mode);
        let plan = Plan::new(project, self.request(mode)?)?;
        if self.explain {
            explain::tell(&plan, "none", mode, &Protect::new(), out);
            return Ok(Exit::Yes);
        }
        super::summary::begin(&plan, "none", mode, out);
        let Ended { code, .. } = handfast_run::confine(&plan)?;
        Ok(Exit::Child(code))
    }
}
