//! Handles, while another caller moves what they lead to.

use handfast::files::{At, Attributes, Files, Put};
use handfast::{Durability, ErrorKind, RenameMode, WriteOptions};
use handfast_session::{Mode, OpenOptions, Quota, SessionSpec};

use super::{name, node};
use crate::support::*;

fn plain() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

fn names(files: &dyn Files, dir: &handfast::files::Node) -> Vec<String> {
    let entries = files.entries_of(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().name.to_string())
        .collect()
}

#[test]
fn a_handle_stays_with_its_directory_when_another_caller_puts_one_in_its_place() {
    let s = Scratch::new();
    s.file("d/old", "old");
    let session = s.session(Mode::Overlay);
    let files: &dyn Files = &session;
    let dir = node(files, "d").unwrap();
    session
        .rename("/d", "/moved", RenameMode::NoReplace)
        .unwrap();
    session.create_dir("/d").unwrap();
    session.write("/d/new", "new").unwrap();
    // Every way of asking the handle is about one directory.
    assert_eq!(names(files, &dir), ["old"]);
    assert!(files.lookup(&dir, name("old").as_ref()).is_ok());
    let made = name("made");
    files
        .put_at(At::new(&dir, &made), b"x", Put::New, plain())
        .unwrap();
    files
        .set_attributes_of(&dir, &Attributes::new().mode(0o700))
        .unwrap();
    assert_eq!(session.read("/moved/made").unwrap(), b"x");
    assert_eq!(session.metadata("/moved").unwrap().mode & 0o777, 0o700);
    assert_ne!(session.metadata("/d").unwrap().mode & 0o777, 0o700);
    assert_eq!(files.metadata_of(&dir).unwrap().mode & 0o777, 0o700);
}

#[test]
fn staged_content_goes_to_the_directory_that_was_held() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let s = Scratch::new();
        s.file("d/old", "old");
        let session = s.session(mode);
        let files: &dyn Files = &session;
        let dir = node(files, "d").unwrap();
        let made = name("made");
        let mut staged = files.stage_at(At::new(&dir, &made), plain()).unwrap();
        std::io::Write::write_all(&mut staged, b"x").unwrap();
        session
            .rename("/d", "/moved", RenameMode::NoReplace)
            .unwrap();
        session.create_dir("/d").unwrap();
        staged.publish(Put::New).unwrap();
        assert_eq!(session.read("/moved/made").unwrap(), b"x", "{mode}");
        assert_eq!(kind(session.read("/d/made")), ErrorKind::NotFound, "{mode}");
    }
}

#[test]
fn a_handle_of_a_directory_that_was_removed_and_made_again_leads_nowhere() {
    for mode in [Mode::Overlay, Mode::Memory, Mode::ReadWrite] {
        let s = Scratch::new();
        s.dir("d").dir("top/sub");
        let session = s.session(mode);
        let files: &dyn Files = &session;
        let (dir, sub) = (node(files, "d").unwrap(), node(files, "top/sub").unwrap());
        session.remove_dir("/d").unwrap();
        session.create_dir("/d").unwrap();
        session.remove_tree("/top").unwrap();
        session.create_dir_all("/top/sub").unwrap();
        for old in [&dir, &sub] {
            let made = name("made");
            let put = files.put_at(At::new(old, &made), b"x", Put::New, plain());
            assert!(put.is_err(), "{mode}");
            let made = files.create_dir_at(At::new(old, &made), 0o777);
            assert!(made.is_err(), "{mode}");
        }
        assert!(session.read_dir("/d").unwrap().is_empty());
        assert!(session.read_dir("/top/sub").unwrap().is_empty());
    }
}

#[test]
fn quotas_hold_through_handles() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let s = Scratch::new();
        let mut quota = Quota::new();
        quota.bytes = Some(1000);
        let mount = s.mount(mode).quota(quota);
        let session = s.session_of(&SessionSpec::new().mount(mount));
        let files: &dyn Files = &session;
        let top = files.top().unwrap();
        let (f, g, h) = (name("f"), name("g"), name("h"));
        let how = OpenOptions::new().read(true).write(true).create(true);
        let file = files.create_at(At::new(&top, &f), how).unwrap();
        file.write_at(&[1; 600], 0).unwrap();
        let over = [
            file.write_at(&[1; 500], 600).map(drop),
            file.write_at(b"x", 5000).map(drop),
            file.set_len(1001),
            files
                .append_at(At::new(&top, &f), &[1; 500], plain())
                .map(drop),
            files
                .put_at(At::new(&top, &g), &[1; 500], Put::New, plain())
                .map(drop),
            session.copy("/f", "/g").map(drop),
        ];
        for (number, answer) in over.into_iter().enumerate() {
            assert_eq!(kind(answer), ErrorKind::Quota, "{mode} {number}");
        }
        let staged = files.stage_at(At::new(&top, &h), plain());
        let mut staged = staged.unwrap();
        assert!(std::io::Write::write_all(&mut staged, &[1; 500]).is_err());
        drop(staged);
        assert_eq!(session.usage().unwrap()[0].used.bytes, 600, "{mode}");
        file.set_len(100).unwrap();
        files
            .put_at(At::new(&top, &g), &[1; 900], Put::New, plain())
            .unwrap();
    }
}

/// Renames another directory over the new one as soon as it was made, as a co-owner of the parent may.
struct Replaces {
    theirs: std::path::PathBuf,
    place: std::path::PathBuf,
}

impl handfast::Recorder for Replaces {
    fn record(&self, event: &handfast::Event<'_>) -> Result<(), handfast::RecordError> {
        if event.phase == handfast::Phase::Result && self.theirs.exists() {
            std::fs::rename(&self.theirs, &self.place).unwrap();
        }
        Ok(())
    }
}

#[test]
fn l1_the_handle_of_a_new_directory_is_that_of_the_one_that_was_made() {
    let s = Scratch::new();
    s.dir("theirs");
    let caller = me().recorder(std::sync::Arc::new(Replaces {
        theirs: s.at("theirs"),
        place: s.at("d"),
    }));
    let session = s.session(Mode::ReadWrite).for_caller(caller);
    let files: &dyn Files = &session;
    let (top, made) = (files.top().unwrap(), name("d"));
    let error = files
        .create_dir_at(At::new(&top, &made), 0o700)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Raced);
    assert_eq!(error.effect(), handfast::Effect::Visible);
    // Without anybody in between it is handed out.
    let made = name("e");
    let dir = files.create_dir_at(At::new(&top, &made), 0o700).unwrap();
    assert_eq!(dir.metadata().mode & 0o777, 0o700);
}
