//! A siege through the broker: attackers swap under it while many clients open and commit.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use handfast::ErrorKind;
use handfast_broker::{Client, ClientError, Code};
use rustix::fs::{RenameFlags, renameat_with};

use crate::stage::Stage;
use crate::turns::Turns;

const CLIENTS: usize = 64;
const WRITERS: usize = 16;

/// Exchanges two names of one directory. By its descriptor: by path, one attacker's swap would make
/// another one's carry the secret into the tree, where everybody may read it.
fn exchange(dir: &File, a: &str, b: &str) {
    renameat_with(dir, a, dir, b, RenameFlags::EXCHANGE).unwrap();
}

/// The tree: `d` is swapped with a link to the outside, `d/f` with a link to a secret, and each
/// writer has a file of its own below `own`, whose parent is swapped too.
fn build(stage: &Stage) -> PathBuf {
    let outside = stage.dir.join("secret");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "SECRET").unwrap();
    std::fs::create_dir(stage.root("d")).unwrap();
    std::fs::write(stage.root("d/f"), "inside").unwrap();
    symlink(&outside, stage.root("d-link")).unwrap();
    symlink("../../secret/f", stage.root("d/f-link")).unwrap();
    std::fs::create_dir(stage.root("own")).unwrap();
    symlink("../secret", stage.root("own-link")).unwrap();
    outside
}

/// Content that shows where it comes from and whether it is whole.
fn content(writer: usize, number: u64) -> Vec<u8> {
    let line = format!("{writer}:{number};");
    let mut text = Vec::new();
    while text.len() < 4096 {
        text.extend_from_slice(line.as_bytes());
    }
    text
}

fn is_whole(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| *byte == b';').map(|at| at + 1);
    end.is_some_and(|end| text.len() >= 4096 && text.chunks(end).all(|part| part == &text[..end]))
}

/// What a client may hear while the tree is turned over. Anything else fails the test.
fn is_allowed(error: &ClientError) -> bool {
    let Some(fault) = error.fault() else {
        return false;
    };
    match fault.code() {
        Code::Denied => true,
        Code::Failed => matches!(
            fault.kind(),
            Some(
                ErrorKind::Escape // a link that leads outside stood there
                    | ErrorKind::Link // a link came in between
                    | ErrorKind::Raced // it kept changing
                    | ErrorKind::NotFound // the other side of the swap lacks the name
                    | ErrorKind::Busy
                    | ErrorKind::NotADirectory
            )
        ),
        _ => false,
    }
}

#[test]
fn sixty_four_clients_under_attack() {
    let turns = Turns::start();
    let stage = Stage::new();
    let outside = build(&stage);
    let mut first = stage.client();
    let id = stage.lease(&mut first).lease_id;
    let stop = AtomicBool::new(false);
    let (swaps, opens, refusals) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (naive_escapes, commits) = (AtomicU64::new(0), AtomicU64::new(0));
    // Long enough for every kind of success; a loaded machine gets more time.
    let enough = || {
        opens.load(Ordering::Relaxed) > 2_000
            && commits.load(Ordering::Relaxed) > 300
            && naive_escapes.load(Ordering::Relaxed) > 0
            && swaps.load(Ordering::Relaxed) > 2_000
    };
    let last: BTreeMap<usize, u64> = std::thread::scope(|scope| {
        // Opened before the first swap.
        let swapped = [
            ("", "d", "d-link"),
            ("d", "f", "f-link"),
            ("", "own", "own-link"),
        ]
        .map(|(dir, a, b)| (File::open(stage.root(dir)).unwrap(), a, b));
        for (dir, a, b) in swapped {
            let (stop, swaps) = (&stop, &swaps);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    exchange(&dir, a, b);
                    std::thread::sleep(Duration::from_micros(300));
                    exchange(&dir, a, b);
                    swaps.fetch_add(2, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
        // The control: who looks and then opens does escape.
        let (stop_ref, escaped, stage_ref) = (&stop, &naive_escapes, &stage);
        scope.spawn(move || {
            let path = stage_ref.root("d/f");
            while !stop_ref.load(Ordering::Relaxed) {
                let fine = std::fs::canonicalize(&path)
                    .is_ok_and(|real| real.starts_with(stage_ref.root("").canonicalize().unwrap()));
                std::thread::yield_now();
                if fine && std::fs::read(&path).is_ok_and(|text| text == b"SECRET") {
                    escaped.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut writers = Vec::new();
        for number in 0..CLIENTS {
            let (stage, id, stop) = (&stage, &id, &stop);
            let (opens, refusals, commits) = (&opens, &refusals, &commits);
            let client = scope.spawn(move || {
                let mut client = Client::connect(stage.socket()).unwrap();
                let mut acknowledged = 0;
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    if number < WRITERS {
                        let path = format!("own/{number}");
                        match client.write(id, &path, &content(number, round), None) {
                            Ok(_) => {
                                acknowledged = round;
                                commits.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(error) => {
                                assert!(is_allowed(&error), "{error:?}");
                                refusals.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        continue;
                    }
                    match client.open(id, "d/f") {
                        Ok(mut opened) => {
                            let mut text = Vec::new();
                            opened.file.read_to_end(&mut text).unwrap();
                            assert_eq!(text, b"inside", "ESCAPE");
                            opens.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            assert!(is_allowed(&error), "{error:?}");
                            refusals.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    let other = format!("own/{}", round as usize % WRITERS);
                    if let Ok(mut opened) = client.open(id, &other) {
                        let mut text = Vec::new();
                        opened.file.read_to_end(&mut text).unwrap();
                        assert!(is_whole(&text), "a mixed file");
                    }
                }
                (number, acknowledged)
            });
            writers.push(client);
        }
        let begun = Instant::now();
        while !enough() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    println!(
        "{} swaps, {} opens, {} commits, {} refusals, {} naive escapes",
        swaps.into_inner(),
        opens.load(Ordering::Relaxed),
        commits.load(Ordering::Relaxed),
        refusals.into_inner(),
        naive_escapes.load(Ordering::Relaxed)
    );
    assert!(opens.into_inner() > 0 && commits.into_inner() > 0);
    if naive_escapes.into_inner() == 0 {
        turns.settle(
            "clients of a broker under attack",
            "the naive reader never escaped",
        );
    }
    // The swaps may have stopped with the directory under its other name.
    let own = [stage.root("own"), stage.root("own-link")]
        .into_iter()
        .find(|path| std::fs::symlink_metadata(path).unwrap().is_dir())
        .unwrap();
    for (writer, number) in last {
        if writer < WRITERS && number > 0 {
            let text = std::fs::read(own.join(writer.to_string())).unwrap();
            assert_eq!(text, content(writer, number), "a lost acknowledged commit");
        }
    }
    let names: Vec<_> = std::fs::read_dir(&outside).unwrap().collect();
    assert_eq!(names.len(), 1, "something was written outside: {names:?}");
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"SECRET");
    let staging = std::fs::read_dir(&own).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .as_encoded_bytes()
            .starts_with(b".")
    });
    assert_eq!(staging.count(), 0, "drafts were left behind");
}
