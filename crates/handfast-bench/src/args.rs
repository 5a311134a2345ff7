//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::column::Column;
use crate::layers::Amount;
use crate::run::Effort;
use crate::scale::Scale;

/// Measures Handfast beside raw system calls, the standard library and its peers.
///
/// Exit code 0, or with --check: 1 if a budget is missed, 3 if a column that a budget is about is
/// not in this build (see the feature `peers`). 2 is wrong usage, 3 that it could not be measured.
#[derive(Clone, Debug, Parser)]
#[command(name = "handfast-bench", version)]
pub struct Args {
    /// Measures in this directory as well: in a scratch directory, which is removed again
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Measures only in the directory given by --dir
    #[arg(long, requires = "dir")]
    pub only_dir: bool,

    /// Only these rows, or those with this in their name; separated by commas
    #[arg(long, value_name = "PATTERN")]
    pub rows: Option<String>,

    /// Only these columns, separated by commas: for a profiler's eyes
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = column)]
    pub columns: Vec<Column>,

    /// How often every column has its turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// Fewer and shorter rounds, for a first look: about a minute
    #[arg(long)]
    pub quick: bool,

    /// Everything once, on small trees: for tests
    #[arg(long, hide = true)]
    pub once: bool,

    /// Prints JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,

    /// Prints a section for a document, in Markdown
    #[arg(long)]
    pub markdown: bool,

    /// Prints wall time as well
    #[arg(long)]
    pub wall: bool,

    /// Draws a chart into this file as well (feature `plot`)
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Compares with the budgets, and says by how much they are kept or missed
    #[arg(long)]
    pub check: bool,

    /// Measures sessions instead, in --dir or the directory for temporary files
    #[arg(long, conflicts_with_all = ["rows", "columns", "rounds", "svg", "list"])]
    pub sessions: bool,

    /// Measures the log instead, in --dir or the directory for temporary files; --rows chooses
    /// among disk, strict, ordered, batch, cpu and verify
    #[arg(long, conflicts_with_all = ["columns", "rounds", "svg", "list"])]
    pub ledger: bool,

    /// Measures a broker with 200 clients instead, beside a bare server that passes descriptors, in
    /// --dir or the directory for temporary files
    #[arg(long, conflicts_with_all = ["columns", "rounds", "svg", "list"])]
    pub broker: bool,

    /// Prints the names of the rows and measures nothing
    #[arg(long)]
    pub list: bool,
}

fn column(name: &str) -> Result<Column, String> {
    Column::from_name(name).ok_or_else(|| {
        let names = Column::built().map(Column::name).collect::<Vec<_>>();
        format!("there are {}", names.join(", "))
    })
}

impl Args {
    /// How much is measured.
    #[must_use]
    pub fn effort(&self) -> Effort<'_> {
        let effort = match (self.once, self.quick) {
            (true, _) => Effort::ONCE,
            (_, true) => Effort::QUICK,
            _ => Effort::FULL,
        };
        let effort = Effort {
            columns: &self.columns,
            ..effort
        };
        match self.rounds.and_then(|rounds| usize::try_from(rounds).ok()) {
            // A caller who says how many wants them all.
            Some(rounds) => Effort {
                rounds,
                least: rounds,
                ..effort
            },
            None => effort,
        }
    }

    /// How much of the layers is measured.
    #[must_use]
    pub fn amount(&self) -> Amount {
        match (self.once, self.quick) {
            (true, _) => Amount::Once,
            (_, true) => Amount::Quick,
            _ => Amount::Full,
        }
    }

    /// How large the trees are.
    #[must_use]
    pub fn scale(&self) -> Scale {
        match (self.once, self.quick) {
            (true, _) => Scale::SMALL,
            (_, true) => Scale::QUICK,
            _ => Scale::FULL,
        }
    }
}
