//! A disk that is really full, and a filesystem that is made read-only while a worker uses it.
//! Both on a small tmpfs in a mount namespace of the worker's own.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, mount, mount_remount};

use super::judge::{FaultAnswer, judge, set};
use super::report::Count;
use super::scenario::Scenario;
use super::worker::{CANNOT, open};
use crate::pace::Jitter;

/// Enough for a scene twice and no more.
const SIZE: &str = "size=512k,mode=0700";

/// How many bytes are left free, in pages.
const PAGES: u64 = 40;

/// How often a remount meets an operation.
const REMOUNTS: u64 = 150;

/// Runs a worker in namespaces of its own; what it counted, or why it could not.
pub(super) fn run(worker: &Command) -> io::Result<Result<Count, String>> {
    let mut command = Command::new("unshare");
    command.arg(match rustix::process::geteuid().is_root() {
        true => "-m",
        false => "-Urm",
    });
    let output = command
        .arg("--")
        .arg(worker.get_program())
        .args(worker.get_args())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err("unshare is not installed".to_owned()));
        }
        done => done?,
    };
    match Count::parse(&output.stdout) {
        Some(count) if output.status.success() => Ok(Ok(count)),
        _ => Ok(Err(
            "nothing can be mounted here: that needs root or user namespaces".to_owned(),
        )),
    }
}

fn mounted(top: &Path) -> Option<PathBuf> {
    let place = top.join("mounted");
    std::fs::create_dir_all(&place).ok()?;
    let options = std::ffi::CString::new(SIZE).ok()?;
    mount(
        "tmpfs",
        &place,
        "tmpfs",
        MountFlags::empty(),
        Some(options.as_c_str()),
    )
    .ok()?;
    Some(place)
}

/// A fresh scene in place of what is there.
fn set_again(scenario: &Scenario, top: &Path) -> io::Result<()> {
    for dir in ["root", "outside"] {
        match std::fs::remove_dir_all(top.join(dir)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    set(scenario, top)
}

fn act(scenario: &Scenario, top: &Path, backend: &str) -> Option<FaultAnswer> {
    let root = open(top, backend)?;
    let version = scenario.prepare(&root).ok()?;
    let result = scenario.act(&root, version.as_ref(), &top.join("root"));
    FaultAnswer::of_code(Some(FaultAnswer::code(result).into()))
}

/// The operation with every number of free pages from none to enough.
pub(super) fn full_disk(scenario: &Scenario, top: &Path, backend: &str) -> u8 {
    let count = || -> Option<Count> {
        let top = mounted(top)?;
        let mut count = Count::default();
        for pages in 0..PAGES {
            set_again(scenario, &top).ok()?;
            let filler = top.join("filler");
            fill(&filler, pages * 4096).ok()?;
            let answer = act(scenario, &top, backend)?;
            std::fs::remove_file(&filler).ok()?;
            count.add(answer, judge(scenario, &top, answer, false), || {
                format!("{pages} pages free")
            });
        }
        Some(count)
    };
    tell(count())
}

/// Fills the filesystem until this many bytes are free.
fn fill(filler: &Path, free: u64) -> io::Result<()> {
    let mut file = std::fs::File::create(filler)?;
    let page = [1; 4096];
    while file.write_all(&page).is_ok() {}
    let have = file.metadata()?.len();
    file.set_len(have.saturating_sub(free))
}

/// The operation once in each round, while the filesystem turns read-only.
pub(super) fn read_only(scenario: &Scenario, top: &Path, backend: &str) -> u8 {
    let count = || -> Option<Count> {
        let top = mounted(top)?;
        let mut count = Count::default();
        let mut jitter = Jitter::new(3);
        // The naive writer has as many chances as it needs to come to harm.
        let rounds = REMOUNTS * if scenario.control { 10 } else { 1 };
        for round in 0..rounds {
            if scenario.control && count.violations > 0 {
                break;
            }
            set_again(scenario, &top).ok()?;
            let start = Barrier::new(2);
            let pause = Duration::from_micros(jitter.next() % 400);
            let answer = std::thread::scope(|scope| {
                let work = scope.spawn(|| {
                    start.wait();
                    act(scenario, &top, backend)
                });
                start.wait();
                let begun = Instant::now();
                while begun.elapsed() < pause {
                    std::hint::spin_loop();
                }
                // Refused while a file is open for writing; soon none is.
                while !work.is_finished() {
                    if remount(&top, MountFlags::RDONLY) {
                        break;
                    }
                }
                work.join().ok().flatten()
            });
            if !remount(&top, MountFlags::empty()) {
                return None;
            }
            // Not even its preparation was possible: nothing was tried.
            let Some(answer) = answer else { continue };
            count.add(answer, judge(scenario, &top, answer, false), || {
                format!("round {round}")
            });
        }
        Some(count)
    };
    tell(count())
}

fn remount(top: &Path, flags: MountFlags) -> bool {
    let options = c"";
    mount_remount(top, flags, options).is_ok()
}

/// The counts on standard output.
fn tell(count: Option<Count>) -> u8 {
    let Some(count) = count else { return CANNOT };
    match io::stdout().write_all(count.line().as_bytes()) {
        Ok(()) => 0,
        Err(_) => CANNOT,
    }
}
