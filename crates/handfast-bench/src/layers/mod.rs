//! What the layers above the library cost: sessions, the log and the broker. Figures instead of rows: each has
//! another measure and some have a promise of the design.

mod broker;
mod event;
mod floors;
pub mod ledger;
mod peer;
pub mod session;

use std::path::Path;

pub(crate) use broker::{answer, round_trip, rulebook_of};
use serde_json::{Value, json};

use crate::Failure;
use crate::budgets::Outcome;

/// What a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Promise {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

/// One thing that was measured.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name, as it is in JSON.
    pub id: String,
    /// The name for people.
    pub title: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// What the design promises, where it does.
    pub promise: Option<Promise>,
}

impl Figure {
    fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            value,
            unit,
            promise: None,
        }
    }

    fn at_most(mut self, most: f64) -> Self {
        self.promise = Some(Promise::AtMost(most));
        self
    }

    fn at_least(mut self, least: f64) -> Self {
        self.promise = Some(Promise::AtLeast(least));
        self
    }

    /// Whether its promise was kept; nothing where there is none.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        let kept = match self.promise? {
            _ if !self.value.is_finite() => return Some(Outcome::NotMeasured),
            Promise::AtMost(most) => self.value <= most,
            Promise::AtLeast(least) => self.value >= least,
        };
        Some(if kept { Outcome::Pass } else { Outcome::Miss })
    }

    fn shown(&self) -> String {
        match self.value {
            value if !value.is_finite() => "–".to_owned(),
            value if value.abs() >= 100.0 => format!("{value:.0} {}", self.unit),
            value => format!("{value:.2} {}", self.unit),
        }
    }

    fn shown_promise(&self) -> String {
        match (self.promise, self.outcome()) {
            (Some(Promise::AtMost(most)), Some(outcome)) => format!("≤ {most}: {}", outcome.name()),
            (Some(Promise::AtLeast(least)), Some(outcome)) => {
                format!("≥ {least}: {}", outcome.name())
            }
            _ => String::new(),
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// For a document.
    Full,
    /// For a first look.
    Quick,
    /// Everything once, for tests.
    Once,
}

/// Which layers are measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Sessions.
    pub sessions: bool,
    /// The log, or the rows of it that are named, separated by commas.
    pub log: Option<Option<&'a str>>,
    /// A broker with many clients.
    pub broker: bool,
}

/// Measures some layers in a directory.
///
/// # Errors
/// What stops it.
pub fn measure(dir: &Path, amount: Amount, wanted: Wanted<'_>) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    if wanted.sessions {
        figures.extend(session::measure(dir, amount)?);
    }
    if let Some(rows) = wanted.log {
        figures.extend(ledger::measure(dir, amount, rows)?);
    }
    if wanted.broker {
        figures.extend(broker::measure(dir, amount)?);
    }
    Ok(figures)
}

/// The figures as a table in Markdown, which people can read too.
#[must_use]
pub fn table(figures: &[Figure]) -> String {
    let mut text = "| what | measured | promised |\n|---|---:|---|\n".to_owned();
    for figure in figures {
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            figure.title,
            figure.shown(),
            figure.shown_promise()
        ));
    }
    text
}

/// The figures for programs.
#[must_use]
pub fn json(figures: &[Figure]) -> Value {
    let one = |figure: &Figure| {
        json!({
            "id": figure.id,
            "value": figure.value.is_finite().then_some(figure.value),
            "unit": figure.unit,
            "atMost": match figure.promise { Some(Promise::AtMost(most)) => Some(most), _ => None },
            "atLeast": match figure.promise { Some(Promise::AtLeast(least)) => Some(least), _ => None },
            "outcome": figure.outcome().map(Outcome::name),
        })
    };
    json!({ "version": 1, "figures": figures.iter().map(one).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_kept_missed_or_not_measured() {
        let figure = |value| Figure::new("x", "x", value, "ms");
        assert_eq!(figure(1.0).outcome(), None);
        assert_eq!(figure(1.0).at_most(1.0).outcome(), Some(Outcome::Pass));
        assert_eq!(figure(1.1).at_most(1.0).outcome(), Some(Outcome::Miss));
        assert_eq!(figure(1.1).at_least(1.0).outcome(), Some(Outcome::Pass));
        let unknown = figure(f64::NAN).at_least(1.0);
        assert_eq!(unknown.outcome(), Some(Outcome::NotMeasured));
        assert!(table(&[unknown]).contains("| x | – | ≥ 1: not measured |"));
    }
}
