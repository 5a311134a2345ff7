//! `run --fast`: the kernel's own overlay shows the project, and its changes become the session's at the
//! end.

use std::os::fd::{BorrowedFd, OwnedFd};

use handfast_run::{Layers, Plan};
use handfast_session::{FastRun, Mode, Session};

use super::engine::cannot;
use super::{Chosen, RunArgs, RunMode, explain, pinned, summary, worktree};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::{failed, misused};

/// The option by its long name.
const OPTION: &str = "--engine overlayfs";

/// So many lines about what was left out are printed.
const MAX_TOLD: usize = 15;

impl RunArgs {
    /// What the kernel's overlay cannot enforce.
    pub(super) fn refuse_over_kernel(&self) -> Result<(), Box<Failure>> {
        let asked = [
            ("--deny", !self.deny.is_empty()),
            ("--ask", !self.ask.is_empty()),
            ("--quota", self.quota.is_some()),
            ("--nested", self.nested),
            (
                "--mode",
                !matches!(self.mode, None | Some(RunMode::Overlay)),
            ),
            ("--log", !self.log.places("run")?.is_empty()),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((option, _)) => Err(cannot(option, "the engine `overlayfs` cannot do that")),
            None => Ok(()),
        }
    }

    /// Rules that have to hold while the program runs, and cannot.
    pub(super) fn refuse_rules(&self, chosen: &Chosen) -> Result<(), Box<Failure>> {
        if chosen.mode != Mode::Overlay {
            let why = format!(
                "the session is `{}`, and there is `overlay` only",
                chosen.mode
            );
            return Err(cannot(OPTION, &why));
        }
        let rules = chosen.protect.deny.iter().chain(&chosen.protect.ask);
        match rules.count() {
            0 => Ok(()),
            _ => Err(cannot(
                OPTION,
                "the kernel's overlay denies no file and asks nobody, and these rules do; `--protect none` \
                 does without, in a session of its own (`--session NAME`)",
            )),
        }
    }

    /// Runs the program over the kernel's overlay.
    pub(super) fn run_fast(
        &self,
        plan: Plan,
        chosen: Chosen,
        out: &mut Output,
    ) -> Result<Exit, Box<Failure>> {
        if self.explain {
            explain::tell(&plan, &chosen.name, chosen.mode, &chosen.protect, out);
            return Ok(Exit::Yes);
        }
        let chosen = self.make(chosen, &plan)?;
        self.refuse_rules(&chosen)?;
        summary::begin(&plan, &chosen.name, chosen.mode, out);
        let mut kept: Option<(Session, FastRun)> = None;
        let ended = handfast_run::run_fast(&plan, || -> Result<Vec<Layers>, Box<Failure>> {
            let (opening, _) = self.log.open_session("run")?;
            let session = self.state.open_with("run", &chosen.name, opening)?;
            pinned(&session, &plan.project, &chosen.name)?;
            self.refuse_beside_others(&chosen.name)?;
            let run = session.begin_fast_run(&children()).map_err(|error| {
                let mut failure = failed("run", "make room in the session", &chosen.name, &error);
                failure.exit = Exit::CannotTell;
                failure
            })?;
            let project = std::iter::once(worktree::place_of(&plan.project));
            let places = project.chain(worktree::place_of_repository(&plan.project));
            let mut layers = Vec::new();
            for place in places {
                let found = run.layers(&place);
                let (base, changes) = found
                    .map_err(|error| failed("run", "open the session", &chosen.name, &error))?;
                layers.push(Layers {
                    base: own(base)?,
                    changes: own(changes)?,
                });
            }
            kept = Some((session, run));
            Ok(layers)
        });
        let Some((session, run)) = kept else {
            return ended.map(|ended| Exit::Child(ended.code));
        };
        run.finish().map_err(|error| {
            let mut failure = failed("run", "import the changes into", &chosen.name, &error);
            let hint = "they are kept, and imported by the next command that opens the session";
            failure.hints.push(hint.to_owned());
            failure
        })?;
        let is_partial = self.tell_left_out(&session, &chosen.name, out)?;
        let exit = ended.and_then(|ended| self.end(&session, &chosen, ended, out))?;
        Ok(match exit.code() {
            // The program did its work, and not all of it is there.
            0 if is_partial => Exit::No,
            _ => exit,
        })
    }

    /// A session that others work in is not one for the kernel: it would not show their changes.
    fn refuse_beside_others(&self, name: &str) -> Result<(), Box<Failure>> {
        let Some(catalogue) = self.state.existing("run")? else {
            return Ok(());
        };
        let users = catalogue.users(name);
        let users = users.map_err(|error| failed("run", "look at the session", name, &error))?;
        match users.unwrap_or_default().first() {
            Some(pid) => {
                let why = format!("the process {pid} has the session `{name}` open");
                Err(cannot(OPTION, &why))
            }
            None => Ok(()),
        }
    }

    /// While the kernel keeps the changes of a session, nobody else makes any.
    pub(super) fn refuse_beside_fast(
        &self,
        session: &Session,
        name: &str,
    ) -> Result<(), Box<Failure>> {
        let is_there = session.has_fast_run();
        match is_there.map_err(|error| failed("run", "look at the session", name, &error))? {
            true => {
                let why = "a run with the engine `overlayfs` is under way in it; wait for its end";
                Err(cannot("--session", why))
            }
            false => Ok(()),
        }
    }

    /// Says what an import left out, of this run or of one that was killed, and whether there was anything.
    /// It is a loss, so it is said to those too who want to hear little.
    pub(super) fn tell_left_out(
        &self,
        session: &Session,
        name: &str,
        out: &mut Output,
    ) -> Result<bool, Box<Failure>> {
        let mut told = 0;
        let count = session.tell_left_out(|line| {
            told += 1;
            // A path that is not kept, or words about all of them.
            let what = match line.starts_with('/') {
                true => "not kept: ",
                false => "",
            };
            if told <= MAX_TOLD {
                out.alarm(&format!("warning: {what}{line}\n"));
            }
        });
        let count = count.map_err(|error| failed("run", "read the session", name, &error))?;
        if count > MAX_TOLD {
            let more = count - MAX_TOLD;
            out.alarm(&format!("warning: not kept: {more} more\n"));
        }
        Ok(count > 0)
    }
}

/// The processes that this thread has started: the first one of the run, whose end is that of all others.
#[allow(
    clippy::disallowed_methods,
    reason = "files of the kernel, by the only paths they have"
)]
fn children() -> Vec<u32> {
    if let Ok(listed) = std::fs::read_to_string("/proc/thread-self/children") {
        let listed = listed.split_ascii_whitespace();
        return listed.filter_map(|pid| pid.parse().ok()).collect();
    }
    // A kernel that lists no children says of each process whose child it is.
    let parent = std::process::id().to_string();
    let is_ours = |pid: &u32| {
        let status = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let status = String::from_utf8_lossy(&status).into_owned();
        let rest = status.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_ascii_whitespace().nth(1) == Some(parent.as_str())
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_ours).collect()
}

/// A descriptor to give away.
fn own(dir: BorrowedFd<'_>) -> Result<OwnedFd, Box<Failure>> {
    dir.try_clone_to_owned()
        .map_err(|error| misused("run", "copy a descriptor", &error.to_string()))
}
