//! With less than a process usually has.

use handfast::ErrorKind;

use super::{open, rel};

/// Walks and removes a tree of any depth with 64 descriptors and a stack of 256 KiB.
pub(crate) fn deep(root: &str, backend: &str, path: &str) -> i32 {
    let limit = rustix::process::Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let (root, path) = (open(root, backend), rel(path));
    let worker = move || {
        let mut walk = root.walk(&path).unwrap();
        let (mut entries, mut deepest) = (0_u64, 0);
        while let Some(entry) = walk.next_entry().unwrap() {
            entries += 1;
            deepest = deepest.max(entry.depth());
        }
        drop(walk);
        println!("walked {entries} entries, {deepest} deep");
        root.remove_tree(&path).unwrap();
        assert_eq!(
            root.metadata(&path).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        println!("removed");
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(worker)
        .unwrap()
        .join()
        .map_or(1, |()| 0)
}

/// With few descriptors left, verbs fail and leave nothing.
pub(crate) fn few_descriptors(root: &str, backend: &str) -> i32 {
    let root = open(root, backend);
    let mut held = Vec::new();
    let limit = rustix::process::Rlimit {
        current: Some(32),
        maximum: Some(32),
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
    }
    let mut failures = 0;
    loop {
        for (verb, result) in [
            ("read", root.read(&rel("a/f")).map(drop)),
            ("write", root.write(&rel("a/f"), "new").map(drop)),
            ("mkdir", root.create_dir_all(&rel("p/q/r")).map(drop)),
            ("copy", root.copy_tree(&rel("a"), &rel("copy"))),
            ("remove", root.remove_tree(&rel("b"))),
        ] {
            match result {
                Ok(()) => println!("{} free: {verb} works", 32 - held.len()),
                Err(error) if matches!(error.kind(), ErrorKind::Io) => failures += 1,
                // The second time round it is there, or gone.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Exists | ErrorKind::IsADirectory | ErrorKind::NotFound
                    ) => {}
                Err(error) => panic!("{verb}: {error}"),
            }
        }
        if held.pop().is_none() {
            break;
        }
    }
    assert!(failures > 5, "the limit was felt");
    0
}
