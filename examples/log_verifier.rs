//! A program that keeps watch over a log: it remembers the last checkpoint it saw, and notices when
//! the log was changed, cut off or set back.
//!
//! ```console
//! $ cargo run -p handfast-examples --bin log-verifier -- LOG VKEY MEMORY
//! ```
//!
//! `MEMORY` is a directory for the checkpoint, kept where the log's writer cannot reach. Without
//! arguments it makes a log, looks at it, sets it back and looks again.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use handfast::{ErrorKind, RelPath, Root};
use handfast_ledger::note::VerifierKey;
use handfast_ledger::{
    Context, CreateOptions, Ledger, LedgerRecorder, LogReader, OpenOptions, Verdict, VerifyOptions,
    verify,
};

/// Looks at a log and remembers it if it holds.
fn look(log: &Path, key: &VerifierKey, memory: &Root) -> Result<(Verdict, u64), Box<dyn Error>> {
    let remembered = RelPath::parse("checkpoint")?;
    let reader = LogReader::open(log)?;
    let mut options = VerifyOptions::new().key(key.clone());
    match memory.read(&remembered) {
        Ok(note) => options = options.since(note),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("first look: nothing to compare with")
        }
        Err(error) => return Err(error.into()),
    }
    let report = verify(&reader, &options)?;
    for problem in &report.problems {
        println!("problem: {}", problem.what);
    }
    if report.verdict() == Verdict::Good {
        let log = Root::open_ambient(log)?;
        memory.write(&remembered, log.read(&RelPath::parse("checkpoint")?)?)?;
    }
    Ok((report.verdict(), report.events))
}

/// Writes some events.
fn work(log: &Path, files: &Root, times: u32) -> Result<(), Box<dyn Error>> {
    let ledger = Arc::new(Ledger::open(log, OpenOptions::new())?);
    let recorder = LedgerRecorder::new(Arc::clone(&ledger), Context::new())?;
    let files = files.clone().with_recorder(Arc::new(recorder));
    for number in 0..times {
        files.write(&RelPath::parse(format!("{number}.txt"))?, "hello")?;
    }
    drop(files);
    // The recorder is gone, so this is the last one.
    Arc::into_inner(ledger).ok_or("still in use")?.close()?;
    Ok(())
}

fn show(scene: &Path) -> Result<Vec<Verdict>, Box<dyn Error>> {
    let root = Root::open_ambient(scene)?;
    for name in ["files", "memory"] {
        root.create_dir(&RelPath::parse(name)?)?;
    }
    let (log, keys) = (scene.join("log"), scene.join("keys"));
    let key = CreateOptions::new()
        .name("example")
        .keys(keys)
        .create(&log)?;
    let files = Root::open_ambient(scene.join("files"))?;
    let memory = Root::open_ambient(scene.join("memory"))?;
    let mut verdicts = Vec::new();
    let mut tell = |what: &str, (verdict, events): (Verdict, u64)| {
        println!("{what}: {events} events, {verdict:?}");
        verdicts.push(verdict);
    };

    work(&log, &files, 3)?;
    root.copy_tree(&RelPath::parse("log")?, &RelPath::parse("older")?)?;
    tell("after some work", look(&log, &key, &memory)?);
    work(&log, &files, 3)?;
    tell("after more work", look(&log, &key, &memory)?);
    // Whole and signed, but it ends where the log ended long ago.
    tell("an older copy", look(&scene.join("older"), &key, &memory)?);
    Ok(verdicts)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [log, key, memory] => {
            let memory = Root::open_ambient(memory)?;
            let (verdict, events) = look(Path::new(log), &VerifierKey::parse(key)?, &memory)?;
            println!("{events} events, {verdict:?}");
            if verdict == Verdict::Good {
                Ok(())
            } else {
                Err("not good".into())
            }
        }
        _ => show(tempfile::tempdir()?.path()).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use handfast_ledger::Verdict;

    #[test]
    fn a_log_that_was_set_back_is_noticed() {
        let scene = tempfile::tempdir().unwrap();
        let verdicts = super::show(scene.path()).unwrap();
        assert_eq!(verdicts[..2], [Verdict::Good, Verdict::Good]);
        assert_eq!(verdicts[2], Verdict::Tampered);
    }
}
