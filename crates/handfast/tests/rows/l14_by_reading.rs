//! What was found by reading: each shown, or shown to be impossible.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast::{ErrorKind, Mounts, RelPath, Root, WriteOptions};

use crate::others::*;
use crate::support::*;
use crate::traced::delayed_each;

/// Three foreign versions, one before each exchange of a conditional write: the newest keeps the
/// name, and the next older is kept beside it.
#[test]
fn l14_the_newest_of_many_foreign_versions_keeps_the_name() {
    if !have_program("strace") {
        return;
    }
    for versions in [
        &["first", "second"][..],
        &["first", "second", "third"],
        &["first", "second", "third", "fourth"],
    ] {
        let scratch = Scratch::new();
        scratch.file("d/f", "old");
        let root = scratch.root_path();
        let write = |content: &'static str| -> Box<dyn FnOnce()> {
            let (draft, place) = (scratch.path("root/d/g"), scratch.path("root/d/f"));
            Box::new(move || {
                fs::write(&draft, content).unwrap();
                fs::rename(draft, place).unwrap();
            })
        };
        let said = delayed_each(
            &scratch,
            "renameat2:delay_enter=500000",
            &["write-if", root.to_str().unwrap(), "auto", "d/f", "mine"],
            versions.iter().map(|content| write(content)).collect(),
        );
        assert!(said.starts_with("Raced visible no-retry"), "{said}");
        assert_eq!(scratch.read("root/d/f"), *versions.last().unwrap());
        let tree = scratch.snapshot("root/d").join("\n");
        let older = versions[versions.len() - 2];
        assert!(tree.contains(older), "the one before is kept: {tree}");
        assert!(!tree.contains(" mine"), "ours is gone: {tree}");
    }
}

/// Drafts with names are made while somebody cleans up: before a draft is locked it looks dead.
#[test]
fn l14_named_drafts_are_made_while_others_clean_up() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(options(backend));
        let done = AtomicBool::new(false);
        let failed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    drop(root.recover(&RelPath::root()));
                }
            });
            let writer = scope.spawn(|| {
                take_away(Lacks::Unnamed);
                let quick = WriteOptions::new().durability(handfast::Durability::None);
                (0..3000)
                    .filter_map(|_| root.write_with(&rel("f"), "x", quick).err())
                    .map(|error| error.to_string())
                    .collect::<Vec<_>>()
            });
            let failed = writer.join().unwrap();
            done.store(true, Ordering::Relaxed);
            failed
        });
        assert!(failed.is_empty(), "{} failed: {}", failed.len(), failed[0]);
    });
}

/// Where a rename cannot promise not to replace, a removal that has to be taken back still names
/// the true reason, and loses nothing.
#[test]
fn l14_a_removal_is_taken_back_without_the_flag() {
    each_backend(|backend| {
        for lack in [Lacks::NoReplace, Lacks::RenameFlags] {
            let scratch = Scratch::new();
            scratch.file("f", "old");
            let root = scratch.open(options(backend));
            let version = root.version_with_digest(&rel("f")).unwrap();
            // The recorder is called after the file was pinned and before it is compared, so this
            // plays a writer in that moment: the comparison before the removal notices it.
            on_older_kernel(&[lack], || {
                let other = scratch.path("root/f");
                fs::write(&other, "new").unwrap();
                assert_kind(root.remove_if(&rel("f"), &version), ErrorKind::Stale);
            });
            assert_eq!(scratch.read("root/f"), "new");
            scratch.assert_no_leftovers();
        }
    });
}

/// The same in the window after the move aside, which strace holds open.
#[test]
fn l14_a_removal_that_is_taken_back_names_the_true_reason() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("f", "old");
    let root = scratch.root_path();
    let place = scratch.path("root/f");
    // The first rename moves it aside; the flag is missing, so the second one does.
    let said = crate::traced::delayed_with(
        &scratch,
        &["EINVAL", "no-replace", "--"],
        "renameat:delay_enter=500000:when=1",
        &["remove-if", root.to_str().unwrap(), "auto", "f"],
        vec![Box::new(move || fs::write(place, "changed").unwrap())],
    );
    assert!(said.starts_with("Stale none"), "{said}");
    assert_eq!(scratch.read("root/f"), "changed");
    scratch.assert_no_leftovers();
}

/// Filesystems and filters answer EINVAL or ENOSYS for a rename that must not replace.
#[test]
fn l14_a_new_file_is_published_without_the_flag() {
    each_backend(|backend| {
        for lack in [Lacks::NoReplace, Lacks::RenameFlags] {
            let scratch = Scratch::new();
            scratch.file("taken", "old");
            let root = scratch.open(options(backend));
            on_older_kernel(&[lack, Lacks::Unnamed], || {
                root.write_new(&rel("new"), "x").unwrap();
                assert_kind(root.write_new(&rel("taken"), "x"), ErrorKind::Exists);
            });
            assert_eq!(scratch.read("root/new"), "x");
            assert_eq!(scratch.read("root/taken"), "old");
            scratch.assert_no_leftovers();
        }
    });
}

/// A file that says it is empty and goes on for long: the copy is refused, not cut in silence.
#[test]
fn l14_a_copy_of_a_long_pseudo_file_is_a_limit() {
    if !std::path::Path::new("/proc/self/pagemap").exists() {
        skip("there is no pseudo file that is long enough");
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        let whole = Root::open_ambient_with("/", options(backend).mounts(Mounts::Allow)).unwrap();
        let source = rel(format!("proc/{}/pagemap", std::process::id()));
        let place = scratch.path("root/copy");
        let place = rel(place.to_str().unwrap().trim_start_matches('/'));
        let error = assert_kind(whole.copy(&source, &place), ErrorKind::Limit);
        assert_eq!(error.effect(), handfast::Effect::None);
        assert!(!scratch.path("root/copy").exists());
        // A short one is copied whole.
        let source = rel(format!("proc/{}/status", std::process::id()));
        whole.copy(&source, &place).unwrap();
        assert!(scratch.read("root/copy").contains("Threads"));
        scratch.assert_no_leftovers();
    });
}
