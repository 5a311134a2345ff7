//! What asks, and what does not.

use std::time::Duration;

use handfast::files::Put;
use handfast::{FileKind, LockKind, RenameMode, Verb, WriteOptions};
use handfast_session::{
    Access, Catalogue, GrantScope, Mode, MountSpec, OpenOptions, Policy, Protect, ReviewOptions,
    SessionSpec, Wanted,
};

use super::*;

const SHORT: Duration = Duration::from_millis(150);

#[test]
fn looking_asks_nobody_and_opening_does_in_every_mode() {
    for mode in Mode::ALL {
        let scratch = Scratch::new();
        scratch.file("d/key.pem", "secret").file("plain", "open");
        let session = asking_session(&scratch, mode, "*.pem", SHORT);
        session.metadata("/d/key.pem").unwrap();
        session.symlink_metadata("/d/key.pem").unwrap();
        let names = session.read_dir("/d").unwrap();
        assert_eq!(names.len(), 1);
        session.list_xattrs("/d/key.pem").unwrap();
        assert_eq!(session.read("/plain").unwrap(), b"open");
        assert!(session.inbox().unwrap().questions().unwrap().is_empty());

        let why = is_not_granted(session.read("/d/key.pem"));
        assert!(why.contains("nobody answered"), "{why}");
        is_not_granted(session.open("/d/key.pem"));
        is_not_granted(session.version("/d/key.pem"));
        // Answered: on a busy machine that takes a while.
        let scratch = Scratch::new();
        scratch.file("d/key.pem", "secret");
        let session = asking_session(&scratch, mode, "*.pem", LONG);
        let (read, question) = answered(&session, &answer(true, GrantScope::Once), |session| {
            session.read("/d/key.pem")
        });
        assert_eq!(read.unwrap(), b"secret", "{mode}");
        assert_eq!(question.path, v("/d/key.pem"));
        assert_eq!(question.access, Access::Read);
        assert_eq!(question.rule.pattern, "*.pem");
        let object = question.object.unwrap();
        assert_eq!((object.kind, object.size), (FileKind::File, 6));
        let sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        assert_eq!(object.sha256().as_deref(), Some(sha256));
        // Once is once.
        let program = session.for_caller(me().without_asking());
        is_not_granted(program.read("/d/key.pem"));
    }
}

/// Every verb that changes something waits; none of them has done anything then.
#[test]
fn every_change_asks_and_does_nothing_before() {
    type Change = fn(&Session) -> Result<(), Error>;
    let changes: &[(&str, Change)] = &[
        ("write", |s| s.write("/key.pem", "x").map(drop)),
        ("write-new", |s| s.write_new("/new.pem", "x").map(drop)),
        ("append", |s| s.append("/key.pem", "x").map(drop)),
        ("open-write", |s| {
            let how = OpenOptions::new().write(true);
            s.open_with("/key.pem", how).map(drop)
        }),
        ("create", |s| {
            let how = OpenOptions::new().write(true).create(true);
            s.open_with("/new.pem", how).map(drop)
        }),
        ("remove", |s| s.remove_file("/key.pem")),
        ("remove-tree", |s| s.remove_tree("/d")),
        ("rename from", |s| {
            s.rename("/key.pem", "/free", RenameMode::Replace)
        }),
        ("rename to", |s| {
            s.rename("/plain", "/new.pem", RenameMode::Replace)
        }),
        ("exchange", |s| {
            s.rename("/plain", "/key.pem", RenameMode::Exchange)
        }),
        ("link from", |s| s.hard_link("/key.pem", "/free")),
        ("link to", |s| s.hard_link("/plain", "/new.pem")),
        ("symlink", |s| s.symlink("plain", "/new.pem")),
        ("mkdir", |s| s.create_dir("/new.pem")),
        ("mkdir -p", |s| s.create_dir_all("/new.pem/below")),
        ("chmod", |s| s.chmod("/key.pem", 0o600)),
        ("times", |s| {
            s.set_times("/key.pem", None, Some(handfast::Timestamp::default()))
        }),
        ("copy from", |s| s.copy("/key.pem", "/free").map(drop)),
        ("copy to", |s| s.copy("/plain", "/new.pem").map(drop)),
        ("copy-tree", |s| s.copy_tree("/d", "/e")),
        ("stage", |s| {
            let mut staged = s.stage("/key.pem")?;
            std::io::Write::write_all(&mut staged, b"x")?;
            staged.commit().map(drop)
        }),
        ("lock", |s| {
            s.lock("/key.pem", LockKind::Shared, Duration::ZERO)
                .map(drop)
        }),
        ("put", |s| {
            let options = WriteOptions::new();
            s.put("/key.pem", "x", Put::Replace, options).map(drop)
        }),
    ];
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        for (name, change) in changes {
            let scratch = Scratch::new();
            scratch
                .file("key.pem", "secret")
                .file("plain", "open")
                .file("d/inner.pem", "inner");
            let tree = scratch.tree();
            let session = asking_session(&scratch, mode, "*.pem", Duration::from_millis(50));
            is_not_granted(change(&session).map_err(|error| {
                assert!(!error.detail().is_empty(), "{mode} {name}: {error}");
                error
            }));
            let made_by_the_way = ["copy-tree"].contains(name);
            if !made_by_the_way {
                assert_eq!(scratch.tree(), tree, "{mode} {name}");
                assert!(diff(&session).is_empty(), "{mode} {name}");
            }
            assert!(session.inbox().unwrap().questions().unwrap().is_empty());
        }
    }
}

#[test]
fn what_is_denied_or_read_only_is_refused_and_not_asked() {
    let scratch = Scratch::new();
    scratch.file("a", "1").file("b", "2");
    let protect = Protect::new()
        .with_deny("a")
        .with_read_only("b")
        .with_ask("*");
    let mount = scratch.mount(Mode::ReadWrite).protect(protect);
    let session = scratch.session_of(&SessionSpec::new().mount(mount).ask_timeout(LONG));
    let started = std::time::Instant::now();
    for refused in [
        session.read("/a").map(drop),
        session.write("/a", "x").map(drop),
        session.write("/b", "x").map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(
            error.reason(),
            Some(handfast_session::Reason::Protected),
            "{error}"
        );
    }
    assert!(started.elapsed() < LONG / 2);
}

#[test]
fn a_link_asks_for_its_own_name_and_for_what_it_leads_to() {
    let scratch = Scratch::new();
    scratch
        .file("real", "content")
        .file("key.pem", "secret")
        .link("real", "link.pem")
        .link("key.pem", "plain");
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let session = asking_session(&scratch, mode, "*.pem", SHORT);
        is_not_granted(session.read("/link.pem"));
        is_not_granted(session.read("/plain"));
        assert_eq!(session.read("/real").unwrap(), b"content");
        is_not_granted(session.append("/plain", "x"));
        is_not_granted(session.append("/link.pem", "x"));
    }
}

#[test]
fn another_hard_link_of_an_asked_file_asks_too() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "secret");
    std::fs::hard_link(scratch.at("key.pem"), scratch.at("other")).unwrap();
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let session = asking_session(&scratch, mode, "*.pem", LONG);
        let program = session.for_caller(me().without_asking());
        let why = is_not_granted(program.read("/other"));
        assert!(why.contains("*.pem"), "{why}");
        is_not_granted(program.read("/key.pem"));
        let (read, question) = answered(&session, &answer(true, GrantScope::Once), |session| {
            session.read("/other")
        });
        assert_eq!(read.unwrap(), b"secret");
        assert_eq!(question.path, v("/other"));
    }
}

#[test]
fn no_directory_moves_out_of_a_rule_that_asks() {
    let scratch = Scratch::new();
    scratch.file("conf/key", "secret").file("x/key", "plain");
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let session = asking_session(&scratch, mode, "/conf/key", SHORT);
        for (from, to, how) in [
            ("/conf", "/free", RenameMode::Replace),
            ("/conf", "/x", RenameMode::Exchange),
        ] {
            let error = session.rename(from, to, how).unwrap_err();
            assert_eq!(error.kind(), handfast::ErrorKind::Denied, "{mode} {error}");
        }
        is_not_granted(session.read("/conf/key"));
    }
}

#[test]
fn what_the_session_made_is_its_own_once_a_person_agreed_to_it() {
    let scratch = Scratch::new();
    scratch.dir("d");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let program = session.for_caller(me().without_asking());
    session.create_dir("/own").unwrap();
    for path in ["/d/new.pem", "/own/new.pem"] {
        is_not_granted(program.write(path, "x"));
        let (made, question) = answered(&session, &answer(true, GrantScope::Once), |session| {
            session.write(path, "mine")
        });
        made.unwrap();
        assert_eq!(question.object, None);
        assert_eq!(session.read(path).unwrap(), b"mine");
        session.append(path, "!").unwrap();
        assert_eq!(session.read(path).unwrap(), b"mine!");
    }
}

#[test]
fn a_changed_file_of_the_base_still_asks() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "secret");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let program = session.for_caller(me().without_asking());
    let (appended, _) = answered(&session, &answer(true, GrantScope::Once), |session| {
        session.append("/key.pem", "!")
    });
    appended.unwrap();
    is_not_granted(program.read("/key.pem"));
    is_not_granted(program.append("/key.pem", "!"));
}

#[test]
fn a_review_shows_a_program_nothing_that_it_would_have_to_ask_for() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "SECRET-1\n");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let (written, _) = answered(&session, &answer(true, GrantScope::Once), |session| {
        session.write("/key.pem", "mine\n")
    });
    written.unwrap();
    let shown = |session: &Session| {
        let mut shown = String::new();
        let mut take = |change| {
            shown.push_str(&format!("{change:?}"));
            Ok(())
        };
        session
            .review(&ReviewOptions::default(), &mut take)
            .unwrap();
        shown
    };
    let secret = format!("{:?}", b"SECRET-1");
    let secret = secret.trim_matches(['[', ']']);
    assert!(shown(&session).contains(secret), "{}", shown(&session));
    let program = session.for_caller(me().asker(face()));
    assert!(!shown(&program).contains(secret));
    assert!(!shown(&session.for_caller(me().without_asking())).contains(secret));
}

#[test]
fn explain_says_that_a_person_is_asked() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "secret").file("plain", "");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", SHORT);
    let said = session.explain("/key.pem", Wanted(Verb::Read)).unwrap();
    assert!(said.allowed && said.asks.is_some(), "{said:?}");
    assert!(said.why.contains("a person is asked first"), "{said:?}");
    for (path, verb) in [("/key.pem", Verb::Metadata), ("/plain", Verb::Read)] {
        let said = session.explain(path, Wanted(verb)).unwrap();
        assert_eq!(said.asks, None, "{said:?}");
    }
}

#[test]
fn a_session_that_is_opened_again_asks_as_before() {
    let scratch = Scratch::new();
    scratch.file("key.pem", "secret");
    drop(asking_session(&scratch, Mode::Overlay, "*.pem", SHORT));
    let catalogue: Catalogue = scratch.catalogue();
    let spec = catalogue.spec("s").unwrap();
    assert_eq!(spec.mounts()[0].protection().ask, ["*.pem"]);
    let session = catalogue.open("s", me()).unwrap();
    assert_eq!(session.ask_timeout(), SHORT);
    is_not_granted(session.read("/key.pem"));
    catalogue.fork("s", None, "fork", me()).unwrap();
    let fork = catalogue.open("fork", me()).unwrap();
    is_not_granted(fork.read("/key.pem"));
}

#[test]
fn a_policy_says_what_asks_and_for_how_long() {
    let text = "version = 1\n[ask]\ntimeout = \"5m\"\n[[root]]\nname = \"a\"\npath = \"x\"\n";
    let parse = |more: &str| Policy::parse(&format!("{text}{more}"), std::path::Path::new("/"));
    let policy = parse("ask = [\"*.pem\"]\n").unwrap();
    assert_eq!(policy.ask_timeout, Some(Duration::from_secs(300)));
    let mount: &MountSpec = &policy.session().mounts()[0].clone();
    assert_eq!(mount.protection().ask, ["*.pem"]);
    for wrong in [
        "ask = \"*.pem\"\n",
        "ask = [\"!x\"]\n",
        "ask = [\"a\"]\ndeny = [\"a\"]\n",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    let zero = text.replace("5m", "0s");
    assert!(Policy::parse(&zero, std::path::Path::new("/")).is_err());
}
