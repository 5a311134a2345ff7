//! One verb, where a trace or a signal finds it.

use handfast::{Durability, Error, Root, RootOptions, WriteOptions};

use super::{mark, open, rel};

/// One atomic write. Prints what became of it.
pub(crate) fn write(root: &str, backend: &str, path: &str, text: &str, how: &str) -> i32 {
    let root = open(root, backend);
    mark();
    report(root.write_with(&rel(path), text, durability(how)).map(drop))
}

/// One conditional write of the version the file has now.
pub(crate) fn write_if(root: &str, backend: &str, path: &str, text: &str) -> i32 {
    let root = open(root, backend);
    let version = root.version(&rel(path)).unwrap();
    mark();
    report(root.write_if(&rel(path), &version, text).map(drop))
}

/// One conditional removal of the version the file has now.
pub(crate) fn remove_if(root: &str, backend: &str, path: &str) -> i32 {
    let root = open(root, backend);
    let version = root.version(&rel(path)).unwrap();
    mark();
    report(root.remove_if(&rel(path), &version))
}

/// One tree copy.
pub(crate) fn copy_tree(root: &str, backend: &str, from: &str, to: &str) -> i32 {
    let root = open(root, backend);
    mark();
    report(root.copy_tree(&rel(from), &rel(to)))
}

/// One new directory.
pub(crate) fn create_dir(root: &str, backend: &str, path: &str) -> i32 {
    let root = open(root, backend);
    mark();
    report(root.create_dir(&rel(path)).map(drop))
}

/// One more name for a file.
pub(crate) fn hard_link(root: &str, backend: &str, from: &str, to: &str) -> i32 {
    let root = open(root, backend);
    mark();
    report(root.hard_link(&rel(from), &rel(to)))
}

pub(super) fn report(result: Result<(), Error>) -> i32 {
    match result {
        Ok(()) => {
            println!("ok");
            0
        }
        Err(error) => {
            let retry = if error.can_retry() {
                "retry"
            } else {
                "no-retry"
            };
            println!("{} {} {retry} {error}", error.kind(), error.effect().name());
            1
        }
    }
}

fn durability(text: &str) -> WriteOptions {
    WriteOptions::new().durability(match text {
        "none" => Durability::None,
        "file" => Durability::File,
        _ => Durability::Full,
    })
}

/// Takes a lock once, and says whether it is on the file that has the name.
pub(crate) fn lock_once(root: &str) -> i32 {
    let root = open(root, "auto");
    mark();
    let wait = std::time::Duration::from_secs(5);
    let guard = root
        .lock(&rel("lock"), handfast::LockKind::Exclusive, wait)
        .unwrap();
    println!("{}", guard.verify().unwrap());
    0
}

/// Holds a lock until it is killed.
pub(crate) fn hold_lock(root: &str) -> i32 {
    let root = open(root, "auto");
    let wait = std::time::Duration::from_secs(1);
    let _guard = root
        .lock(&rel("lock"), handfast::LockKind::Exclusive, wait)
        .unwrap();
    println!("locked");
    std::thread::sleep(std::time::Duration::from_secs(60));
    0
}

/// Reads through a link, and says who walked.
pub(crate) fn read_link_target(path: &str) -> i32 {
    let options = RootOptions::new().links(handfast::Links::Beneath);
    let root = Root::open_ambient_with(path, options).unwrap();
    mark();
    let kind = root
        .read(&rel("link"))
        .map_or_else(|error| error.kind().name(), |_| "ok");
    println!("{kind} {}", root.enforcement().backend);
    0
}
