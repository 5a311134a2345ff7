//! Writes logs of given sizes, for verifiers that are not ours.
//!
//! `make_logs DIR SIZE…`: below `DIR` one log a size, and beside it `SIZE.old`, a checkpoint that
//! was published half-way. Names that nobody expects are in it; the keys change once.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for tests"
)]

use std::error::Error;
use std::path::Path;

use handfast_ledger::event::{EventKind, Moment, PhaseField, Record, Request};
use handfast_ledger::{CreateOptions, Ledger, OpenOptions};

const NAMES: [&[u8]; 7] = [
    b"plain.txt",
    b"a\nb",
    b"\x1b[2J",
    b"\xff\xfe",
    "\u{202e}gpj.exe".as_bytes(),
    b"</script><img src=x onerror=alert(1)>",
    b"\"quoted\\\"",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let dir = arguments.next().ok_or("usage: make_logs DIR SIZE…")?;
    for size in arguments {
        let size: u64 = size.to_str().ok_or("a size is a number")?.parse()?;
        let log = Path::new(&dir).join(size.to_string());
        CreateOptions::new().name("interop.example").create(&log)?;
        let ledger = Ledger::open(&log, OpenOptions::new())?;
        fill(&ledger, size / 2)?;
        ledger.publish()?;
        std::fs::copy(log.join("checkpoint"), log.with_extension("old"))?;
        if size > 4 {
            ledger.rotate_key()?;
        }
        fill(&ledger, size)?;
        ledger.close()?;
        println!("{}", log.display());
    }
    Ok(())
}

fn fill(ledger: &Ledger, size: u64) -> Result<(), Box<dyn Error>> {
    while ledger.size() < size {
        let first = ledger.size();
        let mut leaves = Vec::new();
        for number in first..size.min(first + 1000) {
            let at = usize::try_from(number)? % NAMES.len();
            let mut record = Record::new(
                EventKind::Verb(handfast::Verb::ALL[usize::try_from(number)? % 20 + 2]),
                PhaseField::Single,
                Moment::now(),
            );
            record.req = Some(Request::of(NAMES[at]));
            leaves.push(record.to_leaf()?);
        }
        let _receipt = ledger.append_leaves(&leaves)?;
    }
    Ok(())
}
