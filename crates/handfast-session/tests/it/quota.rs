//! What is charged stays charged for as long as it takes space.

use std::io::Write;

use handfast::{ErrorKind, RenameMode};
use handfast_session::{Mode, OpenOptions, Quota, Session, SessionSpec};

use crate::support::{Scratch, kind};

fn limited(s: &Scratch, mode: Mode, bytes: u64, inodes: Option<u64>) -> Session {
    let mut quota = Quota::new();
    quota.bytes = Some(bytes);
    quota.inodes = inodes;
    s.session_of(&SessionSpec::new().mount(s.mount(mode).quota(quota)))
}

fn used(session: &Session) -> (u64, u64) {
    let used = session.usage().unwrap()[0].used;
    (used.bytes, used.inodes)
}

#[test]
fn a_file_with_another_name_stays_charged_when_one_is_replaced() {
    let s = Scratch::new();
    let session = limited(&s, Mode::ReadWrite, 1000, None);
    session.write("/a", [1; 600]).unwrap();
    session.hard_link("/a", "/b").unwrap();
    assert_eq!(kind(session.write("/a", [2; 600])), ErrorKind::Quota);
    session.write("/a", [2; 400]).unwrap();
    assert_eq!(used(&session), (1000, 2));
    session.remove_file("/b").unwrap();
    assert_eq!(used(&session), (400, 1));
    // A file that was there before is charged in full if it lives on.
    s.file("old", [0; 500]);
    std::fs::hard_link(s.at("old"), s.at("also")).unwrap();
    session.write("/old", [3; 600]).unwrap();
    assert_eq!(used(&session), (1000, 2));
}

#[test]
fn another_name_counts_as_a_file() {
    let s = Scratch::new();
    let session = limited(&s, Mode::ReadWrite, 10_000, Some(3));
    session.write("/a", "a").unwrap();
    session.hard_link("/a", "/b").unwrap();
    session.hard_link("/a", "/c").unwrap();
    assert_eq!(kind(session.hard_link("/a", "/d")), ErrorKind::Quota);
    assert!(!s.at("d").exists());
    assert_eq!(
        kind(session.hard_link("/a", "/b")),
        ErrorKind::Quota,
        "before anything is tried"
    );
    session.remove_file("/c").unwrap();
    assert_eq!(kind(session.hard_link("/a", "/b")), ErrorKind::Exists);
    assert_eq!(used(&session), (1, 2), "what failed is not charged");
    // Two names of one file: the system does nothing.
    session.rename("/a", "/b", RenameMode::Replace).unwrap();
    assert_eq!(used(&session), (1, 2));
    session.remove_file("/a").unwrap();
    session.remove_file("/b").unwrap();
    assert_eq!(used(&session), (0, 0));
}

#[test]
fn what_is_removed_stays_charged_while_it_is_open() {
    for mode in [Mode::ReadWrite, Mode::Overlay, Mode::Memory] {
        let s = Scratch::new();
        let session = limited(&s, mode, 1000, None);
        let new = OpenOptions::new().write(true).create(true);
        let mut held = session.open_with("/f", new).unwrap();
        held.write_all(&[1; 900]).unwrap();
        let also = session.open("/f").unwrap();
        session.remove_file("/f").unwrap();
        assert_eq!(
            kind(session.write("/g", [1; 900])),
            ErrorKind::Quota,
            "{mode}"
        );
        session.mend().unwrap();
        assert_eq!(
            kind(session.write("/g", [1; 900])),
            ErrorKind::Quota,
            "{mode}"
        );
        drop(held);
        assert_eq!(
            kind(session.write("/g", [1; 900])),
            ErrorKind::Quota,
            "{mode}: one reads"
        );
        drop(also);
        session.write("/g", [1; 900]).unwrap();
        // Replaced while somebody reads it.
        let old = session.open("/g").unwrap();
        session.remove_file("/g").unwrap();
        assert_eq!(
            kind(session.write("/g", [2; 900])),
            ErrorKind::Quota,
            "{mode}"
        );
        drop(old);
        session.write("/g", [2; 900]).unwrap();
        assert_eq!(used(&session).0, 900, "{mode}");
    }
}

#[test]
fn extended_attributes_are_charged() {
    let scratch = Scratch::new();
    let session = limited(&scratch, Mode::Overlay, 1000, None);
    let used = || used(&session);
    session.write("/f", "12345").unwrap();
    session.set_xattr("/f", "user.a", &[b'x'; 100]).unwrap();
    assert_eq!(used(), (5 + 6 + 100, 1));
    session.set_xattr("/f", "user.a", &[b'x'; 50]).unwrap();
    assert_eq!(used().0, 5 + 6 + 50);
    let refused = session.set_xattr("/f", "user.b", &[b'x'; 990]);
    assert_eq!(kind(refused), ErrorKind::Quota);
    session.write("/g", "1").unwrap();
    session.mend().unwrap();
    assert_eq!(used().0, 5 + 6 + 50 + 1, "counted again");
    session.remove_file("/f").unwrap();
    assert_eq!(used(), (1, 1));
}
