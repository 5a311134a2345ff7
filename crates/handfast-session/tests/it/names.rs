//! Files with several names, links with any target and times of directories in an overlay.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use handfast::files::{Attributes, FileHandle};
use handfast::{Error, ErrorKind, RenameMode, Timestamp};
use handfast_session::{
    Access, Caller, CommitOptions, Mode, OpenOptions, Protect, Scope, Session, VirtualPath,
};

use crate::support::*;

fn append(session: &Session, path: &str, text: &str) {
    let how = OpenOptions::new().append(true).create(false);
    let file = session.open_with(path, how).unwrap();
    file.write_at(text.as_bytes(), 0).unwrap();
}

fn commit(session: &Session) -> Vec<String> {
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    let conflicts = report.conflicts.iter();
    conflicts
        .map(|(path, why)| format!("{path}: {why}"))
        .collect()
}

#[test]
fn names_of_a_file_share_its_content_and_a_commit_makes_a_file_of_each() {
    let scratch = Scratch::new();
    scratch.file("a", "base").dir("d");
    let session = scratch.session(Mode::Overlay);
    session.hard_link("/a", "/d/b").unwrap();
    session.hard_link("/d/b", "/c").unwrap();
    assert_eq!(session.metadata("/a").unwrap().nlink, 3);
    append(&session, "/d/b", "+");
    for path in ["/a", "/d/b", "/c"] {
        assert_eq!(session.read(path).unwrap(), b"base+", "{path}");
    }
    // After a snapshot the content is copied for all names.
    session.snapshot("s").unwrap();
    append(&session, "/c", "!");
    assert_eq!(session.read("/a").unwrap(), b"base+!");
    session.rename("/d", "/e", RenameMode::Replace).unwrap();
    session.remove_file("/c").unwrap();
    assert_eq!(session.metadata("/e/b").unwrap().nlink, 2);
    // Two names of one file are renamed to each other: nothing happens.
    session.rename("/a", "/e/b", RenameMode::Replace).unwrap();
    assert_eq!(session.metadata("/a").unwrap().nlink, 2);
    // A file that is replaced leaves the other name alone.
    session.write("/a", "other").unwrap();
    assert_eq!(session.read("/e/b").unwrap(), b"base+!");
    session.hard_link("/a", "/e/second").unwrap();
    assert_eq!(
        diff(&session),
        [
            "changed /a",
            "renamed /e < /d",
            "added /e/b",
            "added /e/second"
        ]
    );
    assert_eq!(commit(&session), [] as [String; 0]);
    assert_eq!(scratch.read("a"), "other");
    assert_eq!(scratch.read("e/b"), "base+!");
    assert_eq!(scratch.read("e/second"), "other");
    assert_eq!(std::fs::metadata(scratch.at("a")).unwrap().nlink(), 1);
    session.rollback("s").unwrap();
    assert_eq!(session.read("/c").unwrap(), b"base+");
}

/// Nobody is granted `private`.
#[derive(Debug)]
struct Outside;

impl Scope for Outside {
    fn check(&self, path: &VirtualPath, _: Access) -> Result<(), Error> {
        match path.to_string().starts_with("/private") {
            true => Err(Error::refused(ErrorKind::Denied, "it is private")),
            false => Ok(()),
        }
    }
}

#[test]
fn the_narrowest_rule_of_all_names_holds() {
    let scratch = Scratch::new();
    scratch
        .file("private/a", "secret")
        .file("kept", "1")
        .file("denied", "1")
        .file("free", "1");
    let protect = Protect::new().with_read_only("kept").with_deny("denied");
    let mount = scratch.mount(Mode::Overlay).protect(protect);
    let session = scratch.session_of(&handfast_session::SessionSpec::new().mount(mount));
    let kind = |done: Result<(), handfast::Error>| done.unwrap_err().kind();
    assert_eq!(
        kind(session.hard_link("/free", "/kept2/x")),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(session.hard_link("/free", "/denied")),
        ErrorKind::Denied
    );
    // Somebody who may links a private file to a name that others may use.
    session.hard_link("/private/a", "/shared").unwrap();
    let other = session.for_caller(Caller::new("other").scope(Arc::new(Outside)));
    assert_eq!(kind(other.read("/shared").map(drop)), ErrorKind::Denied);
    let how = OpenOptions::new().write(true);
    assert_eq!(
        kind(other.open_with("/shared", how).map(drop)),
        ErrorKind::Denied
    );
    assert_eq!(kind(other.chmod("/shared", 0o777)), ErrorKind::Denied);
    assert_eq!(kind(other.hard_link("/shared", "/mine")), ErrorKind::Denied);
    assert_eq!(session.read("/shared").unwrap(), b"secret");
    // Once the private name is gone, the file is like any other.
    session.remove_file("/private/a").unwrap();
    assert_eq!(other.read("/shared").unwrap(), b"secret");
}

#[test]
fn a_link_that_leads_outside_waits_and_is_not_committed() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    let session = scratch.session(Mode::Overlay);
    session.symlink("/etc/passwd", "/out").unwrap();
    session.write("/a", "2").unwrap();
    assert_eq!(session.read("/out").unwrap_err().kind(), ErrorKind::Escape);
    let conflicts = commit(&session);
    assert!(
        conflicts.len() == 1 && conflicts[0].starts_with("/out: "),
        "{conflicts:?}"
    );
    assert!(scratch.at("out").symlink_metadata().is_err());
}

#[test]
fn directories_keep_the_times_that_they_are_given() {
    let scratch = Scratch::new();
    scratch.file("d/f", "1");
    let session = scratch.session(Mode::Overlay);
    let old = Timestamp {
        seconds: 1_000_000_000,
        nanoseconds: 7,
    };
    session.create_dir("/new").unwrap();
    for path in ["/d", "/new"] {
        let times = Attributes::new().times(None, Some(old));
        session.set_attributes(path, &times).unwrap();
        assert_eq!(session.metadata(path).unwrap().modified, old, "{path}");
    }
    // Another process reads them from the journal.
    let again = scratch.catalogue().open("s", me()).unwrap();
    assert_eq!(again.metadata("/new").unwrap().modified, old);
    session.write("/new/x", "1").unwrap();
    assert!(session.metadata("/new").unwrap().modified > old);
    assert_eq!(diff(&session), ["added /new", "added /new/x"]);
}
