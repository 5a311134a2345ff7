//! Bytes and version are of one object.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use handfast::Metadata;
use handfast::files::Files;
use handfast_session::{Caller, Mode, OpenOptions, Session};

use super::{beside, exchange_inside, exchange_outside, node};
use crate::support::*;
use crate::turns::Turns;

const READS: u32 = 20_000;

struct Pair {
    one: (Vec<u8>, Metadata),
    other: (Vec<u8>, Metadata),
}

fn scene() -> Scratch {
    let s = Scratch::new();
    s.file("one", "1".repeat(100))
        .file("other", "2".repeat(100));
    // Old enough to have no digest: then only which object it is tells the two apart.
    for name in ["one", "other"] {
        let file = std::fs::File::options()
            .write(true)
            .open(s.at(name))
            .unwrap();
        let then = std::time::SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(then).unwrap();
    }
    s
}

impl Pair {
    fn of(session: &Session) -> Self {
        let facts = |path: &str| (session.read(path).unwrap(), session.metadata(path).unwrap());
        Self {
            one: facts("/one"),
            other: facts("/other"),
        }
    }

    /// Whether a version is of the object that has these bytes.
    fn fits(&self, bytes: &[u8], version: &handfast::Version) -> bool {
        let (_, object) = match bytes == self.one.0 {
            true => &self.one,
            false => &self.other,
        };
        bytes.len() == 100 && version.is_of_renamed(object)
    }
}

type Reader = fn(&Session) -> Result<(Vec<u8>, handfast::Version), handfast::Error>;

const READERS: [(&str, Reader); 2] = [
    ("path", |session| session.read_versioned("/one")),
    ("handle", |session| {
        let file = session.open_node(&node(session, "one")?, OpenOptions::new())?;
        handfast::files::read_versioned(&*file, 1 << 20)
    }),
];

fn race(session: &Session, pair: &Pair, attack: &(dyn Fn() -> bool + Sync), what: &str) {
    for (name, reader) in READERS {
        let turns = Turns::start();
        let (mut read, mut raced, mut ones) = (0_u32, 0_u32, 0_u32);
        let attacks = beside(attack, || {
            while read < READS {
                match reader(session) {
                    Ok((bytes, version)) => {
                        assert!(pair.fits(&bytes, &version), "{what} {name} after {read}");
                        ones += u32::from(bytes == pair.one.0);
                        read += 1;
                    }
                    Err(_) => raced += 1,
                }
            }
        });
        println!("s4 {what} by {name}: {read} read ({ones} of one), {raced} refused, {attacks}");
        if attacks < 100 || ones == 0 || ones == read {
            let counts = [
                ("exchanges", attacks),
                ("of one", u64::from(ones)),
                ("of the other", u64::from(read - ones)),
            ];
            turns.settle_counts(&format!("s4 {what} by {name}"), &counts);
        }
    }
}

#[test]
fn s4_bytes_and_version_are_of_one_file_while_an_outsider_exchanges_two() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let s = scene();
        let session = s.session(mode);
        let pair = Pair::of(&session);
        let attack = || exchange_outside(&s, "one", "other");
        race(&session, &pair, &attack, &format!("{mode} outsider"));
    }
}

#[test]
fn s4_and_while_another_caller_does() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let s = scene();
        let session = s.session(mode);
        let pair = Pair::of(&session);
        let accomplice = session.for_caller(Caller::new("accomplice"));
        let attack = || exchange_inside(&accomplice, "/one", "/other");
        race(&session, &pair, &attack, &format!("{mode} accomplice"));
    }
}

/// The control: reads by path, then asks by path which file that was.
#[test]
fn s4_control_a_naive_reader_mixes_two_files() {
    let s = scene();
    let inode = std::fs::metadata(s.at("one")).unwrap().ino();
    let turns = Turns::start();
    let until = Instant::now() + Duration::from_secs(20);
    let (mut attempts, mut wrong) = (0_u32, 0_u32);
    let attacks = beside(
        || exchange_outside(&s, "one", "other"),
        || {
            while wrong == 0 && Instant::now() < until {
                attempts += 1;
                let bytes = std::fs::read(s.at("one")).unwrap();
                let status = std::fs::metadata(s.at("one")).unwrap();
                wrong += u32::from((bytes[0] == b'1') != (status.ino() == inode));
            }
        },
    );
    println!("s4 control: {attempts} attempts, {attacks} exchanges, {wrong} wrong");
    if wrong == 0 {
        turns.settle("s4 control", "nothing was mixed");
    }
}
