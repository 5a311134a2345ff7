//! Behind the second wall.

use std::path::Path;

use handfast::harden::{Hardening, Wall};
use handfast::{Error, ErrorKind, RenameMode};

use super::{open, rel};

/// With the wall up, names under a parent that was moved out after pinning are refused.
pub(crate) fn harden(root_path: &str, outside: &str, backend: &str) -> i32 {
    let root = open(root_path, backend);
    let parent = root.open_dir(&rel("a")).unwrap().into_root();
    let before = parent.write_new(&rel("before"), "x").map(drop);
    before.unwrap();
    match Hardening::new().root(&root).harden_process().unwrap() {
        Wall::Full | Wall::Partial => {}
        Wall::None => {
            println!("no landlock");
            return 3;
        }
    }
    // Inside still works.
    root.write(&rel("inside"), "x").unwrap();
    root.rename(&rel("inside"), &rel("a/inside"), RenameMode::NoReplace)
        .unwrap();
    root.copy(&rel("a/inside"), &rel("copied")).unwrap();
    // Outside is gone, whatever the code does.
    assert!(
        std::fs::read("/etc/passwd").is_err(),
        "the wall does not stand"
    );
    assert!(std::fs::write(Path::new(outside).join("x"), "x").is_err());
    // The attacker, who is outside the wall, moves the pinned directory out.
    println!("ready");
    for _ in 0..5000 {
        if root.metadata(&rel("a")).is_err() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(
        root.metadata(&rel("a")).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let refusals: Vec<(&str, Result<(), Error>)> = vec![
        ("write", parent.write(&rel("inside"), "y").map(drop)),
        ("write-new", parent.write_new(&rel("new"), "y").map(drop)),
        ("append", parent.append(&rel("inside"), "y").map(drop)),
        ("read", parent.read(&rel("inside")).map(drop)),
        ("create-dir", parent.create_dir(&rel("dir")).map(drop)),
        (
            "create-dir-all",
            parent.create_dir_all(&rel("x/y")).map(drop),
        ),
        ("remove-file", parent.remove_file(&rel("inside"))),
        ("remove-tree", parent.remove_tree(&rel("tree"))),
        (
            "rename",
            parent.rename(&rel("inside"), &rel("z"), RenameMode::NoReplace),
        ),
        ("symlink", parent.symlink("inside", &rel("link"))),
        ("hard-link", parent.hard_link(&rel("inside"), &rel("hard"))),
    ];
    for (verb, result) in refusals {
        match result {
            Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Mount) => {}
            other => panic!("{verb} outside: {other:?}"),
        }
    }
    println!("refused");
    0
}

/// The wall for one thread leaves the others free, and a process with threads is refused.
pub(crate) fn harden_threads(root: &str) -> i32 {
    let root = open(root, "auto");
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || wait.recv().is_err());
    let error = Hardening::new().root(&root).harden_process().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let inner = root.clone();
    let worker = std::thread::spawn(move || {
        let wall = Hardening::new().root(&inner).harden_thread().unwrap();
        inner.write(&rel("from-worker"), "x").unwrap();
        (wall, std::fs::read("/etc/passwd").is_err())
    });
    let (wall, refused) = worker.join().unwrap();
    if wall == Wall::None {
        println!("no landlock");
        return 3;
    }
    assert!(refused);
    assert!(std::fs::read("/etc/passwd").is_ok(), "this thread is free");
    drop(done);
    waiting.join().unwrap();
    0
}
