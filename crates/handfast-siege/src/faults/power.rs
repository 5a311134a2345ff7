//! Power loss: a filesystem in a file is shut down in the middle of an operation, as if the machine
//! had lost its power, and mounted again.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::judge::{FaultAnswer, judge, set};
use super::report::Count;
use super::scenario::Scenario;
use super::strace::{self, SystemCall};
use crate::arena::Arena;
use crate::sys::{self, Shutdown};

/// Large enough for a journal.
const SIZE: u64 = 16 << 20;

/// Why power cannot be lost here; nothing if it can.
pub(super) fn missing(base: &Path) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root, for a loop mount".to_owned());
    }
    let tried = apart(|| {
        let arena = Arena::new(base)?;
        let disk = Disk::new(&arena)?;
        disk.make()?;
        disk.mount()?;
        disk.unmount()
    });
    tried
        .err()
        .map(|error| format!("an ext4 image cannot be mounted: {error}"))
}

/// Runs in a thread with mounts of its own: a process that copied ours would keep a filesystem alive
/// that was shut down, and the next mount would meet it again.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || {
            sys::own_mounts()?;
            work()
        })?;
        let done = thread.join();
        done.unwrap_or_else(|_| Err(io::Error::other("the sweep did not end")))
    })
}

/// A filesystem in a file.
struct Disk {
    image: PathBuf,
    template: PathBuf,
    place: PathBuf,
}

impl Disk {
    fn new(arena: &Arena) -> io::Result<Self> {
        let disk = Self {
            image: arena.path("image"),
            template: arena.path("template"),
            place: arena.path("mounted"),
        };
        std::fs::create_dir(&disk.place)?;
        Ok(disk)
    }

    fn make(&self) -> io::Result<()> {
        File::create(&self.image)?.set_len(SIZE)?;
        run(Command::new("mkfs.ext4").arg("-qF").arg(&self.image))
    }

    fn mount(&self) -> io::Result<()> {
        run(Command::new("mount")
            .args(["-t", "ext4", "-o", "loop,commit=300"])
            .arg(&self.image)
            .arg(&self.place))
    }

    fn unmount(&self) -> io::Result<()> {
        run(Command::new("umount").arg(&self.place))
    }

    /// The scene on a clean disk, kept to begin from again and again.
    fn keep(&self, scenario: &Scenario) -> io::Result<()> {
        self.make()?;
        self.mount()?;
        let made = set(scenario, &self.place);
        self.unmount()?;
        made?;
        std::fs::rename(&self.image, &self.template)
    }

    fn restore(&self) -> io::Result<()> {
        // A fresh file: the kernel may still be letting go of the one before.
        match std::fs::remove_file(&self.image) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => std::fs::copy(&self.template, &self.image)?,
        };
        self.mount()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Only where something went wrong before it was unmounted.
        drop(self.unmount());
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().next().unwrap_or("no reason given");
    Err(io::Error::other(handfast::escape(words.as_bytes())))
}

/// Loses power at every call of a scenario and after its answer, with what is in the journal's
/// memory and without.
pub(super) fn sweep(
    scenario: &Scenario,
    base: &Path,
    worker: impl Fn(&Path) -> Command + Sync,
) -> io::Result<(usize, Count)> {
    apart(|| sweep_here(scenario, base, &worker))
}

fn sweep_here(
    scenario: &Scenario,
    base: &Path,
    worker: &dyn Fn(&Path) -> Command,
) -> io::Result<(usize, Count)> {
    let arena = Arena::new(base)?;
    let disk = Disk::new(&arena)?;
    disk.keep(scenario)?;
    disk.restore()?;
    let calls = strace::calls(&worker(&disk.place), &arena.path("trace"));
    disk.unmount()?;
    let calls = calls?;
    let mut points: Vec<Option<&SystemCall>> = calls.iter().map(Some).collect();
    points.push(None);
    let mut count = Count::default();
    for point in &points {
        for how in [Shutdown::DropJournal, Shutdown::FlushJournal] {
            disk.restore()?;
            let worker = worker(&disk.place);
            let code = match point {
                Some(call) => strace::inject(&worker, call, "signal=SIGKILL"),
                None => finish(worker),
            };
            let shut = File::open(&disk.place).and_then(|dir| sys::shut_down(&dir, how));
            disk.unmount()?;
            shut?;
            let answer = FaultAnswer::of_code(code?)
                .ok_or_else(|| io::Error::other("the worker could not begin"))?;
            disk.mount()?;
            let found = judge(scenario, &disk.place, answer, true);
            disk.unmount()?;
            count.add(answer, found, || match point {
                Some(call) => format!("{how:?} at {} {}", call.name, call.number),
                None => format!("{how:?} after the answer"),
            });
        }
    }
    Ok((points.len(), count))
}

fn finish(mut worker: Command) -> io::Result<Option<i32>> {
    let status = worker
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    Ok(status.code())
}
