//! Attacks on what waits: another object in the place of the one that was shown, and floods.

use handfast::{ErrorKind, RenameMode};
use handfast_session::OpenOptions;

use super::*;

/// Answers yes after something was done to the base or the session.
fn after<T: Send>(
    session: &Session,
    meanwhile: impl FnOnce(),
    act: impl FnOnce(&Session) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let inbox = session.inbox().unwrap();
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| act(session));
        let question = next_question(inbox);
        meanwhile();
        inbox
            .answer(&question.digest, &answer(true, GrantScope::Once))
            .unwrap();
        asks.join().unwrap()
    })
}

#[test]
fn what_is_read_is_what_was_shown() {
    for mode in [Mode::Overlay, Mode::ReadWrite, Mode::ReadOnly] {
        let scratch = Scratch::new();
        scratch.file("a.pem", "shown!").file("other", "SECRET");
        let session = asking_session(&scratch, mode, "*.pem", LONG);
        let untouched = after(&session, || {}, |session| session.read("/a.pem"));
        assert_eq!(untouched.unwrap(), b"shown!");
        // Changed in place, with the same length.
        let changed = after(
            &session,
            || std::fs::write(scratch.at("a.pem"), "second").unwrap(),
            |session| session.read("/a.pem"),
        );
        is_not_granted(changed);
        // Replaced by another file: the one that was shown is open, and has no name any more.
        let replaced = after(
            &session,
            || std::fs::rename(scratch.at("other"), scratch.at("a.pem")).unwrap(),
            |session| session.read("/a.pem"),
        );
        match replaced {
            Ok(read) => assert_eq!(read, b"second", "only the file that was shown"),
            Err(error) => drop(is_not_granted::<()>(Err(error))),
        }
    }
}

#[test]
fn what_is_changed_is_what_was_shown() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        type Swap = fn(&Scratch);
        let swaps: &[Swap] = &[
            |scratch| std::fs::write(scratch.at("a.pem"), "other!").unwrap(),
            |scratch| std::fs::rename(scratch.at("other"), scratch.at("a.pem")).unwrap(),
            |scratch| std::fs::remove_file(scratch.at("a.pem")).unwrap(),
            |scratch| {
                std::fs::remove_file(scratch.at("a.pem")).unwrap();
                std::fs::create_dir(scratch.at("a.pem")).unwrap();
            },
        ];
        for swap in swaps {
            let scratch = Scratch::new();
            scratch.file("a.pem", "shown!").file("other", "other!");
            let session = asking_session(&scratch, mode, "*.pem", LONG);
            let mut tree = None;
            let changed = after(
                &session,
                || {
                    swap(&scratch);
                    tree = Some(scratch.tree());
                },
                |session| session.write("/a.pem", "mine"),
            );
            is_not_granted(changed);
            assert_eq!(Some(scratch.tree()), tree, "{mode}");
            assert!(diff(&session).is_empty(), "{mode}");
        }
        // A name that was free is not free any more.
        let scratch = Scratch::new();
        let session = asking_session(&scratch, mode, "*.pem", LONG);
        let made = after(
            &session,
            || std::fs::write(scratch.at("new.pem"), "theirs").unwrap(),
            |session| session.write("/new.pem", "mine"),
        );
        is_not_granted(made);
        assert_eq!(scratch.read("new.pem"), "theirs");
    }
}

/// A copy asks about its target first, and about its source then.
#[test]
fn the_target_of_a_copy_is_what_was_shown_when_the_source_is_asked_about() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        type Swap = fn(&Scratch);
        let swaps: &[Option<Swap>] = &[
            None,
            Some(|scratch| std::fs::write(scratch.at("b.pem"), "theirs").unwrap()),
            Some(|scratch| std::fs::rename(scratch.at("other"), scratch.at("b.pem")).unwrap()),
        ];
        for (number, swap) in swaps.iter().enumerate() {
            let scratch = Scratch::new();
            scratch
                .file("a.pem", "source")
                .file("b.pem", "shown!")
                .file("other", "theirs");
            let session = asking_session(&scratch, mode, "*.pem", LONG);
            let inbox = session.inbox().unwrap();
            let copied = std::thread::scope(|scope| {
                let asks = scope.spawn(|| session.copy("/a.pem", "/b.pem"));
                let yes = answer(true, GrantScope::Once);
                let target = next_question(inbox);
                inbox.answer(&target.digest, &yes).unwrap();
                let source = loop {
                    let found = next_question(inbox);
                    if found.digest != target.digest {
                        break found;
                    }
                };
                if let Some(swap) = swap {
                    swap(&scratch);
                }
                inbox.answer(&source.digest, &yes).unwrap();
                asks.join().unwrap()
            });
            match swap {
                None => drop(copied.unwrap()),
                Some(_) => {
                    let kind = copied.unwrap_err().kind();
                    let is_fair = matches!(kind, ErrorKind::Denied | ErrorKind::Raced);
                    assert!(is_fair, "{mode} {number}: {kind:?}");
                    assert_eq!(scratch.read("b.pem"), "theirs", "{mode} {number}");
                    assert!(diff(&session).is_empty(), "{mode} {number}");
                }
            }
        }
    }
}

/// Another caller of the same session moves things while the question waits.
#[test]
fn a_move_inside_the_session_does_not_lead_an_answer_elsewhere() {
    let scratch = Scratch::new();
    scratch
        .file("d/a.pem", "shown")
        .file("e/a.pem", "other")
        .file("plain", "x");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let other = session.for_caller(me().without_asking());
    type Act = fn(&Session) -> Result<(), Error>;
    let acts: [Act; 2] = [
        |session| {
            let how = OpenOptions::new().read(true).write(true);
            session.open_with("/d/a.pem", how).map(drop)
        },
        |session| session.write("/d/a.pem", "mine").map(drop),
    ];
    for act in acts {
        let exchange = || other.rename("/d", "/e", RenameMode::Exchange).unwrap();
        assert!(after(&session, exchange, act).is_err());
        exchange();
        assert!(diff(&session).is_empty());
    }
    // The same where nothing moves is done.
    for act in acts {
        after(&session, || {}, act).unwrap();
    }
}

/// The wait holds nothing: others read, write, rename and commit beside it.
#[test]
fn nobody_waits_for_a_request_that_waits() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a").file("plain", "x");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let inbox = session.inbox().unwrap();
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| session.read("/a.pem"));
        let writes = scope.spawn(|| session.write("/a.pem", "mine"));
        let questions = waiting(inbox, 2);
        let started = Instant::now();
        session.write("/plain", "y").unwrap();
        session.read("/plain").unwrap();
        session
            .rename("/plain", "/moved", RenameMode::Replace)
            .unwrap();
        let again = scratch.catalogue().open("s", me()).unwrap();
        again
            .commit(&handfast_session::CommitOptions::default(), &mut |_, _| {})
            .unwrap();
        assert!(started.elapsed() < LONG / 4);
        for question in questions {
            inbox
                .answer(&question.digest, &answer(true, GrantScope::Once))
                .unwrap();
        }
        reads.join().unwrap().unwrap();
        writes.join().unwrap().unwrap();
    });
    assert_eq!(scratch.read("moved"), "y");
}

#[test]
fn a_flood_leaves_32_questions_and_denies_the_rest() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a").file("plain", "x");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let inbox = session.inbox().unwrap();
    let flood = face();
    let caller = session.for_caller(me().asker(flood.clone()));
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..50)
            .map(|_| scope.spawn(|| caller.read("/a.pem")))
            .collect();
        waiting(inbox, handfast_session::MAX_WAITING);
        let deadline = Instant::now() + LONG;
        let ended = || all.iter().filter(|one| one.is_finished()).count();
        while ended() < 50 - handfast_session::MAX_WAITING && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Another process of the session finds no free place either.
        let other = scratch.catalogue().open("s", me()).unwrap();
        let why = is_not_granted(other.read("/a.pem"));
        assert!(why.contains("too many"), "{why}");
        assert_eq!(other.read("/plain").unwrap(), b"x");
        flood.gone.store(true, Ordering::SeqCst);
        let whys: Vec<String> = all
            .into_iter()
            .map(|one| is_not_granted(one.join().unwrap()))
            .collect();
        let refused = whys.iter().filter(|why| why.contains("too many")).count();
        assert_eq!(refused, 50 - handfast_session::MAX_WAITING, "{whys:?}");
    });
    assert!(inbox.questions().unwrap().is_empty());
}

/// Ends the threads beside a test when it ends, by a failed assertion too.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// An outsider goes on changing the file while every question is answered with yes: every other one at
/// once, the rest after the file under the name is another one, which is what a program reads that asks
/// first and opens then. Whatever is read is what this question showed.
#[test]
fn under_constant_change_nothing_is_read_that_was_not_shown() {
    const READS: usize = 40;
    let scratch = Scratch::new();
    scratch.file("a.pem", "0");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let inbox = session.inbox().unwrap();
    let ends = AtomicBool::new(false);
    let (mut granted, mut refused, mut naive_wrong) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u64;
            while !ends.load(Ordering::SeqCst) {
                number += 1;
                let next = scratch.at("next");
                std::fs::write(&next, number.to_string()).unwrap();
                std::fs::rename(&next, scratch.at("a.pem")).unwrap();
                std::thread::sleep(Duration::from_millis(number * 7 % 200));
            }
        });
        let _ends = Ends(&ends);
        for turn in 0..READS {
            let asks = scope.spawn(|| session.read("/a.pem"));
            // A file that changed while it was looked at is refused without a question.
            let Some(question) = question_of(inbox, &asks) else {
                refused += 1;
                is_not_granted(asks.join().unwrap());
                continue;
            };
            let shown = question.object.clone().unwrap().sha256().unwrap();
            let naive = || sha256(&std::fs::read(scratch.at("a.pem")).unwrap());
            let deadline = Instant::now() + LONG / 2;
            while turn % 2 == 1 && naive() == shown && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            naive_wrong += usize::from(naive() != shown);
            inbox
                .answer(&question.digest, &answer(true, GrantScope::Once))
                .unwrap();
            match asks.join().unwrap() {
                Ok(read) => {
                    granted += 1;
                    assert_eq!(sha256(&read), shown, "turn {turn}");
                }
                refusal => {
                    refused += 1;
                    is_not_granted(refusal);
                }
            }
        }
    });
    println!("{granted} read, {refused} refused; {naive_wrong} times the naive way reads another");
    assert!(granted > 0, "nothing was read, {refused} refused");
    assert!(
        naive_wrong >= READS / 4,
        "the naive way was right too often"
    );
}

/// The question of a request, unless it ends without one.
fn question_of<T>(inbox: &Inbox, asks: &std::thread::ScopedJoinHandle<'_, T>) -> Option<Question> {
    let deadline = Instant::now() + LONG;
    while Instant::now() < deadline {
        if let Some(question) = inbox.questions().unwrap().pop() {
            return Some(question);
        }
        if asks.is_finished() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("neither a question nor an answer came");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A yes to a change is no yes to reading what the file of the base holds: the copy in the overlay
/// has one name, and the file that it was copied from has another, which a rule asks about.
#[test]
fn a_copy_in_the_overlay_is_asked_about_as_the_file_that_it_was() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "SECRET");
    std::fs::hard_link(scratch.at("key.pem"), scratch.at("other")).unwrap();
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let once = answer(true, GrantScope::Once);
    let (appended, _) = answered(&session, &once, |session| session.append("/other", "x"));
    appended.unwrap();
    let program = session.for_caller(me().without_asking());
    is_not_granted(program.read("/other"));
    program
        .rename("/other", "/moved", RenameMode::NoReplace)
        .unwrap();
    is_not_granted(program.read("/moved"));
    let (read, _) = answered(&session, &once, |session| session.read("/moved"));
    assert_eq!(read.unwrap(), b"SECRETx");
}

/// Whether the overlay holds a copy of the file that nobody was asked about.
fn holds_theirs(scratch: &Scratch) -> bool {
    let mut pending = vec![scratch.top.join("state")];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let at = entry.unwrap().path();
            match at.is_dir() {
                true => pending.push(at),
                false if std::fs::read(&at).is_ok_and(|text| text == b"theirs") => return true,
                false => {}
            }
        }
    }
    false
}

/// Nobody agreed to change the other file, whatever is exchanged between the look and the change.
#[test]
fn an_answer_about_one_file_changes_no_other_while_an_outsider_exchanges_directories() {
    use crate::rows::{beside, exchange_outside};
    use crate::turns::Turns;
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let scratch = Scratch::new();
        scratch
            .file("a/key.pem", "ours")
            .file("b/key.pem", "theirs");
        let session = asking_session(&scratch, mode, "*.pem", LONG);
        // Later requests about this very file are granted without a question.
        let file = answer(true, GrantScope::File);
        let chmod = |session: &Session| session.chmod("/a/key.pem", 0o640);
        let (first, _) = answered(&session, &file, chmod);
        first.unwrap();
        if mode == Mode::Overlay {
            session.discard(&[]).unwrap();
        }
        let program = session.for_caller(me().without_asking());
        let turns = Turns::start();
        let (mut done, mut refused) = (0_u64, 0_u64);
        let theirs = || {
            let both = [scratch.at("a/key.pem"), scratch.at("b/key.pem")];
            both.iter().find_map(|at| {
                let text = std::fs::read(at).ok().filter(|text| text == b"theirs");
                text.map(|_| std::fs::metadata(at).unwrap())
            })
        };
        let exchanged = beside(
            || exchange_outside(&scratch, "a", "b"),
            || {
                // Exchanges on a disk are slow: the moment between two calls is met by going on.
                let begun = Instant::now();
                while done + refused < 1000 || begun.elapsed() < Duration::from_secs(4) {
                    match program.chmod("/a/key.pem", 0o606) {
                        Ok(()) => done += 1,
                        Err(_) => refused += 1,
                    }
                    if mode == Mode::Overlay {
                        let copied = holds_theirs(&scratch);
                        assert!(!copied, "the other file was copied up");
                        session.discard(&[]).unwrap();
                    }
                }
            },
        );
        let mode_of = |file: std::fs::Metadata| {
            use std::os::unix::fs::PermissionsExt;
            file.permissions().mode() & 0o777
        };
        let mode_now = theirs().map(mode_of).unwrap();
        println!("{mode}: {exchanged} exchanges, {done} done, {refused} refused");
        assert_ne!(mode_now, 0o606, "{mode}: the other file was changed");
        if exchanged < 20 || done == 0 || refused == 0 {
            let counts = [
                ("exchanges", exchanged),
                ("done", done),
                ("refused", refused),
            ];
            turns.settle_counts(&format!("answers and exchanges, {mode}"), &counts);
        }
    }
}
