//! What a session costs over the bare library, as ratios of one run.
//!
//! `cargo run --release -p handfast-session --example measure [DIR]`
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement sets its scene with ambient calls"
)]
#![cfg_attr(
    any(not(target_os = "linux"), handfast_unsupported),
    allow(unused, reason = "nothing to measure there")
)]

#[cfg(any(not(target_os = "linux"), handfast_unsupported))]
fn main() {}

#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
fn main() {
    linux::main();
}

#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod linux {
    use std::io::Read;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use handfast::{RelPath, Root};
    use handfast_session::{
        Catalogue, CommitOptions, Mode, MountSpec, Protect, Session, SessionSpec, VirtualPath,
    };

    /// The best of several rounds, taken in turns.
    fn compare(
        rounds: usize,
        one: &mut dyn FnMut(),
        other: &mut dyn FnMut(),
    ) -> (Duration, Duration) {
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..rounds {
            let begun = Instant::now();
            one();
            best.0 = best.0.min(begun.elapsed());
            let begun = Instant::now();
            other();
            best.1 = best.1.min(begun.elapsed());
        }
        best
    }

    fn ratio(what: &str, (bare, ours): (Duration, Duration)) {
        let ratio = ours.as_secs_f64() / bare.as_secs_f64();
        println!("{what:<56} {ratio:>6.2} x   ({bare:?} and {ours:?})");
    }

    pub(crate) fn main() {
        let top = std::env::args_os()
            .nth(1)
            .map_or_else(std::env::temp_dir, Into::into);
        let top = top.join(format!("handfast-measure-{}", std::process::id()));
        std::fs::create_dir(&top).unwrap();
        let base = top.join("base");
        std::fs::create_dir_all(base.join("a/b/c")).unwrap();
        std::fs::write(base.join("a/b/c/file"), vec![b'x'; 4096]).unwrap();
        reads(&top, &base);
        patterns(&base);
        copy_up(&top, &base);
        commit(&top);
        std::fs::remove_dir_all(&top).unwrap();
    }

    fn spec(base: &Path, mode: Mode) -> SessionSpec {
        let at = VirtualPath::parse("/").unwrap();
        SessionSpec::new().mount(MountSpec::new(base, at).mode(mode))
    }

    fn read_all(session: &Session) {
        let mut buffer = [0; 8192];
        for _ in 0..2000 {
            let mut file = session.open("/a/b/c/file").unwrap();
            assert_eq!(file.read(&mut buffer).unwrap(), 4096);
        }
    }

    fn reads(top: &Path, base: &Path) {
        let root = Root::open_ambient(base).unwrap();
        let mut bare = || {
            let mut buffer = [0; 8192];
            for _ in 0..2000 {
                let path = RelPath::parse("a/b/c/file").unwrap();
                let mut file = root.open(&path).unwrap();
                assert_eq!(file.read(&mut buffer).unwrap(), 4096);
            }
        };
        let direct = Session::new(&spec(base, Mode::ReadWrite)).unwrap();
        ratio(
            "read-write open+read, to the bare library (<= 1.25)",
            compare(15, &mut bare, &mut || read_all(&direct)),
        );
        let catalogue = Catalogue::open_ambient(top.join("state")).unwrap();
        catalogue.create("r", &spec(base, Mode::Overlay)).unwrap();
        let overlay = catalogue.open("r").unwrap();
        ratio(
            "overlay open+read of an untouched file (<= 1.5)",
            compare(15, &mut bare, &mut || read_all(&overlay)),
        );
    }

    /// Patterns of every kind, and a path that none of them matches.
    fn patterns(base: &Path) {
        let mut protect = Protect::new();
        for number in 0..250 {
            protect = protect
                .with_deny(format!(".secret-{number}"))
                .with_deny(format!("*.key{number}"))
                .with_read_only(format!("vendor/{number}/**/lock"))
                .with_read_only(format!("s{number}-*-private/[a-f]*"));
        }
        let at = VirtualPath::parse("/").unwrap();
        let mount = MountSpec::new(base, at)
            .mode(Mode::ReadWrite)
            .protect(protect);
        let many = Session::new(&SessionSpec::new().mount(mount)).unwrap();
        let none = Session::new(&spec(base, Mode::ReadWrite)).unwrap();
        let (without, with) = compare(15, &mut || read_all(&none), &mut || read_all(&many));
        let each = with.saturating_sub(without) / 2000;
        println!(
            "a decision with 1000 patterns at depth 4 (<= 1 us){:>16?}",
            each
        );
    }

    fn copy_up(top: &Path, base: &Path) {
        let data = vec![b'y'; 1 << 20];
        for number in 0..64 {
            std::fs::write(base.join(format!("big{number}")), &data).unwrap();
        }
        // Old enough that no digest is taken of them.
        std::thread::sleep(Duration::from_secs(3));
        let catalogue = Catalogue::open_ambient(top.join("state")).unwrap();
        let mut best = (Duration::MAX, Duration::MAX);
        for round in 0..3 {
            let name = format!("c{round}");
            catalogue.create(&name, &spec(base, Mode::Overlay)).unwrap();
            let session = catalogue.open(&name).unwrap();
            let copies = top.join(format!("copies{round}"));
            std::fs::create_dir(&copies).unwrap();
            // In turns, file by file: the disk's own moods meet both alike.
            let mut sum = (Duration::ZERO, Duration::ZERO);
            for number in 0..64 {
                let from = base.join(format!("big{number}"));
                let begun = Instant::now();
                std::fs::copy(from, copies.join(number.to_string())).unwrap();
                sum.0 += begun.elapsed();
                let begun = Instant::now();
                session.append(format!("/big{number}"), b"").unwrap();
                sum.1 += begun.elapsed();
            }
            best = (best.0.min(sum.0), best.1.min(sum.1));
        }
        ratio("copy-up of 1 MiB, to a plain copy (<= 1.1)", best);
    }

    fn commit(top: &Path) {
        let mut best = (Duration::MAX, Duration::MAX);
        for round in 0..3 {
            let base = top.join(format!("many{round}"));
            let new = top.join(format!("new{round}"));
            let plain = top.join(format!("plain{round}"));
            for dir in [&base, &new, &plain] {
                std::fs::create_dir(dir).unwrap();
            }
            for number in 0..10_000 {
                std::fs::write(base.join(format!("f{number}")), "old content of a file").unwrap();
                std::fs::write(plain.join(format!("f{number}")), "old content of a file").unwrap();
                std::fs::write(new.join(format!("f{number}")), "new content of the file").unwrap();
            }
            std::thread::sleep(Duration::from_secs(3));
            let catalogue = Catalogue::open_ambient(top.join("state")).unwrap();
            let name = format!("m{round}");
            catalogue
                .create(&name, &spec(&base, Mode::Overlay))
                .unwrap();
            let session = catalogue.open(&name).unwrap();
            for number in 0..10_000 {
                session
                    .write(format!("/f{number}"), "new content of the file")
                    .unwrap();
            }
            drop(std::process::Command::new("sync").status());
            let begun = Instant::now();
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .arg(new.join("."))
                .arg(&plain)
                .status();
            assert!(copied.unwrap().success());
            drop(
                std::process::Command::new("sync")
                    .arg("-f")
                    .arg(&plain)
                    .status(),
            );
            best.0 = best.0.min(begun.elapsed());
            let begun = Instant::now();
            let report = session
                .commit(&CommitOptions::default(), &mut |_, _| {})
                .unwrap();
            best.1 = best.1.min(begun.elapsed());
            assert_eq!(
                (report.committed.len(), report.conflicts.len()),
                (10_000, 0)
            );
        }
        ratio(
            "commit of 10,000 changed files, to cp -a and sync (<= 1.5)",
            best,
        );
    }
}
