//! Windows of a few microseconds, held open: strace delays the victim inside a call, and the test
//! acts meanwhile.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use handfast::{ErrorKind, RelPath};
use support::*;

/// Runs the victim with one call delayed, acts as soon as it has reached the call, and gives back
/// what it said.
fn delayed(scratch: &Scratch, inject: &str, args: &[&str], act: impl FnOnce() + 'static) -> String {
    delayed_each(scratch, inject, args, vec![Box::new(act)])
}

/// The same for a call that is made several times, with something to do at each.
fn delayed_each(
    scratch: &Scratch,
    inject: &str,
    args: &[&str],
    acts: Vec<Box<dyn FnOnce()>>,
) -> String {
    let log = scratch.path("trace");
    let (call, _) = inject.split_once(':').unwrap();
    let child = Command::new("strace")
        .args(["-f", "-o", log.to_str().unwrap()])
        .args(["-e", &format!("trace=access,{call}")])
        .args(["-e", &format!("inject={inject}")])
        .arg(victim())
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The delayed call is written to the trace when it is entered.
    for (number, act) in acts.into_iter().enumerate() {
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let after = text.split("handfast-marker").nth(1).unwrap_or_default();
            if after.matches(&format!("{call}(")).count() > number {
                break;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "the call is never made: {text}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50));
        act();
    }
    let output = child.wait_with_output().unwrap();
    std::fs::remove_file(&log).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn renaming(scratch: &Scratch, from: &str, to: &str) -> impl FnOnce() + 'static {
    let (from, to) = (scratch.path(from), scratch.path(to));
    move || std::fs::rename(from, to).unwrap()
}

/// A file that changes between the comparison and the exchange is put back as it was left.
#[test]
fn a_change_between_comparison_and_exchange_is_noticed() {
    if !have_program("strace") {
        return;
    }
    for foreign in ["in place", "replaced"] {
        let scratch = Scratch::new();
        scratch.file("d/f", "old");
        let root = scratch.root_path();
        let said = delayed(
            &scratch,
            "renameat2:delay_enter=500000:when=1",
            &["write-if", root.to_str().unwrap(), "auto", "d/f", "mine"],
            {
                let (draft, place) = (scratch.path("root/d/g"), scratch.path("root/d/f"));
                move || {
                    if foreign == "replaced" {
                        std::fs::write(&draft, "foreign").unwrap();
                        std::fs::rename(draft, place).unwrap();
                    } else {
                        std::fs::write(place, "foreign").unwrap();
                    }
                }
            },
        );
        assert!(said.starts_with("Stale none"), "{foreign}: {said}");
        assert_eq!(scratch.read("root/d/f"), "foreign", "{foreign}");
        scratch.assert_no_leftovers();
    }
}

/// Somebody else writes while a refused write is taken back: the newest keeps the name, and the
/// older is kept beside it.
#[test]
fn a_second_change_while_the_first_is_put_back_keeps_the_name() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "old");
    let root = scratch.root_path();
    let write = |content: &'static str| -> Box<dyn FnOnce()> {
        let (draft, place) = (scratch.path("root/d/g"), scratch.path("root/d/f"));
        Box::new(move || {
            std::fs::write(&draft, content).unwrap();
            std::fs::rename(draft, place).unwrap();
        })
    };
    let said = delayed_each(
        &scratch,
        "renameat2:delay_enter=500000",
        &["write-if", root.to_str().unwrap(), "auto", "d/f", "mine"],
        vec![write("foreign"), write("newest")],
    );
    assert!(said.starts_with("Raced visible"), "{said}");
    assert_eq!(scratch.read("root/d/f"), "newest");
    let tree = scratch.snapshot("root/d").join("\n");
    assert!(tree.contains(" foreign"), "kept beside it: {tree}");
    assert!(!tree.contains(" mine"), "ours is gone: {tree}");
}

/// B36: what nobody honest puts under the name right after the rename is told, not taken for ours.
#[test]
fn a_file_replaced_right_after_the_rename_is_noticed() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "old").link("foreign", "d/g");
    let root = scratch.root_path();
    let said = delayed(
        &scratch,
        "renameat:delay_exit=500000:when=1",
        &[
            "write",
            root.to_str().unwrap(),
            "auto",
            "d/f",
            "mine",
            "none",
        ],
        renaming(&scratch, "root/d/g", "root/d/f"),
    );
    assert!(said.starts_with("Raced unknown"), "{said}");
    assert!(scratch.path("root/d/f").is_symlink());
    scratch.assert_no_leftovers();
}

/// A lock is handed out only on the file that has the name by then.
#[test]
fn a_lock_file_replaced_while_it_is_locked_is_noticed() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("lock", "").file("other", "");
    let root = scratch.root_path();
    let said = delayed(
        &scratch,
        "flock:delay_enter=500000:when=1",
        &["lock-once", root.to_str().unwrap()],
        renaming(&scratch, "root/other", "root/lock"),
    );
    assert_eq!(said.trim(), "true");
}

/// EAGAIN that stays is `Raced`, and never a reason to ask the other resolver.
#[test]
fn a_kernel_that_keeps_saying_try_again_is_not_left() {
    if !have_program("strace") {
        return;
    }
    if !kernel_available() {
        skip("openat2 is masked or absent");
        return;
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "f").link("d/../d/f", "link");
    // The first lookup after the five of the probe finds the link; all later ones say EAGAIN.
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "trace=openat2"])
        .args(["-e", "inject=openat2:error=EAGAIN:when=7+"])
        .arg(victim())
        .args(["read-link-target", scratch.root_path().to_str().unwrap()])
        .output()
        .unwrap();
    assert_success(&output);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        "Raced kernel"
    );
}

/// A directory that is moved away while the walk is below it: the way up is compared.
#[test]
fn a_directory_moved_away_under_a_walk_is_noticed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let deep = ["d"; 40].join("/");
        scratch.dir(&format!("t/{deep}")).dir("elsewhere");
        let root = scratch.open(options(backend));
        let mut walk = root.walk(&rel("t")).unwrap();
        while let Some(entry) = walk.next_entry().unwrap() {
            if entry.depth() == 38 {
                break;
            }
        }
        // Its parent is none of those that are held any more.
        let moved = scratch.path(&format!("root/t/{}", ["d"; 12].join("/")));
        std::fs::rename(moved, scratch.path("root/elsewhere/d")).unwrap();
        let error = loop {
            match walk.next_entry() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{}: the move went unnoticed", backend_name(backend)),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Raced);
        assert!(walk.next_entry().unwrap().is_none(), "and the walk is over");
    });
}

/// The same while a tree is removed: nothing that was moved in from elsewhere is touched.
#[test]
fn what_a_walk_up_leads_to_is_not_removed() {
    use std::sync::{Arc, Mutex};
    struct Mover {
        top: std::path::PathBuf,
        done: Mutex<bool>,
    }
    impl handfast::Recorder for Mover {
        fn record(&self, event: &handfast::Event<'_>) -> Result<(), handfast::RecordError> {
            let mut done = self.done.lock().unwrap();
            if event.phase == handfast::Phase::Entries && !*done {
                *done = true;
                let moved = self.top.join(format!("root/t/{}", ["d"; 12].join("/")));
                std::fs::rename(moved, self.top.join("outside/dir/d")).unwrap();
            }
            Ok(())
        }
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        let deep = ["d"; 40].join("/");
        for number in 0..300 {
            scratch.file(&format!("t/{deep}/f{number}"), "");
        }
        let mover = Mover {
            top: scratch.top.clone(),
            done: Mutex::new(false),
        };
        let root = scratch
            .open(options(backend))
            .with_recorder(Arc::new(mover));
        assert_kind(root.remove_tree(&rel("t")), ErrorKind::Raced);
        assert_eq!(scratch.read("outside/secret"), "outside");
        assert_eq!(scratch.read("outside/dir/secret"), "outside");
        let plain = scratch.open(options(backend));
        plain.remove_tree(&rel("t")).unwrap();
        assert_kind(
            plain.metadata(&RelPath::parse("t").unwrap()),
            ErrorKind::NotFound,
        );
    });
}
