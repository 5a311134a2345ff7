//! What `explain` says is what the verb answers.

use std::time::Duration;

use handfast::{ErrorKind, HardLinks, LockKind, RenameMode, Timestamp, Verb};
use handfast_session::{Error, Mode, OpenOptions, Protect, Session, SessionSpec, Wanted};

use crate::support::*;

fn scene() -> Scratch {
    let s = Scratch::new();
    s.file(".env", "SECRET")
        .file("plain", "plain")
        .file("store/z", "z")
        .file("ro", "read only")
        .file("dir/inner", "inner")
        .file(".git/config", "[core]")
        .dir("sub")
        .dir("empty");
    for (old, new) in [(".env", "data/x"), ("ro", "data/r"), ("store/z", "data/z")] {
        s.dir("data");
        std::fs::hard_link(s.at(old), s.at(new)).unwrap();
    }
    s.link(".env", "to-env")
        .link("plain", "to-plain")
        .link("dir", "to-dir")
        .link("data/x", "to-x")
        .link("missing", "to-nothing");
    s
}

const PATHS: [&str; 23] = [
    "/.env",
    "/plain",
    "/store/z",
    "/ro",
    "/dir",
    "/dir/inner",
    "/to-dir/inner",
    "/.git",
    "/.git/config",
    "/.git/other",
    "/sub/.git",
    "/data/x",
    "/data/r",
    "/data/z",
    "/to-env",
    "/to-plain",
    "/to-x",
    "/to-nothing",
    "/new",
    "/.handfast-new",
    "/empty",
    "/missing/new",
    "/.env/below",
];

type Act = fn(&Session, &str) -> Result<(), Error>;

const VERBS: [(Verb, Act); 22] = [
    (Verb::Read, |s, path| s.read(path).map(drop)),
    (Verb::Open, |s, path| s.open(path).map(drop)),
    (Verb::Version, |s, path| s.version(path).map(drop)),
    (Verb::Metadata, |s, path| s.metadata(path).map(drop)),
    (Verb::ReadDir, |s, path| s.read_dir(path).map(drop)),
    (Verb::ReadLink, |s, path| s.read_link(path).map(drop)),
    (Verb::GetXattr, |s, path| {
        s.get_xattr(path, "user.a").map(drop)
    }),
    (Verb::ListXattr, |s, path| s.list_xattrs(path).map(drop)),
    (Verb::Write, |s, path| s.write(path, "new").map(drop)),
    (Verb::WriteNew, |s, path| s.write_new(path, "new").map(drop)),
    (Verb::Append, |s, path| s.append(path, "+").map(drop)),
    (Verb::OpenWrite, |s, path| {
        let how = OpenOptions::new().write(true).create(true);
        s.open_with(path, how).map(drop)
    }),
    (Verb::CreateDir, |s, path| s.create_dir(path)),
    (Verb::Symlink, |s, path| s.symlink("plain", path)),
    (Verb::RemoveFile, |s, path| s.remove_file(path)),
    (Verb::RemoveDir, |s, path| s.remove_dir(path)),
    (Verb::Chmod, |s, path| s.chmod(path, 0o640)),
    (Verb::SetTimes, |s, path| {
        s.set_times(
            path,
            None,
            Some(Timestamp::from(std::time::SystemTime::UNIX_EPOCH)),
        )
    }),
    (Verb::SetXattr, |s, path| s.set_xattr(path, "user.a", b"a")),
    (Verb::Copy, |s, path| s.copy(path, "/copied").map(drop)),
    (Verb::Lock, |s, path| {
        s.lock(path, LockKind::Exclusive, Duration::ZERO).map(drop)
    }),
    (Verb::Rename, |s, path| {
        s.rename(path, "/renamed", RenameMode::NoReplace)
    }),
];

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Denied | ErrorKind::HardLink)
}

/// A session over a directory, without a home where it can be had so.
fn session(s: &Scratch, mode: Mode, hard_links: HardLinks) -> Session {
    let protect = Protect::preset("workspace").unwrap().with_read_only("/ro");
    let mount = s.mount(mode).protect(protect).hard_links(hard_links);
    s.session_of(&SessionSpec::new().mount(mount))
}

#[test]
fn s7_explain_says_what_the_verb_answers() {
    let (mut asked, mut refused, mut wrong) = (0, 0, Vec::new());
    for mode in [Mode::ReadOnly, Mode::ReadWrite, Mode::Overlay] {
        for hard_links in [HardLinks::RefuseWrites, HardLinks::Refuse, HardLinks::Allow] {
            for (verb, act) in VERBS {
                let mut s = scene();
                let mut current = session(&s, mode, hard_links);
                for path in PATHS {
                    let said = current.explain(path, Wanted(verb));
                    let done = act(&current, path);
                    asked += 1;
                    let is_refused = done.as_ref().is_err_and(is_refusal);
                    refused += usize::from(is_refused);
                    let said = said.unwrap();
                    // Where something goes matters too, and `explain` is not told.
                    let may_depend = match verb {
                        Verb::Rename => mode == Mode::ReadWrite || path == "/.git",
                        Verb::Copy => mode == Mode::ReadOnly,
                        _ => false,
                    };
                    if (said.allowed && is_refused && !may_depend)
                        || (!said.allowed && done.is_ok())
                    {
                        let done = done.as_ref().map_err(ToString::to_string);
                        wrong.push(format!(
                            "{mode} {hard_links:?} {verb} {path}: {} {:?}, {done:?}",
                            said.allowed, said.why
                        ));
                    }
                    // What was changed is made again.
                    match mode {
                        Mode::Overlay => drop(current.discard(&[]).unwrap()),
                        Mode::ReadWrite if verb.changes() && done.is_ok() => {
                            drop(current);
                            s = scene();
                            current = session(&s, mode, hard_links);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    println!("s7: {asked} asked, {refused} refused");
    assert!(
        wrong.is_empty(),
        "{} of {asked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        refused * 20 > asked,
        "only {refused} of {asked} were refused"
    );
}
