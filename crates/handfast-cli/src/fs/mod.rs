//! `handfast fs`: one verb on one root, for scripts and CI steps.
//!
//! Each verb is a file with its arguments, what it does, and how its answer looks. A verb answers
//! with a value that is printed afterwards, once for programs or once for people.

pub(crate) mod answer;
pub(crate) mod append;
mod asked;
pub(crate) mod chmod;
pub(crate) mod cp;
mod hints;
pub(crate) mod input;
pub(crate) mod link;
pub(crate) mod ls;
pub(crate) mod mkdir;
pub(crate) mod mode;
pub(crate) mod mv;
mod open_root;
pub(crate) mod read;
pub(crate) mod readlink;
mod recover;
pub(crate) mod rm;
pub(crate) mod stat;
pub(crate) mod symlink;
pub(crate) mod tree;
pub(crate) mod version;
pub(crate) mod write;

use clap::{Args, Subcommand};
use handfast::Root;

use crate::exit::Exit;
use crate::log::LogChoice;
use crate::output::Output;

use answer::Answered;
use open_root::RootArgs;
pub(crate) use open_root::open_failure;

const HELP: &str = crate::exit::help!(
    "  handfast fs --root uploads ls
  handfast fs --root uploads write report.pdf < report.pdf
  handfast fs --root uploads --links beneath read current/report.pdf
  handfast fs --root uploads --json stat report.pdf
  handfast fs --session review read /src/main.rs"
);

/// Do one thing to files beneath a root, or in a session
///
/// Paths are relative to the root, without `..`; in a session they are absolute. A path that ends
/// in `/` must name a directory.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct FsArgs {
    #[command(flatten)]
    root: RootArgs,

    #[command(flatten)]
    log: LogChoice,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Read(read::ReadArgs),
    Write(write::WriteArgs),
    Append(append::AppendArgs),
    Ls(ls::LsArgs),
    Tree(tree::TreeArgs),
    Stat(stat::StatArgs),
    Mkdir(mkdir::MkdirArgs),
    Mv(mv::MvArgs),
    Rm(rm::RmArgs),
    Cp(cp::CpArgs),
    Link(link::LinkArgs),
    Symlink(symlink::SymlinkArgs),
    Readlink(readlink::ReadlinkArgs),
    Chmod(chmod::ChmodArgs),
    Version(version::VersionArgs),
    Recover(recover::RecoverArgs),
}

impl FsArgs {
    /// Opens the root, runs the verb, prints its answer.
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let verb = self.verb.name();
        let mut recording = None;
        let answered = match self.root.session() {
            Some(session) => session.and_then(|session| {
                let (answered, recorded) = session.run(&self.verb, &self.log, out)?;
                recording = recorded;
                answered
            }),
            None => self
                .root
                .open(verb, &self.log)
                .and_then(|(root, recorded)| {
                    recording = recorded;
                    self.verb.run(&root, out)
                }),
        };
        let exit = match answered {
            Ok(mut answer) => answer::print(&mut *answer, out),
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        };
        if let Some(recording) = recording {
            recording.finish(verb, out);
        }
        exit
    }
}

impl Verb {
    /// The verb as it is typed.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Append(_) => "append",
            Self::Ls(_) => "ls",
            Self::Tree(_) => "tree",
            Self::Stat(_) => "stat",
            Self::Mkdir(_) => "mkdir",
            Self::Mv(_) => "mv",
            Self::Rm(_) => "rm",
            Self::Cp(_) => "cp",
            Self::Link(_) => "link",
            Self::Symlink(_) => "symlink",
            Self::Readlink(_) => "readlink",
            Self::Chmod(_) => "chmod",
            Self::Version(_) => "version",
            Self::Recover(_) => "recover",
        }
    }

    fn run(&self, root: &Root, out: &mut Output) -> Answered {
        match self {
            Self::Read(args) => args.run(root, out),
            Self::Write(args) => args.run(root, out),
            Self::Append(args) => args.run(root, out),
            Self::Ls(args) => args.run(root),
            Self::Tree(args) => args.run(root),
            Self::Stat(args) => args.run(root),
            Self::Mkdir(args) => args.run(root),
            Self::Mv(args) => args.run(root),
            Self::Rm(args) => args.run(root),
            Self::Cp(args) => args.run(root),
            Self::Link(args) => args.run(root),
            Self::Symlink(args) => args.run(root),
            Self::Readlink(args) => args.run(root),
            Self::Chmod(args) => args.run(root),
            Self::Version(args) => args.run(root),
            Self::Recover(args) => args.run(root),
        }
    }
}
