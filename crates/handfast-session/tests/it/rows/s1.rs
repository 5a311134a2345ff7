//! A rename moves what was judged, and a commit judges again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use handfast::{ErrorKind, RenameMode};
use handfast_session::{Caller, Catalogue, CommitOptions, Mode, OnConflict, Protect, Session};

use super::{beside, exchange_inside, rename_at};
use crate::support::*;
use crate::turns::Turns;

/// A file may come under `.github`; a directory may not: it could hold workflows.
fn protect() -> Protect {
    Protect::new().with_read_only("/.github/workflows")
}

fn scene() -> Scratch {
    let s = Scratch::new();
    s.file("one", "a file")
        .file("two/workflows/evil.yml", "run: evil");
    s
}

type Rename<'a> = &'a dyn Fn(&str, &str) -> Result<(), handfast::Error>;

/// What a race came to.
#[derive(Debug, Default)]
struct Tally {
    moved: u32,
    refused: u32,
    harm: u32,
}

const ATTEMPTS: u32 = 1500;

/// Renames `/one` to `/.github` and back, while somebody exchanges it for a directory.
fn provoke(session: &Session, rename: Rename<'_>) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..ATTEMPTS {
        match rename("one", ".github") {
            Ok(()) => {
                tally.moved += 1;
                if session.symlink_metadata("/.github").unwrap().is_dir() {
                    tally.harm += 1;
                }
                rename(".github", "one").unwrap();
            }
            Err(error) => {
                let kinds = [ErrorKind::Denied, ErrorKind::NotFound];
                assert!(kinds.contains(&error.kind()), "{error}");
                tally.refused += 1;
            }
        }
    }
    tally
}

/// How often the attack is repeated before it counts as too weak.
const MAX_FIGHTS: u32 = 8;

#[test]
fn s1_a_directory_swapped_in_by_another_caller_is_not_renamed_onto_a_protected_place() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let s = scene();
        let session = s.protected(mode, protect());
        let accomplice = session.for_caller(Caller::new("accomplice"));
        let by_path = |from: &str, to: &str| {
            let (from, to) = (format!("/{from}"), format!("/{to}"));
            session.rename(from, to, RenameMode::NoReplace)
        };
        let by_handle = |from: &str, to: &str| rename_at(&session, from, to, RenameMode::NoReplace);
        let ways: [Rename<'_>; 2] = [&by_path, &by_handle];
        for (number, way) in ways.into_iter().enumerate() {
            let turns = Turns::start();
            let (mut attacks, mut moved, mut refused) = (0, 0, 0);
            let mut is_shown = false;
            // Beside other tests the accomplice may hardly get a turn: then once more.
            for _ in 0..MAX_FIGHTS {
                let mut tally = Tally::default();
                attacks += beside(
                    || exchange_inside(&accomplice, "/one", "/two"),
                    || tally = provoke(&session, way),
                );
                println!("s1 {mode} way {number}: {attacks} exchanges, {tally:?}");
                assert_eq!(tally.harm, 0, "{mode} way {number}");
                (moved, refused) = (moved + tally.moved, refused + tally.refused);
                // In a read-write mount what moves is not held, so a file is refused as well.
                is_shown = match mode {
                    Mode::Overlay => moved > 0 && refused > 0,
                    _ => moved == 0,
                };
                if attacks >= 20 && is_shown {
                    break;
                }
            }
            if attacks < 20 || !is_shown {
                let mut counts = vec![("exchanges", attacks), ("refused", u64::from(refused))];
                if mode == Mode::Overlay {
                    counts.push(("moved", u64::from(moved)));
                }
                turns.settle_counts("s1", &counts);
            }
        }
        assert!(!s.at(".github/workflows").exists());
    }
}

/// As above, with an outsider: the rename takes a name of the base into the overlay, and what it takes
/// is what it judged.
#[test]
fn s1_a_directory_swapped_in_by_an_outsider_is_not_renamed_onto_a_protected_place() {
    let s = scene();
    let session = s.protected(Mode::Overlay, protect());
    let turns = Turns::start();
    let (mut moved, mut raced, mut denied) = (0_u32, 0_u32, 0_u32);
    let mut attacks = 0;
    for _ in 0..MAX_FIGHTS {
        attacks += beside(
            || super::exchange_outside(&s, "one", "two"),
            || {
                for _ in 0..ATTEMPTS {
                    match session.rename("/one", "/.github", RenameMode::NoReplace) {
                        Ok(()) => {
                            moved += 1;
                            // The base may change again: then the moved file is stale.
                            let now = session.symlink_metadata("/.github");
                            let is_dir = now.is_ok_and(|now| now.is_dir());
                            assert!(!is_dir, "a directory came under a protected name");
                            let below = session.read("/.github/workflows/evil.yml");
                            assert!(below.is_err(), "a workflow came under a protected name");
                            session.discard(&[]).unwrap();
                        }
                        Err(error) if error.kind() == ErrorKind::Raced => raced += 1,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                            denied += 1;
                        }
                    }
                }
            },
        );
        if attacks >= 20 && moved > 0 && denied > 0 {
            break;
        }
    }
    println!("s1 outsider: {attacks} exchanges, {moved} moved, {raced} raced, {denied} denied");
    if attacks < 20 || moved == 0 || denied == 0 {
        let counts = [
            ("exchanges", attacks),
            ("moved", u64::from(moved)),
            ("denied", u64::from(denied)),
        ];
        turns.settle_counts("s1 outsider", &counts);
    }
}

/// The control: asks by path, then renames by path.
#[test]
fn s1_control_a_naive_rename_moves_the_directory() {
    let s = scene();
    let turns = Turns::start();
    let until = Instant::now() + Duration::from_secs(20);
    let (mut attempts, mut harm) = (0_u32, 0_u32);
    let attacks = beside(
        || super::exchange_outside(&s, "one", "two"),
        || {
            while harm == 0 && Instant::now() < until {
                attempts += 1;
                if !s.at("one").is_file() {
                    continue;
                }
                if std::fs::rename(s.at("one"), s.at(".github")).is_ok() {
                    harm += u32::from(s.at(".github/workflows/evil.yml").exists());
                    std::fs::rename(s.at(".github"), s.at("one")).unwrap();
                }
            }
        },
    );
    println!("s1 control: {attempts} attempts, {attacks} exchanges, {harm} harmed");
    if harm == 0 {
        turns.settle("s1 control", "nothing was harmed");
    }
}

const HOME: &str = "HANDFAST_SESSION_ROWS_HOME";

/// Not a test by itself: another process that exchanges the two names until it is ended.
#[test]
fn s1_the_other_process() {
    let Some(home) = std::env::var_os(HOME) else {
        return;
    };
    let session = Catalogue::open_ambient(PathBuf::from(home))
        .unwrap()
        .open("s", Caller::new("accomplice"))
        .unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    while Instant::now() < until {
        exchange_inside(&session, "/one", "/two");
    }
}

#[test]
fn s1_neither_if_the_other_caller_is_another_process() {
    let s = scene();
    let session = s.protected(Mode::Overlay, protect());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "rows::s1::s1_the_other_process"])
        .env(HOME, s.top.join("state"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let turns = Turns::start();
    let tally = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        provoke(&session, &|from, to| {
            let (from, to) = (format!("/{from}"), format!("/{to}"));
            session.rename(from, to, RenameMode::NoReplace)
        })
    }));
    child.kill().unwrap();
    child.wait().unwrap();
    let tally = tally.unwrap();
    println!("s1 two processes: {tally:?}");
    assert_eq!(tally.harm, 0);
    if tally.moved == 0 || tally.refused == 0 {
        turns.settle("s1 two processes", &format!("{tally:?}"));
    }
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_dir(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The overlay of a session without rules, in the hands of one that has them: as if a rule had been
/// got round.
fn got_round(s: &Scratch, change: impl FnOnce(&Session)) -> Session {
    let catalogue = s.catalogue();
    catalogue.create("free", &s.spec(Mode::Overlay)).unwrap();
    let free = catalogue.open("free", me()).unwrap();
    change(&free);
    drop(free);
    drop(s.protected(Mode::Overlay, protect().with_deny(".env")));
    let state = s.top.join("state");
    let home = |name: &str| {
        let named = state.join(name).join("mount-0");
        match named.exists() {
            true => named,
            false => state.join("sessions").join(name).join("mount-0"),
        }
    };
    std::fs::remove_dir_all(home("s")).unwrap();
    copy_dir(&home("free"), &home("s"));
    catalogue.open("s", me()).unwrap()
}

#[test]
fn s1_commit_judges_every_item_again() {
    for on_conflict in [OnConflict::Refuse, OnConflict::Skip, OnConflict::Overwrite] {
        let s = scene();
        s.file("moved/fine", "fine").file("secret", "SECRET");
        std::fs::hard_link(s.at("secret"), s.at(".env")).unwrap();
        let session = got_round(&s, |free| {
            free.rename("/two", "/.github", RenameMode::NoReplace)
                .unwrap();
            free.create_dir_all("/deep/.env").unwrap();
            free.write("/deep/.env/x", "x").unwrap();
            free.write("/one", "changed").unwrap();
            free.rename("/moved", "/elsewhere", RenameMode::NoReplace)
                .unwrap();
        });
        let options = CommitOptions {
            on_conflict,
            ..CommitOptions::default()
        };
        let report = session.commit(&options, &mut |_, _| {}).unwrap();
        let refused = report.conflicts.iter().chain(&report.held_back);
        let refused: Vec<String> = refused.map(|(path, _)| path.to_string()).collect();
        for path in ["/.github", "/deep/.env", "/deep/.env/x"] {
            assert!(
                refused.contains(&path.to_owned()),
                "{on_conflict:?}: {refused:?}"
            );
        }
        assert!(!s.at(".github").exists() && !s.at("deep/.env").exists());
        assert!(s.at("two/workflows/evil.yml").exists());
        // What waits to be named stops nothing else.
        assert_eq!(s.read("one"), "changed");
        assert_eq!(s.read("elsewhere/fine"), "fine");
    }
}
