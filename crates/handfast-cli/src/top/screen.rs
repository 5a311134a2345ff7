//! A look at a broker, drawn for people or put together for programs.

use std::collections::HashMap;

use handfast::escape;
use handfast_broker::{Denial, LeaseInfo};

use super::snapshot::{Counts, Snapshot};
use super::view::TableView;
use crate::json::{Json, JsonObject};
use crate::lease::told;
use crate::width::{aligned, duration};

/// How much fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    pub(super) fn of_terminal() -> Self {
        match rustix::termios::tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Self {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            _ => Self {
                columns: 80,
                rows: 24,
            },
        }
    }
}

/// As many refusals are shown.
const MOST_DENIALS: usize = 8;

/// The picture, line by line, cut to what fits.
pub(super) fn lines(
    now: &Snapshot,
    before: Option<&Snapshot>,
    size: Size,
    view: &TableView,
) -> Vec<String> {
    let mut lines = vec![format!(
        "broker  pid {}  uid {}  leases {}  drafts {}  acquired {}  ended {}",
        now.pid,
        now.uid,
        now.leases.len(),
        now.counts.drafts,
        now.counts.acquired,
        now.counts.ended,
    )];
    lines.push(match before {
        Some(before) => {
            let rate =
                |of: fn(&Counts) -> u64| rate(of(&now.counts), of(&before.counts), now, before);
            format!(
                "a second  calls {:.1}  opens {:.1}  commits {:.1}  refusals {:.1}",
                rate(|counts| counts.calls),
                rate(|counts| counts.opened),
                rate(|counts| counts.committed),
                rate(|counts| counts.denied),
            )
        }
        None => format!(
            "so far  calls {}  opens {}  commits {}  refusals {}",
            now.counts.calls, now.counts.opened, now.counts.committed, now.counts.denied,
        ),
    });
    // On a small screen leases come first: refusals have at most half of what is left.
    let most = MOST_DENIALS.min(size.rows.saturating_sub(9) / 2);
    let denials: Vec<String> = now.denials.iter().take(most).map(denial).collect();
    // Two lines and a gap above the table, its head, what is left out, and the cursor's line.
    let below = if denials.is_empty() {
        0
    } else {
        denials.len() + 2
    };
    let room = size.rows.saturating_sub(7 + below).max(1);
    lines.push(String::new());
    let mut table = vec![
        [
            "HANDLE", "HOLDER", "LEFT", "OPENS", "/S", "OUT", "VERBS", "PATHS",
        ]
        .map(str::to_owned),
    ];
    let mut busy = by_activity(now, before);
    busy.retain(|(lease, _)| view.shows(lease));
    // What was scrolled away and is not there any more leaves the last page.
    let offset = view.offset.min(busy.len().saturating_sub(room));
    table.extend(
        busy.iter()
            .skip(offset)
            .take(room)
            .map(|(lease, rate)| row(lease, *rate)),
    );
    let mut drawn = aligned(&table);
    if drawn.iter().any(|line| line.chars().count() > size.columns) {
        // `lease list` has the whole handle; here what it covers matters more.
        for row in &mut table {
            row[0] = shortened(&row[0]);
        }
        drawn = aligned(&table);
    }
    lines.extend(drawn);
    let left = busy.len().saturating_sub(offset + room);
    match (offset, left) {
        (0, 0) => {}
        (0, left) => lines.push(format!("… and {left} more")),
        (above, left) => lines.push(format!("… {above} above, and {left} more")),
    }
    if !denials.is_empty() {
        lines.push(String::new());
        lines.push("REFUSED".to_owned());
        lines.extend(denials);
    }
    lines
        .into_iter()
        .map(|line| line.chars().take(size.columns).collect())
        .collect()
}

fn rate(now: u64, before: u64, new: &Snapshot, old: &Snapshot) -> f64 {
    let seconds = new.at.saturating_duration_since(old.at).as_secs_f64();
    // A broker that was started again counts from nothing.
    let more = now.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "a rate, for people")]
    let more = more as f64;
    if seconds > 0.0 { more / seconds } else { 0.0 }
}

/// Leases, the busiest first, with their opens a second.
fn by_activity<'a>(
    now: &'a Snapshot,
    before: Option<&Snapshot>,
) -> Vec<(&'a LeaseInfo, Option<f64>)> {
    let known: HashMap<&str, u64> = before
        .into_iter()
        .flat_map(|before| &before.leases)
        .map(|lease| (lease.handle.as_str(), lease.opens()))
        .collect();
    let mut busy: Vec<(&LeaseInfo, Option<f64>)> = now
        .leases
        .iter()
        .map(|lease| {
            let rate = before.map(|before| {
                let then = known.get(lease.handle.as_str()).copied().unwrap_or(0);
                rate(lease.opens(), then, now, before)
            });
            (lease, rate)
        })
        .collect();
    busy.sort_by(|(a, a_rate), (b, b_rate)| {
        let by_rate = b_rate.unwrap_or(0.0).total_cmp(&a_rate.unwrap_or(0.0));
        by_rate
            .then(b.opens().cmp(&a.opens()))
            .then(a.handle.cmp(&b.handle))
    });
    busy
}

fn row(lease: &LeaseInfo, rate: Option<f64>) -> [String; 8] {
    let safe = |text: &str| escape(text.as_bytes());
    [
        safe(&lease.handle),
        told::bound(lease),
        duration(lease.ttl),
        lease.opens().to_string(),
        rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}")),
        lease.outstanding().to_string(),
        safe(&lease.verbs.join(",")),
        safe(&lease.paths.join(" ")),
    ]
}

/// The first of the digits that end a handle.
fn shortened(handle: &str) -> String {
    match handle.rsplit_once('~') {
        Some((start, digits)) if digits.len() > 8 && digits.is_ascii() => {
            format!("{start}~{}…", &digits[..8])
        }
        _ => handle.to_owned(),
    }
}

fn denial(denial: &Denial) -> String {
    let safe = |text: &str| escape(text.as_bytes());
    let times = match denial.count() {
        1 => String::new(),
        count => format!("  {count} times"),
    };
    let time = denial.time.split('T').next_back().unwrap_or_default();
    let time = time.split('.').next().unwrap_or_default();
    format!(
        "{}  uid {} pid {}  {}  `{}`{times}  {}",
        safe(time),
        denial.uid,
        denial.pid,
        safe(&denial.verb),
        escape(&denial.path()),
        safe(&denial.why),
    )
}

/// The picture for programs.
pub(super) fn object(now: &Snapshot, before: Option<&Snapshot>, view: &TableView) -> JsonObject {
    let counts = |counts: &Counts| {
        JsonObject::new()
            .with("calls", counts.calls.to_string())
            .with("denied", counts.denied.to_string())
            .with("opened", counts.opened.to_string())
            .with("committed", counts.committed.to_string())
            .with("acquired", counts.acquired.to_string())
            .with("ended", counts.ended.to_string())
            .with("drafts", counts.drafts.to_string())
    };
    let since = before.map(|before| {
        let passed = now.at.saturating_duration_since(before.at).as_millis();
        JsonObject::new()
            .with("milliseconds", u64::try_from(passed).unwrap_or(u64::MAX))
            .with("counts", Json::Object(counts(&before.counts)))
    });
    let leases = now
        .leases
        .iter()
        .filter(|lease| view.shows(lease))
        .map(|lease| Json::Object(told::object(lease)));
    let denials = now.denials.iter().map(|denial| {
        Json::Object(
            JsonObject::new()
                .with("time", denial.time.as_str())
                .with("uid", denial.uid)
                .with("pid", denial.pid)
                .with("lease", denial.lease.clone())
                .with("verb", denial.verb.as_str())
                .with_bytes("path", &denial.path())
                .with("why", denial.why.as_str())
                .with("count", denial.count().to_string()),
        )
    });
    JsonObject::new()
        .with("pid", now.pid)
        .with("uid", now.uid)
        .with("counts", Json::Object(counts(&now.counts)))
        .with("before", since.map_or(Json::Null, Json::Object))
        .with("leases", Json::List(leases.collect()))
        .with("denials", Json::List(denials.collect()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn lease(handle: &str, opens: u64) -> LeaseInfo {
        serde_json::from_value(serde_json::json!({
            "handle": handle, "uid": 1, "bind": "process", "pid": 7, "paths": ["src/**\u{1b}[2J"],
            "verbs": ["read"], "issue_time": "", "expire_time": "", "ttl": 60, "renewable": true,
            "opens": opens.to_string(), "outstanding": "1",
        }))
        .unwrap()
    }

    fn snapshot(at: Instant, opens: [u64; 2]) -> Snapshot {
        let refused = serde_json::json!({
            "time": "2026-01-02T03:04:05.6Z", "uid": 1, "pid": 9, "verb": "open",
            "path": "a\u{7}b", "why": "no", "count": "3",
        });
        Snapshot {
            at,
            pid: 5,
            uid: 1,
            counts: Counts {
                calls: opens[0] + opens[1],
                ..Counts::default()
            },
            leases: vec![
                lease("u1/quiet/~1", opens[0]),
                lease("u1/busy/~2", opens[1]),
            ],
            denials: vec![serde_json::from_value(refused).unwrap()],
        }
    }

    /// As many are said to be left out.
    fn count_left(drawn: &[String]) -> usize {
        let line = drawn.iter().find_map(|line| line.strip_prefix("… and "));
        let number = line.and_then(|line| line.split(' ').next()?.parse().ok());
        number.unwrap_or(0)
    }

    const LARGE: Size = Size {
        columns: 200,
        rows: 50,
    };

    #[test]
    fn the_busiest_comes_first_and_nothing_reaches_the_terminal_unescaped() {
        let start = Instant::now();
        let before = snapshot(start, [100, 0]);
        let now = snapshot(start + Duration::from_secs(2), [100, 50]);
        let drawn = lines(&now, Some(&before), LARGE, &TableView::default());
        assert!(drawn[1].contains("calls 25.0"), "{drawn:?}");
        assert!(
            drawn[4].starts_with("u1/busy/~2") && drawn[4].contains("25.0"),
            "{drawn:?}"
        );
        assert!(drawn[5].starts_with("u1/quiet/~1"));
        assert!(
            drawn
                .last()
                .unwrap()
                .starts_with("03:04:05  uid 1 pid 9  open"),
            "{drawn:?}"
        );
        assert!(drawn.last().unwrap().contains("3 times"));
        assert!(
            drawn.iter().all(|line| !line.chars().any(char::is_control)),
            "{drawn:?}"
        );
        // A broker that was started again has counted less, which is no negative rate.
        let again = snapshot(start + Duration::from_secs(4), [0, 1]);
        assert!(lines(&again, Some(&now), LARGE, &TableView::default())[1].contains("calls 0.0"));
    }

    #[test]
    fn a_small_screen_holds_all_of_it() {
        let mut now = snapshot(Instant::now(), [1, 2]);
        now.leases = (0..100)
            .map(|n| lease(&format!("u1/t/~{n:03}"), n))
            .collect();
        let one = now.denials.first().unwrap().clone();
        now.denials = vec![one; 50];
        for rows in 10..60 {
            let size = Size { columns: 80, rows };
            let drawn = lines(&now, None, size, &TableView::default());
            // The keys have the last line.
            assert!(drawn.len() < rows, "{rows}: {}", drawn.len());
            let leases = drawn.iter().filter(|line| line.starts_with("u1/t/~"));
            assert!(rows < 14 || leases.count() >= 3, "{rows}: {drawn:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said_and_not_drawn() {
        let mut now = snapshot(Instant::now(), [1, 2]);
        now.leases = (0..100)
            .map(|n| lease(&format!("u1/t/~{n:03}"), n))
            .collect();
        let size = Size {
            columns: 40,
            rows: 20,
        };
        assert_eq!(shortened("u1/t/~0123456789abcdef"), "u1/t/~01234567…");
        let seen = |view: &TableView| lines(&now, None, size, view);
        let drawn = seen(&TableView::default());
        assert!(drawn.len() < 20, "{}", drawn.len());
        assert!(drawn.iter().all(|line| line.chars().count() <= 40));
        assert!(
            drawn.iter().any(|line| line.starts_with("… and ")),
            "{drawn:?}"
        );
        assert!(
            drawn[4].starts_with("u1/t/~099"),
            "most opens first: {drawn:?}"
        );
        let scrolled = TableView {
            offset: 3,
            ..TableView::default()
        };
        let drawn = seen(&scrolled);
        assert!(drawn[4].starts_with("u1/t/~096"), "{drawn:?}");
        assert!(drawn.iter().any(|line| line.starts_with("… 3 above, and ")));
        // Beyond the end is the last page.
        let beyond = TableView {
            offset: 1000,
            ..TableView::default()
        };
        assert!(seen(&beyond).iter().any(|line| line.contains("~000")));
        let drawn = seen(&TableView::of(Some("~04")));
        let rows = drawn.iter().filter(|line| line.starts_with("u1/t/~04"));
        assert_eq!(rows.count() + count_left(&drawn), 10, "{drawn:?}");
    }
}
