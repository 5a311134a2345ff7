//! What a session costs over the bare library.

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use handfast::{RelPath, Root};
use handfast_session::{
    Caller, Catalogue, CommitOptions, Mode, MountSpec, Protect, Session, SessionSpec, VirtualPath,
};

use super::{Amount, Figure};
use crate::Failure;
use crate::clock::Stopwatch;
use crate::site::Site;
use crate::stats::Summary;

/// How much is done.
struct Scene<'a> {
    site: &'a Site,
    catalogue: Catalogue,
    rounds: usize,
    opens: usize,
    big: usize,
    files: usize,
}

pub(super) fn measure(dir: &Path, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let site = Site::new(dir, crate::scale::Scale::SMALL)?;
    let (rounds, opens, big, files) = match amount {
        Amount::Full => (31, 2000, 64, 10_000),
        Amount::Quick => (9, 500, 16, 2000),
        Amount::Once => (1, 10, 2, 20),
    };
    let scene = Scene {
        catalogue: Catalogue::open_ambient(site.path("state"))?,
        site: &site,
        rounds,
        opens,
        big,
        files,
    };
    let root = Root::open_ambient(site.path(""))?;
    root.create_dir_all(&RelPath::parse("base/a/b/c")?)?;
    root.write(&RelPath::parse("base/a/b/c/file")?, vec![b'x'; 4096])?;
    let mut figures = scene.reads()?;
    figures.push(scene.copy_up(&root)?);
    figures.push(scene.commit(&root)?);
    Ok(figures)
}

fn spec(base: &Path, mode: Mode) -> Result<SessionSpec, Failure> {
    let at = VirtualPath::parse("/")?;
    Ok(SessionSpec::new().mount(MountSpec::new(base, at).mode(mode)))
}

impl Scene<'_> {
    fn session(&self, name: &str, base: &Path) -> Result<Session, Failure> {
        self.catalogue.create(name, &spec(base, Mode::Overlay)?)?;
        Ok(self.catalogue.open(name, Caller::new("bench"))?)
    }

    /// The library, a read-write session, an overlay and a thousand patterns, in turns.
    fn reads(&self) -> Result<Vec<Figure>, Failure> {
        let base = self.site.path("base");
        let root = Root::open_ambient(&base)?;
        let direct = Session::new(&spec(&base, Mode::ReadWrite)?, Caller::new("bench"))?;
        let overlay = self.session("reads", &base)?;
        let mut protect = Protect::new();
        for number in 0..250 {
            protect = protect
                .with_deny(format!(".secret-{number}"))
                .with_deny(format!("*.key{number}"))
                .with_read_only(format!("vendor/{number}/**/lock"))
                .with_read_only(format!("s{number}-*-private/[a-f]*"));
        }
        let mount = MountSpec::new(&base, VirtualPath::parse("/")?).mode(Mode::ReadWrite);
        let spec = SessionSpec::new().mount(mount.protect(protect));
        let many = Session::new(&spec, Caller::new("bench"))?;
        let mut cpu: [Vec<f64>; 4] = Default::default();
        for _ in 0..self.rounds {
            let watch = Stopwatch::start();
            let mut buffer = [0; 8192];
            for _ in 0..self.opens {
                let mut file = root.open(&RelPath::parse("a/b/c/file")?)?;
                if file.read(&mut buffer)? != 4096 {
                    return Err("the library read something else".into());
                }
            }
            cpu[0].push(watch.stop(self.opens).cpu);
            for (samples, session) in cpu[1..].iter_mut().zip([&direct, &overlay, &many]) {
                let watch = Stopwatch::start();
                self.read_through(session)?;
                samples.push(watch.stop(self.opens).cpu);
            }
        }
        let ratio = |column: usize| {
            Summary::of_ratios(&cpu[column], &cpu[0]).map_or(f64::NAN, |all| all.median)
        };
        let more = cpu[3]
            .iter()
            .zip(&cpu[1])
            .map(|(with, without)| (with - without) / 1000.0);
        let decision = Summary::of(more).map_or(f64::NAN, |all| all.median.max(0.0));
        Ok(vec![
            Figure::new(
                "session/open-read",
                "read-write session, open + read 4 KiB, to the library (CPU)",
                ratio(1),
                "×",
            )
            .at_most(1.15),
            Figure::new(
                "session/overlay-read",
                "overlay, open + read of an untouched file, to the library (CPU)",
                ratio(2),
                "×",
            )
            .at_most(1.25),
            Figure::new(
                "session/patterns",
                "a decision with 1,000 patterns at depth 4 (CPU)",
                decision,
                "µs",
            )
            .at_most(1.0),
        ])
    }

    fn read_through(&self, session: &Session) -> Result<(), Failure> {
        let mut buffer = [0; 8192];
        for _ in 0..self.opens {
            let mut file = session.open("/a/b/c/file")?;
            if file.read(&mut buffer)? != 4096 {
                return Err("a session read something else".into());
            }
        }
        Ok(())
    }

    /// Files of 1 MiB, copied plainly and copied up, one after the other.
    fn copy_up(&self, root: &Root) -> Result<Figure, Failure> {
        let data = vec![b'y'; 1 << 20];
        for number in 0..self.big {
            root.write(&RelPath::parse(format!("base/big{number}"))?, &data)?;
        }
        self.let_them_age();
        let mut ratios = Vec::new();
        for round in 0..self.rounds.min(5) {
            let session = self.session(&format!("copy{round}"), &self.site.path("base"))?;
            let copies = RelPath::parse(format!("copies{round}"))?;
            root.create_dir(&copies)?;
            let mut sum = (Duration::ZERO, Duration::ZERO);
            for number in 0..self.big {
                let from = RelPath::parse(format!("base/big{number}"))?;
                let to = RelPath::parse(format!("copies{round}/{number}"))?;
                let how = handfast::OpenOptions::new().write(true).create_new(true);
                let begun = Instant::now();
                // A plain copy by descriptor, as `cp` makes it.
                std::io::copy(
                    &mut root.open(&from)?.into_std(),
                    &mut root.open_with(&to, how)?.into_std(),
                )?;
                sum.0 += begun.elapsed();
                let begun = Instant::now();
                session.append(format!("/big{number}"), b"")?;
                sum.1 += begun.elapsed();
            }
            ratios.push(sum.1.as_secs_f64() / sum.0.as_secs_f64());
            root.remove_tree(&copies)?;
        }
        let median = Summary::of(ratios).map_or(f64::NAN, |all| all.median);
        let title = "copy-up of 1 MiB, to a plain copy (wall)";
        Ok(Figure::new("session/copy-up", title, median, "×").at_most(1.1))
    }

    /// Changed files committed, and the same files copied over others with `cp -a` and one sync.
    fn commit(&self, root: &Root) -> Result<Figure, Failure> {
        let mut ratios = Vec::new();
        for round in 0..self.rounds.min(3) {
            for dir in ["many", "new", "plain"] {
                root.create_dir(&RelPath::parse(format!("{dir}{round}"))?)?;
            }
            let base = self.site.path(&format!("many{round}"));
            for number in 0..self.files {
                for (dir, content) in [
                    ("many", "old content"),
                    ("plain", "old content"),
                    ("new", "newer content"),
                ] {
                    let path = RelPath::parse(format!("{dir}{round}/f{number}"))?;
                    let quick =
                        handfast::WriteOptions::new().durability(handfast::Durability::None);
                    root.write_with(&path, content, quick)?;
                }
            }
            self.let_them_age();
            let session = self.session(&format!("commit{round}"), &base)?;
            for number in 0..self.files {
                session.write(format!("/f{number}"), "newer content")?;
            }
            let (new, plain) = (format!("new{round}"), format!("plain{round}"));
            run(Command::new("sync").args(["-f", "--"]).arg(&base))?;
            let begun = Instant::now();
            run(Command::new("cp")
                .args(["-a", "--"])
                .arg(self.site.path(&new).join("."))
                .arg(self.site.path(&plain)))?;
            run(Command::new("sync")
                .args(["-f", "--"])
                .arg(self.site.path(&plain)))?;
            let plainly = begun.elapsed();
            let begun = Instant::now();
            let report = session.commit(&CommitOptions::default(), &mut |_, _| {})?;
            let ours = begun.elapsed();
            if report.committed.len() != self.files || !report.conflicts.is_empty() {
                return Err("the commit did something else".into());
            }
            ratios.push(ours.as_secs_f64() / plainly.as_secs_f64());
            for dir in ["many", "new", "plain"] {
                root.remove_tree(&RelPath::parse(format!("{dir}{round}"))?)?;
            }
        }
        let median = Summary::of(ratios).map_or(f64::NAN, |all| all.median);
        let title = format!(
            "commit of {} changed files, to `cp -a` and one sync (wall)",
            self.files
        );
        Ok(Figure::new("session/commit", title, median, "×").at_most(1.5))
    }

    /// Until no digest is taken of them: of very young files one always is.
    fn let_them_age(&self) {
        if self.rounds > 1 {
            std::thread::sleep(Duration::from_secs(3));
        }
    }
}

fn run(command: &mut Command) -> Result<(), Failure> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed").into()),
    }
}
