//! Protected patterns against everything an agent might try.

use handfast::{ErrorKind, HardLinks, RenameMode};
use handfast_session::{
    Mode, OpenOptions, Protect, Reason, Session, SessionError as _, SessionSpec, Wanted,
};

use crate::support::*;

const MODES: [Mode; 3] = [Mode::ReadWrite, Mode::Overlay, Mode::Memory];

fn workspace(scratch: &Scratch, mode: Mode) -> Session {
    scratch
        .file(".env", "SECRET")
        .file("sub/.env", "SECRET")
        .file("key.pem", "SECRET")
        .file(".git/hooks/pre-commit", "hook")
        .file(".git/config", "config")
        .file(".claude/settings.json", "{}")
        .file("ok/file", "ok")
        .file("ok2/file", "ok");
    scratch.protected(mode, Protect::preset("workspace").unwrap())
}

fn denied<T: std::fmt::Debug>(result: Result<T, handfast_session::Error>, what: &str) {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error}");
    assert_eq!(error.reason(), Some(Reason::Protected), "{what}: {error}");
}

#[test]
fn what_is_denied_is_neither_read_nor_changed_whatever_the_verb() {
    for mode in MODES {
        let scratch = Scratch::new();
        scratch
            .file("ok/.env", "SECRET")
            .file("a/b/x.pem", "SECRET");
        let session = workspace(&scratch, mode);
        let before = scratch.tree();
        for path in [
            "/.env",
            "/sub/.env",
            "/key.pem",
            "/new/../.env",
            "/ok/.env",
            "/a/b/x.pem",
        ] {
            denied(session.read(path), path);
            denied(session.open(path), path);
            denied(session.metadata(path), path);
            denied(session.symlink_metadata(path), path);
            denied(session.version(path), path);
            denied(session.write(path, "x"), path);
            denied(session.write_new(path, "x"), path);
            denied(session.append(path, "x"), path);
            denied(session.create_dir(path), path);
            denied(session.remove_file(path), path);
            denied(session.chmod(path, 0o644), path);
            denied(session.symlink("ok/file", path), path);
            denied(session.copy(path, "/ok/c"), path);
            denied(session.copy("/ok/file", path), path);
            denied(session.rename(path, "/ok/c", RenameMode::Replace), path);
            denied(session.rename("/ok/file", path, RenameMode::Replace), path);
            denied(session.rename("/ok/file", path, RenameMode::Exchange), path);
            denied(session.hard_link(path, "/ok/c"), path);
            denied(session.hard_link("/ok/file", path), path);
            let how = OpenOptions::new().write(true).create(true);
            denied(session.open_with(path, how), path);
        }
        denied(session.remove_tree("/sub"), "a tree with a secret in it");
        denied(
            session.copy_tree("/sub", "/copy"),
            "a tree with a secret in it",
        );
        assert_eq!(kind(session.metadata("/copy")), ErrorKind::NotFound);
        assert_eq!(scratch.tree(), before, "{mode}");
        let names = session.read_dir("/").unwrap();
        assert!(names.iter().any(|entry| entry.name.as_bytes() == b".env"));
    }
}

/// What a rule makes read-only is refused in a directory that is changed itself.
#[test]
fn what_is_read_only_is_read_and_stays() {
    let scratch = Scratch::new();
    let session = workspace(&scratch, Mode::ReadWrite);
    let before = scratch.tree();
    denied(session.write("/.git/hooks/pre-commit", "evil"), "hook");
    denied(session.write("/.git/hooks/post-commit", "evil"), "new hook");
    denied(session.create_dir_all("/.git/hooks/x"), "dir in hooks");
    denied(session.remove_tree("/.git"), "remove all of .git");
    denied(session.write("/.claude/settings.json", "{}"), "settings");
    denied(session.write("/.claude/new", "{}"), "settings");
    denied(session.remove_tree("/.claude"), "settings");
    denied(
        session.rename("/.git/hooks", "/h", RenameMode::Replace),
        "move hooks",
    );
    assert_eq!(scratch.tree(), before);
}

/// In every mode a directory stays where patterns speak of what lies in it.
#[test]
fn what_is_read_only_is_not_moved_with_the_directory_above_it() {
    for mode in MODES {
        let scratch = Scratch::new();
        let session = workspace(&scratch, mode);
        let before = scratch.tree();
        assert_eq!(session.read("/.git/config").unwrap(), b"config");
        assert_eq!(session.read("/.git/hooks/pre-commit").unwrap(), b"hook");
        denied(
            session.rename("/.git", "/g", RenameMode::Replace),
            "move all of .git",
        );
        denied(
            session.rename("/.git", "/ok", RenameMode::Exchange),
            "exchange",
        );
        denied(
            session.rename("/ok", "/.git", RenameMode::Exchange),
            "exchange",
        );
        session.write("/.git/index", "fine").unwrap();
        session.rename("/ok", "/fine", RenameMode::Replace).unwrap();
        session
            .rename("/fine", "/sub/fine", RenameMode::Replace)
            .unwrap();
        session
            .rename("/sub/fine", "/ok", RenameMode::Replace)
            .unwrap();
        session.remove_file("/.git/index").unwrap();
        assert_eq!(scratch.tree(), before, "{mode}");
    }
}

#[test]
fn directories_do_not_become_what_a_pattern_speaks_of() {
    for mode in MODES {
        let scratch = Scratch::new();
        scratch
            .file("evil/hooks/pre-commit", "evil")
            .file("plain", "p");
        let protect = Protect::new()
            .with_read_only(".git/hooks")
            .with_deny("/top/*/secret");
        let session = scratch.protected(mode, protect);
        denied(
            session.rename("/evil", "/.git", RenameMode::Replace),
            "becomes .git",
        );
        session.create_dir("/.git").unwrap();
        denied(
            session.rename("/evil", "/.git", RenameMode::Exchange),
            "exchange",
        );
        if mode == Mode::ReadWrite {
            denied(
                session.rename("/evil/hooks", "/.git/hooks", RenameMode::Replace),
                "hooks",
            );
            denied(
                session.symlink("../evil/hooks", "/.git/hooks"),
                "a link as hooks",
            );
        }
        session.remove_dir("/.git").unwrap();
        denied(session.symlink("evil", "/.git"), "a link as .git");
        if mode == Mode::ReadWrite {
            denied(session.copy_tree("/evil", "/.git"), "a copy as .git");
        }
        assert_eq!(kind(session.metadata("/.git")), ErrorKind::NotFound);
        // A pattern with a fixed place decides without a look at what is there.
        session.create_dir_all("/top/a").unwrap();
        denied(
            session.rename("/top/a", "/b", RenameMode::Replace),
            "leaves /top",
        );
        denied(
            session.rename("/evil", "/top/evil", RenameMode::Replace),
            "enters /top",
        );
        let moved = session.rename("/plain", "/top/plain", RenameMode::Replace);
        match mode {
            // What is renamed there is not held, and could be swapped for a directory.
            Mode::ReadWrite => denied(moved, "a file enters /top"),
            _ => moved.unwrap(),
        }
    }
}

#[test]
fn links_lead_to_the_same_decision() {
    for mode in MODES {
        let scratch = Scratch::new();
        scratch
            .link(".env", "innocent")
            .link(".git", "g")
            .link("../.git/hooks", "ok-link")
            .dir("real")
            .link("real", "lnk");
        std::fs::remove_file(scratch.at("ok-link")).unwrap();
        let session = workspace(&scratch, mode);
        denied(session.read("/innocent"), "a link to a secret");
        denied(session.write("/innocent", "x"), "a link to a secret");
        denied(session.copy("/innocent", "/ok/x"), "through a link");
        session.write("/lnk/plain", "x").unwrap();
        scratch.file("real/.env", "SECRET");
        denied(session.write("/lnk/.env", "x"), "a secret through a link");
        denied(session.read("/lnk/.env"), "a secret through a link");
        // A protected name that is a link itself protects what is reached through it.
        scratch.file("hooks-real/x", "x");
        std::fs::remove_dir_all(scratch.at(".git/hooks")).unwrap();
        scratch.link("../hooks-real", ".git/hooks");
        assert_eq!(session.read("/.git/hooks/x").unwrap(), b"x");
        if mode == Mode::ReadWrite {
            denied(session.write("/g/hooks/pre-commit", "x"), "through a link");
            denied(
                session.write("/.git/hooks/x", "evil"),
                "through a protected link",
            );
        }
    }
}

#[test]
fn other_names_of_protected_files_are_known() {
    for mode in MODES {
        let scratch = Scratch::new();
        scratch.file(".env", "SECRET").file("store/lib", "lib");
        std::fs::hard_link(scratch.at(".env"), scratch.at("alias")).unwrap();
        std::fs::hard_link(scratch.at("store/lib"), scratch.at("lib")).unwrap();
        let protect = Protect::new().with_deny(".env");
        let session = scratch.protected(mode, protect.clone());
        denied(session.read("/alias"), "another name of a secret");
        denied(session.open("/alias"), "another name of a secret");
        denied(session.copy("/alias", "/x"), "another name of a secret");
        denied(session.append("/alias", "x"), "another name of a secret");
        denied(session.version("/alias"), "another name of a secret");
        assert_eq!(
            session.read("/lib").unwrap(),
            b"lib",
            "a package store is readable"
        );
        let said = session
            .explain("/alias", Wanted::parse("read").unwrap())
            .unwrap();
        assert!(said.hard_links.contains("all names"), "{said:?}");
        assert!(!said.allowed, "what is refused is explained as refused");
    }
    let scratch = Scratch::new();
    scratch.file("store/lib", "lib");
    std::fs::hard_link(scratch.at("store/lib"), scratch.at("lib")).unwrap();
    let mount = scratch
        .mount(Mode::ReadWrite)
        .protect(Protect::new().with_deny(".env"))
        .hard_links(HardLinks::Refuse);
    let session = Session::new(&SessionSpec::new().mount(mount), me()).unwrap();
    assert_eq!(kind(session.read("/lib")), ErrorKind::HardLink);
    let said = session
        .explain("/lib", Wanted::parse("read").unwrap())
        .unwrap();
    assert!(said.hard_links.contains("certain"), "{said:?}");
}

#[test]
fn explain_names_the_rule() {
    let scratch = Scratch::new();
    let session = workspace(&scratch, Mode::Memory);
    let said =
        |path: &str, verb: &str| session.explain(path, Wanted::parse(verb).unwrap()).unwrap();
    let answer = said("/sub/.env", "read");
    assert!(!answer.allowed);
    assert_eq!(answer.rule.unwrap().to_string(), "deny `.env`");
    let answer = said("/.git/hooks/x", "write");
    assert_eq!(
        answer.rule.unwrap().to_string(),
        "read_only `**/.git/hooks`"
    );
    assert!(said("/.git/hooks/x", "read").allowed);
    assert!(said("/ok/file", "write").allowed);
    // A file under this name would lead git elsewhere, in a directory that is yet to be made too. In an
    // overlay it waits until it is named.
    assert!(said("/not/yet/.git", "write").allowed);
    assert!(said("/not/yet/.git", "mkdir").allowed);
    let direct = Scratch::new();
    let direct = direct.protected(Mode::ReadWrite, Protect::preset("workspace").unwrap());
    let answer = direct.explain("/not/yet/.git", Wanted::parse("write").unwrap());
    assert!(!answer.unwrap().allowed);
    assert_eq!(Wanted::parse("dance"), None);
    let scratch = Scratch::new();
    let session = scratch.session(Mode::ReadOnly);
    let answer = session
        .explain("/x", Wanted::parse("write").unwrap())
        .unwrap();
    assert_eq!(answer.reason, Some(Reason::ReadOnlyMount));
}

#[test]
fn case_variants_are_denied_where_the_directory_folds() {
    let scratch = Scratch::new();
    scratch.dir("folds");
    let at = scratch.at("folds");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "casefold", "none"])
        .arg(&at)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        skip(
            "case folding",
            "no filesystem that folds case can be mounted here",
        );
        return;
    }
    struct Unmount(std::path::PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            drop(std::process::Command::new("umount").arg(&self.0).status());
        }
    }
    let guard = Unmount(at.clone());
    std::fs::create_dir(at.join("d")).unwrap();
    let folded = std::process::Command::new("chattr")
        .arg("+F")
        .arg(at.join("d"))
        .output();
    if !folded.is_ok_and(|output| output.status.success()) {
        skip("case folding", "chattr +F does not work here");
        drop(guard);
        return;
    }
    std::fs::write(at.join("d/.env"), "SECRET").unwrap();
    let mount = handfast_session::MountSpec::new(&at, v("/"))
        .mode(Mode::ReadWrite)
        .protect(
            Protect::new()
                .with_deny(".env")
                .with_read_only("**/.git/hooks"),
        );
    let session = Session::new(&SessionSpec::new().mount(mount.clone()), me()).unwrap();
    denied(session.read("/d/.ENV"), "another case");
    denied(session.write("/d/.Env", "x"), "another case");
    denied(session.symlink("x", "/d/.GIT"), "a link of another case");
    session.write("/.ENV", "not folded here").unwrap();
    drop(session);
    let mount = mount.mode(Mode::Memory);
    let session = Session::new(&SessionSpec::new().mount(mount), me()).unwrap();
    session
        .rename("/d", "/moved", RenameMode::NoReplace)
        .unwrap();
    denied(session.read("/moved/.ENV"), "another case after a rename");
    drop(session);
    drop(guard);
}
