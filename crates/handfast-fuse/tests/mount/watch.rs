//! The kernel caches for an hour, and changes that are made past the mount are seen all the same.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use handfast_session::Protect;

use crate::support::{Mounted, in_namespace};

fn files(base: &Path) {
    std::fs::create_dir_all(base.join("dir/sub")).unwrap();
    std::fs::create_dir(base.join("moved")).unwrap();
    for name in ["a.txt", "b.txt", "dir/sub/deep.txt", "moved/c.txt"] {
        std::fs::write(base.join(name), "from the base").unwrap();
    }
}

/// Waits for what has to be seen within a second. A machine that is too busy for that says so.
fn within_a_second(what: &str, is_seen: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_seen() {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(30), "never seen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    if begun.elapsed() > Duration::from_secs(1) {
        println!("starved: {what} after {:?}", begun.elapsed());
    }
}

fn listed(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Looks at everything, so that the kernel has cached it.
fn look(view: &Path) {
    for _ in 0..2 {
        for dir in ["", "dir", "dir/sub", "moved"] {
            for name in listed(&view.join(dir)) {
                std::fs::symlink_metadata(view.join(dir).join(name)).unwrap();
            }
        }
        assert!(!view.join("new.txt").exists() && !view.join("dir/new").exists());
        for name in ["a.txt", "b.txt", "dir/sub/deep.txt", "moved/c.txt"] {
            assert_eq!(std::fs::read(view.join(name)).unwrap(), b"from the base");
        }
    }
}

#[test]
fn what_a_person_changes_is_seen_within_a_second() {
    in_namespace(
        "watch::what_a_person_changes_is_seen_within_a_second",
        || {
            let mounted = Mounted::watched(Protect::new(), files);
            let (base, view) = (&mounted.base, &mounted.view);
            look(view);
            // As long as the content, so that only the notification tells.
            std::fs::write(base.join("a.txt"), "by the person").unwrap();
            within_a_second("content", || {
                std::fs::read(view.join("a.txt")).unwrap() == b"by the person"
            });
            std::fs::write(base.join("new.txt"), "new").unwrap();
            within_a_second("a new name", || view.join("new.txt").exists());
            within_a_second("a new name in a list", || listed(view).contains("new.txt"));
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(base.join("b.txt"), mode).unwrap();
            within_a_second("a mode", || {
                std::fs::metadata(view.join("b.txt")).unwrap().mode() & 0o777 == 0o600
            });
            std::fs::remove_file(base.join("dir/sub/deep.txt")).unwrap();
            within_a_second("a name that is gone", || {
                !view.join("dir/sub/deep.txt").exists() && listed(&view.join("dir/sub")).is_empty()
            });
            std::fs::rename(base.join("moved"), base.join("dir/new")).unwrap();
            within_a_second("a directory that was moved", || {
                !view.join("moved").exists() && view.join("dir/new/c.txt").exists()
            });
            // What lies in it is watched where it lies now.
            std::fs::write(base.join("dir/new/c.txt"), "by the person").unwrap();
            within_a_second("content in a directory that was moved", || {
                std::fs::read(view.join("dir/new/c.txt")).unwrap() == b"by the person"
            });
            std::fs::remove_dir_all(base.join("dir")).unwrap();
            std::fs::create_dir(base.join("dir")).unwrap();
            std::fs::write(base.join("dir/again"), "").unwrap();
            within_a_second("a directory that was made again", || {
                view.join("dir/again").exists() && !view.join("dir/sub").exists()
            });
            // The program's own changes are seen at once, and stay apart.
            std::fs::write(view.join("a.txt"), "by the program").unwrap();
            assert_eq!(std::fs::metadata(view.join("a.txt")).unwrap().len(), 14);
            std::fs::write(view.join("dir/own"), "").unwrap();
            assert!(listed(&view.join("dir")).contains("own"));
            assert_eq!(std::fs::read(base.join("a.txt")).unwrap(), b"by the person");
        },
    );
}

#[test]
fn a_directory_that_takes_the_place_of_another_is_watched_with_all_below() {
    in_namespace(
        "watch::a_directory_that_takes_the_place_of_another_is_watched_with_all_below",
        || {
            let mounted = Mounted::watched(Protect::new(), |base| {
                files(base);
                for top in ["one", "two"] {
                    std::fs::create_dir_all(base.join(top).join("in/deep")).unwrap();
                    std::fs::write(base.join(top).join("in/deep/x.txt"), top).unwrap();
                }
            });
            let (base, view) = (&mounted.base, &mounted.view);
            let file = view.join("one/in/deep/x.txt");
            assert_eq!(std::fs::read(&file).unwrap(), b"one");
            assert!(!view.join("one/in/deep/y.txt").exists());
            // Somebody holds the old directory, so that it is never quite gone.
            let held = std::fs::File::open(base.join("one/in/deep")).unwrap();
            std::fs::rename(base.join("one"), base.with_file_name("away")).unwrap();
            std::fs::rename(base.join("two"), base.join("one")).unwrap();
            within_a_second("content", || {
                std::fs::read(&file).is_ok_and(|text| text == b"two")
            });
            std::fs::write(base.join("one/in/deep/y.txt"), "").unwrap();
            within_a_second("a new name", || view.join("one/in/deep/y.txt").exists());
            std::fs::write(base.join("one/in/deep/x.txt"), "TWO").unwrap();
            within_a_second("new content", || std::fs::read(&file).unwrap() == b"TWO");
            drop(held);
        },
    );
}

#[test]
fn what_another_process_of_the_session_changes_is_seen_within_a_second() {
    in_namespace(
        "watch::what_another_process_of_the_session_changes_is_seen_within_a_second",
        || {
            let mounted = Mounted::watched(Protect::new(), files);
            let view = &mounted.view;
            look(view);
            let other = mounted.other();
            other.write("/ws/new.txt", b"new").unwrap();
            within_a_second("a new name", || view.join("new.txt").exists());
            other.write("/ws/a.txt", b"by the other!").unwrap();
            within_a_second("content", || {
                std::fs::read(view.join("a.txt")).unwrap() == b"by the other!"
            });
            other.discard(&[]).unwrap();
            within_a_second("names that are gone", || {
                !view.join("new.txt").exists() && !listed(view).contains("new.txt")
            });
            within_a_second("the base's content", || {
                std::fs::read(view.join("a.txt")).unwrap() == b"from the base"
            });
        },
    );
}

#[test]
fn a_secret_that_appears_later_is_denied_however_long_names_are_cached() {
    in_namespace(
        "watch::a_secret_that_appears_later_is_denied_however_long_names_are_cached",
        || {
            let workspace = Protect::preset("workspace").unwrap();
            let mounted = Mounted::watched(workspace, files);
            let (base, view) = (&mounted.base, &mounted.view);
            look(view);
            let later = view.join("dir/.env.local");
            let kind = || std::fs::read(&later).unwrap_err().kind();
            assert_eq!(kind(), std::io::ErrorKind::NotFound);
            std::fs::write(base.join("dir/.env.local"), "SECRET").unwrap();
            within_a_second("the refusal", || {
                kind() == std::io::ErrorKind::PermissionDenied
            });
            // Under a name that is cached and allowed, another file of the person's is read as soon
            // as it is there; the name that is denied stays denied.
            std::fs::rename(base.join("dir/.env.local"), base.join("dir/.env")).unwrap();
            within_a_second("the other name", || {
                let denied = std::fs::read(view.join("dir/.env")).unwrap_err().kind();
                denied == std::io::ErrorKind::PermissionDenied
                    && kind() == std::io::ErrorKind::NotFound
            });
        },
    );
}

#[test]
fn names_are_cached_for_longer_than_a_second() {
    in_namespace("watch::names_are_cached_for_longer_than_a_second", || {
        let mounted = Mounted::watched(Protect::new(), files);
        let (base, view) = (&mounted.base, &mounted.view);
        // What changed a moment ago is read past the cache.
        std::thread::sleep(Duration::from_millis(2100));
        look(view);
        // The kernel tells nobody who watches a directory that a file got a name elsewhere: a stated
        // limit, which shows here that the answer comes from the cache.
        std::fs::hard_link(base.join("a.txt"), base.with_file_name("elsewhere")).unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(std::fs::metadata(view.join("a.txt")).unwrap().nlink(), 1);
        // What is opened is asked for all the same, and the file is not cached for long from then on.
        std::fs::write(base.with_file_name("elsewhere"), "by the person").unwrap();
        assert_eq!(std::fs::read(view.join("a.txt")).unwrap(), b"by the person");
    });
}

/// The kernel has the content of files in its cache. Each gets a second name, which a rule denies: the
/// kernel hears nothing of that, and every open is judged all the same.
#[test]
fn a_file_that_becomes_a_secret_is_refused_although_it_is_cached() {
    in_namespace(
        "watch::a_file_that_becomes_a_secret_is_refused_although_it_is_cached",
        || {
            const FILES: usize = 60;
            let name = |number: usize| format!("f{number}");
            let protect = Protect::new().with_deny("*.secret");
            let mounted = Mounted::watched(protect, |base| {
                for number in 0..FILES {
                    std::fs::write(base.join(name(number)), format!("content {number}")).unwrap();
                }
            });
            // What changed a moment ago is read past the cache.
            std::thread::sleep(Duration::from_millis(2300));
            let seen = |number| mounted.view.join(name(number));
            let expected = |number| format!("content {number}");
            let mut open = Vec::new();
            for number in 0..FILES {
                for _ in 0..2 {
                    let text = std::fs::read_to_string(seen(number)).unwrap();
                    assert_eq!(text, expected(number));
                }
                open.push(std::fs::File::open(seen(number)).unwrap());
            }
            // All at once: a session looks for other names of files once a second.
            for number in 0..FILES {
                let there = mounted.base.join(name(number));
                std::fs::hard_link(&there, there.with_extension("secret")).unwrap();
            }
            let (mut read, mut cached, mut held) = (0, 0, 0);
            for (number, mut open) in open.into_iter().enumerate() {
                // The control: what is looked at comes from the cache, and what was open stays open.
                let seen = seen(number);
                cached += usize::from(std::fs::metadata(&seen).unwrap().nlink() == 1);
                let mut text = String::new();
                std::io::Read::read_to_string(&mut open, &mut text).unwrap();
                held += usize::from(text == expected(number));
                for at in [&seen, &seen.with_extension("secret")] {
                    match std::fs::read(at) {
                        Ok(_) => read += 1,
                        Err(error) => {
                            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
                        }
                    }
                }
            }
            println!(
                "{FILES} files: {read} read, {held} read by who had them open, {cached} looked at in the cache"
            );
            assert_eq!((read, held), (0, FILES));
            if cached == 0 {
                println!("starved: nothing came from the cache");
            }
        },
    );
}
