//! For programs.
//!
//! `{"version":1,"verdict":…,"cells":[…],…}`. A cell has `verb`, `attack`, `backend`, `control`,
//! `attempts`, `succeeded`, `refused` (a count for each kind), `spurious`, `escapes`, `swaps`; and
//! beside these `good` (attempts while the tree was as the caller wants it), `needed` (successes
//! below which the cell is starved), `links`, `attackers`, `finding`, `harm`, `odd`, `busy` (who had the
//! processors, where nothing could be shown). A control has `"control":true` and the backend `none`.
//! Beside the cells, `raced` has the share of `Raced` answers to swapped files.

use serde_json::{Map, Value, json as value};

use crate::cell::Cell;
use crate::report::{Report, Verdict};

/// The report as one JSON object on one line.
#[must_use]
pub fn json(report: &Report) -> String {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("version", value!(1));
    put("ok", value!(report.verdict() == Verdict::Held));
    put("verdict", value!(report.verdict().name()));
    put("sentence", value!(report.sentence()));
    put("rounds", value!(report.rounds));
    put("filesystem", value!(report.filesystem));
    put("user", value!(report.user));
    put("milliseconds", value!(report.milliseconds));
    put("cut_short", value!(report.cut_short));
    put("broken_off", value!(report.broken_off));
    let raced = report.raced();
    put(
        "raced",
        raced
            .iter()
            .map(|(backend, calls, raced)| value!({"backend": backend, "calls": calls, "raced": raced}))
            .collect(),
    );
    put("cells", report.cells.iter().map(cell).collect());
    let skipped = report.skipped.iter();
    put(
        "skipped",
        skipped
            .map(|skipped| value!({"what": skipped.what, "why": skipped.why}))
            .collect(),
    );
    let attacks = report.attacks.iter();
    put(
        "attacks",
        attacks
            .map(|(name, does, harm)| value!({"name": name, "does": does, "harm": harm}))
            .collect(),
    );
    Value::Object(fields).to_string()
}

fn cell(cell: &Cell) -> Value {
    value!({
        "verb": cell.verb,
        "attack": cell.attack,
        "backend": cell.backend,
        "control": cell.control,
        "attempts": cell.attempts,
        "succeeded": cell.succeeded,
        "refused": cell.refused,
        "spurious": cell.spurious,
        "escapes": cell.escapes,
        "swaps": cell.swaps,
        "good": cell.good,
        "needed": cell.needed(),
        "links": cell.links,
        "attackers": cell.attackers,
        "finding": cell.finding().name(),
        "harm": cell.harm,
        "odd": cell.odd,
        "busy": cell.busy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::{cell, control};

    #[test]
    fn cells_have_the_promised_keys() {
        let report = Report {
            cells: vec![cell("read"), control()],
            ..Report::default()
        };
        let value: Value = serde_json::from_str(&json(&report)).unwrap();
        assert_eq!(value["version"], 1);
        assert_eq!(value["verdict"], "held");
        let first = &value["cells"][0];
        assert_eq!(first["verb"], "read");
        assert_eq!(first["attack"], "directory-swap");
        assert_eq!(first["backend"], "walk");
        assert_eq!(first["control"], false);
        assert_eq!(first["refused"]["Link"], 520);
        for key in ["attempts", "succeeded", "spurious", "escapes", "swaps"] {
            assert!(first[key].is_u64(), "{key}");
        }
        assert_eq!(value["cells"][1]["control"], true);
        assert!(!json(&report).contains('\n'));
    }
}
