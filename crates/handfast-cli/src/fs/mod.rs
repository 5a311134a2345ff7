//! `handfast fs`: one verb on one root, in one session or under one lease, for scripts and CI steps.
//!
//! Each verb is a file with its arguments, what it does, and how its answer looks. A verb answers
//! with a value that is printed afterwards, once for programs or once for people.

pub(crate) mod answer;
mod append;
mod archives;
mod asked;
mod chmod;
mod cp;
mod hints;
pub(crate) mod input;
mod link;
mod ls;
mod mkdir;
mod mode;
mod mv;
mod open_root;
mod read;
mod readlink;
mod recover;
mod rm;
mod stat;
mod symlink;
mod target;
mod tree;
mod version;
pub(crate) mod write;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::log::{LogChoice, Recording};
use crate::output::Output;

use answer::PrintResult;
use open_root::TargetArgs;
pub(crate) use open_root::open_failure;
use target::Target;

const HELP: &str = crate::exit::help!(
    "  handfast fs --root uploads ls
  handfast fs --root uploads write report.pdf < report.pdf
  handfast fs --root uploads --links beneath read current/report.pdf
  handfast fs --root uploads --json stat report.pdf
  handfast fs --session review read /src/main.rs
  handfast fs --lease $ID read /src/main.rs
  handfast fs read report.pdf --root uploads"
);

/// Read, write and list files beneath a root, in a session or under a lease
///
/// Paths are relative to the root, without `..`; in a session and under a lease they are absolute. A path that ends
/// in `/` must name a directory. Options may be given before or after the verb.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct FsArgs {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    log: LogChoice,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
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
    Extract(Box<archives::ExtractArgs>),
    ListArchive(Box<archives::ListArchiveArgs>),
    Archive(archives::ArchiveArgs),
}

impl FsArgs {
    /// Opens the root, the session or the lease, runs the verb, prints its answer.
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let verb = self.verb.name();
        let mut recording = None;
        let opened = self.target.open(verb, &self.log);
        let answered = opened.and_then(|(target, recorded)| {
            recording = recorded;
            self.verb.run(&target, recording.as_ref(), out)
        });
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
    fn name(&self) -> &'static str {
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
            Self::Extract(_) => "extract",
            Self::ListArchive(_) => "list-archive",
            Self::Archive(_) => "archive",
        }
    }

    fn run(&self, target: &Target, recording: Option<&Recording>, out: &mut Output) -> PrintResult {
        match self {
            Self::Read(args) => args.run(target, out),
            Self::Write(args) => args.run(target, out),
            Self::Append(args) => args.run(target, out),
            Self::Ls(args) => args.run(target),
            Self::Tree(args) => args.run(target),
            Self::Stat(args) => args.run(target),
            Self::Mkdir(args) => args.run(target),
            Self::Mv(args) => args.run(target),
            Self::Rm(args) => args.run(target),
            Self::Cp(args) => args.run(target),
            Self::Link(args) => args.run(target),
            Self::Symlink(args) => args.run(target),
            Self::Readlink(args) => args.run(target),
            Self::Chmod(args) => args.run(target),
            Self::Version(args) => args.run(target),
            Self::Recover(args) => args.run(target),
            Self::Extract(args) => args.run(target, recording, out),
            Self::ListArchive(args) => args.run(target, out),
            Self::Archive(args) => args.run(target, out),
        }
    }
}
