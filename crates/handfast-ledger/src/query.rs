//! Which events somebody asks for.

use handfast::escape;

use crate::event::{EventKind, Record};

/// What an event must be; what is not said may be anything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The path that was asked for, its destination, or an entry; a directory covers all below.
    pub path: Option<Vec<u8>>,
    /// The object, as `dev:ino`, or `dev:ino@birth`: whatever its name was.
    pub handle: Option<String>,
    /// The process.
    pub pid: Option<u32>,
    /// Who asked.
    pub agent: Option<String>,
    /// Under which lease.
    pub lease: Option<String>,
    /// The type of the event, one of these; none given is any.
    pub kinds: Vec<EventKind>,
    /// Only refusals and failures.
    pub denied: bool,
    /// Not before this time: RFC 3339, or the beginning of it.
    pub since: Option<String>,
}

impl Filter {
    /// Whether an event is asked for.
    #[must_use]
    pub fn matches(&self, record: &Record<'_>) -> bool {
        let workload = record.wl.as_ref();
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        (self.kinds.is_empty() || self.kinds.contains(&record.kind))
            && is(&self.agent, workload.and_then(|wl| wl.agent_id.as_deref()))
            && is(&self.lease, record.lease.as_ref().map(|lease| &*lease.id))
            && self
                .pid
                .is_none_or(|pid| workload.and_then(|wl| wl.pid) == Some(pid))
            && (!self.denied || record.is_denied())
            && self
                .since
                .as_deref()
                .is_none_or(|since| &*record.t_wall >= since)
            && self
                .path
                .as_deref()
                .is_none_or(|path| touches(record, path))
            && self
                .handle
                .as_deref()
                .is_none_or(|handle| is_object(record, handle))
    }
}

fn touches(record: &Record<'_>, path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let below = |found: &[u8]| {
        found == path
            || found
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(b"/"))
    };
    let asked = record.path_bytes();
    asked.as_deref().is_some_and(below)
        || record.destination_bytes().as_deref().is_some_and(below)
        || record.entries.iter().any(|entry| {
            let base = asked.as_deref().unwrap_or_default();
            let rest = entry.path_bytes().unwrap_or_default();
            below(&[base, b"/", &rest].concat())
        })
}

fn is_object(record: &Record<'_>, handle: &str) -> bool {
    record.obj.as_ref().is_some_and(|object| {
        let found = object.handle();
        found == handle || found.split('@').next() == Some(handle)
    })
}

/// `1 entry`, `2 entries`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// One event as one line for people: everything in it that others chose is escaped.
#[must_use]
pub fn describe(record: &Record<'_>) -> String {
    let safe = |text: &str| escape(text.as_bytes());
    let mut line = String::new();
    if let Some(path) = record.path_bytes() {
        line.push_str(&format!(" `{}`", escape(&path)));
    }
    if let Some(path) = record.destination_bytes() {
        line.push_str(&format!(" to `{}`", escape(&path)));
    }
    if !record.entries.is_empty() {
        let entries = counted(record.entries.len() as u64, "entry", "entries");
        line.push_str(&format!(" {entries}"));
    }
    let refused = [
        record
            .decision
            .as_ref()
            .map(|decision| (&decision.kind, &decision.why)),
        record
            .result
            .as_ref()
            .map(|result| (&result.kind, &result.why)),
    ];
    for (kind, why) in refused.into_iter().flatten() {
        if let (Some(kind), Some(why)) = (kind, why) {
            line.push_str(&format!(" ({}: {})", safe(kind), safe(why)));
        }
    }
    if let Some(fold) = &record.fold {
        line.push_str(&format!(
            " {} times, paths {}",
            fold.count.0,
            safe(&fold.paths)
        ));
    }
    if let Some(start) = &record.start {
        line.push_str(&format!(
            " level {}, {}",
            safe(&start.level),
            safe(&start.software)
        ));
    }
    if let Some(stop) = &record.stop {
        line.push_str(&format!(" {}", safe(&stop.reason)));
    }
    if let Some(recovery) = &record.recovery {
        let bytes = counted(recovery.dropped_bytes.0, "byte", "bytes");
        let events = counted(recovery.unsigned_events.0, "event was", "events were");
        line.push_str(&format!(" {bytes} dropped, {events} not signed"));
    }
    if let Some(gap) = &record.gap {
        line.push_str(&format!(" {}", safe(&gap.reason)));
    }
    if let Some(rotate) = &record.rotate {
        line.push_str(&format!(" to {}", safe(&rotate.next_vkey)));
    }
    if let Some(retention) = &record.retention {
        let (from, policy) = (retention.min_index.0, safe(&retention.policy));
        line.push_str(&format!(" kept from {from}: {policy}"));
    }
    if let Some(clock) = &record.clock {
        line.push_str(&format!(" by {} ns", safe(&clock.by_ns)));
    }
    line.trim_start().to_owned()
}
