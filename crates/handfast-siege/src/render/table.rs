//! For people: one line for each attack and backend, and every cell that is not well.

use super::{circumstances, refusals, remarks, share};
use crate::cell::{Cell, Finding};
use crate::layers::EVERY;
use crate::report::Report;

/// The report as a table. `every` shows a line for each verb too.
#[must_use]
pub fn table(report: &Report, every: bool) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(words.trim_end());
        text.push('\n');
    };
    line(format!("siege: {}", circumstances(report)));
    for (name, does, harm) in &report.attacks {
        line(String::new());
        line(format!("{name}: {does}"));
        line(format!("  harm: {harm}"));
        for cell in report.cells.iter().filter(|cell| cell.attack == *name) {
            if cell.control {
                line(control_line(cell));
            }
        }
        for layer in EVERY {
            let backend = layer.name();
            let cells: Vec<_> = report
                .victims()
                .filter(|cell| cell.attack == *name && cell.backend == backend)
                .collect();
            if cells.is_empty() {
                continue;
            }
            line(summary(backend, &cells));
            for cell in cells {
                if every || cell.finding() != Finding::Held {
                    line(cell_line(cell));
                    for words in cell.harm.iter().chain(&cell.odd) {
                        line(format!("      {words}"));
                    }
                }
            }
        }
    }
    let remarks = remarks(report);
    if !remarks.is_empty() {
        line(String::new());
        remarks.into_iter().for_each(&mut line);
    }
    text
}

fn control_line(cell: &Cell) -> String {
    let way = cell.attackers.join("+");
    let attempts = match cell.attempts {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    };
    match cell.finding() {
        Finding::Busy => format!(
            "  control {} ({way}): not beaten in {attempts}: starved, {}",
            cell.verb,
            cell.busy.as_deref().unwrap_or_default()
        ),
        Finding::Weak => format!(
            "  control {} ({way}): NOT beaten in {attempts}: too weak to tell",
            cell.verb
        ),
        _ => format!("  control {} ({way}): beaten after {attempts}", cell.verb),
    }
}

fn summary(backend: &str, cells: &[&Cell]) -> String {
    let sum = |of: fn(&Cell) -> u64| cells.iter().map(|cell| of(cell)).sum::<u64>();
    let (attempts, escapes) = (sum(|cell| cell.attempts), sum(|cell| cell.escapes));
    let mut all = Cell::default();
    for cell in cells {
        all.absorb((*cell).clone());
    }
    let worst = cells.iter().map(|cell| cell.finding()).max();
    let mut words = format!(
        "  {:<7} {:>2} verbs {:>9} attempts {:>3} escapes {:>3} spurious  {:>5} succeed  {}",
        backend,
        cells.len(),
        attempts,
        escapes,
        sum(|cell| cell.spurious),
        share(sum(|cell| cell.succeeded), attempts),
        worst.unwrap_or(Finding::Weak).name(),
    );
    if !all.refused.is_empty() {
        words.push_str(&format!("  ({})", refusals(&all)));
    }
    words
}

fn cell_line(cell: &Cell) -> String {
    format!(
        "    {:<15} {:>7} attempts {:>3} escapes {:>3} spurious  {:>5} succeed ({} of {} needed)  {}  {}",
        cell.verb,
        cell.attempts,
        cell.escapes,
        cell.spurious,
        share(cell.succeeded, cell.attempts),
        cell.succeeded,
        cell.needed(),
        cell.finding().name(),
        refusals(cell),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::{cell, control};

    fn report(cells: Vec<Cell>) -> Report {
        Report {
            rounds: 1000,
            filesystem: "tmpfs".to_owned(),
            user: "root",
            cells,
            attacks: vec![("directory-swap", "it swaps", "it leaks")],
            milliseconds: 1234,
            ..Report::default()
        }
    }

    #[test]
    fn what_is_well_is_one_line_and_what_is_not_is_shown() {
        let bad = Cell {
            escapes: 2,
            harm: Some("changed outside: outside/data".to_owned()),
            ..cell("write")
        };
        let text = table(&report(vec![cell("read"), control(), bad]), false);
        assert!(text.contains("siege: 1000 rounds a cell, on tmpfs, as root, 1.2 s"));
        assert!(text.contains("control naive-read (thread): beaten after 12 attempts"));
        assert!(
            text.contains("2 verbs      2000 attempts   2 escapes"),
            "{text}"
        );
        assert!(text.contains("ESCAPED") && text.contains("outside/data"));
        assert!(!text.contains("    read "), "{text}");
        let text = table(&report(vec![cell("read"), control()]), true);
        assert!(text.contains("    read "), "{text}");
    }

    #[test]
    fn a_weak_control_is_told() {
        let weak = Cell {
            escapes: 0,
            ..control()
        };
        let text = table(&report(vec![cell("read"), weak]), false);
        assert!(text.contains("NOT beaten in 12 attempts: too weak to tell"));
    }
}
