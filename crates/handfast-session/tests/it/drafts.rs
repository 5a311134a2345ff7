//! Files that nobody sees yet: what becomes of them, and what they cost meanwhile.

use std::io::{Read, Seek, Write};

use handfast::ErrorKind;
use handfast_session::{Mode, Protect, Quota, Session, SessionSpec};

use crate::support::{Scratch, kind, tree_in};

const MODES: [Mode; 3] = [Mode::ReadWrite, Mode::Overlay, Mode::Memory];

fn limited(s: &Scratch, mode: Mode, bytes: u64) -> Session {
    let mut quota = Quota::new();
    quota.bytes = Some(bytes);
    quota.handles = Some(2);
    s.session_of(&SessionSpec::new().mount(s.mount(mode).quota(quota)))
}

fn used(session: &Session) -> (u64, u64, u64) {
    let used = session.usage().unwrap()[0].used;
    (used.bytes, used.inodes, used.handles)
}

#[test]
fn what_is_staged_is_seen_when_it_is_committed_and_not_before() {
    for mode in MODES {
        let s = Scratch::new();
        s.file("a", "old").dir("d");
        let session = s.session(mode);
        let before = tree_in(&session);
        let mut staged = session.stage("/a").unwrap();
        staged.write_all(b"new ").unwrap();
        staged.write_all(b"content").unwrap();
        assert_eq!(tree_in(&session), before, "{mode:?}");
        staged.commit().unwrap();
        assert_eq!(session.read("/a").unwrap(), b"new content", "{mode:?}");

        let mut dropped = session.stage("/d/b").unwrap();
        dropped.write_all(b"never").unwrap();
        drop(dropped);
        assert_eq!(kind(session.read("/d/b")), ErrorKind::NotFound);

        let mut new = session.stage("/d/b").unwrap();
        new.write_all(b"b").unwrap();
        new.commit_new().unwrap();
        let again = session.stage("/d/b").unwrap();
        assert_eq!(kind(again.commit_new()), ErrorKind::Exists, "{mode:?}");
        assert_eq!(session.read("/d/b").unwrap(), b"b");

        let (_, seen) = session.read_versioned("/d/b").unwrap();
        session.write("/d/b", "somebody else's").unwrap();
        let mut late = session.stage("/d/b").unwrap();
        late.write_all(b"mine").unwrap();
        assert_eq!(kind(late.commit_if(&seen)), ErrorKind::Stale, "{mode:?}");
        assert_eq!(session.read("/d/b").unwrap(), b"somebody else's");
    }
}

#[test]
fn everything_is_decided_again_when_a_staged_file_is_committed() {
    for mode in MODES {
        let s = Scratch::new();
        s.file("secret", "s").dir("d");
        let protect = Protect {
            deny: vec!["secret".to_owned()],
            ..Protect::default()
        };
        let session = s.protected(mode, protect);
        assert_eq!(kind(session.stage("/secret")), ErrorKind::Denied);
        assert_eq!(kind(session.stage("/none/f")), ErrorKind::NotFound);
        assert_eq!(kind(session.stage("/.handfast-x")), ErrorKind::Denied);
        // Links appear between the two steps: at the target, and on the way.
        let outside = s.outside();
        let mut at_target = session.stage("/f").unwrap();
        let mut on_the_way = session.stage("/d/f").unwrap();
        at_target.write_all(b"x").unwrap();
        on_the_way.write_all(b"x").unwrap();
        s.link(s.top.join("outside/secret"), "f");
        std::fs::remove_dir(s.at("d")).unwrap();
        s.link(s.top.join("outside"), "d");
        assert_eq!(kind(at_target.commit()), ErrorKind::Escape, "{mode:?}");
        assert_eq!(kind(on_the_way.commit()), ErrorKind::Escape, "{mode:?}");
        assert_eq!(s.outside(), outside);
    }
    let s = Scratch::new();
    let session = s.session(Mode::ReadOnly);
    assert_eq!(kind(session.stage("/f")), ErrorKind::Denied);
    assert_eq!(kind(session.temp_file("/")), ErrorKind::Denied);
    assert_eq!(kind(session.temp_dir("/")), ErrorKind::Denied);
}

#[test]
fn a_temporary_file_has_no_name_until_it_gets_one_and_no_hold_on_what_it_became() {
    for mode in MODES {
        let s = Scratch::new();
        s.dir("d").file("taken", "t");
        let session = s.session(mode);
        let before = tree_in(&session);
        let mut temp = session.temp_file("/d").unwrap();
        temp.write_all(b"content").unwrap();
        temp.rewind().unwrap();
        let mut read = String::new();
        temp.read_to_string(&mut read).unwrap();
        assert_eq!(read, "content");
        assert_eq!(tree_in(&session), before, "{mode:?}");
        assert_eq!(kind(temp.persist_new("/taken")), ErrorKind::Exists);
        temp.persist_new("/d/kept").unwrap();
        temp.write_all(b"late").unwrap();
        assert_eq!(session.read("/d/kept").unwrap(), b"content", "{mode:?}");
        let status = session.metadata("/d/kept").unwrap();
        assert_eq!(status.mode & 0o777, 0o600, "{mode:?}");
        assert_eq!(session.read("/taken").unwrap(), b"t");
        assert_eq!(kind(session.temp_file("/taken")), ErrorKind::NotADirectory);
    }
}

#[test]
fn what_is_not_seen_is_charged_and_given_back() {
    for mode in MODES {
        let s = Scratch::new();
        let session = limited(&s, mode, 100);
        let mut staged = session.stage("/a").unwrap();
        staged.write_all(&[1; 60]).unwrap();
        assert_eq!(used(&session).0, 60, "{mode:?}");
        assert_eq!(kind(session.write("/b", [2; 50])), ErrorKind::Quota);
        let mut other = session.temp_file("/").unwrap();
        assert!(other.write_all(&[3; 50]).is_err(), "{mode:?}");
        assert!(other.set_len(50).is_err());
        assert_eq!(kind(session.temp_file("/")), ErrorKind::Quota, "handles");
        drop(other);
        // Content is not charged twice when it becomes a file.
        staged.commit().unwrap();
        assert_eq!(used(&session), (60, 1, 0), "{mode:?}");
        let mut temp = session.temp_file("/").unwrap();
        temp.write_all(&[4; 40]).unwrap();
        assert_eq!(kind(temp.persist_new("/a")), ErrorKind::Exists);
        assert_eq!(used(&session).0, 100, "what failed is charged as before");
        temp.persist_new("/c").unwrap();
        drop(temp);
        assert_eq!(used(&session), (100, 2, 0), "{mode:?}");
        assert_eq!(session.read("/c").unwrap(), [4; 40]);
    }
}

#[test]
fn a_temporary_directory_goes_with_all_that_is_in_it() {
    for mode in MODES {
        let s = Scratch::new();
        s.dir("d");
        let session = s.session(mode);
        let before = tree_in(&session);
        let dir = session.temp_dir("/d").unwrap();
        let path = dir.path().to_string();
        session.write(format!("{path}/f"), "f").unwrap();
        session.create_dir(format!("{path}/sub")).unwrap();
        assert_eq!(session.metadata(&path).unwrap().mode & 0o777, 0o700);
        drop(dir);
        assert_eq!(tree_in(&session), before, "{mode:?}");
        if mode == Mode::ReadWrite {
            let dir = session.temp_dir("/d").unwrap();
            let at = s.at(&dir.path().to_string()[1..]);
            std::fs::rename(&at, s.at("d/moved")).unwrap();
            std::fs::create_dir(&at).unwrap();
            std::fs::write(at.join("theirs"), "").unwrap();
            drop(dir);
            assert!(at.join("theirs").exists(), "another's directory is left");
        }
        let kept = session.temp_dir("/d").unwrap().keep().to_string();
        assert!(session.metadata(&kept).unwrap().is_dir());
        assert_eq!(kind(session.temp_dir("/none")), ErrorKind::NotFound);
        let protect = Protect {
            deny: vec!["tmp-*".to_owned()],
            ..Protect::default()
        };
        let other = Scratch::new();
        let session = other.protected(mode, protect);
        let made = session.temp_dir("/");
        match mode {
            Mode::ReadWrite => assert_eq!(kind(made), ErrorKind::Denied),
            // A name that the base does not have is the session's own.
            _ => drop(made.unwrap()),
        }
    }
}

#[test]
fn a_temporary_directory_that_was_taken_away_takes_nobody_elses_with_it() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let s = Scratch::new();
        s.dir("d");
        let session = s.session(mode);
        let dir = session.temp_dir("/d").unwrap();
        let path = dir.path().clone();
        session.write(path.join_text("inside"), "x").unwrap();
        session
            .rename(&path, "/d/moved", handfast::RenameMode::NoReplace)
            .unwrap();
        session.create_dir(&path).unwrap();
        session.write(path.join_text("theirs"), "theirs").unwrap();
        drop(dir);
        let theirs = session.read(path.join_text("theirs")).unwrap();
        assert_eq!(theirs, b"theirs", "{mode:?}");
        assert_eq!(session.read("/d/moved/inside").unwrap(), b"x", "{mode:?}");
    }
}

trait JoinText {
    fn join_text(&self, name: &str) -> String;
}

impl JoinText for handfast_session::VirtualPath {
    fn join_text(&self, name: &str) -> String {
        format!("{self}/{name}")
    }
}
