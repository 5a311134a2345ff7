//! Hunks are committed one by one, as they were shown or not at all, and taken back likewise.

use std::os::unix::fs::PermissionsExt;

use handfast::ErrorKind;
use handfast_session::change::Hunk;
use handfast_session::{Mode, Session};

use crate::review::{Random, applied, of, review};
use crate::support::{Scratch, kind, v};

fn numbered(changed: &[usize]) -> String {
    let line = |n| match changed.contains(&n) {
        true => format!("changed {n}\n"),
        false => format!("line {n}\n"),
    };
    (0..60).map(line).collect()
}

#[test]
fn hunks_are_committed_one_by_one_and_the_rest_stays() {
    let s = Scratch::new();
    s.file("f", numbered(&[]));
    std::fs::set_permissions(s.at("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let session = s.session(Mode::Overlay);
    session.write("/f", numbered(&[5, 30, 55])).unwrap();
    let ids = |session: &Session| -> Vec<String> {
        let change = of(session, "/f");
        change.hunks().iter().map(|hunk| hunk.id.clone()).collect()
    };
    let all = ids(&session);
    assert_eq!(all.len(), 3);
    let report = session.commit_hunks(&all[1..2], None).unwrap();
    assert_eq!(report.committed, [v("/f")]);
    assert_eq!(s.read("f"), numbered(&[30]));
    let mode = std::fs::metadata(s.at("f")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(
        session.read("/f").unwrap(),
        numbered(&[5, 30, 55]).as_bytes()
    );
    let left = ids(&session);
    assert_eq!(left.len(), 2);
    // A hunk of a content that is gone is gone too.
    assert_eq!(
        kind(session.commit_hunks(&all[..1], None)),
        ErrorKind::NotFound
    );
    session.commit_hunks(&left, None).unwrap();
    assert_eq!(s.read("f"), numbered(&[5, 30, 55]));
    assert!(review(&session).is_empty());
    let used = session.usage().unwrap()[0].used.inodes;
    assert_eq!(
        used, 2,
        "what the two commits replaced is kept, and nothing else"
    );
}

#[test]
fn hunks_of_what_others_changed_are_not_committed() {
    let s = Scratch::new();
    s.file("f", numbered(&[])).file("new-in-base", "x\n");
    let session = s.session(Mode::Overlay);
    session.write("/f", numbered(&[5, 55])).unwrap();
    session.write("/new", "a\nb\n").unwrap();
    let first = of(&session, "/f").hunks()[0].id.clone();
    std::fs::write(s.at("f"), numbered(&[20])).unwrap();
    // Its ID is of the content that was there.
    assert_eq!(
        kind(session.commit_hunks(&[first], None)),
        ErrorKind::NotFound
    );
    let again = of(&session, "/f");
    assert!(again.meanwhile.is_some());
    let report = session
        .commit_hunks(&[again.hunks()[0].id.clone()], None)
        .unwrap();
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    assert_eq!(s.read("f"), numbered(&[20]));
    let new = of(&session, "/new").hunks()[0].id.clone();
    assert_eq!(kind(session.commit_hunks(&[new], None)), ErrorKind::Invalid);
    assert!(!s.at("new").exists());
}

/// How many random hunks are committed or taken back; `HANDFAST_RANDOM_CASES` asks for more.
fn rounds() -> usize {
    let asked = std::env::var("HANDFAST_RANDOM_CASES").ok();
    asked.map_or(300, |text| text.parse().unwrap())
}

#[test]
fn random_hunks_and_undos_against_a_changing_base_do_what_was_shown_or_nothing() {
    let mut random = Random(7);
    let (mut done, mut undone, mut refused) = (0, 0, 0);
    let s = Scratch::new();
    s.file("f", numbered(&[]));
    let session = s.session(Mode::Overlay);
    let base = || std::fs::read(s.at("f")).unwrap();
    // What the base had before each commit that can be taken back, and after it.
    let mut past: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for round in 0..rounds() {
        let before = base();
        // Somebody else may come between the look and the yes, on either side.
        let meddle = |random: &mut Random| match random.below(5) {
            0 => std::fs::write(s.at("f"), numbered(&[round % 60])).unwrap(),
            1 => drop(session.append("/f", "agent\n").unwrap()),
            _ => {}
        };
        if random.below(3) == 0
            && let Some((old, new)) = past.last()
        {
            let id = session.past_commits().unwrap()[0].id;
            meddle(&mut random);
            let (now, view) = (base(), session.read("/f").unwrap());
            let report = session.undo(id).unwrap();
            if report.conflicts.is_empty() {
                assert_eq!(&now, new, "{round}: taken back from what was not committed");
                assert_eq!(&base(), old, "{round}");
                assert_eq!(session.read("/f").unwrap(), view, "{round}: the view");
                past.pop();
                undone += 1;
            } else {
                assert_eq!(base(), now, "{round}: refused, and changed all the same");
                past.clear();
                refused += 1;
                session.discard(&[]).unwrap();
            }
            continue;
        }
        let wanted: Vec<usize> = (0..60).filter(|_| random.below(8) == 0).collect();
        session.write("/f", numbered(&wanted)).unwrap();
        let found = review(&session).into_iter();
        let Some(change) = found.into_iter().find(|change| change.path == v("/f")) else {
            continue;
        };
        let hunks = change.hunks().iter();
        let chosen: Vec<Hunk> = hunks.filter(|_| random.below(2) == 0).cloned().collect();
        if chosen.is_empty() {
            continue;
        }
        let ids: Vec<String> = chosen.iter().map(|hunk| hunk.id.clone()).collect();
        meddle(&mut random);
        let now = base();
        let report = session.commit_hunks(&ids, None);
        let after = base();
        match report {
            Ok(report) if report.conflicts.is_empty() => {
                assert_eq!(
                    now, before,
                    "{round}: committed onto something that was not shown"
                );
                assert_eq!(after, applied(&before, &chosen), "{round}");
                past.push((before, after));
                done += 1;
            }
            _ => {
                assert_eq!(after, now, "{round}: refused, and changed all the same");
                // The reviewer starts again from what is there. Earlier commits are not the last
                // word on the file any more.
                past.clear();
                refused += 1;
                session.discard(&[]).unwrap();
            }
        }
        if session.past_commits().unwrap().len() < past.len() {
            past.remove(0);
        }
    }
    println!("{done} committed, {undone} taken back, {refused} refused");
    let least = rounds() / 10;
    assert!(
        done > least && undone > least / 3 && refused > least,
        "{done} {undone} {refused}"
    );
}
