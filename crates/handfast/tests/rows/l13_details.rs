//! Smaller answers that were wrong.

use std::fs;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use handfast::harden::{Hardening, Wall, offered};
use handfast::{BackendChoice, ErrorKind, Mounts, OpenOptions, Root, RootOptions};
use rustix::io::FdFlags;

use crate::others::*;
use crate::support::turns::Turns;
use crate::support::*;

/// A file that is never at its end and says nothing: reading answers, and does not wait.
#[test]
fn l13_reading_a_silent_pseudo_file_does_not_hang() {
    each_backend(|backend| {
        let root = Root::open_ambient_with("/proc", options(backend)).unwrap();
        if let Err(error) = root.open(&rel("kmsg")) {
            skip(&format!("the kernel's messages cannot be read: {error}"));
            return;
        }
        let read = within_a_second("read", {
            let root = root.clone();
            move || {
                // Whatever waits there is taken; then nothing does.
                (0..100_000).find_map(|_| root.read(&rel("kmsg")).err())
            }
        });
        assert_eq!(read.unwrap().kind(), ErrorKind::Busy);
        let handle = within_a_second("a handle", move || {
            let mut file = root.open(&rel("kmsg")).unwrap();
            std::io::copy(&mut file, &mut std::io::sink()).map_err(|error| error.kind())
        });
        assert_eq!(handle, Err(std::io::ErrorKind::WouldBlock));
    });
}

/// Root that may give files away but not act as their owner (no `CAP_FOWNER`).
#[test]
fn l13_a_file_of_another_user_is_replaced_without_the_owners_capability() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old").file("g", "old");
        for (name, mode) in [("f", 0o664), ("g", 0o640)] {
            let path = scratch.path("root").join(name);
            std::os::unix::fs::chown(&path, Some(BOB), Some(BOB)).unwrap();
            set_mode(&path, mode);
        }
        std::thread::scope(|scope| {
            let victim = scope.spawn(|| {
                use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
                let mut sets = capabilities(None).unwrap();
                sets.effective.remove(CapabilitySet::FOWNER);
                sets.permitted.remove(CapabilitySet::FOWNER);
                set_capabilities(None, sets).unwrap();
                let root = scratch.open(options(backend));
                root.write(&rel("f"), "new").unwrap();
                let version = root.version(&rel("g")).unwrap();
                root.write_if(&rel("g"), &version, "new").unwrap();
            });
            victim.join().unwrap();
        });
        for (name, mode) in [("f", 0o664), ("g", 0o640)] {
            use std::os::unix::fs::MetadataExt;
            let meta = fs::metadata(scratch.path("root").join(name)).unwrap();
            assert_eq!(
                (meta.uid(), meta.gid(), meta.mode() & 0o777),
                (BOB, BOB, mode)
            );
        }
    });
}

/// On overlayfs a directory of the lower layer cannot be renamed; that is not another mount.
#[test]
fn l13_an_overlay_says_why_a_directory_cannot_be_renamed() {
    let scratch = Scratch::new();
    let Some(output) = unshared(&["overlay-rename", scratch.top.to_str().unwrap()]) else {
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    if said.starts_with("renamed") {
        skip("this overlay renames directories");
        return;
    }
    assert!(
        said.starts_with("Unsupported none"),
        "{said} {:?}",
        output.stderr
    );
}

/// Rights that only directories have are not asked for on a file.
#[test]
fn l13_a_wall_around_a_file_is_whole() {
    if offered() != Wall::Full {
        skip("this kernel has no whole wall");
        return;
    }
    let scratch = Scratch::new();
    scratch.file("state", "");
    let root = scratch.open(RootOptions::new());
    let file = fs::File::open(scratch.path("root/state")).unwrap();
    let walls = std::thread::spawn(move || {
        let whole = Hardening::new().root(&root).full(&file).harden_thread();
        let read = Hardening::new()
            .root(&root)
            .read_only(&file)
            .harden_thread();
        (whole.unwrap(), read.unwrap())
    });
    assert_eq!(walls.join().unwrap(), (Wall::Full, Wall::Full));
}

#[test]
fn l13_a_root_made_of_a_descriptor_is_not_inherited() {
    let scratch = Scratch::new();
    let fd = rustix::fs::open(
        scratch.root_path(),
        rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    assert!(
        !rustix::io::fcntl_getfd(&fd)
            .unwrap()
            .contains(FdFlags::CLOEXEC)
    );
    let root = Root::from_fd(fd, RootOptions::new()).unwrap();
    let flags = rustix::io::fcntl_getfd(root.as_fd()).unwrap();
    assert!(flags.contains(FdFlags::CLOEXEC));
}

#[test]
fn l13_set_id_bits_are_given_only_where_the_root_allows_it() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "").dir("d");
        let root = scratch.open(options(backend));
        for (name, mode) in [("f", 0o4755), ("f", 0o2755), ("f", 0o6755), ("d", 0o2755)] {
            assert_kind(root.chmod(&rel(name), mode), ErrorKind::Denied);
        }
        // What is there already may stay, and go.
        set_mode(&scratch.path("root/d"), 0o2755);
        root.chmod(&rel("d"), 0o2775).unwrap();
        root.chmod(&rel("d"), 0o1755).unwrap();
        assert_eq!(mode_of(&scratch, "root/d"), 0o1755);
        let root = scratch.open(options(backend).set_id(handfast::SetId::Allow));
        root.chmod(&rel("f"), 0o4755).unwrap();
        assert_eq!(mode_of(&scratch, "root/f"), 0o4755);
    });
}

/// Ordinary links of procfs are followed, and its magic ones are not, on both backends.
#[test]
fn l13_links_of_procfs_have_one_answer() {
    if !kernel_available() {
        skip("the kernel backend: openat2 is masked or absent");
        return;
    }
    let me = std::process::id();
    for mounts in [Mounts::Refuse, Mounts::Allow] {
        let open =
            |backend| Root::open_ambient_with("/proc", beneath(backend).mounts(mounts)).unwrap();
        let (kernel, walk) = (open(BackendChoice::Kernel), open(BackendChoice::Walk));
        for path in [
            "self/status".to_owned(),
            "thread-self/comm".to_owned(),
            "mounts".to_owned(),
            "net/dev".to_owned(),
            "self/exe".to_owned(),
            "self/cwd/x".to_owned(),
            format!("{me}/root/etc/passwd"),
            format!("{me}/fd/0"),
            format!("{me}/ns/mnt"),
        ] {
            let answers = [&kernel, &walk].map(|root| {
                root.open(&rel(&path))
                    .map(drop)
                    .map_err(|error| error.kind())
            });
            assert_eq!(answers[0], answers[1], "{path}");
            let is_magic = path.contains("exe")
                || path.contains("cwd")
                || path.contains("root")
                || path.contains("/fd/")
                || path.contains("/ns/");
            match is_magic {
                true => assert_eq!(answers[0], Err(ErrorKind::Link), "{path}"),
                false => assert_eq!(answers[0], Ok(()), "{path}"),
            }
        }
    }
}

/// The share of calls that are answered `Raced` where a leaf is swapped with a link to outside.
#[test]
fn l13_a_swapped_leaf_is_rarely_raced() {
    const ROUNDS: u32 = 20_000;
    let mut shares = Vec::new();
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .file("d/f", "inside")
            .link("../../outside/secret", "d/link");
        let root = scratch.open(beneath(backend));
        let (file, link) = (scratch.path("root/d/f"), scratch.path("root/d/link"));
        let done = AtomicBool::new(false);
        let (mut raced, mut read, mut escapes) = (0, 0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let cwd = rustix::fs::CWD;
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                while !done.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(cwd, &file, cwd, &link, exchange).unwrap();
                }
            });
            let end = EndsAttack(&done);
            for _ in 0..ROUNDS {
                match root.read(&rel("d/f")) {
                    Ok(text) if text == b"inside" => read += 1,
                    Ok(_) => escapes += 1,
                    Err(error) if error.kind() == ErrorKind::Raced => raced += 1,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Escape, "{error}"),
                }
            }
            drop(end);
        });
        let share = f64::from(raced) / f64::from(ROUNDS);
        println!(
            "{}: {:.2} % raced, {read} read",
            backend_name(backend),
            share * 100.0
        );
        assert_eq!(escapes, 0);
        assert!(read > 0, "nothing was read at all");
        shares.push((backend_name(backend), share));
    });
    for (name, share) in shares {
        assert!(share <= 0.005, "{name}: {:.2} % raced", share * 100.0);
    }
}

/// A file that is replaced while it is judged has lost its name; the verb then works on the file that
/// is there. Before, it was `Raced`.
#[test]
fn l13_a_replaced_file_is_opened_again() {
    const ROUNDS: u32 = 2_000;
    const ENOUGH: u64 = 100;
    type Change = fn(&Root) -> Result<(), handfast::Error>;
    let changes: [(&str, Change); 3] = [
        ("open-write", |root| {
            let how = OpenOptions::new().write(true);
            root.open_with(&rel("d/f"), how).map(drop)
        }),
        ("append", |root| root.append(&rel("d/f"), "x").map(drop)),
        ("chmod", |root| root.chmod(&rel("d/f"), 0o600)),
    ];
    each_backend(|backend| {
        for (name, change) in changes {
            let scratch = Scratch::new();
            scratch.file("d/f", "inside");
            let root = scratch.open(options(backend));
            let (file, aside) = (scratch.path("root/d/f"), scratch.path("root/d/aside"));
            let (done, replaced) = (AtomicBool::new(false), AtomicU64::new(0));
            let turns = Turns::start();
            let (mut raced, mut worked) = (0, 0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        // Empty: a disk writes the text of a file out before it is renamed over another.
                        std::fs::File::create(&aside).unwrap();
                        std::fs::rename(&aside, &file).unwrap();
                        replaced.fetch_add(1, Ordering::Relaxed);
                        // In memory a file is replaced faster than a verb looks twice: the number of
                        // looks of a call is bounded, and this is not the test of that bound.
                        std::thread::sleep(std::time::Duration::from_micros(50));
                    }
                });
                let end = EndsAttack(&done);
                let begun = std::time::Instant::now();
                while raced + worked < ROUNDS
                    || (replaced.load(Ordering::Relaxed) < ENOUGH && begun.elapsed().as_secs() < 10)
                {
                    match change(&root) {
                        Ok(()) => worked += 1,
                        Err(error) if error.kind() == ErrorKind::Raced => raced += 1,
                        Err(error) => panic!("{name}: {error}"),
                    }
                }
                drop(end);
            });
            let replaced = replaced.into_inner();
            let tries = raced + worked;
            println!(
                "{name}, {}: {raced} of {tries} raced, {replaced} replaced",
                backend_name(backend)
            );
            assert!(raced * 200 <= tries, "{name}: {raced} of {tries}");
            if replaced < ENOUGH {
                let what = format!("replaced files, {name} {}", backend_name(backend));
                turns.settle_counts(&what, &[("replaced", replaced)]);
            }
        }
    });
}
