//! Which mounts there may be, and which one a path belongs to.

use std::sync::{Arc, Mutex};

use handfast::ErrorKind;
use handfast_session::{
    Caller, Catalogue, Mode, MountSpec, Reason, Session, SessionError as _, SessionSpec,
};

use crate::support::*;

fn two(one: MountSpec, other: MountSpec) -> Result<Session, handfast_session::Error> {
    Session::new(&SessionSpec::new().mount(one).mount(other), me())
}

fn rw(path: std::path::PathBuf, at: &str) -> MountSpec {
    MountSpec::new(path, v(at)).mode(Mode::ReadWrite)
}

#[test]
fn the_longest_prefix_wins_by_components() {
    let scratch = Scratch::new();
    scratch.dir("data").dir("deep").dir("other");
    let session = Session::new(
        &SessionSpec::new()
            .mount(rw(scratch.at("data"), "/data"))
            .mount(rw(scratch.at("deep"), "/data/deep"))
            .mount(rw(scratch.at("other"), "/database")),
        me(),
    )
    .unwrap();
    session.write("/data/a", "data").unwrap();
    session.write("/data/deep/a", "deep").unwrap();
    session.write("/database/a", "other").unwrap();
    session.write("/data/deep/../b", "folded").unwrap();
    assert_eq!(scratch.read("data/a"), "data");
    assert_eq!(scratch.read("deep/a"), "deep");
    assert_eq!(scratch.read("other/a"), "other");
    assert_eq!(scratch.read("data/b"), "folded");
    let names = |path: &str| -> Vec<String> {
        let entries = session.read_dir(path).unwrap();
        entries.iter().map(|entry| entry.name.to_string()).collect()
    };
    assert_eq!(names("/"), ["data", "database"]);
    assert_eq!(names("/data"), ["a", "b", "deep"]);
    let error = session.read("/dat").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.reason(), Some(Reason::NotMounted));
    assert_eq!(kind(session.write("/x", "")), ErrorKind::NotFound);
    assert_eq!(kind(session.remove_dir("/data/deep")), ErrorKind::Busy);
    let mode = handfast::RenameMode::Replace;
    assert_eq!(
        kind(session.rename("/data/deep", "/data/x", mode)),
        ErrorKind::Busy
    );
    let across = session.rename("/data/a", "/database/b", mode).unwrap_err();
    assert_eq!(
        (across.kind(), across.reason()),
        (ErrorKind::Mount, Some(Reason::TwoMounts))
    );
    session.copy("/data/a", "/database/b").unwrap();
    assert_eq!(scratch.read("other/b"), "data");
}

#[test]
fn mounts_that_contradict_each_other_are_refused() {
    let scratch = Scratch::new();
    scratch.dir("a/b").dir("c");
    let refused = |one, other| kind(two(one, other));
    let twice = refused(rw(scratch.at("a"), "/x"), rw(scratch.at("c"), "/x/"));
    assert_eq!(twice, ErrorKind::Invalid);
    let same = refused(rw(scratch.at("a"), "/x"), rw(scratch.at("c/../a"), "/y"));
    assert_eq!(same, ErrorKind::Invalid);
    let nested = refused(rw(scratch.at("a"), "/x"), rw(scratch.at("a/b"), "/y"));
    assert_eq!(nested, ErrorKind::Invalid);
    let nested = refused(rw(scratch.at("a/b"), "/x"), rw(scratch.at("a"), "/y"));
    assert_eq!(nested, ErrorKind::Invalid);
    two(rw(scratch.at("a"), "/x"), rw(scratch.at("c"), "/x/y")).unwrap();
    let error = Session::new(&scratch.spec(Mode::Overlay), me()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "an overlay needs a home");
    assert!(!error.to_string().contains("handfast-session-"), "{error}");
}

#[test]
fn our_own_state_is_denied_by_identity_and_never_mounted() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    let state = scratch.at("hidden/state");
    let catalogue = Catalogue::open_ambient(&state).unwrap();
    catalogue.create("s", &scratch.spec(Mode::Overlay)).unwrap();
    let session = catalogue.open("s", me()).unwrap();
    assert_eq!(session.read("/a").unwrap(), b"1");
    session.write("/a", "2").unwrap();
    for path in [
        "/hidden/state",
        "/hidden/state/sessions",
        "/hidden/state/sessions/s/spec",
    ] {
        assert_eq!(
            kind(session.symlink_metadata(path)),
            ErrorKind::Denied,
            "{path}"
        );
        assert_eq!(kind(session.read_dir(path)), ErrorKind::Denied, "{path}");
        assert_eq!(kind(session.write(path, "")), ErrorKind::Denied, "{path}");
    }
    // Moved by the owner, it is still the same directory.
    std::fs::rename(scratch.at("hidden"), scratch.at("elsewhere")).unwrap();
    assert_eq!(
        kind(session.read_dir("/elsewhere/state")),
        ErrorKind::Denied
    );
    let inside = MountSpec::new(scratch.at("elsewhere/state/sessions"), v("/"));
    let catalogue = Catalogue::open_ambient(scratch.at("elsewhere/state")).unwrap();
    let error = catalogue
        .create("t", &SessionSpec::new().mount(inside))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_replaced_base_is_noticed() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    let session = scratch.session(Mode::Overlay);
    session.write("/b", "2").unwrap();
    std::fs::rename(scratch.base(), scratch.top.join("moved")).unwrap();
    // A session that is open keeps the directory it was given.
    assert_eq!(session.read("/a").unwrap(), b"1");
    drop(session);
    std::fs::create_dir(scratch.base()).unwrap();
    assert_eq!(kind(scratch.catalogue().open("s", me())), ErrorKind::Stale);
    std::fs::remove_dir(scratch.base()).unwrap();
    assert_eq!(
        kind(scratch.catalogue().open("s", me())),
        ErrorKind::NotFound
    );
    std::fs::rename(scratch.top.join("moved"), scratch.base()).unwrap();
    assert_eq!(
        scratch
            .catalogue()
            .open("s", me())
            .unwrap()
            .read("/b")
            .unwrap(),
        b"2"
    );
}

#[derive(Default)]
struct Tape(Mutex<Vec<String>>);

impl handfast::Recorder for Tape {
    fn record(&self, event: &handfast::Event<'_>) -> Result<(), handfast::RecordError> {
        let how = match &event.decision {
            handfast::Decision::Allowed => "allowed".to_owned(),
            handfast::Decision::Refused { kind, .. } => kind.to_string(),
        };
        let line = format!("{} {} {} {how}", event.phase.name(), event.verb, event.path);
        self.0.lock().unwrap().push(line);
        if event.path.as_bytes() == b"frozen" {
            return Err(handfast::RecordError::Refused("frozen".to_owned()));
        }
        Ok(())
    }
}

#[test]
fn every_decision_is_told_before_it_takes_effect() {
    for mode in [Mode::ReadWrite, Mode::Memory] {
        let scratch = Scratch::new();
        scratch.file("a", "1");
        let tape = Arc::new(Tape::default());
        let caller = Caller::new("agent-7").recorder(tape.clone());
        let protect = handfast_session::Protect::new().with_deny(".env");
        let spec = SessionSpec::new().mount(scratch.mount(mode).protect(protect));
        let session = Session::new(&spec, caller).unwrap();
        session.read("/a").unwrap();
        session.write("/b", "2").unwrap();
        session.read("/.env").unwrap_err();
        session.read("/none").unwrap_err();
        assert_eq!(kind(session.write("/frozen", "x")), ErrorKind::Denied);
        assert_eq!(
            kind(session.read("/frozen")),
            ErrorKind::NotFound,
            "it was not done"
        );
        let told = tape.0.lock().unwrap().clone();
        let expected = [
            "single read a allowed",
            "intent write b allowed",
            "result write b allowed",
            "single read .env Denied",
            "single read none NotFound",
            "intent write frozen allowed",
            "single read frozen NotFound",
        ];
        assert_eq!(told, expected, "{mode}");
    }
}

#[test]
fn a_directory_that_is_open_is_mounted_whatever_its_name_leads_to() {
    let scratch = Scratch::new();
    scratch.file("data/a", "ours");
    let dir = handfast::Root::open_ambient(scratch.at("data")).unwrap();
    std::fs::rename(scratch.at("data"), scratch.at("moved")).unwrap();
    scratch.link(scratch.top.join("outside"), "data");
    let mount = MountSpec::of_root(&dir, v("/")).mode(Mode::ReadWrite);
    let session = Session::new(&SessionSpec::new().mount(mount.clone()), me()).unwrap();
    session.write("/a", "still ours").unwrap();
    assert_eq!(scratch.read("moved/a"), "still ours");
    let same = two(mount.clone(), rw(scratch.at("moved"), "/again"));
    assert_eq!(kind(same), ErrorKind::Invalid);
    let lasting = SessionSpec::new().mount(mount.mode(Mode::Overlay));
    let made = scratch.catalogue().create("s", &lasting);
    assert_eq!(kind(made), ErrorKind::Invalid);
}

#[test]
fn a_link_that_names_another_mounts_directory_leads_there_under_its_rules() {
    let scratch = Scratch::new();
    scratch
        .file("other/f", "other")
        .file("other/secret", "s")
        .file("closed/f", "closed")
        .link("f", "closed/again")
        .dir("data");
    let own = |rest: &str| scratch.at(rest);
    scratch
        .link(own("other/f"), "data/to-file")
        .link(own("other"), "data/to-dir")
        .link(own("other/secret"), "data/to-secret")
        .link(own("closed/f"), "data/to-closed")
        .link(own("closed/again"), "data/to-link")
        .link(own("outside-of-all"), "data/out")
        .link(own("other/../../outside/secret"), "data/climbs");
    let protect = handfast_session::Protect {
        deny: vec!["secret".to_owned()],
        ..Default::default()
    };
    let closed = MountSpec::new(own("closed"), v("/closed"))
        .mode(Mode::ReadOnly)
        .links(handfast::Links::Refuse);
    let session = Session::new(
        &SessionSpec::new()
            .mount(rw(own("data"), "/data"))
            .mount(rw(own("other"), "/other").protect(protect))
            .mount(closed),
        me(),
    )
    .unwrap();
    assert_eq!(session.read("/data/to-file").unwrap(), b"other");
    assert_eq!(session.read("/data/to-dir/f").unwrap(), b"other");
    session.write("/data/to-dir/new", "n").unwrap();
    assert_eq!(scratch.read("other/new"), "n");
    let read = |path: &str| kind(session.read(path));
    assert_eq!(read("/data/to-secret"), ErrorKind::Denied);
    assert_eq!(read("/data/to-dir/secret"), ErrorKind::Denied);
    assert_eq!(session.read("/data/to-closed").unwrap(), b"closed");
    let refused = session.write("/data/to-closed", "x");
    assert_eq!(kind(refused), ErrorKind::Denied, "read-only there");
    assert_eq!(read("/data/to-link"), ErrorKind::Link, "no links there");
    assert_eq!(read("/data/out"), ErrorKind::Escape);
    assert_eq!(read("/data/climbs"), ErrorKind::Escape);
    assert_eq!(scratch.read("closed/f"), "closed");
}

#[test]
fn a_directory_that_was_given_open_is_named_by_no_absolute_link() {
    let scratch = Scratch::new();
    scratch
        .file("f", "inside")
        .file("etc/passwd", "not this one")
        .link("/etc/passwd", "out")
        .link("/f", "top")
        .link(scratch.at("f"), "own");
    let dir = handfast::Root::open_ambient(scratch.base()).unwrap();
    let mount = MountSpec::of_root(&dir, v("/")).mode(Mode::ReadWrite);
    let session = Session::new(&SessionSpec::new().mount(mount), me()).unwrap();
    for path in ["/out", "/top", "/own"] {
        assert_eq!(kind(session.read(path)), ErrorKind::Escape, "{path}");
        assert_eq!(kind(session.write(path, "x")), ErrorKind::Escape, "{path}");
    }
    assert_eq!(scratch.read("etc/passwd"), "not this one");
}

#[test]
fn many_sessions_in_memory_start_at_once() {
    let scratch = Scratch::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let session = scratch.session(Mode::Memory);
                    session.write("/f", "f").unwrap();
                }
            });
        }
    });
    assert!(!scratch.at("f").exists());
}
