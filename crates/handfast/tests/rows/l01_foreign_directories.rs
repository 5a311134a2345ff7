//! A user who may write the parent renames a directory of his own over one that was just made.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use handfast::{Error, ErrorKind, RelPath, Root};
use rustix::fs::{Mode, OFlags};

use crate::others::*;
use crate::support::*;

const ROUNDS: u32 = 20_000;

/// Mallory's attack: a directory of his over whatever directory appears in `parent`.
fn squat(parent: PathBuf) -> impl Fn(&mut u64) + Sync {
    move |moves| {
        let mine = parent.parent().unwrap().join("mallory");
        for entry in fs::read_dir(&parent).unwrap().flatten() {
            drop(fs::create_dir(&mine));
            drop(fs::set_permissions(
                &mine,
                std::os::unix::fs::PermissionsExt::from_mode(0o777),
            ));
            *moves += u64::from(fs::rename(&mine, entry.path()).is_ok());
        }
    }
}

fn clear(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        drop(fs::remove_dir_all(entry.path()));
    }
}

fn is_foreign(fd: impl std::os::fd::AsFd) -> bool {
    let stat = rustix::fs::fstat(fd).unwrap();
    stat.st_uid != 0 || stat.st_mode & 0o777 != 0o700
}

/// Plays `victim` against Mallory; what it gives out must be root's, mode 0700.
fn play(what: &str, victim: impl Fn(&Root) -> Result<bool, Error>) {
    play_against(what, squat, victim);
}

fn play_against<A: Fn(&mut u64) + Sync>(
    what: &str,
    attack: impl Fn(PathBuf) -> A,
    victim: impl Fn(&Root) -> Result<bool, Error>,
) {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d").file("tree/f", "f").dir("tree/sub");
        set_mode(&scratch.path("root/tree"), 0o700);
        set_mode(&scratch.path("root/tree/sub"), 0o700);
        share(&scratch.root_path());
        share(&scratch.path("root/d"));
        let root = scratch.open(options(backend));
        let dir = scratch.path("root/d");
        let mut raced = 0;
        let (tried, stolen) = under_attack(ROUNDS, attack(dir.clone()), || match victim(&root) {
            Ok(stolen) => stolen,
            Err(error) => {
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::Raced | ErrorKind::Exists | ErrorKind::IsADirectory
                    ),
                    "{error}"
                );
                raced += 1;
                clear(&dir);
                false
            }
        });
        println!(
            "{what} {}: {stolen} of {tried} were foreign, {raced} refused",
            backend_name(backend)
        );
        assert_eq!(stolen, 0, "{what} gave out a foreign directory");
        assert!(raced < tried, "nothing was ever made");
    });
}

/// The control: make, then open by name.
#[test]
fn l1_control_a_naive_maker_gets_a_foreign_directory() {
    if !others_can_be_played() {
        return;
    }
    let scratch = Scratch::new();
    scratch.dir("d");
    share(&scratch.root_path());
    share(&scratch.path("root/d"));
    let dir = scratch.path("root/d");
    let (tried, stolen) = under_attack(ROUNDS, squat(dir.clone()), || {
        let new = dir.join("new");
        if rustix::fs::mkdir(&new, Mode::from_raw_mode(0o700)).is_err() {
            clear(&dir);
            return false;
        }
        let opened = rustix::fs::open(&new, OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
        let stolen = opened.is_ok_and(is_foreign);
        clear(&dir);
        stolen
    });
    println!("control: {stolen} of {tried} were foreign");
    if stolen == 0 {
        println!("starved: the attacker never came in between; the other tests say little");
    }
}

#[test]
fn l1_temp_dir_is_ours() {
    play("temp_dir", |root| {
        let temp = root.temp_dir(&rel("d"))?;
        Ok(is_foreign(temp.root()))
    });
}

#[test]
fn l1_create_dir_is_ours() {
    play("create_dir", |root| {
        let made = root.create_dir_with(&rel("d/new"), 0o700)?;
        let foreign = is_foreign(&made);
        root.remove_tree(&rel("d/new")).ok();
        Ok(foreign)
    });
}

/// A directory that was there before is fine, also one of Mallory's; so Mallory exchanges his only with
/// one that is there.
fn exchange(dir: PathBuf) -> impl Fn(&mut u64) + Sync {
    move |moves| {
        let (mine, place) = (dir.join("mallory"), dir.join("new"));
        drop(fs::remove_dir(&mine));
        drop(fs::create_dir(&mine));
        drop(fs::set_permissions(
            &mine,
            std::os::unix::fs::PermissionsExt::from_mode(0o777),
        ));
        let (cwd, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
        *moves += u64::from(rustix::fs::renameat_with(cwd, &mine, cwd, &place, flags).is_ok());
    }
}

#[test]
fn l1_create_dir_all_is_ours() {
    play_against("create_dir_all", exchange, |root| {
        let made = root.create_dir_all_with(&rel("d/new"), 0o700)?;
        let foreign = is_foreign(&made);
        root.remove_tree(&rel("d/new")).ok();
        Ok(foreign)
    });
}

/// What was copied lies in a directory of ours. Afterwards Mallory can move it like anybody who
/// may write the parent; so the content is looked for in what he may have put in its place.
#[test]
fn l1_copy_tree_is_filled_in_our_own_directory() {
    play("copy_tree", |root| {
        root.copy_tree(&rel("tree"), &rel("d/copy"))?;
        let copied = root.open_dir(&rel("d/copy"));
        let foreign = copied.is_ok_and(|dir| {
            dir.opened_metadata().uid != 0 && root.metadata(&rel("d/copy/f")).is_ok()
        });
        root.remove_tree(&rel("d/copy")).ok();
        Ok(foreign)
    });
}

/// A directory of the victim's own that is full already is not new either: dropping a temporary
/// directory would remove what is in it.
#[test]
fn l1_an_old_directory_of_ours_is_not_taken_for_new() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        share(&scratch.path("root/d"));
        // Mallory may rename root's directory `precious`, but may not look into it.
        let dir = scratch.path("root/d");
        let home = &dir;
        let renew = || {
            drop(fs::create_dir(home.join("precious")));
            set_mode(&home.join("precious"), 0o700);
            fs::write(home.join("precious/data"), "root's").unwrap();
        };
        renew();
        let root = scratch.open(options(backend));
        let attack = |moves: &mut u64| {
            for entry in fs::read_dir(&dir).unwrap().flatten() {
                if entry.file_name() != "precious" {
                    let moved = fs::rename(home.join("precious"), entry.path());
                    *moves += u64::from(moved.is_ok());
                }
            }
        };
        let mut lost = 0;
        let (tried, _) = under_attack(ROUNDS / 2, attack, || {
            drop(root.temp_dir(&rel("d")));
            if !home.join("precious").exists() {
                let survives = fs::read_dir(&dir)
                    .unwrap()
                    .flatten()
                    .find(|entry| entry.path().join("data").exists());
                match survives {
                    Some(entry) => drop(fs::rename(entry.path(), home.join("precious"))),
                    None => {
                        lost += 1;
                        renew();
                    }
                }
            }
            false
        });
        println!(
            "{}: {lost} of {tried} removed root's own data",
            backend_name(backend)
        );
        assert_eq!(lost, 0);
    });
}

/// What is not an attack passes: set-group-id parents, narrow and wide umasks.
#[test]
fn l1_ordinary_parents_are_fine() {
    each_backend(|backend| {
        for mode in [0o755, 0o2775, 0o3777, 0o1777] {
            let scratch = Scratch::new();
            scratch.dir("d");
            set_mode(&scratch.path("root/d"), mode);
            let root = scratch.open(options(backend));
            root.create_dir(&rel("d/a")).unwrap();
            root.create_dir_all_with(&rel("d/b/c"), 0o750).unwrap();
            let temp = root.temp_dir(&rel("d")).unwrap();
            temp.root().create_dir(&rel("x")).unwrap();
            drop(temp);
            let made = fs::metadata(scratch.path("root/d/b/c")).unwrap();
            assert_eq!(made.uid(), rustix::process::geteuid().as_raw());
            let left = root.recover(&RelPath::root()).unwrap();
            assert!(left.is_empty(), "{left:?}");
        }
    });
}
