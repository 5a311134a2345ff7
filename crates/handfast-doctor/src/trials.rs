//! Guarantees that need something of the filesystem, tried on files of our own.

use std::time::Duration;

use handfast::{
    Durability, ErrorKind, LockKind, RelPath, RenameMode, Root, RootOptions, WriteOptions,
};

use crate::check::{Check, State};
use crate::scratch::{Scratch, TrialPlace};

/// What a trial says: how far, and why.
type TrialResult = (State, String);

/// The promises that hold on every system: each must be a yes.
pub(crate) fn guarantees(scratch: Option<&Scratch>) -> Vec<Check> {
    [
        (
            "hard-links",
            "other names are not written to",
            hard_links as fn(&Root) -> Result<TrialResult, handfast::Error>,
        ),
        (
            "atomic-write",
            "a write is whole or not at all",
            atomic_write,
        ),
        (
            "if-version",
            "a newer version is not overwritten",
            if_version,
        ),
        ("locks", "a lock keeps others out", locks),
    ]
    .map(|(id, title, trial)| run(scratch, id, title, trial))
    .into()
}

/// What makes things better where it is there.
pub(crate) fn offers(scratch: Option<&Scratch>) -> Vec<Check> {
    vec![
        run(scratch, "unnamed-files", "unnamed files", unnamed_files),
        run(
            scratch,
            "chmod-by-descriptor",
            "chmod by descriptor",
            chmod_unopenable,
        ),
    ]
}

/// Runs one trial in a directory of its own.
fn run(
    scratch: Option<&Scratch>,
    id: &'static str,
    title: &'static str,
    trial: fn(&Root) -> Result<TrialResult, handfast::Error>,
) -> Check {
    let root = scratch.and_then(|scratch| scratch.sub_root(id, RootOptions::new()));
    let Some(root) = root else {
        let detail = "there is no directory to try it in";
        return Check::new(id, title, State::Unknown, detail);
    };
    match trial(&root) {
        // What another filesystem can do says nothing about the root's.
        Ok(_) if scratch.is_some_and(|scratch| scratch.place == TrialPlace::Elsewhere) => {
            let detail = "the root is not writable, so it cannot be tried there";
            Check::new(id, title, State::Unknown, detail)
        }
        Ok((state, detail)) => Check::new(id, title, state, detail),
        Err(error) => {
            let state = match error.kind() {
                ErrorKind::Unsupported => State::No,
                _ => State::Unknown,
            };
            Check::new(id, title, state, error.detail())
        }
    }
}

fn yes(detail: &str) -> Result<TrialResult, handfast::Error> {
    Ok((State::Yes, detail.to_owned()))
}

fn name(text: &str) -> RelPath {
    RelPath::root().join(handfast::NameRef::parse(text.as_bytes()).expect("a plain name"))
}

fn hard_links(root: &Root) -> Result<TrialResult, handfast::Error> {
    root.write(&name("one"), b"content")?;
    match root.hard_link(&name("one"), &name("two")) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied) => {
            return yes("this filesystem has no files with several names");
        }
        Err(error) => return Err(error),
    }
    match root.append(&name("two"), b"more") {
        Err(error) if error.kind() == ErrorKind::HardLink => {
            yes("changing a file with several names in place is refused")
        }
        Err(error) => Err(error),
        Ok(_) => Ok((State::No, "a file with several names was changed".into())),
    }
}

fn atomic_write(root: &Root) -> Result<TrialResult, handfast::Error> {
    let options = WriteOptions::new().durability(Durability::Full);
    for content in ["old", "new"] {
        root.write_with(&name("file"), content, options)?;
    }
    if root.read(&name("file"))? == b"new" {
        yes("replaced by one rename, synced before and after")
    } else {
        Ok((State::No, "the file does not hold what was written".into()))
    }
}

fn if_version(root: &Root) -> Result<TrialResult, handfast::Error> {
    root.write(&name("one"), b"1")?;
    root.write(&name("two"), b"2")?;
    root.rename(&name("one"), &name("two"), RenameMode::Exchange)?;
    let seen = root.version(&name("one"))?;
    root.write_if(&name("one"), &seen, b"3")?;
    match root.write_if(&name("one"), &seen, b"4") {
        Err(error) if error.kind() == ErrorKind::Stale => {
            yes("two names can be exchanged, so a write can be taken back")
        }
        Err(error) => Err(error),
        Ok(_) => Ok((State::No, "a newer version was overwritten".into())),
    }
}

fn locks(root: &Root) -> Result<TrialResult, handfast::Error> {
    let lock = || root.lock(&name("lock"), LockKind::Exclusive, Duration::ZERO);
    let _held = lock()?;
    match lock() {
        Err(error) if error.kind() == ErrorKind::Busy => yes("flock works here"),
        Err(error) => Err(error),
        Ok(_) => Ok((State::No, "two holders got the same lock".into())),
    }
}

fn unnamed_files(root: &Root) -> Result<TrialResult, handfast::Error> {
    let _file = root.temp_file(&RelPath::root())?;
    match root.read_dir(&RelPath::root())?.next_entry()? {
        None => yes("a writer that is killed leaves nothing behind"),
        Some(_) => Ok((
            State::No,
            "a writer that is killed leaves a file, which `fs recover` removes".to_owned(),
        )),
    }
}

/// A file that its owner may neither read nor write can only be reached without opening it.
fn chmod_unopenable(root: &Root) -> Result<TrialResult, handfast::Error> {
    let file = name("file");
    root.write(&file, b"")?;
    root.chmod(&file, 0)?;
    match root.chmod(&file, 0o600) {
        Ok(()) => yes("the mode of a file that cannot be opened can be changed"),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok((
            State::No,
            "only the mode of what can be opened is changed; the rest is Unsupported".to_owned(),
        )),
        Err(error) => Err(error),
    }
}
