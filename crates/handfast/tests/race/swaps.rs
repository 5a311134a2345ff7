//! Names that lead elsewhere a moment later.

use crate::attacker::*;
use crate::canary::*;
use crate::cell::*;
use crate::control::*;
use crate::support::*;
use crate::victims::*;
use handfast::{ErrorKind, Links};
use std::path::Path;

/// How a verb may answer that meets the link.
fn allowed(links: Links) -> Vec<ErrorKind> {
    let mut allowed = vec![refusal(links), ErrorKind::Raced];
    if links == Links::InRoot {
        // The link leads to nothing: nothing is created behind it, and a file that was read is gone.
        allowed.extend([ErrorKind::Link, ErrorKind::Stale]);
    }
    allowed
}

/// Catalogue 2: a directory on the way is exchanged with a link to the outside.
#[test]
fn directory_swapped_with_a_link() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    for (backend, links) in every_policy() {
        let scratch = Scratch::new();
        let canary = Canary::plant(&scratch.path("outside"));
        scratch.dir("a").link("../outside", "evil");
        let (real, evil) = (scratch.path("root/a"), scratch.path("root/evil"));
        furnish(&real);
        let root = scratch.open(options(backend).links(links));
        let inside = root.open_dir(&rel("a")).unwrap().into_root();
        let attacker = Attacker::start({
            let (real, evil) = (real.clone(), evil.clone());
            move || assert!(exchange(&real, &evil))
        });
        let is_good = || std::fs::symlink_metadata(&real).is_ok_and(|meta| meta.is_dir());
        for victim in VICTIMS {
            let tally = run_cell(victim, &root, &inside, "a/", &attacker, &is_good, &canary);
            let what = format!(
                "directory-swap {} {} {links:?}",
                victim.verb,
                backend_name(backend)
            );
            judge(&what, &tally, &allowed(links), victim.lookups);
        }
        drop(attacker);
        scratch.assert_no_leftovers();
    }
    // The naive reader and writer in the same scene.
    let scratch = Scratch::new();
    scratch.dir("a").link("../outside", "evil");
    let (real, evil) = (scratch.path("root/a"), scratch.path("root/evil"));
    std::fs::write(real.join("data"), "inside").unwrap();
    std::fs::write(scratch.path("outside/data"), "outside").unwrap();
    let _attacker = Attacker::start({
        let (real, evil) = (real.clone(), evil);
        move || assert!(exchange(&real, &evil))
    });
    let root = scratch.root_path();
    control("read", |_| {
        naive_check(&root, &real.join("data"))
            .and_then(|path| std::fs::read(path).ok())
            .is_some_and(|seen| seen == b"outside")
    });
    control("write", |attempt| {
        let name = format!("new{attempt}");
        if let Some(path) = naive_check(&root, &real.join(&name)) {
            drop(std::fs::write(path, "x"));
        }
        scratch.path("outside").join(name).exists()
    });
}

/// Catalogue 1: the last component is exchanged with a link to an outside file.
#[test]
fn leaf_swapped_with_a_link() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    let verbs = [
        "read",
        "open",
        "open-write",
        "write",
        "append",
        "chmod",
        "chown",
        "set-times",
        "set-xattr",
        "version",
        "write-if",
        "lock",
        "metadata",
        "hard-link",
        "rename",
        "remove-file",
        "copy",
    ];
    for (backend, links) in policies() {
        for victim in VICTIMS.iter().filter(|victim| verbs.contains(&victim.verb)) {
            let scratch = Scratch::new();
            let canary = Canary::plant(&scratch.path("outside"));
            scratch.dir("d");
            furnish(&scratch.path("root/d"));
            let root = scratch.open(options(backend).links(links));
            let inside = root.open_dir(&rel("d")).unwrap().into_root();
            // Every name the verb uses is swapped: the file, and a link to its outside twin.
            let names = ["data", "f", "g", "lock"];
            for name in names {
                scratch.link(format!("../../outside/{name}"), &format!("d/{name}.link"));
            }
            let dir = scratch.path("root/d");
            let attacker = Attacker::start({
                let dir = dir.clone();
                move || {
                    for name in names {
                        let (leaf, link) = (dir.join(name), dir.join(format!("{name}.link")));
                        let is_link = |path: &Path| {
                            std::fs::symlink_metadata(path).map(|meta| meta.is_symlink())
                        };
                        if let (Ok(one), Ok(other)) = (is_link(&leaf), is_link(&link))
                            && one != other
                        {
                            exchange(&leaf, &link);
                            continue;
                        }
                        // The victim removed or replaced one of them: a file and a link again,
                        // or the attack would be over.
                        drop(std::fs::remove_file(&link));
                        drop(std::fs::remove_file(&leaf));
                        drop(std::os::unix::fs::symlink(
                            format!("../../outside/{name}"),
                            &link,
                        ));
                        drop(
                            std::fs::OpenOptions::new()
                                .write(true)
                                .create_new(true)
                                .open(&leaf),
                        );
                        exchange(&leaf, &link);
                    }
                }
            });
            let watched = match victim.verb {
                "read" | "open" | "version" | "metadata" | "hard-link" | "copy" => "data",
                "open-write" | "write" | "write-if" | "rename" | "remove-file" => "f",
                "lock" => "lock",
                _ => "g",
            };
            let is_good =
                || std::fs::symlink_metadata(dir.join(watched)).is_ok_and(|meta| meta.is_file());
            let tally = run_cell(victim, &root, &inside, "d/", &attacker, &is_good, &canary);
            let what = format!(
                "leaf-swap {} {} {links:?}",
                victim.verb,
                backend_name(backend)
            );
            println!(
                "{what}: {} attempts, {} good, {} succeeded, refused {:?}",
                tally.attempts, tally.good, tally.succeeded, tally.refused
            );
            let allowed = [
                refusal(links),
                ErrorKind::Link,
                ErrorKind::Raced,
                ErrorKind::NotFound,
                ErrorKind::Stale,
                ErrorKind::Kind,
            ]
            .map(ErrorKind::name);
            assert!(
                tally.refused.keys().all(|kind| allowed.contains(kind)),
                "{what}: {:?}",
                tally.refused
            );
            let needed = match victim.verb {
                // The attacker's own renames change the version between its two lookups.
                "write-if" => tally.good / 10,
                _ if victim.lookups > 1 => tally.good / 10,
                _ => tally.good / 2,
            };
            if tally.succeeded < needed || !tally.met_swaps() {
                tally.settle(&what);
            }
            drop(attacker);
            assert!(canary.is_untouched());
        }
    }
    let scratch = Scratch::new();
    scratch
        .file("leaf", "inside")
        .link("../outside/secret", "link");
    let (leaf, link) = (scratch.path("root/leaf"), scratch.path("root/link"));
    let _attacker = Attacker::start({
        let leaf = leaf.clone();
        move || assert!(exchange(&leaf, &link))
    });
    control("leaf read", |_| {
        let is_file = std::fs::symlink_metadata(&leaf).is_ok_and(|meta| meta.is_file());
        lose_the_core();
        is_file && std::fs::read(&leaf).is_ok_and(|seen| seen == b"outside")
    });
    control("leaf write", |_| {
        let is_file = std::fs::symlink_metadata(&leaf).is_ok_and(|meta| meta.is_file());
        lose_the_core();
        if is_file {
            drop(std::fs::write(&leaf, "escaped"));
        }
        scratch.read("outside/secret") == "escaped"
    });
}

/// Catalogue 5: the root's own name is exchanged with a link to the outside. A pinned root does not
/// notice: every call succeeds.
#[test]
fn root_name_swapped_with_a_link() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    for (backend, links) in policies() {
        let scratch = Scratch::new();
        let canary = Canary::plant(&scratch.path("outside"));
        scratch.dir("a");
        furnish(&scratch.path("root/a"));
        std::os::unix::fs::symlink("outside", scratch.path("evil")).unwrap();
        let root = scratch.open(options(backend).links(links));
        let inside = root.open_dir(&rel("a")).unwrap().into_root();
        let attacker = Attacker::start({
            let (real, evil) = (scratch.path("root"), scratch.path("evil"));
            move || assert!(exchange(&real, &evil))
        });
        for victim in VICTIMS {
            let tally = run_once(victim, &root, &inside, "a/", &attacker, &|| true, &canary);
            let what = format!(
                "root-swap {} {} {links:?}",
                victim.verb,
                backend_name(backend)
            );
            println!("{what}: {} of {}", tally.succeeded, tally.attempts);
            assert_eq!(
                tally.succeeded, tally.attempts,
                "{what}: {:?}",
                tally.refused
            );
            if tally.attempts <= 20 || !tally.met_swaps() {
                tally.settle(&what);
            }
        }
    }
    let scratch = Scratch::new();
    std::fs::write(scratch.path("root/secret"), "inside").unwrap();
    std::os::unix::fs::symlink("outside", scratch.path("evil")).unwrap();
    let top = scratch.top.clone();
    let _attacker = Attacker::start({
        let (real, evil) = (scratch.path("root"), scratch.path("evil"));
        move || assert!(exchange(&real, &evil))
    });
    control("root", |_| {
        let is_dir = std::fs::symlink_metadata(top.join("root")).is_ok_and(|meta| meta.is_dir());
        lose_the_core();
        is_dir && std::fs::read(top.join("root/secret")).is_ok_and(|seen| seen == b"outside")
    });
}
