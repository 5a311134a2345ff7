//! Where there are no unnamed files, a copy's content lies under a name while it is written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast::{Durability, Root, WriteOptions};

use crate::others::*;
use crate::support::*;

/// Modes of staging files, seen by somebody who keeps listing the directory.
fn seen_modes(scratch: &Scratch, work: impl FnOnce() + Send) -> Vec<u32> {
    let (done, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for entry in fs::read_dir(scratch.path("root/d")).unwrap().flatten() {
                    if entry
                        .file_name()
                        .to_string_lossy()
                        .starts_with(".handfast-")
                        && let Ok(meta) = fs::symlink_metadata(entry.path())
                    {
                        seen.lock().unwrap().push(meta.permissions().mode() & 0o777);
                    }
                }
            }
        });
        scope
            .spawn(|| {
                take_away(Lacks::Unnamed);
                work();
            })
            .join()
            .unwrap();
        done.store(true, Ordering::Relaxed);
    });
    seen.into_inner().unwrap()
}

fn copies(root: &Root, to: &str, options: WriteOptions) {
    for _ in 0..30 {
        root.copy_with(&rel("source"), &rel(to), options).unwrap();
    }
}

#[test]
fn l8_nobody_reads_what_is_on_its_way_into_a_private_file() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("d/private", "old").file("source", "");
        fs::write(scratch.path("root/source"), vec![b'x'; 4 << 20]).unwrap();
        set_mode(&scratch.path("root/source"), 0o644);
        set_mode(&scratch.path("root/d/private"), 0o600);
        let root = scratch.open(options(backend));
        let quick = WriteOptions::new().durability(Durability::None);
        for (to, how) in [("d/private", quick), ("d/new", quick.mode(0o600))] {
            let modes = seen_modes(&scratch, || copies(&root, to, how));
            if modes.is_empty() {
                println!("starved: no staging file was ever seen");
            }
            let wide = modes.iter().filter(|mode| **mode & 0o077 != 0).count();
            println!(
                "{}: {to}: {wide} of {} looks",
                backend_name(backend),
                modes.len()
            );
            assert_eq!(wide, 0, "a draft on its way to {to} was open to others");
        }
        assert_eq!(mode_of(&scratch, "root/d/private"), 0o600);
        assert_eq!(mode_of(&scratch, "root/d/new"), 0o600);
    });
}
