//! Very many changes in one session. `HANDFAST_MANY=100000` asks for as many; few are tried otherwise.

use std::time::Instant;

use handfast::{Durability, WriteOptions};
use handfast_session::{CommitOptions, Mode, ReviewOptions};

use super::support::*;

fn many() -> usize {
    let asked = std::env::var("HANDFAST_MANY").ok();
    asked.map_or(1500, |text| text.parse().expect("a number of changes"))
}

#[test]
fn very_many_changes_are_shown_committed_and_taken_back() {
    let count = many();
    let scratch = Scratch::new();
    for number in 0..count / 2 {
        if number % 1000 == 0 {
            scratch.dir(&format!("d{}", number / 1000));
        }
        let at = scratch.at(&format!("d{}/f{number}", number / 1000));
        std::fs::write(at, "old content\n").unwrap();
    }
    let session = scratch.session(Mode::Overlay);
    let quick = WriteOptions::new().durability(Durability::None);
    let put = |path: String, content: &str| {
        let how = handfast::files::Put::Replace;
        session.put(path, content.as_bytes(), how, quick).unwrap()
    };
    for number in 0..count / 2 {
        let dir = number / 1000;
        put(format!("/d{dir}/f{number}"), "new content\n");
        put(format!("/d{dir}/n{number}"), "added\n");
    }
    let begun = Instant::now();
    let (mut shown, mut held) = (0, 0);
    session
        .review(&ReviewOptions::default(), &mut |change| {
            shown += 1;
            held += usize::from(change.hunks().is_empty());
            Ok(())
        })
        .unwrap();
    let reviewed = begun.elapsed();
    assert_eq!((shown, held), (count / 2 * 2, 0), "each with its lines");
    let begun = Instant::now();
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    let committed = begun.elapsed();
    assert_eq!(report.conflicts, []);
    assert_eq!(report.committed.len(), shown);
    assert_eq!(report.not_undoable, None);
    for number in 0..count / 2 {
        let dir = number / 1000;
        assert_eq!(scratch.read(&format!("d{dir}/f{number}")), "new content\n");
        assert_eq!(scratch.read(&format!("d{dir}/n{number}")), "added\n");
    }
    let begun = Instant::now();
    let id = session.past_commits().unwrap().remove(0).id;
    assert_eq!(session.undo(id).unwrap().conflicts, []);
    let undone = begun.elapsed();
    for number in 0..count / 2 {
        let dir = number / 1000;
        assert_eq!(scratch.read(&format!("d{dir}/f{number}")), "old content\n");
        assert!(!scratch.at(&format!("d{dir}/n{number}")).exists());
    }
    println!(
        "{shown} changes: shown in {reviewed:?}, committed in {committed:?}, taken back in {undone:?}"
    );
}
