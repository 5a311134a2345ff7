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
fn names_of_a_file_share_its_content_and_stay_its_names_in_a_commit() {
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
    for (path, names) in [("a", 2), ("e/second", 2), ("e/b", 1)] {
        let status = std::fs::metadata(scratch.at(path)).unwrap();
        assert_eq!(status.nlink(), names, "{path}");
    }
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

/// Commits some paths. What waits to be named, and what else stays.
fn commit_paths(session: &Session, paths: &[&str]) -> (Vec<String>, Vec<String>) {
    let paths = paths.iter().map(|path| VirtualPath::parse(path).unwrap());
    let options = CommitOptions {
        paths: paths.collect(),
        ..CommitOptions::default()
    };
    let done = session.commit(&options, &mut |_, _| {}).unwrap();
    let paths = |of: &[(VirtualPath, String)]| of.iter().map(|one| one.0.to_string()).collect();
    (paths(&done.held_back), paths(&done.conflicts))
}

#[test]
fn a_link_that_leads_outside_waits_until_it_is_named() {
    let scratch = Scratch::new();
    scratch.file("a", "1").file("d/b", "1");
    let session = scratch.session(Mode::Overlay);
    session.symlink("/etc/passwd", "/out").unwrap();
    session.symlink("../../up", "/d/up").unwrap();
    session.write("/a", "2").unwrap();
    session.write("/d/b", "2").unwrap();
    assert_eq!(session.read("/out").unwrap_err().kind(), ErrorKind::Escape);
    // Neither a commit of everything takes it, nor one of its directory.
    let (held, conflicts) = commit_paths(&session, &["/d"]);
    assert_eq!((held.concat(), conflicts.len()), ("/d/up".to_owned(), 0));
    let (mut held, conflicts) = commit_paths(&session, &[]);
    held.sort();
    assert_eq!(
        (held.concat(), conflicts.len()),
        ("/d/up/out".to_owned(), 0)
    );
    assert_eq!(
        (scratch.read("a"), scratch.read("d/b")),
        ("2".into(), "2".into())
    );
    for (link, text) in [("out", "/etc/passwd"), ("d/up", "../../up")] {
        assert!(scratch.at(link).symlink_metadata().is_err(), "{link}");
        let (held, conflicts) = commit_paths(&session, &[&format!("/{link}")]);
        assert_eq!((held.len(), conflicts.len()), (0, 0), "{link}");
        let made = std::fs::read_link(scratch.at(link)).unwrap();
        assert_eq!(made.to_str(), Some(text));
    }
    assert!(diff(&session).is_empty());
    // The session itself never follows it.
    assert_eq!(session.read("/out").unwrap_err().kind(), ErrorKind::Escape);
}

#[test]
fn extended_attributes_wait_with_the_file_and_are_committed_with_it() {
    let scratch = Scratch::new();
    scratch.file("old", "1").file("other", "1");
    let base = |name: &str| {
        let mut value = vec![0; 64];
        let len = rustix::fs::getxattr(scratch.at(name), "user.tag", &mut value[..]).ok()?;
        value.truncate(len);
        Some(value)
    };
    let set = rustix::fs::setxattr(
        scratch.at("old"),
        "user.tag",
        b"base",
        rustix::fs::XattrFlags::empty(),
    );
    if set == Err(rustix::io::Errno::OPNOTSUPP) {
        println!("skipped: extended attributes: this filesystem has no extended attributes");
        return;
    }
    let session = scratch.session(Mode::Overlay);
    let tag = |path: &str| session.get_xattr(path, "user.tag").unwrap();
    // A file that is copied up keeps them.
    append(&session, "/old", "2");
    assert_eq!(tag("/old").as_deref(), Some(&b"base"[..]));
    session.set_xattr("/other", "user.tag", b"new").unwrap();
    session.write("/fresh", "f").unwrap();
    session.set_xattr("/fresh", "user.tag", b"f").unwrap();
    session.create_dir("/dir").unwrap();
    assert_eq!(session.list_xattrs("/dir").unwrap(), [] as [&str; 0]);
    assert_eq!(base("other"), None, "the base is untouched");
    let mut changes = Vec::new();
    let options = handfast_session::ReviewOptions::default();
    let reviewed = session.review(&options, &mut |change| {
        changes.push((change.path.to_string(), change.facts()));
        Ok(())
    });
    reviewed.unwrap();
    let facts = |path: &str| {
        let found = changes.iter().find(|(known, _)| known == path);
        found.map(|(_, facts)| facts.clone())
    };
    // A change of attributes alone is a change, and its value is shown.
    assert_eq!(facts("/other").as_deref(), Some("attributes user.tag=new"));
    assert!(!facts("/old").unwrap().contains("loses"));
    assert!(commit(&session).is_empty());
    assert_eq!(base("old").as_deref(), Some(&b"base"[..]));
    assert_eq!(base("other").as_deref(), Some(&b"new"[..]));
    assert_eq!(base("fresh").as_deref(), Some(&b"f"[..]));
    session.remove_xattr("/other", "user.tag").unwrap();
    assert!(commit(&session).is_empty());
    assert_eq!(base("other"), None);
    assert!(session.set_xattr("/old", "security.x", b"1").is_err());
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
