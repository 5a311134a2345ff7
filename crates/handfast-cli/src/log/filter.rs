//! Which events are asked for.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast_ledger::event::{EventKind, Moment, Record};
use handfast_ledger::{Filter, LeaseHandle, LogReader};

use super::damage::Damage;
use super::outcome::EventOutcome;
use super::trouble::trouble;
use crate::failure::Failure;

#[derive(Clone, Debug, Default, Args)]
pub(super) struct FilterArgs {
    /// Show events about this path or below it
    #[arg(long, value_name = "PATH")]
    path: Option<OsString>,

    /// Show the history of one object under all its names: `dev:ino` or `dev:ino@birth`
    #[arg(long, value_name = "HANDLE")]
    handle: Option<String>,

    /// Show the events of this process
    #[arg(long)]
    pid: Option<u32>,

    /// Show the events of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Show the events under this lease, given by id or handle
    #[arg(long, value_name = "ID")]
    lease: Option<String>,

    /// Show events of this type: a command such as `rm` or `read`, a verb, `lease`, `log.start`
    #[arg(long, value_name = "TYPE", value_parser = kinds)]
    verb: Option<Kinds>,

    /// Show only operations that a rule, a guard or a permission refused
    #[arg(long)]
    denied: bool,

    /// Show only operations that were allowed and failed: nothing was there, the disk was full
    #[arg(long)]
    failed: bool,

    /// Show nothing before this time: `1h` or `2d` ago, or in UTC `2026-11-16T10:25` or a prefix of
    /// that
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<String>,
}

/// What a word means.
#[derive(Clone, Debug)]
struct Kinds(Vec<EventKind>);

fn kinds(word: &str) -> Result<Kinds, String> {
    match EventKind::typed(word) {
        found if found.is_empty() => {
            Err("no event has this type; `handfast log stat` lists those that a log has".to_owned())
        }
        found => Ok(Kinds(found)),
    }
}

fn since(text: &str) -> Result<String, String> {
    handfast_ledger::time::since(text, Moment::now().wall_ns)
}

/// Which events are asked for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    filter: Filter,
    denied: bool,
    failed: bool,
}

impl Wanted {
    fn matches(&self, record: &Record<'_>) -> bool {
        let outcome = match EventOutcome::of(record) {
            EventOutcome::Denied => self.denied,
            EventOutcome::Failed => self.failed,
            _ => false,
        };
        self.filter.matches(record) && (outcome || !(self.denied || self.failed))
    }
}

impl FilterArgs {
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            filter: self.filter(),
            denied: self.denied,
            failed: self.failed,
        }
    }

    fn filter(&self) -> Filter {
        Filter {
            path: self.path.as_ref().map(|path| path.as_bytes().to_vec()),
            handle: self.handle.clone(),
            pid: self.pid,
            agent: self.agent.clone(),
            // The log holds handles; who has the id may ask by it.
            lease: self.lease.as_ref().map(|text| {
                LeaseHandle::of_either(text)
                    .map_or_else(|| text.clone(), |handle| handle.as_str().to_owned())
            }),
            kinds: self.verb.clone().map_or_else(Vec::new, |kinds| kinds.0),
            // What came of it is asked more closely.
            denied: false,
            since: self.since.clone(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.path.is_none()
            && self.handle.is_none()
            && self.pid.is_none()
            && self.agent.is_none()
            && self.lease.is_none()
            && self.verb.is_none()
            && !self.denied
            && !self.failed
            && self.since.is_none()
    }
}

/// One event that was asked for.
pub(super) struct MatchedEvent {
    /// Which of the logs.
    pub(super) log: usize,
    pub(super) index: u64,
    pub(super) leaf: Vec<u8>,
    time: String,
}

/// All events of all logs that fit, from the given index of each on; of several logs by their
/// time, which proves nothing.
pub(super) fn find(
    verb: &'static str,
    dir: &OsStr,
    logs: &[LogReader],
    wanted: &Wanted,
    from: &[u64],
) -> Result<(Vec<MatchedEvent>, Damage), Box<Failure>> {
    let mut found = Vec::new();
    let mut damage = Damage::default();
    for (number, log) in logs.iter().enumerate() {
        let start = from.get(number).copied().unwrap_or(0);
        let read = log.for_each(start, |index, leaf| {
            // What is no event of this version is shown rather than left out.
            let record = Record::parse(leaf);
            if record
                .as_ref()
                .map_or(true, |record| wanted.matches(record))
            {
                found.push(MatchedEvent {
                    log: number,
                    index,
                    time: record.map_or_else(|_| String::new(), |r| r.t_wall.into_owned()),
                    leaf: leaf.to_vec(),
                });
            }
            Ok(ControlFlow::Continue(()))
        });
        damage
            .take(log, read)
            .map_err(|error| trouble(verb, dir, &error))?;
    }
    if logs.len() > 1 {
        found.sort_by(|a, b| a.time.cmp(&b.time).then(a.log.cmp(&b.log)));
    }
    Ok((found, damage))
}
