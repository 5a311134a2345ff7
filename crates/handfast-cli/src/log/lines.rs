//! How events are shown: an object for programs, a line each for people.

use std::os::unix::ffi::OsStrExt;

use handfast::escape;
use handfast_ledger::event::Record;
use handfast_ledger::{LogReader, describe};

use super::damage::Damage;
use super::filter::MatchedEvent;
use super::outcome::EventOutcome;
use crate::output::Output;

/// Prints events: an object for programs, a line each for people. Damage is said behind them.
pub(super) fn print(out: &mut Output, logs: &[LogReader], found: &[MatchedEvent], damage: &Damage) {
    if out.is_json() {
        let ok = damage.is_empty();
        let mut text = format!("{{\"ok\":{ok},\"version\":1,\"events\":[");
        for (number, event) in found.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(&object(&logs[event.log].origin(), event));
        }
        text.push(']');
        if !damage.is_empty() {
            text.push_str(&format!(",\"damage\":{}", damage.to_json()));
        }
        text.push('}');
        out.line(&text);
        damage.say(out);
        return;
    }
    let widths = Widths::of(logs, found);
    for event in found {
        line(out, logs, event, &widths);
    }
    damage.say(out);
}

/// `{"log":…,"index":"…","event":…}`, the event byte for byte.
pub(super) fn object(origin: &str, event: &MatchedEvent) -> String {
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

/// How wide the columns of a list are: as its widest cells, within reason.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Widths {
    log: usize,
    index: usize,
    who: usize,
    kind: usize,
}

impl Widths {
    pub(super) fn of(logs: &[LogReader], found: &[MatchedEvent]) -> Self {
        let mut widths = Self::default();
        widths.take(logs, found);
        widths
    }

    /// Makes room for more; what was printed stays as it is.
    pub(super) fn take(&mut self, logs: &[LogReader], found: &[MatchedEvent]) {
        for event in found {
            self.log = self.log.max(label(logs, event).len());
            self.index = self.index.max(event.index.to_string().len());
            if let Ok(record) = Record::parse(&event.leaf) {
                self.who = self.who.max(who(&record).chars().count()).min(24);
                self.kind = self.kind.max(record.kind.name().len()).min(14);
            }
        }
    }
}

/// The name of the log that an event is in, where there are several.
fn label(logs: &[LogReader], event: &MatchedEvent) -> String {
    if logs.len() < 2 {
        return String::new();
    }
    let path = logs[event.log].path();
    let name = path.file_name().unwrap_or_default();
    format!("{}  ", escape(name.as_bytes()))
}

/// On whose behalf, or which process.
fn who(record: &Record<'_>) -> String {
    record.wl.as_ref().map_or_else(
        || "-".to_owned(),
        |wl| match (&wl.agent_id, wl.pid) {
            (Some(agent), _) => escape(agent.as_bytes()),
            (None, Some(pid)) => format!("pid {pid}"),
            (None, None) => "-".to_owned(),
        },
    )
}

/// One line: index, time, who, what came of it, what, and why.
pub(super) fn line(out: &mut Output, logs: &[LogReader], event: &MatchedEvent, widths: &Widths) {
    let start = format!(
        "{:<log$}{:>index$}  ",
        label(logs, event),
        event.index,
        log = widths.log,
        index = widths.index
    );
    let text = match Record::parse(&event.leaf) {
        Err(_) => escape(&event.leaf),
        Ok(record) => format!(
            "{}  {:<who$}  {:<7}  {:<kind$} {}",
            // To the second: the order is the index.
            escape(record.t_wall.get(..19).unwrap_or_default().as_bytes()),
            self::who(&record),
            EventOutcome::of(&record).word(),
            record.kind.name(),
            describe(&record),
            who = widths.who,
            kind = widths.kind,
        ),
    };
    out.folded(format!("{start}{text}").trim_end(), start.len());
}
