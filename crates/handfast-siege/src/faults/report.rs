//! What came of the faults, as data.

use crate::report::{Skipped, Verdict};

use super::judge::FaultAnswer;

/// What was counted in one row.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Count {
    pub(super) runs: u64,
    pub(super) felt: u64,
    pub(super) violations: u64,
    pub(super) first: Option<String>,
}

impl Count {
    pub(super) fn add(
        &mut self,
        answer: FaultAnswer,
        found: Option<String>,
        at: impl FnOnce() -> String,
    ) {
        self.runs += 1;
        self.felt += u64::from(answer != FaultAnswer::Done);
        if let Some(found) = found {
            self.violations += 1;
            self.first
                .get_or_insert_with(|| format!("{}: {found}", at()));
        }
    }

    /// As a worker reports it.
    pub(super) fn line(&self) -> String {
        serde_json::json!([self.runs, self.felt, self.violations, self.first]).to_string()
    }

    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let told: serde_json::Value = serde_json::from_slice(line).ok()?;
        Some(Self {
            runs: told[0].as_u64()?,
            felt: told[1].as_u64()?,
            violations: told[2].as_u64()?,
            first: told[3].as_str().map(str::to_owned),
        })
    }
}

/// One scenario under one kind of fault on one backend; or the naive writer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct FaultRow {
    /// Which fault.
    pub fault: &'static str,
    /// What was done.
    pub scenario: &'static str,
    /// On which backend; `none` for a control.
    pub backend: &'static str,
    /// Whether this is the naive writer, which must come to harm.
    pub control: bool,
    /// At how many places.
    pub points: u64,
    /// How often in all.
    pub runs: u64,
    /// How often the fault was felt: the operation failed or died.
    pub felt: u64,
    /// How often what was there was not what was answered.
    pub violations: u64,
    /// The first of those, in words.
    pub first: Option<String>,
}

/// Everything the faults showed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct FaultReport {
    /// Each kind of fault that was tried: name and what it is.
    pub faults: Vec<(&'static str, &'static str)>,
    /// Rows, controls included.
    pub rows: Vec<FaultRow>,
    /// What was not tried.
    pub skipped: Vec<Skipped>,
    /// On which filesystem.
    pub filesystem: String,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

impl FaultReport {
    /// The verdict: a violation beats weakness, and nothing tried is not a yes.
    pub fn verdict(&self) -> Verdict {
        let rows = || self.rows.iter().filter(|row| !row.control);
        if rows().any(|row| row.violations > 0) {
            return Verdict::Broken;
        }
        match rows().next().is_some() && self.weak().is_empty() {
            true => Verdict::Held,
            false => Verdict::TooWeak,
        }
    }

    /// Faults that show nothing, and why. Not every operation needs what a fault takes away, so that
    /// one that feels nothing is no weakness; but somebody must.
    fn weak(&self) -> Vec<String> {
        let mut weak = Vec::new();
        for (fault, _) in &self.faults {
            let rows = || self.rows.iter().filter(|row| row.fault == *fault);
            if !rows().any(|row| !row.control && row.felt > 0) {
                weak.push(format!("{fault} was not felt"));
            }
            if !rows().any(|row| row.control && row.violations > 0) {
                weak.push(format!("{fault} did not break the naive writer"));
            }
        }
        weak
    }

    /// The verdict in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let rows = || self.rows.iter().filter(|row| !row.control);
        let runs: u64 = rows().map(|row| row.runs).sum();
        match self.verdict() {
            Verdict::Held => format!(
                "every answer was true: 0 violations in {runs} runs, and every fault broke the naive writer"
            ),
            Verdict::Broken => format!(
                "NOT SAFE HERE: {} of {runs} runs left something that was not answered",
                rows().map(|row| row.violations).sum::<u64>()
            ),
            Verdict::Starved | Verdict::TooWeak => match self.weak() {
                weak if weak.is_empty() => "too weak to tell: nothing was shown".to_owned(),
                weak => format!("too weak to tell: {}", weak.join(", ")),
            },
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn report() -> FaultReport {
        let row = FaultRow {
            fault: "kill",
            scenario: "write",
            backend: "walk",
            points: 9,
            runs: 9,
            felt: 9,
            ..FaultRow::default()
        };
        let control = FaultRow {
            scenario: "naive-write",
            backend: "none",
            control: true,
            violations: 2,
            first: Some("write 1: neither old nor new: 0 bytes".to_owned()),
            ..row.clone()
        };
        FaultReport {
            faults: vec![("kill", "the process dies at a call")],
            rows: vec![row, control],
            ..FaultReport::default()
        }
    }

    #[test]
    fn a_yes_needs_a_broken_control_and_a_fault_that_was_felt() {
        assert_eq!(report().verdict(), Verdict::Held);
        let mut unbeaten = report();
        unbeaten.rows[1].violations = 0;
        assert_eq!(unbeaten.verdict(), Verdict::TooWeak);
        assert!(unbeaten.sentence().contains("kill did not break"));
        let mut unfelt = report();
        unfelt.rows[0].felt = 0;
        assert_eq!(unfelt.verdict(), Verdict::TooWeak);
        assert_eq!(FaultReport::default().verdict(), Verdict::TooWeak);
        let mut broken = unbeaten;
        broken.rows[0].violations = 1;
        assert_eq!(broken.verdict(), Verdict::Broken);
    }

    #[test]
    fn counts_survive_being_told() {
        let mut count = Count::default();
        count.add(FaultAnswer::Died, Some("half".to_owned()), || {
            "write 1".to_owned()
        });
        count.add(FaultAnswer::Done, None, String::new);
        assert_eq!(Count::parse(count.line().as_bytes()), Some(count));
        assert_eq!(Count::parse(b""), None);
    }
}
