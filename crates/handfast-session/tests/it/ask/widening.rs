//! What an answer that is kept must not reach.

use std::os::unix::fs::MetadataExt;

use handfast::RenameMode;
use handfast_session::MountSpec;

use super::*;

/// A session with some patterns, in which an answer was given to something; and one that does not wait.
fn granted<T: Send + std::fmt::Debug>(
    scratch: &Scratch,
    (mode, patterns): (Mode, &[&str]),
    scope: GrantScope,
    act: impl FnOnce(&Session) -> Result<T, Error> + Send,
) -> Session {
    let protect = patterns
        .iter()
        .fold(Protect::new(), |all, pattern| all.with_ask(*pattern));
    let mount = scratch.mount(mode).protect(protect);
    let session = scratch.session_of(&SessionSpec::new().mount(mount).ask_timeout(LONG));
    answered(&session, &answer(true, scope), act).0.unwrap();
    session.for_caller(me().without_asking())
}

#[test]
fn an_answer_about_a_change_does_not_move_the_file_to_where_nobody_asks() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        for scope in [GrantScope::File, GrantScope::Session] {
            let scratch = Scratch::new();
            scratch.file("key.pem", "secret").file("free", "free");
            let session = granted(&scratch, (mode, &["*.pem"]), scope, |session| {
                session.append("/key.pem", "!")
            });
            // What was granted.
            session.append("/key.pem", "!").unwrap();
            for (to, how) in [
                ("/plain", RenameMode::NoReplace),
                ("/free", RenameMode::Replace),
                ("/free", RenameMode::Exchange),
            ] {
                is_not_granted(session.rename("/key.pem", to, how));
                is_not_granted(
                    session
                        .rename(to, "/key.pem", how)
                        .and_then(|()| session.read(to)),
                );
            }
            is_not_granted(session.hard_link("/key.pem", "/link"));
            is_not_granted(session.read("/key.pem"));
        }
    }
}

#[test]
fn an_answer_for_a_file_ends_with_the_file_although_its_number_comes_again() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "old");
    let at = scratch.at("key.pem");
    let number = |path: &std::path::Path| std::fs::metadata(path).unwrap().ino();
    let inode = number(&at);
    let how = (Mode::ReadWrite, &["*.pem"][..]);
    let session = granted(&scratch, how, GrantScope::File, |session| {
        session.read("/key.pem")
    });
    assert_eq!(session.read("/key.pem").unwrap(), b"old");
    for _ in 0..200 {
        std::fs::remove_file(&at).unwrap();
        std::fs::write(&at, "another secret").unwrap();
        if number(&at) == inode {
            is_not_granted(session.read("/key.pem"));
            return;
        }
    }
    skip("numbers that come again", "this filesystem gives new ones");
}

#[test]
fn an_answer_in_one_mount_does_not_reach_another() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "mine");
    std::fs::write(scratch.top.join("outside/b.pem"), "theirs").unwrap();
    let mount = |dir: &str, at: &str| {
        MountSpec::new(scratch.top.join(dir), v(at))
            .mode(Mode::ReadWrite)
            .protect(Protect::new().with_ask("*.pem"))
    };
    let spec = SessionSpec::new()
        .mount(mount("base", "/base"))
        .mount(mount("outside", "/prod"))
        .ask_timeout(LONG);
    let catalogue = scratch.catalogue();
    catalogue.create("two", &spec).unwrap();
    let session = catalogue.open("two", me()).unwrap();
    let (read, _) = answered(&session, &answer(true, GrantScope::Session), |session| {
        session.read("/base/a.pem")
    });
    read.unwrap();
    let hasty = session.for_caller(me().without_asking());
    assert_eq!(hasty.read("/base/a.pem").unwrap(), b"mine");
    is_not_granted(hasty.read("/prod/b.pem"));
}
