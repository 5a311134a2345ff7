//! Full disks, where the test may mount a small one; several processes; memory that is left.

use std::path::{Path, PathBuf};
use std::process::Command;

use handfast::ErrorKind;
use handfast_session::{Catalogue, CommitOptions, Mode, MountSpec, SessionSpec};

use crate::support::*;

/// A tmpfs of its own, gone when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(at: &Path, options: &str) -> Result<Self, String> {
        std::fs::create_dir(at).unwrap();
        let run = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "none"])
            .arg(at)
            .output();
        match run {
            Ok(run) if run.status.success() => Ok(Self(at.to_owned())),
            Ok(run) => Err(String::from_utf8_lossy(&run.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// Fills a filesystem up, but for so many bytes.
fn fill(dir: &Path, leave: usize) {
    use std::io::Write;
    let mut file = std::fs::File::create(dir.join("filler")).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let len = file.metadata().unwrap().len();
    file.set_len(len - leave as u64).unwrap();
}

#[test]
fn a_full_disk_during_a_copy_up_changes_nothing() {
    let scratch = Scratch::new();
    let small = match Tmpfs::mount(&scratch.top.join("small"), "size=1m") {
        Ok(small) => small,
        Err(why) => return skip("a full disk during a copy-up", &why),
    };
    scratch.file("a", vec![b'a'; 200_000]).file("b", "b");
    let catalogue = Catalogue::open_ambient(small.0.join("state")).unwrap();
    catalogue.create("s", &scratch.spec(Mode::Overlay)).unwrap();
    let session = catalogue.open("s", me()).unwrap();
    session.write("/kept", "kept").unwrap();
    fill(&small.0, 100_000);
    let before = tree_in(&session);
    for refused in [
        session.append("/a", "more").map(drop),
        session.write("/a", vec![b'c'; 200_000]).map(drop),
        session.copy("/a", "/c").map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Quota, "{error}");
    }
    assert_eq!(tree_in(&session), before);
    drop(session);
    // It is whole, and goes on when there is room again.
    std::fs::remove_file(small.0.join("filler")).unwrap();
    let session = catalogue.open("s", me()).unwrap();
    assert_eq!(tree_in(&session), before);
    session.append("/a", "more").unwrap();
    assert_eq!(diff(&session), ["changed /a", "added /kept"]);
}

#[test]
fn a_full_disk_during_a_commit_changes_nothing() {
    let scratch = Scratch::new();
    let small = match Tmpfs::mount(&scratch.top.join("small"), "size=1m") {
        Ok(small) => small,
        Err(why) => return skip("a full disk during a commit", &why),
    };
    let base = small.0.join("base");
    std::fs::create_dir(&base).unwrap();
    std::fs::write(base.join("a"), "old").unwrap();
    let spec = SessionSpec::new().mount(MountSpec::new(&base, v("/")));
    scratch.catalogue().create("s", &spec).unwrap();
    let session = scratch.catalogue().open("s", me()).unwrap();
    session.write("/a", vec![b'n'; 150_000]).unwrap();
    session.write("/b", vec![b'n'; 150_000]).unwrap();
    let mine = tree_in(&session);
    fill(&small.0, 200_000);
    let options = CommitOptions::default();
    let answer = session.commit(&options, &mut |_, _| {});
    // Refused before, or a late conflict that keeps its content: nothing is half there.
    match answer {
        Err(error) => assert_eq!(error.kind(), ErrorKind::Quota, "{error}"),
        Ok(report) => assert!(!report.conflicts.is_empty(), "{report:?}"),
    }
    assert_eq!(tree_in(&session)["b"], mine["b"]);
    assert_eq!(session.read("/a").unwrap(), vec![b'n'; 150_000]);
    let there = std::fs::read(base.join("a")).unwrap();
    assert!(there == b"old" || there == vec![b'n'; 150_000]);
    std::fs::remove_file(small.0.join("filler")).unwrap();
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert!(report.conflicts.is_empty(), "{report:?}");
    assert_eq!(std::fs::read(base.join("b")).unwrap().len(), 150_000);
    assert!(diff(&session).is_empty());
}

const HOME: &str = "HANDFAST_SESSION_TEST_HOME";
const WHO: &str = "HANDFAST_SESSION_TEST_WHO";

/// Not a test by itself: another process in a session.
#[test]
fn another_process() {
    let (Some(home), Ok(who)) = (std::env::var_os(HOME), std::env::var(WHO)) else {
        return;
    };
    let home = PathBuf::from(home);
    if who == "memory" {
        let spec = SessionSpec::new().mount(MountSpec::new(&home, v("/")).mode(Mode::Memory));
        let session = handfast_session::Session::new(&spec, me()).unwrap();
        session.write("/secret", "in memory").unwrap();
        println!("ready");
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    let session = Catalogue::open_ambient(home)
        .unwrap()
        .open("s", me())
        .unwrap();
    for number in 0..60 {
        session.write(format!("/{who}/{number}"), &who).unwrap();
        session.append("/log", format!("{who} {number}\n")).unwrap();
        session.write("/both", who.repeat(1000)).unwrap();
        let seen = session.read("/both").unwrap();
        assert!(seen == b"one".repeat(1000) || seen == b"two".repeat(1000));
    }
}

fn other(home: &Path, who: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "places::another_process", "--nocapture"])
        .env(HOME, home)
        .env(WHO, who);
    command
}

#[test]
fn two_processes_work_in_one_session() {
    let scratch = Scratch::new();
    scratch.dir("one").dir("two");
    let session = scratch.session(Mode::Overlay);
    let home = scratch.top.join("state");
    let children = ["one", "two"].map(|who| other(&home, who).spawn().unwrap());
    // A third looks on, and sees something whole at any time.
    for _ in 0..20 {
        drop(session.diff().unwrap());
        drop(session.usage().unwrap());
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for who in ["one", "two"] {
        assert_eq!(session.read_dir(format!("/{who}")).unwrap().len(), 60);
    }
    let log = String::from_utf8(session.read("/log").unwrap()).unwrap();
    let mut lines: Vec<_> = log.lines().collect();
    for who in ["one", "two"] {
        let mine: Vec<_> = lines.iter().filter(|line| line.starts_with(who)).collect();
        let wanted: Vec<_> = (0..60).map(|number| format!("{who} {number}")).collect();
        assert!(
            mine.into_iter().eq(wanted.iter()),
            "{who}: none lost, in order"
        );
    }
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 120);
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert!(report.conflicts.is_empty(), "{report:?}");
    assert_eq!(scratch.read("log"), log);
}

#[test]
fn what_a_killed_process_left_in_memory_goes_with_the_next() {
    use std::io::{BufRead, BufReader};
    let scratch = Scratch::new();
    let spec = SessionSpec::new().mount(MountSpec::new(scratch.base(), v("/")).mode(Mode::Memory));
    if let Err(error) = handfast_session::Session::new(&spec, me()) {
        return skip("overlays in memory", &error.to_string());
    }
    let mut child = other(&scratch.base(), "memory")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = std::iter::from_fn(|| said.next()).map_while(Result::ok);
    assert!(lines.into_iter().any(|line| line.ends_with("ready")));
    let has_secret = || {
        let user = rustix::process::geteuid().as_raw();
        let Ok(all) = std::fs::read_dir(format!("/dev/shm/handfast-{user}")) else {
            return false;
        };
        let objects = |dir: PathBuf| std::fs::read_dir(dir.join("mount-0/objects")).ok();
        all.flatten()
            .filter_map(|entry| objects(entry.path()))
            .flat_map(|objects| objects.flatten())
            .any(|object| std::fs::read(object.path()).is_ok_and(|it| it == b"in memory"))
    };
    assert!(has_secret(), "it is there while the process lives");
    // Another session beside it takes nothing away from it.
    drop(handfast_session::Session::new(&spec, me()).unwrap());
    assert!(has_secret());
    child.kill().unwrap();
    child.wait().unwrap();
    drop(handfast_session::Session::new(&spec, me()).unwrap());
    assert!(!has_secret(), "the next does");
}
