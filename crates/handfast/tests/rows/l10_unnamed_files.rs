//! Ordinary users before Linux 6.10 cannot give an unnamed file a name by its descriptor.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use handfast::{RelPath, WriteOptions};

use crate::others::*;
use crate::support::*;

const MIB: u64 = 1 << 20;

#[test]
fn l10_a_sparse_file_stays_sparse() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        on_older_kernel(&[Lacks::LinkByDescriptor], || {
            let root = scratch.open(options(backend));
            let mut temp = root.temp_file(&RelPath::root()).unwrap();
            temp.write_all(b"begin").unwrap();
            temp.seek(SeekFrom::Start(400 * MIB)).unwrap();
            temp.write_all(b"end").unwrap();
            temp.persist_new(&rel("f"), WriteOptions::new()).unwrap();
        });
        let meta = fs::metadata(scratch.path("root/f")).unwrap();
        assert_eq!(meta.len(), 400 * MIB + 3);
        assert!(meta.blocks() * 512 < MIB, "{} blocks", meta.blocks());
    });
}

#[test]
fn l10_a_descriptor_taken_earlier_is_the_file_that_is_published() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        on_older_kernel(&[Lacks::LinkByDescriptor], || {
            let root = scratch.open(options(backend));
            let mut temp = root.temp_file(&RelPath::root()).unwrap();
            let mut early = fs::File::from(temp.as_fd().try_clone_to_owned().unwrap());
            temp.persist_new(&rel("f"), WriteOptions::new()).unwrap();
            early.write_all(b"through it").unwrap();

            let staged = root.stage(&rel("g"), WriteOptions::new()).unwrap();
            let mut early = fs::File::from(staged.as_fd().try_clone_to_owned().unwrap());
            staged.commit().unwrap();
            early.write_all(b"through it").unwrap();
        });
        assert_eq!(scratch.read("root/f"), "through it");
        assert_eq!(scratch.read("root/g"), "through it");
        scratch.assert_no_leftovers();
    });
}

/// The bytes of a write are written once.
#[test]
fn l10_nothing_is_written_twice() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("old", "old");
        let written = on_older_kernel(&[Lacks::LinkByDescriptor], || {
            let before = written_bytes();
            // Each root is new, as in programs that do one thing and end.
            for name in ["new", "old", "if"] {
                let root = scratch.open(options(backend));
                let data = vec![b'x'; 4 << 20];
                match name {
                    "if" => {
                        let version = root.version_with_digest(&rel("old")).unwrap();
                        root.write_if(&rel("old"), &version, data).unwrap();
                    }
                    name => drop(root.write(&rel(name), data).unwrap()),
                }
            }
            written_bytes() - before
        });
        println!(
            "{}: {} KiB for 12288",
            backend_name(backend),
            written / 1024
        );
        assert!(
            written < 13 * MIB,
            "{written} bytes were written for 12 MiB"
        );
        scratch.assert_no_leftovers();
    });
}

/// The way by descriptor is taken away while a file is being written (a process that gives up its
/// rights): what the library alone wrote is copied with its holes, and what others may hold a
/// descriptor of is refused instead of being published as another file.
#[test]
fn l10_a_way_that_is_taken_away_later_loses_nothing() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let root = scratch.open(options(backend));
                    root.write(&rel("first"), "x").unwrap();
                    let mut temp = root.temp_file(&RelPath::root()).unwrap();
                    temp.write_all(b"x").unwrap();
                    take_away(Lacks::LinkByDescriptor);
                    let refused = temp.persist_new(&rel("f"), WriteOptions::new());
                    assert_kind(refused, handfast::ErrorKind::Unsupported);
                    root.write(&rel("second"), "y").unwrap();
                    root.write_new(&rel("third"), "z").unwrap();
                })
                .join()
                .unwrap();
        });
        assert!(!scratch.path("root/f").exists());
        assert_eq!(scratch.read("root/second"), "y");
        assert_eq!(scratch.read("root/third"), "z");
        scratch.assert_no_leftovers();
    });
}

fn written_bytes() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("wchar:"))
        .unwrap();
    line["wchar:".len()..].trim().parse().unwrap()
}
