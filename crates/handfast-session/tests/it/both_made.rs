//! Directories of git that a session and somebody else made: what lies in them is compared, and they
//! are no conflict themselves.

use std::os::unix::fs::PermissionsExt;

use handfast_session::{CommitOptions, Mode};

use crate::support::*;

#[test]
fn a_directory_of_git_that_both_made_is_joined_and_its_files_are_compared() {
    let s = Scratch::new();
    s.file(".git/HEAD", "ref: refs/heads/x\n");
    let session = s.session(Mode::Overlay);
    session.create_dir_all("/.git/new/deep").unwrap();
    session.write("/.git/new/ours", "ours").unwrap();
    session.write("/.git/new/deep/ours", "ours").unwrap();
    session.write("/.git/new/same", "same").unwrap();
    // Somebody else makes the same directories.
    s.file(".git/new/theirs", "theirs")
        .file(".git/new/same", "same")
        .file(".git/new/deep/theirs", "theirs");
    let review = session.diff().unwrap();
    assert!(
        review
            .iter()
            .any(|change| change.path.to_string() == "/.git/new/ours")
    );
    let done = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert!(done.conflicts.is_empty(), "{done:?}");
    for name in [
        ".git/new/ours",
        ".git/new/theirs",
        ".git/new/same",
        ".git/new/deep/ours",
        ".git/new/deep/theirs",
    ] {
        assert!(s.base().join(name).exists(), "{name}");
    }
    assert_eq!(session.diff().unwrap(), []);
    assert_eq!(session.read("/.git/new/theirs").unwrap(), b"theirs");
}

#[test]
fn another_file_or_another_mode_is_still_a_conflict() {
    let s = Scratch::new();
    s.file(".git/HEAD", "ref: refs/heads/x\n");
    let session = s.session(Mode::Overlay);
    session.create_dir_all("/.git/new").unwrap();
    session.write("/.git/new/file", "ours").unwrap();
    session.create_dir_with("/.git/strict", 0o700).unwrap();
    session.create_dir_all("/.git/name").unwrap();
    s.file(".git/new/file", "theirs")
        .file(".git/name", "a file")
        .dir(".git/strict");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(s.base().join(".git/strict"), open).unwrap();
    let done = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert_eq!(done.committed, []);
    let found: Vec<_> = done
        .conflicts
        .iter()
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(found, ["/.git/name", "/.git/new/file", "/.git/strict"]);
    assert_eq!(
        std::fs::read(s.base().join(".git/new/file")).unwrap(),
        b"theirs"
    );
    // What was refused is still what the session has.
    assert_eq!(session.read("/.git/new/file").unwrap(), b"ours");
}

#[test]
fn an_object_of_git_that_was_only_touched_is_not_written_again() {
    let s = Scratch::new();
    s.file(".git/HEAD", "ref: refs/heads/x\n")
        .file(".git/objects/ab/cd", "object");
    let object = s.base().join(".git/objects/ab/cd");
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(&object, read_only).unwrap();
    let inode =
        |path: &std::path::Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let before = inode(&object);
    let session = s.session(Mode::Overlay);
    let mut times = handfast::files::Attributes::new();
    times.modified = Some(handfast::Timestamp {
        seconds: 1_000_000_000,
        nanoseconds: 0,
    });
    session
        .set_attributes("/.git/objects/ab/cd", &times)
        .unwrap();
    session.write("/.git/objects/ef", "new").unwrap();
    let done = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert!(done.conflicts.is_empty(), "{done:?}");
    assert_eq!(inode(&object), before);
    assert_eq!(session.diff().unwrap(), []);
}
