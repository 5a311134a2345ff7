//! What is printed.

mod cells;
mod json;
mod markdown;
mod table;

pub use json::json;
pub use markdown::markdown;
pub use table::table;

use crate::Failure;
use crate::budgets::{Budget, Outcome, Verdict};
use crate::clock::Clock;
use crate::column::Column;
use crate::footprint::Footprint;
use crate::machine::Machine;
use crate::run::Measured;

/// A place where everything was measured.
#[derive(Debug)]
pub struct MeasuredAt {
    /// What it is called: its filesystem.
    pub name: String,
    /// The rows.
    pub rows: Vec<Measured>,
    /// What operations need besides time.
    pub footprints: Vec<Footprint>,
    /// How many descriptors each column holds between operations.
    pub at_rest: Vec<(Column, usize)>,
    /// What became of the budgets, if that was asked for.
    pub verdicts: Vec<Verdict>,
}

impl MeasuredAt {
    /// Compares with every budget that is about a row of this run.
    ///
    /// # Errors
    /// If the table of budgets is wrong.
    pub fn judge(&mut self) -> Result<(), Failure> {
        self.verdicts = Budget::all()?
            .iter()
            .filter_map(|budget| budget.check(&self.rows))
            .collect();
        Ok(())
    }
}

/// A whole run.
#[derive(Debug)]
pub struct Report {
    /// On which machine.
    pub machine: Machine,
    /// How often every column had its turn.
    pub rounds: usize,
    /// Where.
    pub places: Vec<MeasuredAt>,
    /// The clocks that people want to see.
    pub clocks: Vec<Clock>,
    /// The file that a chart was drawn into, as a document beside it names it.
    pub chart: Option<String>,
}

impl Report {
    /// What was measured, and how often, in a line.
    pub(crate) fn subject(&self) -> String {
        let machine = &self.machine;
        let rows = || self.places.iter().flat_map(|place| &place.rows);
        let fewest = rows().map(Measured::rounds).min().unwrap_or(0);
        let rounds = match self.rounds {
            all if all == fewest => format!("{all} rounds"),
            most => format!("{most} rounds, down to {fewest} for what takes long"),
        };
        format!(
            "{}, {} cores, {}; {rounds}",
            machine.cpu, machine.cores, machine.kernel
        )
    }

    /// How many verdicts came out so, in all places.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> usize {
        self.places
            .iter()
            .flat_map(|place| &place.verdicts)
            .filter(|verdict| verdict.outcome == outcome)
            .count()
    }
}
