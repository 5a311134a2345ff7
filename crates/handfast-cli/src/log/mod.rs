//! `handfast log`: makes, reads, verifies and exports logs. One file a command.

mod attest;
mod check_attestation;
mod check_proof;
mod damage;
mod export;
mod filter;
mod grep;
mod init;
mod key;
mod lines;
mod outcome;
mod prove;
mod prune;
mod record;
mod rotate_key;
mod show;
mod stat;
mod tail;
mod trouble;
mod verify;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

#[cfg(feature = "review")]
pub(crate) use key::given as given_key;
pub(crate) use record::{LogChoice, Opening, Recording};

const HELP: &str = "\
Examples:
  handfast log init log > log.key
  handfast log grep log --denied --since 1h
  handfast log verify log --key log.key
  handfast log export log --format html > log.html

Exit codes:
  0  yes: done, or everything in the log fits together and is signed
  1  no: damaged or tampered with, or it could not be done
  2  wrong usage, or there is no log
  3  cannot tell: more was asked than can be known here";

/// Make, read, verify and export audit logs
///
/// The directory always comes first. Servers keep logs of their own one directory below; `show`,
/// `tail`, `grep`, `stat` and `verify` take the upper directory and read them all.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Show(show::ShowArgs),
    Tail(tail::TailArgs),
    Grep(grep::GrepArgs),
    Stat(stat::StatArgs),
    Verify(verify::VerifyArgs),
    Prove(prove::ProveArgs),
    CheckProof(check_proof::CheckProofArgs),
    Attest(attest::AttestArgs),
    CheckAttestation(check_attestation::CheckAttestationArgs),
    Export(export::ExportArgs),
    RotateKey(rotate_key::RotateKeyArgs),
    Prune(prune::PruneArgs),
}

/// What every command returns: its verdict, computed before anything is printed.
type LogExit = Result<Exit, Box<Failure>>;

impl LogArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let answered = match &self.command {
            Command::Init(args) => args.run(out),
            Command::Show(args) => args.run(out),
            Command::Tail(args) => args.run(out),
            Command::Grep(args) => args.run(out),
            Command::Stat(args) => args.run(out),
            Command::Verify(args) => args.run(out),
            Command::Prove(args) => args.run(out),
            Command::CheckProof(args) => args.run(out),
            Command::Attest(args) => args.run(out),
            Command::CheckAttestation(args) => args.run(out),
            Command::Export(args) => args.run(out),
            Command::RotateKey(args) => args.run(out),
            Command::Prune(args) => args.run(out),
        };
        answered.unwrap_or_else(|failure| {
            out.failure(&failure);
            failure.exit
        })
    }
}
