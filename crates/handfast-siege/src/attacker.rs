//! The attackers, who change the tree while a victim works: threads, or a process of its own.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::attacks::{self, Attack};
use crate::cores;
use crate::layers::{self, Layer};
use crate::pace::{Jitter, Pace};

/// One change of the tree; says whether it took place.
pub(crate) type Swap = Box<dyn FnMut() -> bool + Send>;

/// How attackers run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    Thread,
    Process,
    /// Inside the same session or lease: a process where one can be started, else a thread.
    Accomplice,
}

impl Way {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Process => "process",
            Self::Accomplice => "accomplice",
        }
    }
}

/// How to start a process that attacks: a program whose `main` calls [`serve_attacker`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AttackerProgram {
    /// The program, usually the one that is running.
    pub program: PathBuf,
    /// Arguments that make it an attacker; attack, directory, leaf and the parent's id follow.
    pub arguments: Vec<String>,
}

impl AttackerProgram {
    /// A program and the arguments that make it an attacker.
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        Self { program, arguments }
    }
}

/// The orders of an attacker process: the arguments after those that make it one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Order {
    /// Which attack.
    pub attack: String,
    /// The siege's private directory.
    pub top: PathBuf,
    /// Which name is swapped, where the attack asks.
    pub leaf: String,
    /// The process that started it, and with which it ends.
    pub parent: u32,
}

impl Order {
    /// Reads an order as it was given on the command line.
    #[must_use]
    pub fn parse(words: &[std::ffi::OsString]) -> Option<Self> {
        let [attack, top, leaf, parent] = words else {
            return None;
        };
        Some(Self {
            attack: attack.to_str()?.to_owned(),
            top: PathBuf::from(top),
            leaf: leaf.to_str()?.to_owned(),
            parent: parent.to_str()?.parse().ok()?,
        })
    }
}

/// An order for an attack that does not exist.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnknownAttack;

impl fmt::Display for UnknownAttack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no attack of this name runs as a process")
    }
}

impl std::error::Error for UnknownAttack {}

/// Where in the file between both a number stands: what the attacker did, at which pace it is to.
const SWAPS: u64 = 0;
const PACE: u64 = 8;

/// Does what a siege started this process for, until it is killed or the siege is gone: attacks, or
/// serves as a broker or an MCP server. An attacker's standard output is a file; what the attacker
/// did so far is the first number in it, and the second is how long the attacker is to pause.
///
/// # Errors
/// If the attack is unknown; otherwise it returns only when its parent is gone.
pub fn serve_attacker(order: &Order) -> Result<(), UnknownAttack> {
    let kill = rustix::process::Signal::KILL;
    let dies_along = rustix::process::set_parent_process_death_signal(Some(kill)).is_ok();
    if let Some(layer) = Layer::named(&order.attack) {
        return layers::serve(layer, &order.top).map_err(|_| UnknownAttack);
    }
    let mut swap = match order.attack.as_str() {
        ACCOMPLICE => accomplice(&order.top, &order.leaf).map_err(|_| UnknownAttack)?,
        name => {
            let attack = attacks::find(name).ok_or(UnknownAttack)?;
            let swaps = (attack.swaps)(&order.top, &order.leaf);
            swaps.into_iter().next().ok_or(UnknownAttack)?
        }
    };
    cores::elsewhere();
    let mut jitter = Jitter::new(order.parent.into());
    let mut swaps = 0_u64;
    let Ok(told) = rustix::io::dup(std::io::stdout()) else {
        return Ok(());
    };
    let told = File::from(told);
    loop {
        // Asked each time where the kernel does not see to it; and once in case the parent was gone
        // before it could.
        if (swaps == 0 || !dies_along) && !is_child_of(order.parent) {
            return Ok(());
        }
        if swap() {
            swaps += 1;
            if told.write_all_at(&swaps.to_le_bytes(), SWAPS).is_err() {
                return Ok(());
            }
        }
        jitter.pause(number_at(&told, PACE).map_or(Pace::QUICK, Pace::unpacked));
    }
}

/// The name by which an accomplice inside the same session or lease is started.
const ACCOMPLICE: &str = "accomplice";

/// An accomplice inside the layer of an arena: `who` is the layer and the two names, with slashes between.
fn accomplice(top: &Path, who: &str) -> io::Result<Swap> {
    let mut words = who.split('/');
    let (layer, one, other) = (words.next(), words.next(), words.next());
    let layer = layer.and_then(Layer::named);
    let (Some(layer), Some(one), Some(other)) = (layer, one, other) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    layers::accomplice(layer, top, (one, other))
}

fn number_at(file: &File, offset: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(u64::from_le_bytes(bytes))
}

fn is_child_of(parent: u32) -> bool {
    std::os::unix::process::parent_id() == parent
}

/// Attackers at work; they stop when this is dropped.
pub(crate) struct Attacker {
    swaps: Arc<AtomicU64>,
    pace: Arc<AtomicU64>,
    kind: Kind,
}

enum Kind {
    Threads {
        done: Arc<AtomicBool>,
        threads: Vec<JoinHandle<()>>,
    },
    Process {
        child: Child,
        told: File,
    },
}

impl Attacker {
    /// Starts an attack on an arena. For an accomplice, `leaf` says in which layer it exchanges what.
    pub(crate) fn start(
        attack: &Attack,
        top: &Path,
        leaf: &str,
        way: Way,
        program: Option<&AttackerProgram>,
    ) -> io::Result<Self> {
        match (way, program) {
            (Way::Thread, _) => Self::threads((attack.swaps)(top, leaf), attack.pace),
            (Way::Process, Some(program)) => {
                Self::process(attack.name, attack.pace, top, leaf, program)
            }
            (Way::Process, None) => Err(io::ErrorKind::Unsupported.into()),
            (Way::Accomplice, Some(program)) => {
                Self::process(ACCOMPLICE, attack.pace, top, leaf, program)
            }
            (Way::Accomplice, None) => Self::threads(vec![accomplice(top, leaf)?], attack.pace),
        }
    }

    fn threads(swaps: Vec<Swap>, pace: Pace) -> io::Result<Self> {
        let done = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicU64::new(0));
        let pace = Arc::new(AtomicU64::new(pace.packed()));
        let mut threads = Vec::new();
        for (index, mut swap) in swaps.into_iter().enumerate() {
            let (done, count, pace) = (Arc::clone(&done), Arc::clone(&count), Arc::clone(&pace));
            threads.push(std::thread::Builder::new().spawn(move || {
                cores::elsewhere();
                let mut jitter = Jitter::new(index as u64 + 1);
                while !done.load(Ordering::Relaxed) {
                    if swap() {
                        count.fetch_add(1, Ordering::Release);
                    }
                    jitter.pause(Pace::unpacked(pace.load(Ordering::Relaxed)));
                }
            })?);
        }
        Ok(Self {
            swaps: count,
            pace,
            kind: Kind::Threads { done, threads },
        })
    }

    fn process(
        role: &str,
        pace: Pace,
        top: &Path,
        leaf: &str,
        program: &AttackerProgram,
    ) -> io::Result<Self> {
        // A file as standard output carries the count without waiting for anybody.
        let path = top.join("swaps");
        let told = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        told.write_all_at(&pace.packed().to_le_bytes(), PACE)?;
        let child = Command::new(&program.program)
            .args(&program.arguments)
            .arg(role)
            .arg(top)
            .arg(leaf)
            .arg(std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(told.try_clone()?)
            .stderr(Stdio::null())
            .spawn()?;
        let mut attacker = Self {
            swaps: Arc::new(AtomicU64::new(0)),
            pace: Arc::new(AtomicU64::new(pace.packed())),
            kind: Kind::Process { child, told },
        };
        let begun = Instant::now();
        while attacker.swaps() == 0 {
            if attacker.has_ended() || begun.elapsed() > Duration::from_secs(5) {
                return Err(io::Error::other("the attacker process did not begin"));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(attacker)
    }

    fn has_ended(&mut self) -> bool {
        match &mut self.kind {
            Kind::Threads { .. } => false,
            Kind::Process { child, .. } => {
                let ended: io::Result<Option<ExitStatus>> = child.try_wait();
                !matches!(ended, Ok(None))
            }
        }
    }

    /// How often the tree was changed so far.
    pub(crate) fn swaps(&self) -> u64 {
        match &self.kind {
            Kind::Threads { .. } => self.swaps.load(Ordering::Acquire),
            Kind::Process { told, .. } => number_at(told, SWAPS).unwrap_or(0),
        }
    }

    /// Tells the attackers how long to pause from now on.
    pub(crate) fn set_pace(&self, pace: Pace) -> io::Result<()> {
        self.pace.store(pace.packed(), Ordering::Relaxed);
        match &self.kind {
            Kind::Threads { .. } => Ok(()),
            Kind::Process { told, .. } => told.write_all_at(&pace.packed().to_le_bytes(), PACE),
        }
    }

    /// Waits until the attackers have a core, but not for ever: a short cell would be over before.
    pub(crate) fn wait_for_life(&self) {
        let seen = self.swaps();
        let begun = Instant::now();
        while self.swaps() == seen && begun.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    /// Waits until something was changed just now, but not for ever. A turn that began in the middle of
    /// a long pause would meet the worse half more often: what is refused is over sooner.
    pub(crate) fn wait_for_swap(&self) {
        let seen = self.swaps();
        let begun = Instant::now();
        let pause = Pace::unpacked(self.pace.load(Ordering::Relaxed)).most();
        while self.swaps() == seen {
            match begun.elapsed() {
                waited if waited > pause + UNHEARD => return,
                waited if waited < SPIN => std::hint::spin_loop(),
                // The attacker may have no core of its own: let it have ours.
                _ if pause < SPIN * 4 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(20)),
            }
        }
    }
}

/// How long a change is awaited without giving up the core.
const SPIN: Duration = Duration::from_micros(100);

/// How much longer than its pause an attacker may take.
const UNHEARD: Duration = Duration::from_micros(420);

impl Drop for Attacker {
    fn drop(&mut self) {
        match &mut self.kind {
            Kind::Threads { done, threads } => {
                done.store(true, Ordering::Relaxed);
                for thread in threads.drain(..) {
                    drop(thread.join());
                }
            }
            Kind::Process { child, .. } => {
                drop(child.kill());
                drop(child.wait());
            }
        }
    }
}
