//! A denied file is not read through a copy of it.

use std::time::{Duration, Instant};

use handfast::files::{Attributes, Files};
use handfast::{ErrorKind, HardLinks, Timestamp};
use handfast_session::{Caller, Mode, OpenOptions, Protect, Session, SessionSpec};

use super::{beside, exchange_inside, exchange_outside, node};
use crate::support::*;
use crate::turns::Turns;

const SECRET: &[u8] = b"SECRET";

/// `data/x` is the denied file under another name, `data2/x` is an ordinary one.
fn scene() -> Scratch {
    let s = Scratch::new();
    s.file(".env", SECRET).dir("data").file("data2/x", "public");
    std::fs::hard_link(s.at(".env"), s.at("data/x")).unwrap();
    s
}

fn session(s: &Scratch, mode: Mode) -> Session {
    let mount = s
        .mount(mode)
        .protect(Protect::new().with_deny(".env"))
        .hard_links(HardLinks::Allow);
    s.session_of(&SessionSpec::new().mount(mount))
}

fn has_secret(data: &[u8]) -> bool {
    data.windows(SECRET.len()).any(|part| part == SECRET)
}

type Attempt = fn(&Session) -> Result<Vec<u8>, handfast::Error>;

fn all_of(file: &dyn handfast::files::FileHandle) -> Result<Vec<u8>, handfast::Error> {
    handfast::files::read_whole(file, 1 << 20)
}

/// What an agent would do to get at the content: each answers what it saw.
const ATTEMPTS: [(&str, Attempt); 9] = [
    ("read", |session| session.read("/data/x")),
    ("append", |session| {
        session.append("/data/x", "+")?;
        session.read("/data/x")
    }),
    ("open", |session| {
        let how = OpenOptions::new().read(true).write(true);
        all_of(&session.open_with("/data/x", how)?)
    }),
    ("chmod", |session| {
        session.chmod("/data/x", 0o640)?;
        session.read("/data/x")
    }),
    ("times", |session| {
        let then = Timestamp::from(std::time::SystemTime::UNIX_EPOCH);
        session.set_times("/data/x", None, Some(then))?;
        session.read("/data/x")
    }),
    ("copy", |session| {
        session.copy("/data/x", "/out")?;
        session.read("/out")
    }),
    ("open by handle", |session| {
        let how = OpenOptions::new().read(true).write(true);
        all_of(&*session.open_node(&node(session, "data/x")?, how)?)
    }),
    ("read by handle", |session| {
        all_of(&*session.open_node(&node(session, "data/x")?, OpenOptions::new())?)
    }),
    ("attributes by handle", |session| {
        let file = node(session, "data/x")?;
        session.set_attributes_of(&file, &Attributes::new().mode(0o640))?;
        all_of(&*session.open_node(&file, OpenOptions::new())?)
    }),
];

/// A discard after each round makes rounds of an overlay slow, and the exchanges many.
fn rounds(mode: Mode) -> u32 {
    match mode {
        Mode::Overlay => 150,
        _ => 400,
    }
}

/// Both the accomplice's exchange within the session and an outsider's in the base.
fn race(mode: Mode, attack: &(dyn Fn() -> bool + Sync), s: &Scratch, session: &Session) {
    for (name, attempt) in ATTEMPTS {
        let turns = Turns::start();
        let (mut seen, mut refused, mut attacks) = (0_u32, 0_u32, 0);
        // The rounds may be over before the attacker has had a turn: then there are more.
        for _ in 0..10 {
            if attacks >= 10 && seen > 0 && refused > 0 {
                break;
            }
            attacks += beside(attack, || {
                for _ in 0..rounds(mode) {
                    match attempt(session) {
                        Ok(data) => {
                            assert!(!has_secret(&data), "{mode} {name} gave the secret away");
                            seen += 1;
                        }
                        Err(_) => refused += 1,
                    }
                    if mode == Mode::Overlay {
                        // What was copied up is copied up again.
                        session.discard(&[]).unwrap();
                    } else {
                        drop(std::fs::remove_file(s.at("out")));
                    }
                }
            });
        }
        println!("s2 {mode} {name}: {attacks} exchanges, {seen} seen, {refused} refused");
        if attacks < 10 || seen == 0 || refused == 0 {
            let counts = [
                ("exchanges", attacks),
                ("seen", u64::from(seen)),
                ("refused", u64::from(refused)),
            ];
            turns.settle_counts(&format!("s2 {mode} {name}"), &counts);
        }
        for path in ["/data/x", "/data2/x", "/out"] {
            if let Ok(data) = session.read(path) {
                assert!(!has_secret(&data), "{mode} {name}: {path} holds the secret");
            }
        }
    }
    assert_eq!(
        std::fs::read(s.at(".env")).unwrap(),
        SECRET,
        "and it is unchanged"
    );
}

#[test]
fn s2_no_verb_copies_a_denied_file_up_while_another_caller_exchanges_directories() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let s = scene();
        let session = session(&s, mode);
        let accomplice = session.for_caller(Caller::new("accomplice"));
        race(
            mode,
            &|| exchange_inside(&accomplice, "/data", "/data2"),
            &s,
            &session,
        );
    }
}

#[test]
fn s2_nor_while_an_outsider_does() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let s = scene();
        let session = session(&s, mode);
        race(
            mode,
            &|| exchange_outside(&s, "data", "data2"),
            &s,
            &session,
        );
    }
}

#[test]
fn s2_every_way_to_the_content_is_refused_while_nobody_moves() {
    for mode in [Mode::Overlay, Mode::ReadWrite, Mode::Memory] {
        let s = scene();
        let session = session(&s, mode);
        for (name, attempt) in ATTEMPTS {
            assert_eq!(kind(attempt(&session)), ErrorKind::Denied, "{mode} {name}");
        }
        assert_eq!(
            kind(session.get_xattr("/data/x", "user.a")),
            ErrorKind::Denied
        );
        assert_eq!(kind(session.version("/data/x")), ErrorKind::Denied);
    }
}

/// The control: asks by path whether the file has other names, then reads it by path.
#[test]
fn s2_control_a_naive_reader_gets_the_secret() {
    use std::os::unix::fs::MetadataExt;
    let s = scene();
    let turns = Turns::start();
    let until = Instant::now() + Duration::from_secs(20);
    let (mut attempts, mut leaked) = (0_u32, 0_u32);
    let attacks = beside(
        || exchange_outside(&s, "data", "data2"),
        || {
            while leaked == 0 && Instant::now() < until {
                attempts += 1;
                if std::fs::metadata(s.at("data/x")).is_ok_and(|file| file.nlink() == 1) {
                    leaked +=
                        u32::from(std::fs::read(s.at("data/x")).is_ok_and(|it| has_secret(&it)));
                }
            }
        },
    );
    println!("s2 control: {attempts} attempts, {attacks} exchanges, {leaked} leaked");
    if leaked == 0 {
        turns.settle("s2 control", "nothing leaked");
    }
}
