//! `handfast session`: durable overlays, one file a command.

mod commit;
mod diff;
mod discard;
mod explain;
mod failures;
mod fork;
mod hints;
mod list;
mod new;
mod pick;
mod place;
mod review;
mod rm;
mod rollback;
mod show;
mod snapshot;
mod undo;
mod usage;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::fs::answer;
use crate::log::LogChoice;
use crate::output::Output;

pub(crate) use failures::{failed, misused};
pub(crate) use hints::reason_hint;
pub(crate) use place::StateArgs;
#[cfg(feature = "run")]
pub(crate) use review::line;

const HELP: &str = crate::exit::help!(
    "  handfast session new review --base project --preset workspace
  handfast fs --session review write /notes.txt < notes.txt
  handfast session diff review
  handfast session commit review /notes.txt
  handfast session undo review
  handfast session discard review"
);

/// Keep an agent's changes in an overlay until a person reviews and commits them
///
/// A session shows directories under virtual paths. Changes go to an overlay, which lasts until it
/// is committed or discarded. `handfast fs --session NAME` works inside of one.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    state: StateArgs,

    #[command(flatten)]
    log: LogChoice,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::NewArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Diff(diff::DiffArgs),
    Commit(commit::CommitArgs),
    Undo(undo::UndoArgs),
    Discard(discard::DiscardArgs),
    Rm(rm::RmArgs),
    Snapshot(snapshot::SnapshotArgs),
    Rollback(rollback::RollbackArgs),
    Fork(fork::ForkArgs),
    Usage(usage::UsageArgs),
    Explain(explain::ExplainArgs),
}

impl SessionArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let state = &self.state;
        let mut recording = None;
        // Opened by those that change something, so that looking needs no log.
        let mut logged = |verb| {
            let (opening, begun) = self.log.open_session(verb)?;
            recording = begun;
            Ok(opening)
        };
        let answered = match &self.command {
            Command::New(args) => args.run(state),
            Command::List(args) => args.run(state),
            Command::Show(args) => args.run(state),
            Command::Diff(args) => args.run(state, out),
            Command::Commit(args) => {
                logged("commit").and_then(|opening| args.run(state, opening, out))
            }
            Command::Undo(args) => logged("undo").and_then(|opening| args.run(state, opening, out)),
            Command::Discard(args) => {
                logged("discard").and_then(|opening| args.run(state, opening, out))
            }
            Command::Rm(args) => logged("rm").and_then(|opening| args.run(state, opening, out)),
            Command::Snapshot(args) => {
                logged("snapshot").and_then(|opening| args.run(state, opening))
            }
            Command::Rollback(args) => {
                logged("rollback").and_then(|opening| args.run(state, opening, out))
            }
            Command::Fork(args) => logged("fork").and_then(|opening| args.run(state, opening)),
            Command::Usage(args) => args.run(state),
            Command::Explain(args) => args.run(state),
        };
        let exit = match answered {
            Ok(mut answer) => {
                let verdict = answer.verdict();
                match answer::print(&mut *answer, out) {
                    Exit::Yes => verdict,
                    exit => exit,
                }
            }
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        };
        if let Some(recording) = recording {
            recording.finish("session", out);
        }
        exit
    }
}
