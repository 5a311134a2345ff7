//! What a session with many changed files costs to show and to commit. Prepare it, then look at it in
//! a process of its own:
//!
//! ```text
//! many_changes prepare DIR 10000
//! many_changes diff DIR
//! many_changes commit DIR
//! ```
//!
//! `DIR/new` and `DIR/plain` are for comparison: `cp -a DIR/new/. DIR/plain` writes the same files.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it sets its scene with ambient calls, and says what it measured"
)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use handfast::files::Put;
use handfast::{Durability, WriteOptions};
use handfast_session::{
    Caller, Catalogue, CommitOptions, MountSpec, ReviewOptions, Session, SessionSpec, VirtualPath,
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["prepare", dir, count] => prepare(Path::new(dir), count.parse()?),
        ["diff", dir] => measured(|| diff(Path::new(dir))),
        ["commit", dir] => measured(|| commit(Path::new(dir))),
        _ => Err("many_changes prepare DIR COUNT | diff DIR | commit DIR".into()),
    }
}

fn prepare(dir: &Path, count: usize) -> Outcome {
    for (name, content) in [("base", "old"), ("plain", "old"), ("new", "newer")] {
        std::fs::create_dir(dir.join(name))?;
        for number in 0..count {
            let at = dir.join(name).join(format!("f{number}"));
            std::fs::write(at, format!("{content} content\n"))?;
        }
    }
    // Of very young files a digest is taken each time: not what is to be measured.
    std::thread::sleep(Duration::from_secs(3));
    let mount = MountSpec::new(dir.join("base"), VirtualPath::parse("/")?);
    let catalogue = Catalogue::open_ambient(dir.join("state"))?;
    catalogue.create("s", &SessionSpec::new().mount(mount))?;
    let session = open(dir)?;
    let quick = WriteOptions::new().durability(Durability::None);
    for number in 0..count {
        let path = format!("/f{number}");
        session.put(path, b"newer content\n", Put::Replace, quick)?;
    }
    Ok(())
}

fn open(dir: &Path) -> Outcome<Session> {
    let catalogue = Catalogue::open_ambient(dir.join("state"))?;
    Ok(catalogue.open("s", Caller::new("example"))?)
}

/// Everything that `session diff` shows, thrown away.
fn diff(dir: &Path) -> Outcome<usize> {
    let mut count = 0;
    open(dir)?.review(&ReviewOptions::default(), &mut |change| {
        let lines = change.lines();
        count += usize::from(!change.facts().is_empty() && !lines.is_empty());
        Ok(())
    })?;
    Ok(count)
}

fn commit(dir: &Path) -> Outcome<usize> {
    let report = open(dir)?.commit(&CommitOptions::default(), &mut |_, _| {})?;
    match report.conflicts.is_empty() {
        true => Ok(report.committed.len()),
        false => Err("the base was changed meanwhile".into()),
    }
}

fn measured(work: impl FnOnce() -> Outcome<usize>) -> Outcome {
    let begun = Instant::now();
    let count = work()?;
    let wall = begun.elapsed();
    let spent = std::fs::read_to_string("/proc/self/schedstat")?;
    let spent: u64 = spent.split(' ').next().unwrap_or_default().parse()?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!(
        "{count} files: {wall:.2?}, {:.2?} of the processor, {}",
        Duration::from_nanos(spent),
        peak.unwrap_or_default()
    );
    Ok(())
}
