//! Writes a log as a small fleet of agents would, for the page and for looking around.
//!
//! `demo_log DIR EVENTS`
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::borrow::Cow;
use std::error::Error;

use handfast::Verb;
use handfast_ledger::event::{
    Assurance, DecisionField, Destination, EventKind, Lease, Moment, Object, PhaseField, Record,
    Request, ResultField, U64, Workload,
};
use handfast_ledger::{CreateOptions, Ledger, OpenOptions};

const AGENTS: [(&str, &str); 5] = [
    ("planner", "lease-41"),
    ("coder", "lease-42"),
    ("coder", "lease-43"),
    ("tester", "lease-44"),
    ("reviewer", "lease-45"),
];
const DIRS: [&str; 6] = ["src", "src/verbs", "tests", "docs", "target/debug", "notes"];
const HOSTILE: [&[u8]; 4] = [
    b"</script><script>document.title='owned'</script>",
    b"<img src=x onerror=document.title='owned'>",
    "\u{202e}gnp.exe".as_bytes(),
    b"not \xff text\n",
];

/// A little chance without a dependency, the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit).unwrap_or(0)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let dir = arguments.next().ok_or("usage: demo_log DIR EVENTS")?;
    let count: u64 = arguments
        .next()
        .and_then(|count| count.to_str()?.parse().ok())
        .ok_or("how many events?")?;
    let key = CreateOptions::new().name("demo.example").create(&dir)?;
    let ledger = Ledger::open(&dir, OpenOptions::new())?;
    let mut chance = Chance(42);
    let begun = Moment::now();
    let mut leaves = Vec::new();
    while (leaves.len() as u64) < count - 1 {
        let number = leaves.len() as u64;
        let now = Moment {
            wall_ns: begun.wall_ns + i128::from(number) * 37_000_000,
            boot_ns: begun.boot_ns + number * 37_000_000,
        };
        operation(&mut leaves, &mut chance, now, number)?;
    }
    leaves.truncate(usize::try_from(count - 1)?);
    for group in leaves.chunks(500) {
        let _receipt = ledger.append_leaves(group)?;
    }
    ledger.close()?;
    println!("{key}");
    Ok(())
}

fn operation(
    leaves: &mut Vec<Vec<u8>>,
    chance: &mut Chance,
    now: Moment,
    number: u64,
) -> Result<(), Box<dyn Error>> {
    let (agent, lease) = AGENTS[chance.below(5)];
    let plain = format!("{}/file-{:02}.rs", DIRS[chance.below(6)], chance.below(40));
    let hostile = chance.below(200) == 0;
    let path: &[u8] = if hostile {
        HOSTILE[chance.below(4)]
    } else {
        plain.as_bytes()
    };
    let verb = [
        Verb::Read,
        Verb::Read,
        Verb::Open,
        Verb::Write,
        Verb::Rename,
        Verb::Chmod,
    ][chance.below(6)];
    let denied = hostile || chance.below(25) == 0;
    let op_id = format!("demo.{number}");
    let moved = format!("{plain}.old");
    let make = |phase| {
        let mut record = Record::new(EventKind::Verb(verb), phase, now);
        record.op_id = Some(Cow::Borrowed(&op_id));
        record.req = Some(Request::of(path));
        if verb == Verb::Rename {
            record.dst = Some(Destination::of(moved.as_bytes()));
        }
        record.wl = Some(Workload {
            agent_id: Some(agent.into()),
            pid: Some(4000),
            ..Workload::default()
        });
        record.lease = Some(Lease {
            id: lease.into(),
            ..Lease::default()
        });
        record.assure = Some(Assurance {
            resolve: Some("kernel".into()),
            ..Assurance::default()
        });
        record.obj = (!denied).then(|| Object {
            dev: U64(65_024),
            // Beyond what a double holds: it must come back whole.
            ino: U64((1 << 60) + (plain.len() as u64 * 97 + number % 7)),
            kind: "file".into(),
            mode: "0644".into(),
            nlink: U64(1),
            size: U64(number),
            ..Object::default()
        });
        record
    };
    let mut first = make(if verb.changes() {
        PhaseField::Intent
    } else {
        PhaseField::Single
    });
    first.decision = Some(DecisionField {
        allow: !denied,
        kind: denied.then_some("Link".into()),
        why: denied.then_some("a symbolic link is in the way".into()),
        ..DecisionField::default()
    });
    leaves.push(first.to_leaf()?);
    if verb.changes() && !denied {
        let mut last = make(PhaseField::Result);
        last.result = Some(ResultField {
            ok: true,
            ..ResultField::default()
        });
        leaves.push(last.to_leaf()?);
    }
    Ok(())
}
