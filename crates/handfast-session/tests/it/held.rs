//! What a rule speaks of, in an overlay: read-only names are written there and wait until a commit names
//! them; a denied name is the session's own if the base does not have it.

use std::sync::mpsc;
use std::time::Duration;

use handfast::files::Files;
use handfast::{ErrorKind, RelPath, RenameMode};
use handfast_session::change::{Content, Flag};
use handfast_session::{
    CommitOptions, Committed, Mode, OpenOptions, Protect, Session, VirtualPath, Wanted,
};

use crate::review::{of, review};
use crate::support::*;

fn commit(session: &Session, paths: &[&str]) -> Committed {
    let options = CommitOptions {
        paths: paths.iter().map(|path| v(path)).collect(),
        ..CommitOptions::default()
    };
    session.commit(&options, &mut |_, _| {}).unwrap()
}

fn texts(paths: &[VirtualPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn held(done: &Committed) -> Vec<String> {
    let paths: Vec<VirtualPath> = done
        .held_back
        .iter()
        .map(|(path, _)| path.clone())
        .collect();
    texts(&paths)
}

fn scene() -> (Scratch, Session) {
    let s = Scratch::new();
    s.file(".git/hooks/pre-commit", "hook")
        .file(".git/config", "config")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".github/workflows/ci.yml", "ci")
        .file(".github/README", "readme")
        .file("a.txt", "a")
        .file(".env", "SECRET");
    let session = s.protected(Mode::Overlay, Protect::preset("workspace").unwrap());
    (s, session)
}

#[test]
fn a_read_only_name_is_written_in_the_overlay_and_waits_to_be_named() {
    let (s, session) = scene();
    let before = s.tree();
    session.write("/.git/config", "changed").unwrap();
    session.write("/.git/hooks/post-commit", "evil").unwrap();
    session.remove_file("/.git/hooks/pre-commit").unwrap();
    session.write("/.git/HEAD", "ref: refs/heads/x\n").unwrap();
    session.create_dir_all("/sub/.vscode").unwrap();
    session.write("/sub/.vscode/settings.json", "{}").unwrap();
    session.write("/a.txt", "b").unwrap();
    assert_eq!(session.read("/.git/config").unwrap(), b"changed");
    for path in [
        "/.git/config",
        "/.git/hooks/post-commit",
        "/.git/hooks/pre-commit",
        "/sub/.vscode/settings.json",
    ] {
        assert!(
            of(&session, path).flags.contains(&Flag::ReadOnlyName),
            "{path}"
        );
    }
    for path in ["/.git/HEAD", "/a.txt", "/sub"] {
        assert!(
            !of(&session, path).flags.contains(&Flag::ReadOnlyName),
            "{path}"
        );
    }
    let (chosen, _) = session.chosen(&[], &[]).unwrap();
    assert_eq!(texts(&chosen), ["/.git/HEAD", "/a.txt", "/sub"]);
    assert_eq!(s.tree(), before);
    // Not with everything, not with the directory above, not with the rest of the git directory.
    for paths in [
        &["/.git/HEAD"][..],
        &["/.git"],
        &["/.git/hooks"],
        &["/sub"],
        &[],
    ] {
        let done = commit(&session, paths);
        assert_eq!(done.conflicts, [], "{paths:?}");
        assert_eq!(s.read(".git/config"), "config", "{paths:?}");
        assert_eq!(s.read(".git/hooks/pre-commit"), "hook", "{paths:?}");
        assert!(!s.at(".git/hooks/post-commit").exists(), "{paths:?}");
        assert!(!s.at("sub/.vscode").exists(), "{paths:?}");
    }
    assert_eq!(
        (s.read(".git/HEAD"), s.read("a.txt")),
        ("ref: refs/heads/x\n".into(), "b".into())
    );
    let done = commit(&session, &["/.git/config", "/sub/.vscode/settings.json"]);
    assert_eq!(
        texts(&done.committed),
        ["/.git/config", "/sub/.vscode", "/sub/.vscode/settings.json"]
    );
    assert_eq!(
        held(&done),
        ["/.git/hooks/post-commit", "/.git/hooks/pre-commit"]
    );
    assert!(done.held_back[0].1.contains("read_only"), "{done:?}");
    assert_eq!(s.read(".git/config"), "changed");
    assert_eq!(s.read(".git/hooks/pre-commit"), "hook");
    // What a reviewer named can be taken back.
    let last = session.past_commits().unwrap().swap_remove(0);
    let undone = session.undo(last.id).unwrap();
    assert_eq!(undone.conflicts, []);
    assert_eq!(s.read(".git/config"), "config");
}

/// Everything that takes, moves or replaces a read-only name waits, whichever name it has in the session.
#[test]
fn a_read_only_name_waits_however_it_is_changed() {
    type Act = fn(&Session) -> Result<(), handfast::Error>;
    let acts: [(&str, Act); 9] = [
        ("remove a tree", |s| s.remove_tree("/.github")),
        ("move a file away", |s| {
            s.rename("/.github/workflows/ci.yml", "/x", RenameMode::Replace)
        }),
        ("move a file there", |s| {
            s.rename("/a.txt", "/.github/workflows/ci.yml", RenameMode::Replace)
        }),
        ("exchange", |s| {
            s.rename("/a.txt", "/.github/workflows/ci.yml", RenameMode::Exchange)
        }),
        ("move hooks away and write there", |s| {
            s.rename("/.git/hooks", "/h", RenameMode::Replace)?;
            s.write("/h/pre-commit", "evil").map(drop)
        }),
        ("a mode", |s| s.chmod("/.github/workflows/ci.yml", 0o755)),
        ("the mode of a directory", |s| {
            s.chmod("/.github/workflows", 0o700)
        }),
        ("another name", |s| {
            s.hard_link("/.github/workflows/ci.yml", "/x")?;
            s.append("/x", "evil").map(drop)
        }),
        ("a directory in place of a file", |s| {
            s.remove_file("/.github/workflows/ci.yml")?;
            s.create_dir("/.github/workflows/ci.yml")
        }),
    ];
    for (what, act) in acts {
        let (s, session) = scene();
        let before = s.tree();
        act(&session).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (chosen, _) = session.chosen(&[], &[]).unwrap();
        let done = commit(&session, &[]);
        assert!(
            !done.held_back.is_empty() && done.conflicts.is_empty(),
            "{what}: {done:?}"
        );
        assert_eq!(chosen, done.committed, "{what}");
        let mut after = s.tree();
        // The second name of a file is a file of its own, and no rule speaks of it.
        after.remove("x");
        let protected = |path: &str| path.starts_with(".git");
        for (path, facts) in before.iter().filter(|(path, _)| protected(path)) {
            assert_eq!(after.get(path), Some(facts), "{what}: {path}");
        }
        assert!(!after.contains_key("h"), "{what}");
        // Named one by one they are committed, with what was shown and nothing else.
        let named: Vec<String> = review(&session)
            .iter()
            .map(|c| c.path.to_string())
            .collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let done = commit(&session, &named);
        assert_eq!((done.conflicts, done.held_back), (vec![], vec![]), "{what}");
        assert_eq!(session.diff().unwrap(), [], "{what}");
        assert_ne!(s.tree(), before, "{what}");
    }
}

#[test]
fn explain_says_that_it_waits() {
    let (_s, session) = scene();
    let said =
        |path: &str, verb: &str| session.explain(path, Wanted::parse(verb).unwrap()).unwrap();
    let hook = said("/.git/hooks/x", "write");
    assert!(
        hook.allowed && hook.why.contains("until a commit names"),
        "{hook:?}"
    );
    assert_eq!(hook.rule.unwrap().to_string(), "read_only `**/.git/hooks`");
    let secret = said("/new/.env", "write");
    assert!(
        secret.allowed && secret.why.contains("deny `.env`"),
        "{secret:?}"
    );
    assert!(!said("/.env", "write").allowed && !said("/.env", "read").allowed);
    assert!(
        !said("/new/.env", "read").allowed,
        "nothing of the session's is there"
    );
}

#[test]
fn what_the_session_made_under_a_denied_name_is_its_own_and_flagged() {
    for mode in [Mode::Overlay, Mode::Memory] {
        let s = Scratch::new();
        s.file(".env", "SECRET").dir("d").file("plain", "plain");
        let protect = Protect::new().with_deny(".env").with_deny(".ssh/");
        let session = s.protected(mode, protect);
        session.write("/d/.env", "mine").unwrap();
        session.append("/d/.env", "!").unwrap();
        session.create_dir_all("/.ssh/deep").unwrap();
        session.write("/.ssh/deep/key", "key").unwrap();
        assert_eq!(session.read("/d/.env").unwrap(), b"mine!");
        assert_eq!(session.read("/.ssh/deep/key").unwrap(), b"key");
        assert_eq!(session.read_dir("/.ssh").unwrap().len(), 1);
        let node = Files::node(
            &session,
            &RelPath::parse("d/.env").unwrap(),
            handfast::files::LastLink::Itself,
        );
        assert_eq!(node.unwrap().metadata().len, 5);
        let change = of(&session, "/d/.env");
        assert!(change.flags.contains(&Flag::DeniedName), "{change:?}");
        assert!(matches!(change.content, Content::Hunks(_)), "{change:?}");
        // It stays with the session until it is named.
        session.write("/d/.env2", "x").unwrap();
        let done = commit(&session, &[]);
        assert_eq!(texts(&done.committed), ["/d/.env2"]);
        assert!(!s.at("d/.env").exists() && !s.at(".ssh").exists());
        // What somebody else puts there is the base's, and denied.
        s.file("d/.env", "SECRET").file(".ssh/id", "SECRET");
        assert_eq!(session.read("/d/.env").unwrap(), b"mine!");
        assert_eq!(kind(session.read("/.ssh/id")), ErrorKind::NotFound);
        session.remove_file("/d/.env").unwrap();
        assert_eq!(kind(session.read("/d/.env")), ErrorKind::Denied);
        assert_eq!(kind(session.write("/d/.env", "x")), ErrorKind::Denied);
        session.discard(&[v("/.ssh")]).unwrap();
        assert_eq!(kind(session.read("/.ssh/id")), ErrorKind::Denied);
        assert_eq!(kind(session.read_dir("/.ssh")), ErrorKind::Denied);
        // A secret of the base gets no other name by moving the directory or replacing it.
        session.rename("/d", "/e", RenameMode::Replace).unwrap();
        assert_eq!(kind(session.read("/e/.env")), ErrorKind::Denied);
        assert_eq!(
            kind(session.rename("/.env", "/x", RenameMode::Replace)),
            ErrorKind::Denied
        );
        assert_eq!(
            kind(session.rename("/plain", "/.env", RenameMode::Replace)),
            ErrorKind::Denied
        );
        assert_eq!(kind(session.hard_link("/.env", "/x")), ErrorKind::Denied);
        session.write("/f/../own", "own").unwrap();
        session.create_dir("/f").unwrap();
        session
            .rename("/own", "/f/.env", RenameMode::Replace)
            .unwrap();
        assert_eq!(session.read("/f/.env").unwrap(), b"own");
        let named = commit(&session, &["/f/.env"]);
        assert_eq!(texts(&named.committed), ["/f", "/f/.env"]);
        assert_eq!(s.read("f/.env"), "own");
        assert_eq!(
            kind(session.read("/f/.env")),
            ErrorKind::Denied,
            "it is the base's now"
        );
    }
}

/// A directory of the base that is moved into one that the session made is still the base's.
#[test]
fn a_secret_does_not_become_the_sessions_own_in_a_directory_that_it_made() {
    for mode in [Mode::Overlay, Mode::Memory] {
        let s = Scratch::new();
        s.file("d/sub/.env", "SECRET")
            .file("d/sub/.ssh/key", "SECRET");
        let protect = Protect::new().with_deny(".env").with_deny(".ssh/");
        let session = s.protected(mode, protect);
        session.create_dir_all("/own/deep").unwrap();
        for (from, to) in [
            ("/d/sub", "/own/sub"),
            ("/own/sub", "/own/deep/x"),
            ("/own", "/d/y"),
        ] {
            session.rename(from, to, RenameMode::NoReplace).unwrap();
            for path in ["/own/sub", "/own/deep/x", "/d/y/deep/x"] {
                for name in [".env", ".ssh/key"] {
                    let read = session.read(format!("{path}/{name}"));
                    assert!(read.is_err(), "{mode}: {path}/{name}");
                }
            }
            let denied = kind(session.read(format!(
                "{}/.env",
                if to == "/d/y" { "/d/y/deep/x" } else { to }
            )));
            assert_eq!(denied, ErrorKind::Denied, "{mode}: {to}");
        }
    }
}

/// The one who saves a secret, and two in the session who make and take away a file of that name, or
/// move it: the secret is never read.
#[test]
fn a_secret_that_appears_under_the_sessions_own_name_is_never_read() {
    use crate::rows::beside;
    use crate::turns::Turns;
    use std::sync::atomic::{AtomicU32, Ordering};
    let s = Scratch::new();
    s.dir("d");
    let session = s.protected(Mode::Overlay, Protect::new().with_deny(".env"));
    let other = session.for_caller(handfast_session::Caller::new("other"));
    let (secret, aside) = (s.at("d/.env"), s.top.join("aside"));
    std::fs::write(&aside, "SECRET").unwrap();
    let turns = Turns::start();
    let (own, refused) = (AtomicU32::new(0), AtomicU32::new(0));
    let save = || {
        let shown = std::fs::rename(&aside, &secret).is_ok();
        let gone = shown && std::fs::rename(&secret, &aside).is_ok();
        // Long enough away for the session to make its own.
        std::thread::sleep(Duration::from_micros(200));
        gone
    };
    let toggle = || {
        let made = other.write("/d/.env", "own").is_ok();
        // Long enough there for the other caller to meet it.
        std::thread::sleep(Duration::from_micros(200));
        made && other.remove_file("/d/.env").is_ok()
    };
    let mut rounds = 0_u32;
    let mut provoke = || {
        for _ in 0..3000 {
            rounds += 1;
            let (round, x) = (rounds, format!("/x{rounds}"));
            let how = OpenOptions::new().read(true).write(true);
            let read = match round % 4 {
                0 => session.read("/d/.env"),
                1 => session.copy("/d/.env", &x).and_then(|_| session.read(&x)),
                2 => (session.rename("/d/.env", &x, RenameMode::Replace))
                    .and_then(|()| session.read(&x)),
                _ => session.open_with("/d/.env", how).and_then(|mut file| {
                    let mut text = Vec::new();
                    std::io::Read::read_to_end(&mut file, &mut text)?;
                    Ok(text)
                }),
            };
            match read {
                Ok(text) => {
                    assert_ne!(text, b"SECRET", "round {round}");
                    own.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {
                    refused.fetch_add(1, Ordering::Relaxed);
                    // A lock goes to the side that never sleeps; the other caller needs it too.
                    std::thread::sleep(Duration::from_micros(20));
                }
            }
        }
    };
    // How often each of them has a turn is chance: they go on until all had some.
    let (mut saves, mut toggles) = (0, 0);
    let counts = || (own.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    let mut is_enough = false;
    for _ in 0..20 {
        saves += beside(save, || {
            toggles += beside(toggle, &mut provoke);
        });
        let (own, refused) = counts();
        is_enough = saves >= 20 && toggles >= 20 && own > 0 && refused > 0;
        if is_enough {
            break;
        }
    }
    let (own, refused) = counts();
    println!("own names: {saves} saves, {toggles} toggles, {own} read, {refused} refused");
    if !is_enough {
        let counts = [
            ("saves", saves),
            ("toggles", toggles),
            ("read", u64::from(own)),
            ("refused", u64::from(refused)),
        ];
        turns.settle_counts("own names", &counts);
    }
}

/// A name that differs from a pattern by case is asked about where the overlay is held.
#[test]
fn a_name_of_another_case_is_looked_at_by_handle() {
    let (send, done) = mpsc::channel();
    std::thread::spawn(move || {
        let s = Scratch::new();
        s.file("d/.ENV", "shown");
        let session = s.protected(Mode::Overlay, Protect::new().with_deny(".env"));
        session.write("/d/.Env", "new").unwrap();
        let text = |path: &str| {
            let node = crate::rows::node(&session, path).unwrap();
            (
                node.metadata().len,
                Files::metadata_of(&session, &node).unwrap().len,
            )
        };
        send.send((text("d/.ENV"), text("d/.Env"))).unwrap();
    });
    let found = done.recv_timeout(Duration::from_secs(60));
    assert_eq!(found.expect("nobody waits for himself"), ((5, 5), (3, 3)));
}

#[test]
fn protected_names_that_come_along_in_a_moved_directory_wait_with_it() {
    let s = Scratch::new();
    s.file("app/.envrc", "good")
        .file("app/main", "main")
        .file("fixtures/app/.envrc", "evil")
        .file("plain/deep/x", "x")
        .file("keys/a.pem", "key");
    let session = s.protected(Mode::Overlay, Protect::preset("workspace").unwrap());
    session
        .rename("/app", "/fixtures/app", RenameMode::Exchange)
        .unwrap();
    session
        .rename("/keys", "/moved-keys", RenameMode::NoReplace)
        .unwrap();
    session
        .rename("/plain", "/ordinary", RenameMode::NoReplace)
        .unwrap();
    for (path, flag) in [
        ("/app", Some(Flag::ReadOnlyName)),
        ("/fixtures/app", Some(Flag::ReadOnlyName)),
        ("/moved-keys", Some(Flag::DeniedName)),
        ("/ordinary", None),
    ] {
        let flags = of(&session, path).flags;
        assert_eq!(flags.first(), flag.as_ref(), "{path}: {flags:?}");
    }
    let done = commit(&session, &[]);
    let mut waiting = held(&done);
    waiting.sort();
    assert_eq!(waiting, ["/app", "/fixtures/app", "/moved-keys"]);
    assert!(done.held_back[0].1.contains(".envrc"), "{done:?}");
    assert_eq!(s.read("app/.envrc"), "good");
    assert_eq!(s.read("ordinary/deep/x"), "x");
    // Named, they are what the person wanted.
    commit(&session, &["/app", "/fixtures/app"]);
    assert_eq!(s.read("app/.envrc"), "evil");
}

#[test]
fn a_link_that_would_lead_outside_from_a_new_place_waits_with_its_directory() {
    let s = Scratch::new();
    s.file("a/b/c/x", "x").file("a/plain", "plain");
    let session = s.protected(Mode::Overlay, Protect::new());
    session.symlink("../../../a/plain", "/a/b/c/up").unwrap();
    assert!(held(&commit(&session, &[])).is_empty());
    session
        .rename("/a/b/c", "/c", RenameMode::NoReplace)
        .unwrap();
    assert!(of(&session, "/c").flags.contains(&Flag::DeniedName));
    let done = commit(&session, &[]);
    assert_eq!(held(&done), ["/c"]);
    assert_eq!(s.read("a/b/c/x"), "x");
}
