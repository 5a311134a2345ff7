//! One request, two names, and a rule that asks about each.

use handfast::RenameMode;

use super::*;

fn two_rules(scratch: &Scratch, mode: Mode) -> Session {
    let protect = Protect::new().with_ask("*.pem").with_ask("*.key");
    let mount = scratch.mount(mode).protect(protect);
    scratch.session_of(&SessionSpec::new().mount(mount).ask_timeout(LONG))
}

/// Answers the questions of one request, one after the other. What was asked, as path and pattern.
fn all_asked(
    session: &Session,
    given: &[bool],
    act: impl FnOnce(&Session) -> Result<(), Error> + Send,
) -> (Result<(), Error>, Vec<(String, String)>) {
    let inbox = session.inbox().unwrap();
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| act(session));
        let mut asked = Vec::new();
        for yes in given {
            while inbox.questions().unwrap().is_empty() && !asks.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let Some(question) = inbox.questions().unwrap().into_iter().next() else {
                break;
            };
            asked.push((question.path.to_string(), question.rule.pattern.clone()));
            let given = answer(*yes, GrantScope::Once);
            inbox.answer(&question.digest, &given).unwrap();
            while (inbox.questions().unwrap().iter()).any(|one| one.id == question.id) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        (asks.join().unwrap(), asked)
    })
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter()
        .map(|(path, pattern)| ((*path).to_owned(), (*pattern).to_owned()))
        .collect()
}

#[test]
fn both_ends_of_a_rename_or_a_link_are_asked_about() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        type Act = fn(&Session) -> Result<(), Error>;
        let acts: [Act; 4] = [
            |s| s.rename("/a.pem", "/new.key", RenameMode::NoReplace),
            |s| s.rename("/a.pem", "/b.key", RenameMode::Replace),
            |s| s.rename("/a.pem", "/b.key", RenameMode::Exchange),
            |s| s.hard_link("/a.pem", "/new.key"),
        ];
        for (number, act) in acts.into_iter().enumerate() {
            let scratch = Scratch::new();
            scratch.file("a.pem", "a").file("b.key", "b");
            let session = two_rules(&scratch, mode);
            let target = if number == 1 || number == 2 {
                "/b.key"
            } else {
                "/new.key"
            };
            let both = pairs(&[("/a.pem", "*.pem"), (target, "*.key")]);
            let (refused, asked) = all_asked(&session, &[true, false], act);
            assert_eq!(asked, both, "{mode} {number}");
            is_not_granted(refused);
            assert!(diff(&session).is_empty(), "{mode} {number}");
            let (done, asked) = all_asked(&session, &[true, true], act);
            assert_eq!(asked, both, "{mode} {number}");
            done.unwrap();
        }
    }
}

/// The first end was shown, and is another file by the time that the second is agreed to.
#[test]
fn the_first_end_is_compared_again_after_the_second_answer() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let scratch = Scratch::new();
        scratch.file("a.pem", "shown").file("b.key", "b");
        let session = two_rules(&scratch, mode);
        let inbox = session.inbox().unwrap();
        let renamed = std::thread::scope(|scope| {
            let asks = scope.spawn(|| session.rename("/a.pem", "/b.key", RenameMode::Replace));
            let yes = answer(true, GrantScope::Once);
            let first = next_question(inbox);
            inbox.answer(&first.digest, &yes).unwrap();
            let second = loop {
                let second = next_question(inbox);
                if second.id != first.id {
                    break second;
                }
            };
            std::fs::write(scratch.at("a.pem"), "other").unwrap();
            inbox.answer(&second.digest, &yes).unwrap();
            asks.join().unwrap()
        });
        is_not_granted(renamed);
        assert_eq!(scratch.read("b.key"), "b", "{mode}");
    }
}

/// A file has two names, and each has a rule of its own.
#[test]
fn a_file_with_two_names_is_asked_about_by_both_rules() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let scratch = Scratch::new();
        scratch.file("a.pem", "a");
        std::fs::hard_link(scratch.at("a.pem"), scratch.at("b.key")).unwrap();
        let session = two_rules(&scratch, mode);
        let (read, asked) = all_asked(&session, &[true, true], |s| s.read("/a.pem").map(drop));
        read.unwrap();
        let both = pairs(&[("/a.pem", "*.pem"), ("/a.pem", "*.key")]);
        assert_eq!(asked, both, "{mode}");
        let (refused, _) = all_asked(&session, &[true, false], |s| {
            s.append("/a.pem", "x").map(drop)
        });
        is_not_granted(refused);
    }
}

/// Two rules speak of one name.
#[test]
fn two_rules_over_one_name_both_ask() {
    let scratch = Scratch::new();
    scratch.file("secret/a.pem", "a");
    let protect = Protect::new().with_ask("*.pem").with_ask("secret/**");
    let mount = scratch.mount(Mode::Overlay).protect(protect);
    let session = scratch.session_of(&SessionSpec::new().mount(mount).ask_timeout(LONG));
    let (read, asked) = all_asked(&session, &[true, true], |s| {
        s.read("/secret/a.pem").map(drop)
    });
    read.unwrap();
    let both = pairs(&[("/secret/a.pem", "*.pem"), ("/secret/a.pem", "secret/**")]);
    assert_eq!(asked, both);
}
