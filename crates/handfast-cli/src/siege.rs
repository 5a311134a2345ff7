//! `handfast siege`: attacks the library on this machine.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use handfast::{Effect, ErrorKind};
use handfast_siege::faults::{self, Faults, WorkOrder, serve_worker};
use handfast_siege::{
    AttackerProgram, Backends, Order, Report, Siege, SiegeError, Verdict, render, serve_attacker,
};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// A part of the siege that takes less than this prints no progress.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);

const HELP: &str = "\
Examples:
  handfast siege
  handfast siege --rounds 200 --only directory-swap
  handfast siege --root /mnt/data --markdown > siege.md
  handfast siege --faults

Exit codes:
  0  yes: nothing got out, and every naive control was beaten
  1  no: something got out, failed without reason, or too much was refused
  2  wrong usage, or a directory in which nothing can be tried
  3  cannot tell: an attack could not beat its naive control, because it is too
     weak here, or because other programs had the processors (starved)";

/// Attack every layer on this machine with races, and report what got out
///
/// Attackers change a tree, as threads, as processes and from inside the same session or lease,
/// while every verb works in it. After every call, the siege checks that nothing outside and
/// nothing protected has changed or leaked. Each attack also runs against naive code: if that is
/// not harmed, the attack proves nothing. Everything happens in a private directory that is removed
/// at the end. The default takes some minutes on two cores, `--rounds 200` about one.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SiegeArgs {
    /// Make this many attempts for every cell: one verb under one attack on one layer
    #[arg(long, value_name = "N", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rounds: u64,

    /// Attack a root with this resolver only, and no layer above it; `both` attacks every layer
    #[arg(long, value_enum, default_value = "both")]
    backend: BackendArg,

    /// Run only cells whose `attack/verb@layer` contains one of these, and show each
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    only: Vec<String>,

    /// Make the private directory here, to attack on this filesystem [default: the system's
    /// temporary directory]
    #[arg(long, value_name = "DIR")]
    root: Option<OsString>,

    /// Print Markdown, with a row for each cell
    #[arg(long, conflicts_with = "json")]
    markdown: bool,

    /// Inject faults instead: errors, kills, full disks and power loss at every step of a few
    /// operations
    #[arg(long, conflicts_with_all = ["rounds", "backend"])]
    faults: bool,

    /// Work while the machine fails; for this command's own use
    #[arg(long, hide = true, num_args = 4, value_names = ["SCENARIO", "DIR", "BACKEND", "LACK"])]
    worker: Option<Vec<OsString>>,

    /// Be an attacker; for this command's own use
    #[arg(long, hide = true, num_args = 4, value_names = ["ATTACK", "DIR", "LEAF", "PARENT"])]
    attacker: Option<Vec<OsString>>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BackendArg {
    /// Only `openat2`
    Kernel,
    /// Only the component walk
    Walk,
    /// First one, then the other
    Both,
}

impl SiegeArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        if let Some(words) = &self.attacker {
            return attack(words, out);
        }
        if let Some(words) = &self.worker {
            return work(words, out);
        }
        #[cfg(feature = "broker")]
        crate::interrupt::clean_up_on_signals({
            let base = self.base();
            move || scenes(&base)
        });
        if self.faults {
            return self.break_the_machine(out);
        }
        if self.only.is_empty() && self.rounds >= 1000 {
            out.note("this takes some minutes; `--rounds 200` takes about one");
        }
        let mut siege = Siege::new(self.base())
            .rounds(self.rounds)
            .only(self.only.iter().cloned())
            .backends(match self.backend {
                BackendArg::Kernel => Backends::Kernel,
                BackendArg::Walk => Backends::Walk,
                BackendArg::Both => Backends::Both,
            });
        if let Ok(program) = std::env::current_exe() {
            let arguments = ["siege", "--attacker"].map(str::to_owned).to_vec();
            siege = siege.attackers(AttackerProgram::new(program, arguments));
        }
        let mut teller = Teller::new(out.is_quiet());
        let found = siege.run(&mut |progress| {
            teller.tell(&format!(
                "attack {} of {}: {}, {} ({})",
                progress.index, progress.attacks, progress.attack, progress.verb, progress.backend
            ));
        });
        teller.done();
        match found {
            Ok(report) => {
                self.print(&report, out);
                exit_of(report.verdict())
            }
            Err(error) => fail(&error, out),
        }
    }

    fn base(&self) -> PathBuf {
        match &self.root {
            Some(root) => PathBuf::from(root),
            None => std::env::temp_dir(),
        }
    }

    fn break_the_machine(&self, out: &mut Output) -> Exit {
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return fail(&SiegeError::Scene(error), out),
        };
        let arguments = ["siege", "--worker"].map(str::to_owned).to_vec();
        let faults = Faults::new(self.base(), AttackerProgram::new(program, arguments))
            .only(self.only.iter().cloned());
        let mut teller = Teller::new(out.is_quiet());
        let found = faults.run(&mut |fault, scenario, backend| {
            teller.tell(&format!("{fault}: {scenario} ({backend})"));
        });
        teller.done();
        let report = match found {
            Ok(report) => report,
            Err(error) => return fail(&error, out),
        };
        if out.is_json() {
            out.line(&faults::render::json(&report));
        } else if self.markdown {
            out.data(faults::render::markdown(&report).as_bytes());
        } else {
            if !out.is_quiet() {
                print_table(&faults::render::table(&report), out);
                out.line("");
            }
            out.folded(&format!("verdict: {}", report.sentence()), 9);
        }
        exit_of(report.verdict())
    }

    fn print(&self, report: &Report, out: &mut Output) {
        if out.is_json() {
            out.line(&render::json(report));
            return;
        }
        if self.markdown {
            out.data(render::markdown(report).as_bytes());
            return;
        }
        if !out.is_quiet() {
            print_table(&render::table(report, !self.only.is_empty()), out);
            out.line("");
        }
        out.folded(&format!("verdict: {}", report.sentence()), 9);
    }
}

fn print_table(table: &str, out: &mut Output) {
    for line in table.lines() {
        out.folded(line, 11);
    }
}

const fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Held => Exit::Yes,
        Verdict::Broken => Exit::No,
        Verdict::Starved | Verdict::TooWeak => Exit::CannotTell,
    }
}

/// Works once; the exit code is the answer, for the program that broke the machine.
#[allow(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a code that is no answer of this command; everything is dropped before"
)]
fn work(words: &[OsString], out: &mut Output) -> Exit {
    match WorkOrder::parse(words) {
        Some(order) => std::process::exit(serve_worker(&order).into()),
        None => {
            out.note("error: a worker is started by this command only");
            Exit::Usage
        }
    }
}

fn fail(error: &SiegeError, out: &mut Output) -> Exit {
    let failure = failure(error);
    out.failure(&failure);
    failure.exit
}

/// Attacks until it is killed.
fn attack(words: &[OsString], out: &mut Output) -> Exit {
    match Order::parse(words).map(|order| serve_attacker(&order)) {
        Some(Ok(())) => Exit::Yes,
        _ => {
            out.note("error: no attack of this name runs as a process");
            Exit::Usage
        }
    }
}

fn failure(error: &SiegeError) -> Failure {
    let (kind, exit, hint) = match error {
        SiegeError::NothingMatches => (
            ErrorKind::Invalid,
            Exit::Usage,
            "a name is like `leaf-swap`, `leaf-swap/read` or `@broker`; with `--faults`, like \
             `power-loss/write`; `handfast siege --rounds 1 --markdown` lists the attacks",
        ),
        SiegeError::NoBackend(_) => (
            ErrorKind::Unsupported,
            Exit::CannotTell,
            "`--backend walk` attacks the component walk",
        ),
        _ => (
            ErrorKind::Invalid,
            Exit::Usage,
            "`--root` takes a directory in which another can be made",
        ),
    };
    Failure {
        kind,
        verb: "siege",
        sentence: "cannot run the siege".to_owned(),
        path: String::new(),
        destination: None,
        detail: error.to_string(),
        effect: Effect::None,
        exit,
        hints: vec![hint.to_owned()],
    }
}

/// One line on the terminal, for a person who waits.
struct Teller {
    begun: Option<Instant>,
    told: Option<Instant>,
}

impl Teller {
    fn new(quiet: bool) -> Self {
        let looks = !quiet && std::io::stderr().is_terminal();
        Self {
            begun: looks.then(Instant::now),
            told: None,
        }
    }

    fn tell(&mut self, what: &str) {
        let Some(begun) = self.begun else { return };
        let now = Instant::now();
        if now - begun < PROGRESS_DELAY || self.told.is_some_and(|told| now - told < PAUSE) {
            return;
        }
        self.told = Some(now);
        put(&format!("\r\x1b[K{what}, {} s", (now - begun).as_secs()));
    }

    fn done(&mut self) {
        if self.told.take().is_some() {
            put("\r\x1b[K");
        }
    }
}

fn put(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A caller that closed stderr does not want to know.
    drop(stderr.write_all(text.as_bytes()));
    drop(stderr.flush());
}

/// The directories of this process's siege, wherever it is in its work.
#[cfg(feature = "broker")]
fn scenes(base: &std::path::Path) -> Vec<PathBuf> {
    let ours = format!("handfast-siege-{}-", std::process::id());
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_weak_is_never_a_yes() {
        assert_eq!(exit_of(Verdict::Held), Exit::Yes);
        assert_eq!(exit_of(Verdict::Broken), Exit::No);
        assert_eq!(exit_of(Verdict::TooWeak), Exit::CannotTell);
        assert_eq!(exit_of(Verdict::Starved), Exit::CannotTell);
    }
}
