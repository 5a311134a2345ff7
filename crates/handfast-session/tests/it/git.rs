//! A git directory is one unit: committed whole, objects before the names that lead to them.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use handfast_session::{CommitOptions, Mode, Session};

use crate::support::*;

fn git(dir: &Path, args: &[&str]) -> std::io::Result<Output> {
    let who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    Command::new("git")
        .args(who)
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
}

fn said(dir: &Path, args: &[&str]) -> String {
    let output = git(dir, args).unwrap();
    assert!(output.status.success(), "{args:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes the session what a directory is.
fn mirror(from: &Path, session: &Session) {
    let wanted = tree_of(from);
    let shown: BTreeSet<String> = tree_in(session).into_keys().collect();
    for gone in shown
        .iter()
        .rev()
        .filter(|path| !wanted.contains_key(*path))
    {
        let path = format!("/{gone}");
        match session.symlink_metadata(&path).unwrap().is_dir() {
            true => session.remove_dir(&path).unwrap(),
            false => session.remove_file(&path).unwrap(),
        }
    }
    for (path, facts) in &wanted {
        let (there, path) = (from.join(path), format!("/{path}"));
        if facts.starts_with("dir") {
            drop(session.create_dir(&path));
            continue;
        }
        let content = std::fs::read(there).unwrap();
        if session.read(&path).ok().as_deref() != Some(&content) {
            session.write(&path, content).unwrap();
        }
    }
}

/// A repository with one commit, and a session over it in which another one was made. Nothing where git
/// is not there.
fn scene() -> Option<(Scratch, Session)> {
    let s = Scratch::new();
    if git(&s.base(), &["init", "-q", "-b", "main"]).is_err() {
        skip("a session over a git repository", "git is not there");
        return None;
    }
    s.file("a", "a\n").file("b", "b\n").file("d/c", "c\n");
    said(&s.base(), &["add", "-A"]);
    said(&s.base(), &["commit", "-qm", "first"]);
    let session = s.session(Mode::Overlay);
    let work = s.top.join("work");
    let copied = Command::new("cp")
        .arg("-a")
        .arg(s.base())
        .arg(&work)
        .status();
    assert!(copied.unwrap().success());
    for (path, text) in [("a", "new a\n"), ("b", "new b\n"), ("e", "e\n")] {
        std::fs::write(work.join(path), text).unwrap();
    }
    said(&work, &["add", "-A"]);
    said(&work, &["commit", "-qm", "second"]);
    // The loose objects of the first commit go into a pack, and are removed.
    said(&work, &["gc", "-q", "--prune=now"]);
    mirror(&work, &session);
    Some((s, session))
}

/// The user looks at the repository, and git writes its index.
fn look(s: &Scratch) {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let index = || {
        let status = std::fs::metadata(s.at(".git/index")).unwrap();
        (status.ino(), status.ctime(), status.ctime_nsec())
    };
    let before = index();
    let at = s.at("d/c");
    let file = std::fs::File::options().append(true).open(at).unwrap();
    // Another time than the index knows.
    let seconds = 1_000_000_000 + LOOKS.fetch_add(1, Ordering::Relaxed);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    file.set_modified(long_ago).unwrap();
    said(&s.base(), &["status", "--short"]);
    assert_ne!(before, index(), "git has written its index");
}

#[test]
fn half_of_the_files_and_all_of_git_leave_a_whole_repository() {
    let Some((s, session)) = scene() else { return };
    let before = said(&s.base(), &["rev-parse", "HEAD"]);
    look(&s);
    // A single file of the git directory asks for all of it.
    let options = CommitOptions {
        paths: vec![v("/a"), v("/.git/refs")],
        ..CommitOptions::default()
    };
    let options = match session.chosen(&options.paths, &[]) {
        Ok(_) => options,
        // The reference may be packed.
        Err(_) => CommitOptions {
            paths: vec![v("/a"), v("/.git/packed-refs")],
            ..options
        },
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.conflicts, []);
    let left: Vec<String> = diff(&session);
    assert_eq!(left, ["changed /b", "added /e"]);
    said(&s.base(), &["fsck", "--full", "--strict"]);
    assert_eq!(said(&s.base(), &["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(said(&s.base(), &["status", "--short"]), " M b\n D e\n");
    // And back, although the user has looked again.
    look(&s);
    let past = session.past_commits().unwrap();
    let report = session.undo(past[0].id).unwrap();
    assert_eq!(report.conflicts, []);
    said(&s.base(), &["fsck", "--full", "--strict"]);
    assert_eq!(said(&s.base(), &["rev-parse", "HEAD"]), before);
    assert_eq!(said(&s.base(), &["status", "--short"]), "");
}

#[test]
fn files_alone_leave_the_git_directory_as_it_is() {
    let Some((s, session)) = scene() else { return };
    look(&s);
    let options = CommitOptions {
        paths: vec![v("/a"), v("/e")],
        ..CommitOptions::default()
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.committed, [v("/a"), v("/e")]);
    said(&s.base(), &["fsck", "--full", "--strict"]);
    assert_eq!(said(&s.base(), &["status", "--short"]), " M a\n?? e\n");
    look(&s);
    let rest = session.commit(&CommitOptions::default(), &mut |_, _| {});
    assert_eq!(rest.unwrap().conflicts, []);
    said(&s.base(), &["fsck", "--full", "--strict"]);
    assert_eq!(said(&s.base(), &["status", "--short"]), "");
}
