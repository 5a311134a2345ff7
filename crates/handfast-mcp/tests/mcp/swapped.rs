//! Files that somebody exchanges while a tool works on them: nothing is lost, and the log names the
//! object that was read. Each has a naive control that must fail under the same attacker.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use handfast_ledger::LogReader;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::client::{Mcp, command, read, state};
use crate::support::Scratch;

/// Moves a file: by `move_file`, or as a naive program does it. Whether it says that it did.
type Mover<'a> = &'a mut dyn FnMut(&Path, &Path) -> bool;

fn naive(from: &Path, to: &Path) -> bool {
    let object = |path: &Path| std::fs::metadata(path).map(|file| (file.ino(), file.len()));
    let Ok(before) = object(from) else {
        return false;
    };
    if std::fs::copy(from, to).is_err() {
        return false;
    }
    if object(from).ok() == Some(before) {
        return std::fs::remove_file(from).is_ok();
    }
    drop(std::fs::remove_file(to));
    false
}

/// A server over both directories of the scratch.
fn over_both(scratch: &Scratch) -> Mcp {
    let mut command = command(scratch, &["--no-log"]);
    command.args([scratch.inside(), scratch.outside()]);
    let mut server = Mcp::spawn(command);
    server.initialize(json!({}));
    server
}

fn by_server(server: &mut Mcp, from: &Path, to: &Path) -> bool {
    let answer = server.call("move_file", json!({"source": from, "destination": to}));
    answer["result"].get("isError").is_none()
}

/// Exchanges two names until it is told to stop, and says when it has begun.
fn exchange(one: &Path, other: &Path, begun: &AtomicBool, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let exchanged = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
        begun.fetch_or(exchanged.is_ok(), Ordering::Relaxed);
    }
}

/// Does something while two names are exchanged.
fn while_exchanged<T>(one: &Path, other: &Path, act: impl FnOnce() -> T) -> T {
    let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| exchange(one, other, &begun, &stop));
        while !begun.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let done = act();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

/// Rounds in which a content was gone after a move that was said to be done, and moves in all.
fn contents_lost(scratch: &Scratch, rounds: u32, mover: Mover<'_>) -> (u32, u32) {
    let (from, other) = (scratch.at("from"), scratch.at("other"));
    let to = scratch.outside().join("to");
    let (mut lost, mut moved) = (0, 0);
    for _ in 0..rounds {
        std::fs::write(&from, "one").unwrap();
        std::fs::write(&other, "two").unwrap();
        let done = while_exchanged(&from, &other, || mover(&from, &to));
        let contents: Vec<String> = [&from, &other, &to]
            .iter()
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .collect();
        moved += u32::from(done);
        let has = |text: &str| contents.iter().any(|content| content == text);
        lost += u32::from(!has("one") || !has("two"));
        for path in [&from, &other, &to] {
            drop(std::fs::remove_file(path));
        }
    }
    (lost, moved)
}

#[test]
fn a_move_between_directories_loses_no_content() {
    const ROUNDS: u32 = 400;
    let scratch = Scratch::new();
    let (control, _) = contents_lost(&scratch, ROUNDS, &mut naive);
    let mut server = over_both(&scratch);
    let mut mover = |from: &Path, to: &Path| by_server(&mut server, from, to);
    let (lost, moved) = contents_lost(&scratch, ROUNDS, &mut mover);
    println!("{ROUNDS} moves: {moved} done, {lost} lost a content; naive lost {control}");
    assert_eq!(lost, 0);
    assert!(moved > 0, "nothing was moved at all");
    if control == 0 {
        crate::turns::starved("swapped", "the attacker never came in between");
    }
}

/// Rounds in which the file that somebody else put at the destination was gone, and rounds in which
/// the move failed because of the attacker.
fn others_lost(scratch: &Scratch, rounds: u32, mover: Mover<'_>) -> (u32, u32) {
    let from = scratch.at("from");
    let (to, theirs) = (
        scratch.outside().join("to"),
        scratch.outside().join("theirs"),
    );
    let (mut lost, mut failed) = (0, 0);
    for _ in 0..rounds {
        // Large enough that a naive copy takes a while.
        std::fs::write(&from, "x".repeat(1 << 16)).unwrap();
        std::fs::write(&theirs, "theirs").unwrap();
        let (stop, replaced) = (AtomicBool::new(false), AtomicU32::new(0));
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    if to.exists() {
                        // The source is another one now, so the move cannot be finished.
                        drop(std::fs::write(&from, "changed"));
                        let put = std::fs::rename(&theirs, &to).is_ok();
                        return replaced.store(u32::from(put), Ordering::Relaxed);
                    }
                }
            });
            let done = mover(&from, &to);
            stop.store(true, Ordering::Relaxed);
            done
        });
        let there = std::fs::read_to_string(&to).is_ok_and(|text| text == "theirs");
        let replaced = replaced.load(Ordering::Relaxed) == 1;
        failed += u32::from(!done && replaced);
        lost += u32::from(replaced && !there);
        for path in [&from, &theirs, &to] {
            drop(std::fs::remove_file(path));
        }
    }
    (lost, failed)
}

#[test]
fn a_move_that_fails_removes_nothing_of_somebody_else() {
    const ROUNDS: u32 = 400;
    let scratch = Scratch::new();
    let (control, _) = others_lost(&scratch, ROUNDS, &mut naive);
    let mut server = over_both(&scratch);
    let mut mover = |from: &Path, to: &Path| by_server(&mut server, from, to);
    let (lost, failed) = others_lost(&scratch, ROUNDS, &mut mover);
    println!("{ROUNDS} moves: {failed} failed, {lost} removed another's file; naive {control}");
    assert_eq!(lost, 0);
    if control == 0 || failed == 0 {
        crate::turns::starved("swapped", "the attacker never came in between");
    }
}

/// A move by the version that was read: the version, and the move that expects it.
type VersionedMover<'a> = (
    &'a mut dyn FnMut(&Path) -> Value,
    &'a mut dyn FnMut(&Path, &Path, &Value) -> bool,
);

/// Rounds in which a file was cut in place before it was moved and the move was said to be done all the
/// same; and moves in all, and cuts that came before the move.
fn cut_and_moved(scratch: &Scratch, rounds: u32, mover: VersionedMover<'_>) -> (u32, u32, u32) {
    let (look, act) = mover;
    let (from, to) = (scratch.at("from"), scratch.at("to"));
    let (mut wrong, mut moved, mut cuts) = (0, 0, 0);
    let (mut took, mut seed) = (Duration::from_micros(500), 12345_u64);
    for _ in 0..rounds {
        std::fs::write(&from, "A".repeat(2500)).unwrap();
        let seen = look(&from);
        let file = std::fs::File::options().write(true).open(&from).unwrap();
        let inode = file.metadata().unwrap().ino();
        // Anywhere in the time that a move takes.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let delay = took.mul_f64((seed >> 40) as f64 / f64::from(1 << 24));
        let go = AtomicBool::new(false);
        let (done, was_before) = std::thread::scope(|scope| {
            let cutter = scope.spawn(|| {
                while !go.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                let begun = Instant::now();
                while begun.elapsed() < delay {
                    std::hint::spin_loop();
                }
                file.set_len(1000).unwrap();
                // The old name still leads to it, so it was cut before the move.
                std::fs::metadata(&from).is_ok_and(|found| found.ino() == inode)
            });
            go.store(true, Ordering::Release);
            let begun = Instant::now();
            let done = act(&from, &to, &seen);
            took = begun.elapsed().min(Duration::from_millis(20));
            (done, cutter.join().unwrap())
        });
        moved += u32::from(done);
        cuts += u32::from(was_before);
        wrong += u32::from(done && was_before);
        for path in [&from, &to] {
            drop(std::fs::remove_file(path));
        }
    }
    (wrong, moved, cuts)
}

#[test]
fn a_file_that_was_cut_is_not_moved_by_the_version_before() {
    const ROUNDS: u32 = 1500;
    let scratch = Scratch::new();
    let len = |path: &Path| json!(std::fs::read(path).map_or(0, |content| content.len()));
    let (control, ..) = cut_and_moved(
        &scratch,
        ROUNDS,
        (&mut { len }, &mut |from, to, seen| {
            // It notes what it does between the look and the move.
            let is_expected = len(from) == *seen;
            let noted = std::fs::write(scratch.at("note"), "moving");
            is_expected && noted.is_ok() && std::fs::rename(from, to).is_ok()
        }),
    );
    let server = RefCell::new(Mcp::start(&scratch, &["--no-log"]));
    let (wrong, moved, cuts) = cut_and_moved(
        &scratch,
        ROUNDS,
        (
            &mut |from| {
                let arguments = json!({"path": from});
                json!(server.borrow_mut().version("read_text_file", arguments))
            },
            &mut |from, to, seen| {
                let arguments = json!({"source": from, "destination": to, "expectedVersion": seen});
                let answer = server.borrow_mut().call("move_file", arguments);
                answer["result"].get("isError").is_none()
            },
        ),
    );
    println!(
        "{ROUNDS} moves: {moved} done, {cuts} cut before, {wrong} of those done; naive {control}"
    );
    assert_eq!(wrong, 0);
    if control == 0 || cuts == 0 || moved == 0 {
        crate::turns::starved("swapped", "the attacker never came in between");
    }
}

/// The inodes that `search_content` opened, as the log has them, in order.
fn opened(scratch: &Scratch) -> Vec<u64> {
    let log = LogReader::open(state(scratch).join("logs/mcp-0")).unwrap();
    let mut found = Vec::new();
    log.for_each(0, |_, leaf| {
        let event: Value = serde_json::from_slice(leaf).unwrap();
        if event["type"] == "open" {
            let inode = &event["obj"]["ino"];
            let inode = inode.as_u64().or_else(|| inode.as_str()?.parse().ok());
            found.push(inode.unwrap_or_else(|| panic!("{event}")));
        }
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

#[test]
fn the_log_names_the_file_whose_lines_a_search_gave_out() {
    const CALLS: usize = 300;
    let scratch = Scratch::new();
    let one = scratch.file("swap/file", "hit one\n");
    let two = scratch.file("other", "hit two\n");
    let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
    let (first, second) = (inode(&one), inode(&two));
    let mut given = Vec::new();
    for path in ["swap", "swap/file"] {
        let mut server = Mcp::start(&scratch, &[]);
        let search = json!({"path": path, "pattern": "hit"});
        while_exchanged(&one, &two, || {
            for _ in 0..CALLS {
                let text = server.text("search_content", search.clone());
                let is_one = text.contains("hit one");
                assert!(is_one || text.contains("hit two"), "{text}");
                given.push(if is_one { first } else { second });
            }
        });
        assert_eq!(server.finish(), 0);
    }
    let logged = opened(&scratch);
    assert_eq!(logged.len(), given.len(), "one event for every answer");
    let wrong = logged
        .iter()
        .zip(&given)
        .filter(|(one, other)| one != other);
    let (wrong, second_seen) = (
        wrong.count(),
        given.iter().filter(|inode| **inode == second).count(),
    );
    println!(
        "{} answers, {second_seen} of the other file, {wrong} wrong in the log",
        given.len()
    );
    assert_eq!(wrong, 0);
    if second_seen == 0 || second_seen == given.len() {
        crate::turns::starved("swapped", "the files were never exchanged in time");
    }
    assert!(read(&one).starts_with("hit"));
}

/// How many reads of a file below an exchanged directory gave what lies outside, and how many gave
/// what lies inside.
fn reads_outside(
    scratch: &Scratch,
    reads: u32,
    read: &mut dyn FnMut(&Path) -> String,
) -> (u32, u32) {
    let (dir, link) = (scratch.at("dir"), scratch.at("link"));
    let (mut outside, mut inside) = (0, 0);
    while_exchanged(&dir, &link, || {
        for _ in 0..reads {
            let text = read(&dir.join("file"));
            outside += u32::from(text.contains("OUTSIDE"));
            inside += u32::from(text.contains("INSIDE"));
        }
    });
    (outside, inside)
}

#[test]
fn a_resource_is_never_read_outside() {
    const READS: u32 = 1_000;
    let scratch = Scratch::new();
    scratch.file("dir/file", "INSIDE");
    std::fs::write(scratch.outside().join("file"), "OUTSIDE").unwrap();
    scratch.link(scratch.outside(), "link");
    let mut naive = |path: &Path| {
        // Looks first, and then uses the name again.
        let is_real = path
            .canonicalize()
            .is_ok_and(|real| real.starts_with(scratch.inside()));
        let text = is_real.then(|| std::fs::read_to_string(path).ok());
        text.flatten().unwrap_or_default()
    };
    let (control, _) = reads_outside(&scratch, 20 * READS, &mut naive);
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let mut read = |path: &Path| {
        let params = json!({"uri": format!("file://{}", path.display())});
        server.request("resources/read", params).to_string()
    };
    let (outside, inside) = reads_outside(&scratch, READS, &mut read);
    println!("{READS} reads: {inside} inside, {outside} outside; the naive control {control}");
    assert_eq!(outside, 0);
    assert!(inside > 0, "nothing was read at all");
    if control == 0 {
        crate::turns::starved("swapped", "the attacker never came in between");
    }
}

/// The inode that a version names.
fn inode_of(version: &str) -> u64 {
    u64::from_str_radix(version.split('.').nth(2).unwrap(), 16).unwrap()
}

#[test]
fn s4_a_version_belongs_to_the_bytes_that_came_with_it() {
    let reads = std::env::var("HANDFAST_MCP_READS").ok();
    let reads: u64 = reads.map_or(2_000, |text| text.parse().unwrap());
    let scratch = Scratch::new();
    // Of the same length, so that nothing but the object tells them apart.
    let one = scratch.file("dir/file", "one one\n");
    let two = scratch.file("other/file", "two two\n");
    let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
    let (first, second) = (inode(&one), inode(&two));
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let (mut wrong, mut told, mut of_second) = (0_u64, 0_u64, 0_u64);
    for (from, to) in [(scratch.at("dir"), scratch.at("other")), (one, two)] {
        while_exchanged(&from, &to, || {
            for number in 0..reads / 2 {
                let arguments = match number % 5 {
                    0 => json!({"path": "dir/file"}),
                    1 => json!({"path": "dir/file", "head": 1}),
                    2 => json!({"path": "dir/file", "tail": 2}),
                    3 => json!({"path": "dir/file", "offset": 4}),
                    _ => json!({"path": "dir/file", "startLine": 1, "endLine": 1}),
                };
                let answer = server.call("read_text_file", arguments);
                let seen = &answer["result"]["structuredContent"];
                let Some(version) = seen["version"].as_str() else {
                    continue;
                };
                let is_first = seen["content"].as_str().unwrap().contains("one");
                let named = inode_of(version);
                told += 1;
                of_second += u64::from(!is_first);
                wrong += u64::from(named != if is_first { first } else { second });
            }
        });
    }
    println!("{reads} reads: {told} with a version, {of_second} of the other file, {wrong} wrong");
    assert_eq!(wrong, 0);
    assert!(told > reads / 2, "only {told} of {reads} had a version");
    if of_second == 0 || of_second == told {
        crate::turns::starved("swapped", "the files were never exchanged in time");
    }
}
