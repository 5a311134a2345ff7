//! The machine fails while the library works: what was answered must be true all the same.
//!
//! Every scenario meets every kind of fault at every place where it can happen. Afterwards the tree
//! is whole-old or whole-new, as was answered; nothing is stray after `recover`; nothing outside was
//! touched. A naive writer goes through the same and must come to harm, or the fault shows nothing.

mod judge;
mod mask;
mod mounted;
mod power;
pub mod render;
mod report;
mod scenario;
mod strace;
mod worker;

pub use report::{FaultReport, FaultRow};
pub use worker::{WorkOrder, serve_worker};

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use handfast::{BackendChoice, Root, RootOptions};

use self::judge::{FaultAnswer, judge};
use self::report::Count;
use self::scenario::Scenario;
use crate::arena::Arena;
use crate::attacker::AttackerProgram;
use crate::report::Skipped;
use crate::siege::SiegeError;

/// Errors that single calls answer.
const ERRORS: [&str; 7] = [
    "error=ENOSPC",
    "error=EDQUOT",
    "error=EIO",
    "error=EROFS",
    "error=EMFILE",
    "error=ENOMEM",
    "error=EINTR",
];

/// How many descriptors are left, at most.
const DESCRIPTORS: u64 = 12;

/// At how many places, and what came of it; or why it cannot be tried here.
type FaultResult = Result<(usize, Count), String>;

/// A kind of fault.
struct InjectedFault {
    name: &'static str,
    does: &'static str,
    /// Why it cannot be tried here.
    missing: fn(&Path) -> Option<String>,
    sweep: fn(&Sweep<'_>) -> io::Result<FaultResult>,
}

static FAULTS: [InjectedFault; 7] = [
    InjectedFault {
        name: "error",
        does: "each system call answers each of ENOSPC, EDQUOT, EIO, EROFS, EMFILE, ENOMEM, EINTR",
        missing: |_| strace::missing(),
        sweep: |sweep| sweep.at_each_call(&ERRORS).map(Ok),
    },
    InjectedFault {
        name: "kill",
        does: "the process dies at each system call",
        missing: |_| strace::missing(),
        sweep: |sweep| sweep.at_each_call(&["signal=SIGKILL"]).map(Ok),
    },
    InjectedFault {
        name: "mask",
        does: "each system call is absent (ENOSYS) or forbidden (EPERM) as a whole",
        missing: |_| None,
        sweep: |sweep| {
            let lacks = mask::CALLS.iter().flat_map(|(call, _)| {
                let errnos = mask::ERRNOS.iter();
                errnos.map(move |(errno, _)| format!("mask:{errno}:{call}"))
            });
            sweep.with_each(lacks).map(Ok)
        },
    },
    InjectedFault {
        name: "descriptors",
        does: "few descriptors are left, from none upwards",
        missing: |_| None,
        sweep: |sweep| {
            let lacks = (0..DESCRIPTORS).map(|free| format!("descriptors:{free}"));
            sweep.with_each(lacks).map(Ok)
        },
    },
    InjectedFault {
        name: "full-disk",
        does: "a small filesystem is full, but for a few pages, from none upwards",
        missing: |_| None,
        sweep: |sweep| sweep.mounted("full-disk"),
    },
    InjectedFault {
        name: "read-only",
        does: "the filesystem is made read-only while the operation runs",
        missing: |_| None,
        sweep: |sweep| sweep.mounted("read-only"),
    },
    InjectedFault {
        name: "power-loss",
        does: "an ext4 filesystem loses its power at each system call and after the answer, with its journal written and not",
        missing: |base| strace::missing().or_else(|| power::missing(base)),
        sweep: |sweep| {
            power::sweep(sweep.scenario, sweep.base, |top| sweep.worker(top, "-")).map(Ok)
        },
    },
];

/// One scenario on one backend.
struct Sweep<'a> {
    base: &'a Path,
    program: &'a AttackerProgram,
    scenario: &'static Scenario,
    backend: &'static str,
}

impl Sweep<'_> {
    fn worker(&self, top: &Path, lack: &str) -> Command {
        let mut command = Command::new(&self.program.program);
        command
            .args(&self.program.arguments)
            .arg(self.scenario.name)
            .arg(top)
            .arg(self.backend)
            .arg(lack);
        command
    }

    /// One run in a scene of its own.
    fn once(
        &self,
        count: &mut Count,
        at: impl FnOnce() -> String,
        run: impl FnOnce(&Path) -> io::Result<Option<i32>>,
    ) -> io::Result<()> {
        let arena = self.scene()?;
        let code = run(arena.top())?;
        let answer = FaultAnswer::of_code(code)
            .ok_or_else(|| io::Error::other(format!("the worker ended with {code:?}")))?;
        let found = judge(self.scenario, arena.top(), answer, false);
        count.add(answer, found, at);
        Ok(())
    }

    fn scene(&self) -> io::Result<Arena> {
        let arena = Arena::new(self.base)?;
        judge::set(self.scenario, arena.top())?;
        Ok(arena)
    }

    fn at_each_call(&self, faults: &[&str]) -> io::Result<(usize, Count)> {
        let arena = self.scene()?;
        let calls = strace::calls(&self.worker(arena.top(), "-"), &arena.path("trace"))?;
        let mut count = Count::default();
        for call in &calls {
            for fault in faults {
                let at = || format!("{} {} {fault}", call.name, call.number);
                self.once(&mut count, at, |top| {
                    strace::inject(&self.worker(top, "-"), call, fault)
                })?;
            }
        }
        Ok((calls.len(), count))
    }

    fn with_each(&self, lacks: impl Iterator<Item = String>) -> io::Result<(usize, Count)> {
        let mut count = Count::default();
        let mut points = 0;
        for lack in lacks {
            points += 1;
            self.once(
                &mut count,
                || lack.clone(),
                |top| {
                    let status = self
                        .worker(top, &lack)
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status()?;
                    Ok(status.code())
                },
            )?;
        }
        Ok((points, count))
    }

    fn mounted(&self, lack: &str) -> io::Result<FaultResult> {
        let arena = Arena::new(self.base)?;
        let told = mounted::run(&self.worker(arena.top(), lack))?;
        Ok(told.map(|count| (usize::try_from(count.runs).unwrap_or(usize::MAX), count)))
    }
}

/// A sweep of faults, as it is asked for.
#[derive(Clone, Debug)]
pub struct Faults {
    base: PathBuf,
    program: AttackerProgram,
    only: Vec<String>,
}

impl Faults {
    /// All faults, below `base`. Workers are started by this program, whose `main` calls
    /// [`serve_worker`].
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, program: AttackerProgram) -> Self {
        Self {
            base: base.into(),
            program,
            only: Vec::new(),
        }
    }

    /// Runs only rows whose `fault/scenario` contains one of these, and the controls of their
    /// faults.
    #[must_use]
    pub fn only(mut self, patterns: impl IntoIterator<Item = String>) -> Self {
        self.only.extend(patterns);
        self
    }

    /// Breaks the machine, and reports the progress: fault, scenario, backend.
    ///
    /// # Errors
    /// If nothing could be tried at all. What could not be tried among other things is in the
    /// report.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(&str, &str, &str),
    ) -> Result<FaultReport, SiegeError> {
        let begun = Instant::now();
        let base = self.base.canonicalize().map_err(SiegeError::Scene)?;
        let mut report = FaultReport {
            filesystem: crate::siege::filesystem(&base),
            ..FaultReport::default()
        };
        let mut backends = vec!["walk"];
        let kernel = RootOptions::new().backend(BackendChoice::Kernel);
        match Root::open_ambient_with(&base, kernel) {
            Ok(_) => backends.insert(0, "kernel"),
            Err(error) => report.skipped.push(Skipped {
                what: "the kernel backend".to_owned(),
                why: error.detail(),
            }),
        }
        let mut matched = false;
        for fault in &FAULTS {
            let wanted = |scenario: &Scenario| self.wants(fault.name, scenario.name);
            let wanted: Vec<_> = scenario::ALL.iter().filter(|one| wanted(one)).collect();
            if wanted.is_empty() {
                continue;
            }
            matched = true;
            if let Some(why) = (fault.missing)(&base) {
                report.skipped.push(Skipped {
                    what: fault.name.to_owned(),
                    why,
                });
                continue;
            }
            report.faults.push((fault.name, fault.does));
            for scenario in scenario::ALL {
                let is_wanted = wanted.iter().any(|one| one.name == scenario.name);
                let backends = match scenario.control {
                    true => &["none"][..],
                    false if is_wanted => &backends,
                    false => continue,
                };
                for &backend in backends {
                    progress(fault.name, scenario.name, backend);
                    let sweep = Sweep {
                        base: &base,
                        program: &self.program,
                        scenario,
                        backend,
                    };
                    let told = (fault.sweep)(&sweep).unwrap_or_else(|error| Err(error.to_string()));
                    match told {
                        Ok((points, count)) => report.rows.push(FaultRow {
                            fault: fault.name,
                            scenario: scenario.name,
                            backend,
                            control: scenario.control,
                            points: points as u64,
                            runs: count.runs,
                            felt: count.felt,
                            violations: count.violations,
                            first: count.first,
                        }),
                        Err(why) => report.skipped.push(Skipped {
                            what: format!("{}/{} on {backend}", fault.name, scenario.name),
                            why,
                        }),
                    }
                }
            }
            if !report.rows.iter().any(|row| row.fault == fault.name) {
                report.faults.pop();
            }
        }
        if !matched {
            return Err(SiegeError::NothingMatches);
        }
        report.milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(report)
    }

    fn wants(&self, fault: &str, scenario: &str) -> bool {
        let name = format!("{fault}/{scenario}");
        self.only.is_empty() || self.only.iter().any(|pattern| name.contains(pattern))
    }
}
