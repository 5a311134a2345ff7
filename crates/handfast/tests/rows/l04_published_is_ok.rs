//! A write that happened, and a file that others take or replace at once.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast::{Durability, ErrorKind, WriteOptions};

use crate::support::*;
use crate::traced::delayed;

fn quick() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

/// A spool: the consumer that finds the file takes it away. What was received was sent, and nothing twice.
#[test]
fn l4_a_file_that_is_taken_at_once_was_written() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        let root = scratch.open(options(backend));
        let (spool, taken) = (scratch.path("root/d/f"), scratch.path("outside/taken"));
        let (done, received) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
        let mut sent = 0_u32;
        let mut failed = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    let last = done.load(Ordering::Relaxed);
                    if fs::rename(&spool, &taken).is_ok() {
                        let number = fs::read_to_string(&taken).unwrap();
                        received
                            .lock()
                            .unwrap()
                            .push(number.parse::<u32>().unwrap());
                    } else if last {
                        break;
                    }
                }
            });
            while sent < 500 {
                // The name is free again when the last one was taken.
                match root.write_new_with(&rel("d/f"), sent.to_string(), quick()) {
                    Ok(_) => sent += 1,
                    Err(error) if error.kind() == ErrorKind::Exists => {}
                    Err(error) if error.can_retry() => failed += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let received = received.into_inner().unwrap();
        println!("{}: {failed} failed", backend_name(backend));
        assert_eq!(
            received,
            (0..500).collect::<Vec<_>>(),
            "each once, in order"
        );
        assert_eq!(failed, 0, "what was received was written");
    });
}

/// The same with a replacing write: every number that was answered was there, and the taker never
/// gets one twice.
#[test]
fn l4_a_replaced_spool_file_is_not_written_twice() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        let root = scratch.open(options(backend));
        let (spool, taken) = (scratch.path("root/d/f"), scratch.path("outside/taken"));
        let done = AtomicBool::new(false);
        let mut failed = 0;
        let doubles = std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let (mut last, mut doubles) = (-1_i64, 0);
                while !done.load(Ordering::Relaxed) {
                    if fs::rename(&spool, &taken).is_ok() {
                        let number: i64 = fs::read_to_string(&taken).unwrap().parse().unwrap();
                        doubles += u32::from(number <= last);
                        last = number;
                    }
                }
                doubles
            });
            for number in 0..1000 {
                while let Err(error) = root.write_with(&rel("d/f"), number.to_string(), quick()) {
                    assert!(error.can_retry(), "{error}");
                    failed += 1;
                }
            }
            done.store(true, Ordering::Relaxed);
            taker.join().unwrap()
        });
        println!(
            "{}: {failed} failed, {doubles} twice",
            backend_name(backend)
        );
        assert_eq!((failed, doubles), (0, 0));
    });
}

/// Two honest writers of one name: both are answered.
#[test]
fn l4_two_writers_of_one_name_both_succeed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        let root = scratch.open(options(backend));
        let write = |who: &str| -> usize {
            (0..500)
                .filter(|_| match root.write_with(&rel("d/f"), who, quick()) {
                    Ok(_) => false,
                    Err(error) => {
                        println!("{error}");
                        true
                    }
                })
                .count()
        };
        let failed = std::thread::scope(|scope| {
            let one = scope.spawn(|| write("one"));
            write("two") + one.join().unwrap()
        });
        assert_eq!(failed, 0);
    });
}

/// A file of somebody else in the place of what was written: that is told, and not repeated.
#[test]
fn l4_retry_is_advised_only_where_nothing_happened() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "old").link("elsewhere", "d/g");
    let said = delayed(
        &scratch,
        "renameat:delay_exit=500000:when=1",
        &[
            "write",
            scratch.root_path().to_str().unwrap(),
            "auto",
            "d/f",
            "mine",
            "none",
        ],
        {
            let (from, to) = (scratch.path("root/d/g"), scratch.path("root/d/f"));
            move || fs::rename(from, to).unwrap()
        },
    );
    // No honest writer puts a link there, so it is not said that all is well.
    assert!(said.starts_with("Raced unknown no-retry"), "{said}");
}

/// Somebody replaced the file as soon as it was there: it was there.
#[test]
fn l4_a_file_that_is_replaced_at_once_was_written() {
    if !have_program("strace") {
        return;
    }
    for verb in ["write", "write-if"] {
        let scratch = Scratch::new();
        scratch.file("d/f", "old").file("d/g", "newer");
        let root = scratch.root_path();
        let root = root.to_str().unwrap();
        let (inject, args): (_, &[&str]) = match verb {
            "write" => (
                "renameat:delay_exit=500000:when=1",
                &["write", root, "auto", "d/f", "mine", "none"],
            ),
            _ => (
                "unlinkat:delay_exit=500000:when=1",
                &["write-if", root, "auto", "d/f", "mine"],
            ),
        };
        let said = delayed(&scratch, inject, args, {
            let (from, to) = (scratch.path("root/d/g"), scratch.path("root/d/f"));
            move || fs::rename(from, to).unwrap()
        });
        assert_eq!(said.trim(), "ok", "{verb}");
        assert_eq!(scratch.read("root/d/f"), "newer");
        scratch.assert_no_leftovers();
    }
}
