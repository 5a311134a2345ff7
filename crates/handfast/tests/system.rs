//! What needs a process of its own: few descriptors, a small stack, namespaces, filters, the wall.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod support;

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use support::*;

fn run(args: &[&str]) -> std::process::Output {
    Command::new(victim()).args(args).output().unwrap()
}

/// A chain of directories, made one level at a time, as deep as asked.
fn plant_deep(scratch: &Scratch, top: &str, depth: usize) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = scratch.root_path().join(top);
    std::fs::create_dir(&path).unwrap();
    let mut here: OwnedFd = rustix::fs::open(&path, flags, Mode::empty()).unwrap();
    for level in 0..depth {
        rustix::fs::mkdirat(&here, "d", Mode::from_raw_mode(0o777)).unwrap();
        if level % 1000 == 0 {
            let file = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            drop(rustix::fs::openat(&here, "f", file, Mode::from_raw_mode(0o666)).unwrap());
        }
        here = rustix::fs::openat(here.as_fd(), "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn a_hundred_thousand_levels_with_64_descriptors_and_a_small_stack() {
    each_backend(|backend| {
        let scratch = Scratch::in_memory();
        plant_deep(&scratch, "deep", 100_000);
        let root = scratch.root_path();
        let output = run(&[
            "deep",
            root.to_str().unwrap(),
            backend_name(backend),
            "deep",
        ]);
        assert_success(&output);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("walked 100100 entries, 99999 deep"), "{text}");
        assert!(text.contains("removed"), "{text}");
    });
}

#[test]
fn behind_the_wall_a_parent_that_was_moved_out_is_refused() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("a/tree/x");
        let mut child = Command::new(victim())
            .args([
                "harden",
                scratch.root_path().to_str().unwrap(),
                scratch.path("outside").to_str().unwrap(),
                backend_name(backend),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        if first == "no landlock" {
            assert!(std::env::var_os("CI").is_none(), "CI must have Landlock");
            skip("the kernel has no Landlock");
            child.wait().unwrap();
            return;
        }
        assert_eq!(first, "ready");
        // The attacker, who is not behind the wall.
        std::fs::rename(scratch.path("root/a"), scratch.path("outside/moved")).unwrap();
        let before = scratch.outside();
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(child.wait().unwrap().success());
        assert_eq!(rest, ["refused"]);
        assert_eq!(scratch.outside(), before);
    });
}

/// The control: without the wall the same names land in the directory that was moved out. This is
/// the residue that THREAT-MODEL.md states.
#[test]
fn without_the_wall_a_pinned_parent_that_was_moved_out_stays_usable() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("a");
        let root = scratch.open(options(backend));
        let parent = root.open_dir(&rel("a")).unwrap().into_root();
        std::fs::rename(scratch.path("root/a"), scratch.path("outside/moved")).unwrap();
        let written = parent.write(&rel("f"), "x").unwrap();
        assert_eq!(scratch.read("outside/moved/f"), "x");
        assert!(written.verify(&parent).unwrap());
        assert_kind(root.read(&rel("a/f")), handfast::ErrorKind::NotFound);
    });
}

#[test]
fn a_process_with_threads_is_not_hardened_and_a_worker_is() {
    let scratch = Scratch::new();
    let output = run(&["harden-threads", scratch.root_path().to_str().unwrap()]);
    if output.status.code() == Some(3) {
        assert!(std::env::var_os("CI").is_none(), "CI must have Landlock");
        skip("the kernel has no Landlock");
        return;
    }
    assert_success(&output);
}

#[test]
fn mounts_inside_are_refused_on_both_backends() {
    let scratch = Scratch::new();
    scratch
        .dir("mnt")
        .dir("tmp")
        .file("mnt-file", "")
        .link("mnt", "link");
    let outside = scratch.outside();
    let flags = if am_root() { "-m" } else { "-Urm" };
    let output = Command::new("unshare")
        .arg(flags)
        .arg(victim())
        .args(["mounts", scratch.root_path().to_str().unwrap()])
        .arg(scratch.path("outside"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed_to_unshare = String::from_utf8_lossy(&output.stderr).contains("unshare:");
    if output.status.code() == Some(3) || failed_to_unshare {
        assert!(
            !am_root() || std::env::var_os("CI").is_none(),
            "root in CI can mount"
        );
        skip("no mount namespace can be made here");
        return;
    }
    assert_success(&output);
    println!("{said}");
    assert_eq!(scratch.outside(), outside);
}

#[test]
fn openat2_that_is_taken_away_later_is_noticed() {
    if !kernel_available() {
        skip("openat2 is masked or absent from the start");
        return;
    }
    for errno in ["ENOSYS", "EPERM"] {
        let scratch = Scratch::new();
        scratch.file("a/f", "f").link("f", "a/link");
        assert_success(&run(&[
            "lose-openat2",
            scratch.root_path().to_str().unwrap(),
            errno,
        ]));
        assert_eq!(scratch.read("root/a/g"), "g");
    }
}

#[test]
fn no_descriptor_reaches_a_program_that_is_started() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("a/f", "f");
        let output = run(&[
            "inherit",
            scratch.root_path().to_str().unwrap(),
            backend_name(backend),
        ]);
        assert_success(&output);
    });
}

#[test]
fn without_descriptors_verbs_fail_and_leave_nothing() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("a/f", "old").file("b/c/d", "x");
        let output = run(&[
            "few-descriptors",
            scratch.root_path().to_str().unwrap(),
            backend_name(backend),
        ]);
        assert_success(&output);
        scratch.assert_no_leftovers();
        assert_eq!(scratch.read("root/a/f"), "new");
        assert_eq!(scratch.read("root/copy/f"), "new");
    });
}

/// Counts this process's descriptors before and after a storm of calls, successful and not.
#[test]
fn no_descriptor_leaks() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .file("a/f", "f")
            .link("/", "a/out")
            .link("loop", "a/loop")
            .fifo("a/fifo");
        let root = scratch.open(options);
        // Other tests run beside this one in the same process: look at this tree's descriptors.
        let count = || {
            let top = scratch.top.to_str().unwrap().to_owned();
            std::fs::read_dir("/proc/self/fd")
                .unwrap()
                .flatten()
                .filter_map(|entry| std::fs::read_link(entry.path()).ok())
                .filter(|target| target.to_string_lossy().starts_with(&top))
                .count()
        };
        let before = count();
        for _ in 0..20 {
            for path in ["a/f", "a/out", "a/loop", "a/fifo", "a", "none/x", "a/f/x"] {
                let path = rel(path);
                drop(root.read(&path));
                drop(root.write(&path, "x"));
                drop(root.metadata(&path));
                drop(root.create_dir_all(&path));
                drop(root.read_dir(&path));
                drop(root.hard_link(&path, &rel("a/new")));
                drop(root.remove_file(&rel("a/new")));
                drop(root.lock(&path, handfast::LockKind::Shared, std::time::Duration::ZERO));
            }
            drop(root.copy_tree(&rel("a"), &rel("b")));
            drop(root.remove_tree(&rel("b")));
        }
        assert_eq!(count(), before);
    });
}
