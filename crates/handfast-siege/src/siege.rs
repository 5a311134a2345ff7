//! What is asked for, and the order in which it is done.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use handfast::{BackendChoice, ErrorKind, Root, RootOptions};

use crate::attacker::AttackerProgram;
use crate::attacks;
use crate::cell::{Cell, Finding};
use crate::controls;
use crate::cores::Pinned;
use crate::field::Field;
use crate::layers::{Layer, RULED};
use crate::others::Others;
use crate::report::Report;

/// Which backends are attacked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Backends {
    /// The kernel's and the walk.
    #[default]
    Both,
    /// The kernel's only.
    Kernel,
    /// The walk only.
    Walk,
}

/// How far a siege is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The attack under way.
    pub attack: &'a str,
    /// The verb under attack.
    pub verb: &'a str,
    /// On which backend.
    pub backend: &'a str,
    /// Which attack of how many, from one.
    pub index: usize,
    /// How many attacks there are.
    pub attacks: usize,
}

/// What is left out where `openat2` is absent or masked.
const NO_KERNEL: &str = "the kernel backend";

/// Why nothing could be tried.
#[derive(Debug)]
#[non_exhaustive]
pub enum SiegeError {
    /// No cell has a name that contains any of the patterns.
    NothingMatches,
    /// The backend that was asked for does not work here.
    NoBackend(String),
    /// The scene could not be set.
    Scene(io::Error),
}

impl fmt::Display for SiegeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingMatches => f.write_str("no attack, verb or layer has such a name"),
            Self::NoBackend(why) => write!(f, "the kernel backend does not work here: {why}"),
            Self::Scene(error) => write!(f, "the private directory cannot be made: {error}"),
        }
    }
}

impl std::error::Error for SiegeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scene(error) => Some(error),
            _ => None,
        }
    }
}

/// A siege, as it is asked for.
#[derive(Clone, Debug)]
pub struct Siege {
    base: PathBuf,
    rounds: u64,
    backends: Backends,
    only: Vec<String>,
    program: Option<AttackerProgram>,
}

impl Siege {
    /// A siege of 2,000 rounds a cell on both backends, in a private directory below `base`.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            rounds: 2000,
            backends: Backends::Both,
            only: Vec::new(),
            program: None,
        }
    }

    /// Sets how many attempts a cell makes.
    #[must_use]
    pub fn rounds(mut self, rounds: u64) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// Sets which backends are attacked.
    #[must_use]
    pub fn backends(mut self, backends: Backends) -> Self {
        self.backends = backends;
        self
    }

    /// Runs only cells whose `attack/verb@layer` contains one of these.
    #[must_use]
    pub fn only(mut self, patterns: impl IntoIterator<Item = String>) -> Self {
        self.only.extend(patterns);
        self
    }

    /// Names the program that can be started as an attacker; without it attackers are threads.
    #[must_use]
    pub fn attackers(mut self, program: AttackerProgram) -> Self {
        self.program = Some(program);
        self
    }

    /// Attacks, and reports the progress.
    ///
    /// # Errors
    /// If nothing could be tried at all. What could not be tried among other things is in the
    /// report.
    pub fn run(&self, progress: &mut dyn FnMut(&Progress<'_>)) -> Result<Report, SiegeError> {
        let begun = Instant::now();
        let others = Others::start();
        let _pinned = Pinned::new();
        // The operator's own path: a temporary directory may well be a link.
        let base = self.base.canonicalize().map_err(SiegeError::Scene)?;
        let (layers, missing) = self.available(&base)?;
        let mut field = Field {
            report: Report {
                rounds: self.rounds,
                filesystem: filesystem(&base),
                user: match rustix::process::geteuid().is_root() {
                    true => "root",
                    false => "user",
                },
                ..Report::default()
            },
            base,
            rounds: self.rounds,
            layers,
            only: self.only.clone(),
            program: self.program.clone(),
            progress,
            position: (0, attacks::ALL.len()),
        };
        if let Some(why) = missing {
            field.skip(NO_KERNEL, why);
        }
        for (index, attack) in attacks::ALL.iter().enumerate() {
            field.position.0 = index + 1;
            let before = field.report.cells.len();
            if let Err(error) = (attack.run)(attack, &mut field) {
                field.skip(attack.name, error.to_string());
                // What this filesystem cannot do is no weakness of the attack; anything else is.
                let cannot = matches!(
                    error.kind(),
                    io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
                );
                if !cannot || field.report.cells.len() > before {
                    field.report.broken_off.push(attack.name);
                }
            }
            if field.report.cells.len() == before {
                continue;
            }
            field
                .report
                .attacks
                .push((attack.name, attack.does, attack.harm));
            // Without its control the attack is too weak, and the verdict says so.
            if let Err(error) = controls::run(attack, &mut field) {
                field.skip(format!("{} control", attack.name), error.to_string());
            }
        }
        let mut report = field.report;
        let is_weak = |cell: &&mut Cell| !cell.control && cell.finding() == Finding::Weak;
        let shares = others.look();
        for cell in report.cells.iter_mut().filter(is_weak) {
            cell.busy = shares.are_too_small().then(|| shares.to_string());
        }
        report.milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A backend that is not there was left out whatever the patterns say.
        let tried_nothing = report
            .skipped
            .iter()
            .all(|skipped| skipped.what == NO_KERNEL);
        if report.cells.is_empty() && tried_nothing {
            return Err(SiegeError::NothingMatches);
        }
        Ok(report)
    }

    /// Layers that are asked for and there, and why a backend of the root is not. The layers above a
    /// root resolve as the machine allows, and are attacked unless one backend was asked for.
    fn available(&self, base: &Path) -> Result<(Vec<Layer>, Option<String>), SiegeError> {
        if self.backends == Backends::Walk {
            return Ok((vec![Layer::Walk], None));
        }
        let walk = [&[Layer::Walk], RULED].concat();
        let options = RootOptions::new().backend(BackendChoice::Kernel);
        match (Root::open_ambient_with(base, options), self.backends) {
            (Ok(_), Backends::Kernel) => Ok((vec![Layer::Kernel], None)),
            (Ok(_), _) => Ok(([&[Layer::Kernel], &walk[..]].concat(), None)),
            (Err(error), Backends::Kernel) if error.kind() == ErrorKind::Unsupported => {
                Err(SiegeError::NoBackend(error.detail()))
            }
            (Err(error), _) if error.kind() == ErrorKind::Unsupported => {
                Ok((walk, Some(error.detail())))
            }
            (Err(error), _) => Err(SiegeError::Scene(error.into())),
        }
    }
}

pub(crate) fn filesystem(base: &Path) -> String {
    Root::open_ambient(base).map_or_else(
        |_| "unknown".to_owned(),
        |root| root.enforcement().filesystem.to_string(),
    )
}
