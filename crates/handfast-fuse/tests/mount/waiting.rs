//! Requests that wait for a person stop no others.

use std::path::Path;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use handfast_session::{Answer, AnsweredBy, GrantScope, MAX_WAITING, Protect, Question};

use crate::support::{Mounted, in_namespace};

/// Looks into every corner of a mount; none of it asks.
const OTHERS: &str = r#"set -e; cd "$1"
    ls -l . free > /dev/null; cat free/a; echo new > free/new; mv free/new free/newer
    mkdir free/dir; rmdir free/dir; rm free/newer; ls free"#;

fn mounted() -> Mounted {
    Mounted::asking(Protect::new().with_ask("asked*"), |base| {
        for dir in ["read", "change", "free"] {
            std::fs::create_dir(base.join(dir)).unwrap();
        }
        for number in 0..MAX_WAITING {
            std::fs::write(base.join(format!("read/asked-{number}")), "secret").unwrap();
            std::fs::create_dir(base.join(format!("change/{number}"))).unwrap();
            std::fs::write(base.join(format!("change/{number}/asked")), "old").unwrap();
        }
        std::fs::write(base.join("free/a"), "plain").unwrap();
    })
}

/// Waits until so many requests wait.
fn questions(mounted: &Mounted, expected: usize) -> Vec<Question> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let found = mounted.session.inbox().unwrap().questions().unwrap();
        if found.len() == expected {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "{} of {expected} questions came",
            found.len()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn answer(mounted: &Mounted, questions: &[Question], yes: bool) {
    for question in questions {
        let answer = Answer {
            yes,
            scope: GrantScope::Once,
            by: AnsweredBy::Face("test".to_owned()),
        };
        let inbox = mounted.session.inbox().unwrap();
        inbox.answer(&question.digest, &answer).unwrap();
    }
}

fn others_go_on(mounted: &Mounted) {
    let begun = Instant::now();
    let output = Command::new("timeout")
        .args(["-s", "KILL", "20", "sh", "-c", OTHERS, "sh"])
        .arg(&mounted.view)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "plaina\n", "after {:?}: {output:?}", begun.elapsed());
}

fn each<T: Send + 'static>(
    mounted: &Mounted,
    number: usize,
    act: fn(&Path, usize) -> std::io::Result<T>,
) -> Vec<JoinHandle<std::io::Result<T>>> {
    let start = |number| {
        let view = mounted.view.clone();
        std::thread::spawn(move || act(&view, number))
    };
    (0..number).map(start).collect()
}

#[test]
fn as_many_readers_as_may_wait_stop_nobody() {
    in_namespace("waiting::as_many_readers_as_may_wait_stop_nobody", || {
        let mounted = mounted();
        let readers = each(&mounted, MAX_WAITING, |view, number| {
            std::fs::read_to_string(view.join(format!("read/asked-{number}")))
        });
        let waiting = questions(&mounted, MAX_WAITING);
        others_go_on(&mounted);
        answer(&mounted, &waiting, true);
        for reader in readers {
            assert_eq!(reader.join().unwrap().unwrap(), "secret");
        }
    });
}

#[test]
fn changes_that_wait_stop_nobody_elsewhere() {
    in_namespace("waiting::changes_that_wait_stop_nobody_elsewhere", || {
        let mounted = mounted();
        // The kernel itself locks the directory of a name that is changed: each has its own.
        let changes = each(&mounted, 12, |view, number| {
            let dir = view.join(format!("change/{number}"));
            match number % 4 {
                0 => std::fs::remove_file(dir.join("asked")),
                1 => std::fs::rename(dir.join("asked"), dir.join("asked-2")),
                2 => std::fs::create_dir(dir.join("asked-dir")),
                _ => std::fs::write(dir.join("asked-new"), "new"),
            }
        });
        let waiting = questions(&mounted, 12);
        others_go_on(&mounted);
        answer(&mounted, &waiting, false);
        // A rename that was refused for its first name does not ask for its second.
        for change in changes {
            let error = change.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        }
        for number in 0..12 {
            let old = std::fs::read(mounted.base.join(format!("change/{number}/asked")));
            assert_eq!(old.unwrap(), b"old");
        }
    });
}
