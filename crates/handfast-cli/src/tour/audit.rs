//! The auditor looks at the naive writer, and at one that was repaired.

use super::Surprise;
use super::stage::TourDirectory;
use super::teller::{Teller, silently};
use crate::exit::Exit;

const NAIVE: &str = include_str!("code/naive.rs.txt");
const REPAIRED: &str = include_str!("code/repaired.rs.txt");
/// As much of a report as fits a tour.
const LINES: usize = 6;

pub(super) fn show(stage: &TourDirectory, teller: &mut Teller<'_>) -> Result<(), Surprise> {
    teller.heading("The same mistake, found in code");
    teller.say(
        "An upload handler with a check like the first writer's, and the same handler on a \
         `Root`, with tests. The auditor answers every item of a checklist with a line of the \
         code, a reason, or a finding.",
    );
    stage.put("code/naive.rs", NAIVE)?;
    stage.put("code/repaired.rs", REPAIRED)?;
    report(
        stage,
        teller,
        "audit --format text code/naive.rs",
        Exit::No,
        "Verdict: BLOCK",
    )?;
    report(
        stage,
        teller,
        "audit --format text code/repaired.rs",
        Exit::Yes,
        "Verdict: CLEAN",
    )?;
    teller.gap();
    Ok(())
}

/// Runs it and shows the verdict, and what was found, in short.
fn report(
    stage: &TourDirectory,
    teller: &mut Teller<'_>,
    line: &str,
    ends: Exit,
    verdict: &str,
) -> Result<(), Surprise> {
    let said = silently(stage, line, None, ends)?;
    said.must_say(verdict)?;
    let told = said.stdout.lines().filter(|line| {
        line.starts_with("Verdict") || line.starts_with(|first: char| first.is_ascii_digit())
    });
    teller.print(&format!("  $ handfast {line} | grep '^[V0-9]'"));
    for line in told.take(LINES) {
        teller.folded(line);
    }
    Ok(())
}
