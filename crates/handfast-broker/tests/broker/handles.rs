//! What was looked up under a lease stays that object: nothing is done to another one that got its
//! name.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handfast::files::{At, LastLink, Node, Put, WhatToRemove};
use handfast::{Durability, ErrorKind, Files, Name, RelPath, RenameMode, WriteOptions};
use handfast_broker::LeaseFiles;
use rustix::fs::{AtFlags, CWD, RenameFlags, renameat_with, statat, unlinkat};

use crate::stage::{PATIENCE, Stage, text};

fn files(stage: &Stage) -> LeaseFiles {
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    LeaseFiles::new(client, id).unwrap()
}

fn node(files: &LeaseFiles, path: &str) -> Node {
    let path = RelPath::parse(path).unwrap();
    files.node(&path, LastLink::Itself).unwrap()
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn kind<T>(result: Result<T, handfast::Error>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// `src` was looked up; then another directory got its name.
fn exchanged(stage: &Stage) {
    std::fs::rename(stage.root("src"), stage.root("moved")).unwrap();
    std::fs::create_dir(stage.root("src")).unwrap();
    std::fs::write(stage.root("src/a.txt"), "another").unwrap();
    std::fs::create_dir(stage.root("src/empty")).unwrap();
}

#[test]
fn a_directory_that_was_exchanged_is_not_changed() {
    let stage = Stage::new();
    let files = files(&stage);
    let (top, dir) = (files.top().unwrap(), node(&files, "src"));
    exchanged(&stage);
    let usual = WriteOptions::new();
    let (a, new, empty) = (name("a.txt"), name("new"), name("empty"));
    let raced = Some(ErrorKind::Raced);
    for put in [Put::Replace, Put::New] {
        let at = At::new(&dir, if matches!(put, Put::New) { &new } else { &a });
        assert_eq!(kind(files.put_at(at, b"x", put, usual)), raced, "{put:?}");
    }
    let at = At::new(&dir, &a);
    assert_eq!(kind(files.append_at(at, b"x", usual)), raced);
    assert_eq!(kind(files.create_dir_at(At::new(&dir, &new), 0o755)), raced);
    assert_eq!(kind(files.remove_at(at, WhatToRemove::File)), raced);
    let at_empty = At::new(&dir, &empty);
    assert_eq!(kind(files.remove_at(at_empty, WhatToRemove::Dir)), raced);
    let out = At::new(&top, &new);
    assert_eq!(kind(files.rename_at(at, out, RenameMode::Replace)), raced);
    let own = At::new(&top, &a);
    std::fs::write(stage.root("a.txt"), "own").unwrap();
    assert_eq!(kind(files.rename_at(own, at, RenameMode::Replace)), raced);
    assert_eq!(kind(files.entries_of(&dir)), raced);
    assert_eq!(text(&stage.root("src/a.txt")), "another");
    assert_eq!(text(&stage.root("a.txt")), "own");
    let left = std::fs::read_dir(stage.root("src")).unwrap().count();
    assert_eq!(left, 2, "something came or went");
}

#[test]
fn a_directory_that_is_still_there_is_changed() {
    let stage = Stage::new();
    let files = files(&stage);
    let (top, dir) = (files.top().unwrap(), node(&files, "src"));
    let usual = WriteOptions::new();
    let (a, b, made) = (name("a.txt"), name("b.txt"), name("made"));
    let at = At::new(&dir, &a);
    files.put_at(at, b"one", Put::Replace, usual).unwrap();
    files.append_at(at, b" two", usual).unwrap();
    assert_eq!(text(&stage.root("src/a.txt")), "one two");
    let inner = files.create_dir_at(At::new(&dir, &made), 0o700).unwrap();
    files
        .rename_at(at, At::new(&inner, &b), RenameMode::NoReplace)
        .unwrap();
    assert_eq!(text(&stage.root("src/made/b.txt")), "one two");
    files
        .remove_at(At::new(&inner, &b), WhatToRemove::File)
        .unwrap();
    files
        .remove_at(At::new(&dir, &made), WhatToRemove::Dir)
        .unwrap();
    files
        .put_at(At::new(&top, &made), b"x", Put::New, usual)
        .unwrap();
    assert_eq!(files.entries_of(&dir).unwrap().count(), 1);
}

#[test]
fn a_link_under_the_name_is_not_followed() {
    let stage = Stage::new();
    let files = files(&stage);
    let dir = node(&files, "src");
    symlink("b.txt", stage.root("src/link")).unwrap();
    let (link, usual) = (name("link"), WriteOptions::new());
    let at = At::new(&dir, &link);
    let refused = Some(ErrorKind::Link);
    assert_eq!(kind(files.put_at(at, b"x", Put::Replace, usual)), refused);
    assert_eq!(kind(files.append_at(at, b"x", usual)), refused);
    assert_eq!(text(&stage.root("src/b.txt")), "beta");
}

#[test]
fn a_handle_that_is_kept_with_a_draft_is_short() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let begin = |client: &mut handfast_broker::Client, dir: &str| {
        let asked = serde_json::json!({"lease": id, "path": "/new", "max_size": "1", "dir": dir});
        client.call("Begin", &asked).map(|_: serde_json::Value| ())
    };
    begin(&mut client, "8:2").unwrap();
    let long = "8".repeat(100_000);
    assert!(
        begin(&mut client, &long).is_err(),
        "it takes memory until the commit"
    );
}

#[test]
fn the_text_of_another_link_is_not_told() {
    let stage = Stage::new();
    symlink("a.txt", stage.root("src/link")).unwrap();
    let files = files(&stage);
    let link = node(&files, "src/link");
    assert_eq!(files.link_of(&link).unwrap().as_bytes(), b"a.txt");
    std::fs::rename(stage.root("src/link"), stage.root("old")).unwrap();
    symlink("b.txt", stage.root("src/link")).unwrap();
    assert_eq!(kind(files.link_of(&link)), Some(ErrorKind::Raced));
}

/// Somebody exchanges the directory all the time; content goes to the one that was looked up, or
/// nowhere. The same by path goes astray.
#[test]
fn content_lands_in_the_directory_that_was_looked_up_while_names_change() {
    let stage = Stage::new();
    let files = files(&stage);
    std::fs::create_dir(stage.root("other")).unwrap();
    let dir = node(&files, "src");
    let ours = name("ours");
    let usual = WriteOptions::new().durability(Durability::None);
    let path = RelPath::parse("src/ours").unwrap();
    // Held, because the names change.
    let [seen, other] = ["src", "other"].map(|name| std::fs::File::open(stage.root(name)).unwrap());
    let is_astray = || statat(&other, "ours", AtFlags::empty()).is_ok();
    let done = AtomicBool::new(false);
    let (mut landed, mut strayed) = (0_u32, 0_u32);
    let swaps = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let [one, two] = ["src", "other"].map(|name| stage.root(name));
            let mut swaps = 0_u32;
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
                std::thread::sleep(Duration::from_micros(50));
            }
            swaps
        });
        let begun = Instant::now();
        let mut harm = None;
        while harm.is_none() && (landed < 20 || strayed < 5) && begun.elapsed() < PATIENCE {
            match files.put_at(At::new(&dir, &ours), b"x", Put::Replace, usual) {
                Ok(_) => landed += 1,
                Err(error) if error.kind() == ErrorKind::Raced => {}
                Err(error) => harm = Some(error.to_string()),
            }
            if is_astray() {
                harm = Some(format!(
                    "the content is in the other directory after {landed}"
                ));
            }
            // The naive way: the same name, by its path.
            drop(files.put(&path, b"x", Put::Replace, usual));
            strayed += u32::from(is_astray());
            for dir in [&seen, &other] {
                // In one of them, or in none.
                let _ = unlinkat(dir, "ours", AtFlags::empty());
            }
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(harm, None);
        swapping.join().unwrap()
    });
    println!("{landed} landed, {strayed} strayed by path, {swaps} exchanges");
    if landed < 20 || strayed < 5 {
        println!("starved: 1: too few exchanges met a write");
    }
}
