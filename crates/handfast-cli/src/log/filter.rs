//! Which events are asked for, and how they are shown.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast::escape;
use handfast_ledger::event::Record;
use handfast_ledger::{Filter, LogReader, describe};

use super::trouble::trouble;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Clone, Debug, Default, Args)]
pub(super) struct FilterArgs {
    /// Show events about this path or below it
    #[arg(long, value_name = "PATH")]
    path: Option<OsString>,

    /// Show the history of one object under all its names: `dev:ino` or `dev:ino@birth`
    #[arg(long, value_name = "HANDLE")]
    handle: Option<String>,

    /// Show what this process asked for
    #[arg(long)]
    pid: Option<u32>,

    /// Show what this agent asked for
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Show what was done under this lease, given by id or handle
    #[arg(long, value_name = "ID")]
    lease: Option<String>,

    /// Show events of this type: a verb, or `log.start` and the like
    #[arg(long, value_name = "TYPE")]
    verb: Option<String>,

    /// Show refusals and failures only
    #[arg(long)]
    denied: bool,

    /// Show nothing before this time: RFC 3339, or the beginning of it
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

impl FilterArgs {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            path: self.path.as_ref().map(|path| path.as_bytes().to_vec()),
            handle: self.handle.clone(),
            pid: self.pid,
            agent: self.agent.clone(),
            // The log holds handles; who has the id may ask by it.
            lease: self.lease.as_ref().map(|text| {
                handfast_broker::LeaseHandle::of_either(text)
                    .map_or_else(|| text.clone(), |handle| handle.as_str().to_owned())
            }),
            verb: self.verb.clone(),
            denied: self.denied,
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
            && self.since.is_none()
    }
}

/// One event that was asked for.
pub(super) struct Found {
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
    filter: &Filter,
    from: &[u64],
) -> Result<Vec<Found>, Box<Failure>> {
    let mut found = Vec::new();
    for (number, log) in logs.iter().enumerate() {
        let start = from.get(number).copied().unwrap_or(0);
        log.for_each(start, |index, leaf| {
            // What is no event of this version is shown rather than left out.
            let record = Record::parse(leaf);
            if record
                .as_ref()
                .map_or(true, |record| filter.matches(record))
            {
                found.push(Found {
                    log: number,
                    index,
                    time: record.map_or_else(|_| String::new(), |r| r.t_wall.into_owned()),
                    leaf: leaf.to_vec(),
                });
            }
            Ok(ControlFlow::Continue(()))
        })
        .map_err(|error| trouble(verb, dir, &error))?;
    }
    if logs.len() > 1 {
        found.sort_by(|a, b| a.time.cmp(&b.time).then(a.log.cmp(&b.log)));
    }
    Ok(found)
}

/// Prints events: an object for programs, a line each for people.
pub(super) fn print(out: &mut Output, logs: &[LogReader], found: &[Found]) {
    if out.is_json() {
        let mut text = String::from("{\"ok\":true,\"version\":1,\"events\":[");
        for (number, event) in found.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(&object(&logs[event.log].origin(), event));
        }
        text.push_str("]}");
        out.line(&text);
        return;
    }
    for event in found {
        line(out, logs, event);
    }
}

/// `{"log":…,"index":"…","event":…}`, the event byte for byte.
pub(super) fn object(origin: &str, event: &Found) -> String {
    let leaf = String::from_utf8_lossy(&event.leaf);
    let is_json = serde_json::from_slice::<serde_json::Value>(&event.leaf).is_ok();
    let body = if is_json {
        leaf.into_owned()
    } else {
        serde_json::Value::String(escape(&event.leaf)).to_string()
    };
    let origin = serde_json::Value::String(origin.to_owned());
    format!(
        "{{\"log\":{origin},\"index\":\"{}\",\"event\":{body}}}",
        event.index
    )
}

pub(super) fn line(out: &mut Output, logs: &[LogReader], event: &Found) {
    let label = if logs.len() > 1 {
        let path = logs[event.log].path();
        let name = path.file_name().unwrap_or_default();
        format!("{:<10} ", escape(name.as_bytes()))
    } else {
        String::new()
    };
    let Ok(record) = Record::parse(&event.leaf) else {
        out.line(&format!(
            "{label}{:>6}  {}",
            event.index,
            escape(&event.leaf)
        ));
        return;
    };
    let who = record.wl.as_ref().map_or_else(
        || "-".to_owned(),
        |wl| match (&wl.agent_id, wl.pid) {
            (Some(agent), _) => escape(agent.as_bytes()),
            (None, Some(pid)) => format!("pid {pid}"),
            (None, None) => "-".to_owned(),
        },
    );
    let state = match (
        record.is_denied(),
        record.result.is_some(),
        record.decision.is_some(),
    ) {
        (true, true, _) => "failed",
        (true, false, _) => "DENIED",
        (false, true, _) => "done",
        (false, false, true) => "allowed",
        (false, false, false) => "",
    };
    let time = escape(record.t_wall.get(..23).unwrap_or_default().as_bytes());
    out.line(&format!(
        "{label}{:>6}  {time}  {who:<12}  {state:<7}  {:<14} {}",
        event.index,
        record.kind.name(),
        describe(&record)
    ));
}
