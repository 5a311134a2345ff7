//! Changes by others at the worst moment: between a look and what depends on it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use handfast::{ErrorKind, RenameMode};
use handfast_session::{CommitOptions, Committed, Mode, Session};

use crate::support::{Scratch, kind};

fn commit(session: &Session) -> Committed {
    session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap()
}

/// A conditional change either finds what somebody else put there, or the commit does.
#[test]
fn conditional_changes_lose_nothing_to_a_race() {
    let s = Scratch::new();
    let session = s.session(Mode::Overlay);
    let (mut done, mut noticed) = (0, 0);
    for round in 0..200_u32 {
        s.file("f", format!("seen {round}"));
        std::fs::write(s.top.join("theirs"), "theirs").unwrap();
        let (_, version) = session.read_versioned("/f").unwrap();
        let (theirs, f) = (s.top.join("theirs"), s.at("f"));
        let calm = round % 8 == 0;
        let other = std::thread::spawn(move || {
            if !calm {
                std::thread::sleep(std::time::Duration::from_micros(u64::from(round * 7 % 300)));
                std::fs::rename(&theirs, &f).unwrap();
            }
        });
        let acted = match round % 16 < 8 {
            true => session.write_if("/f", &version, "ours").map(drop),
            false => session.remove_if("/f", &version),
        };
        other.join().unwrap();
        match acted {
            Ok(()) => {
                done += 1;
                let conflicts = commit(&session).conflicts;
                assert_eq!(
                    conflicts.is_empty(),
                    calm,
                    "round {round}: a change was lost"
                );
            }
            Err(error) => {
                noticed += 1;
                assert_eq!(error.kind(), ErrorKind::Stale);
            }
        }
        session.discard(&[]).unwrap();
    }
    assert!(done >= 25 && done + noticed == 200, "{done} {noticed}");
}
