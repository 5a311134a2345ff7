//! A file whose only name inside is a planted one, which is just being taken away.
//!
//! The kernel counts a file's names down before the name is seen to go. A look in between
//! finds a file with one name, under ours.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod support;

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast::OpenOptions;
use support::turns::Turns;
use support::*;

/// Plants a second name of the file outside, and takes it away by a file of our own.
fn plant(top: &Path) {
    let (aside, place) = (top.join("root/aside"), top.join("root/d/g"));
    drop(std::fs::remove_file(&aside));
    std::fs::hard_link(top.join("outside/secret"), &aside).unwrap();
    std::fs::rename(&aside, &place).unwrap();
    drop(std::fs::remove_file(&aside));
    std::fs::File::create(&aside).unwrap();
    std::fs::rename(&aside, &place).unwrap();
}

#[test]
fn a_planted_name_that_is_being_taken_away_is_not_ours() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("d/g", "");
        let secret = scratch.path("outside/secret");
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o604)).unwrap();
        let root = scratch.open(options(backend));
        let done = AtomicBool::new(false);
        let (mut changed, mut refused) = ([0, 0], 0);
        let turns = Turns::start();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    plant(&scratch.top);
                }
            });
            for round in 0..if races_are_long() { 100_000 } else { 15_000 } {
                let done_to_it = match round % 2 {
                    0 => root.chmod(&rel("d/g"), 0o600),
                    _ => root
                        .open_with(&rel("d/g"), OpenOptions::new().write(true))
                        .map(|mut file| file.write_all(b"a longer text").unwrap()),
                };
                match done_to_it {
                    Ok(()) => changed[round % 2] += 1,
                    Err(_) => refused += 1,
                }
                let now = std::fs::metadata(&secret).unwrap();
                if now.mode() & 0o777 != 0o604 || now.len() != 7 {
                    done.store(true, Ordering::Relaxed);
                    panic!("changed outside after {changed:?} changes and {refused} refusals");
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        println!("{changed:?} changed, {refused} refused");
        if changed.contains(&0) || refused == 0 {
            let why = format!("{changed:?} changed, {refused} refused: both sides were not met");
            turns.settle(&format!("own name {}", backend_name(backend)), &why);
        }
    });
}
