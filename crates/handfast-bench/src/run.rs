//! The rounds.

use std::time::{Duration, Instant};

use crate::Failure;
use crate::clock::{Clock, Sample, Stopwatch};
use crate::column::Column;
use crate::progress::Progress;
use crate::row::{BatchSetup, Case, Group, Row, Work};
use crate::site::Site;
use crate::stats::Summary;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort<'a> {
    /// Only these columns; all if there are none.
    pub columns: &'a [Column],
    /// How often every column has its turn.
    pub rounds: usize,
    /// How often at least, however long that takes.
    pub least: usize,
    /// How long a row may take before it has to do with fewer rounds.
    pub patience: Duration,
    /// How long one turn should take at least, in nanoseconds of CPU time of the first column.
    pub batch: f64,
}

impl Effort<'_> {
    /// For numbers to keep.
    pub const FULL: Self = Self {
        columns: &[],
        rounds: 41,
        least: 5,
        patience: Duration::from_secs(6),
        batch: 2e6,
    };
    /// For a first look.
    pub const QUICK: Self = Self {
        columns: &[],
        rounds: 15,
        least: 3,
        patience: Duration::from_millis(1_500),
        batch: 1e6,
    };
    /// For tests: everything once.
    pub const ONCE: Self = Self {
        columns: &[],
        rounds: 1,
        least: 1,
        patience: Duration::ZERO,
        batch: 0.0,
    };
}

impl Effort<'_> {
    /// Whether a column is asked for.
    #[must_use]
    pub fn wants(&self, column: Column) -> bool {
        self.columns.is_empty() || self.columns.contains(&column)
    }
}

/// What one column was measured to need, round by round.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which column.
    pub column: Column,
    /// One sample for each round.
    pub samples: Vec<Sample>,
}

impl Cell {
    fn times(&self, clock: Clock) -> Vec<f64> {
        self.samples.iter().map(|sample| clock.of(sample)).collect()
    }
}

/// A row, measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The row's id.
    pub id: String,
    /// The row's title.
    pub title: String,
    /// Operations in a batch.
    pub batch: usize,
    /// What one operation was seen to do, the same in every column.
    pub work: u64,
    /// In which table it stands.
    pub group: Group,
    /// The columns.
    pub cells: Vec<Cell>,
    /// The columns that do not do this, and why.
    pub lacks: Vec<(Column, &'static str)>,
}

impl Measured {
    fn cell(&self, column: Column) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.column == column)
    }

    /// How often every column had its turn.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.cells.first().map_or(0, |cell| cell.samples.len())
    }

    /// Nanoseconds for one operation.
    #[must_use]
    pub fn time(&self, column: Column, clock: Clock) -> Option<Summary> {
        Summary::of(self.cell(column)?.times(clock))
    }

    /// How many times as much one column needs as another.
    #[must_use]
    pub fn ratio(&self, above: Column, below: Column, clock: Clock) -> Option<Summary> {
        let (above, below) = (self.cell(above)?, self.cell(below)?);
        Summary::of_ratios(&above.times(clock), &below.times(clock))
    }
}

/// Measures one row on a site; nothing if it has none of the columns.
///
/// # Errors
/// What the work fails with; or that two columns did not do the same.
pub fn measure(
    row: &Row,
    site: &Site,
    effort: Effort<'_>,
    progress: &mut Progress,
) -> Result<Option<Measured>, Failure> {
    let mut work = row.build(site)?;
    work.cases.retain(|case| effort.wants(case.column));
    work.lacks.retain(|(column, _)| effort.wants(*column));
    if work.cases.is_empty() {
        return Ok(None);
    }
    let (batch, done, cells) = measure_work(&mut work, effort, |round| {
        progress.tell(&row.id, round, effort.rounds)
    })
    .map_err(|failure| format!("{}: {failure}", row.id))?;
    Ok(Some(Measured {
        id: row.id.clone(),
        title: row.title.clone(),
        batch,
        work: done,
        group: row.group,
        cells,
        lacks: work.lacks,
    }))
}

fn measure_work(
    work: &mut Work,
    effort: Effort<'_>,
    mut tell: impl FnMut(usize),
) -> Result<(usize, u64, Vec<Cell>), Failure> {
    let done = check_same_work(work)?;
    let batch = calibrate(work, effort)?;
    let mut cells: Vec<Cell> = work
        .cases
        .iter()
        .map(|case| Cell {
            column: case.column,
            samples: Vec::with_capacity(effort.rounds),
        })
        .collect();
    let begun = Instant::now();
    for round in 0..effort.rounds {
        if round >= effort.least && begun.elapsed() > effort.patience {
            break;
        }
        tell(round);
        for index in shuffled(work.cases.len(), round) {
            let (stage, case) = (work.stage.as_ref(), &mut work.cases[index]);
            if batch > 1 {
                // The contender before left the caches full of its own.
                time(stage, case, (batch / 8).max(1))?;
            }
            let sample = time(stage, case, batch)?;
            cells[index].samples.push(sample);
        }
    }
    Ok((batch, done, cells))
}

/// The turns of a round: each round has another order, so that none always comes after the same.
fn shuffled(turns: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..turns).collect();
    // Any numbers do that differ from round to round; the same ones in each run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(round as u64 + 1);
    for last in (1..turns).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        #[expect(clippy::cast_possible_truncation, reason = "any number does")]
        order.swap(last, state as usize % (last + 1));
    }
    order
}

/// Every column does the work once; all must have done the same, and it must have had its effect.
fn check_same_work(work: &mut Work) -> Result<u64, Failure> {
    let mut expected: Option<(Column, u64)> = None;
    for case in &mut work.cases {
        let column = case.column;
        let named = |failure: Failure| format!("column {column}: {failure}");
        work.stage.prepare(1)?;
        let done = case.run(1).map_err(named)?;
        work.stage.verify_one().map_err(named)?;
        work.stage.clean(1)?;
        if done == 0 {
            return Err(format!("column {column}: nothing was done").into());
        }
        match expected {
            None => expected = Some((column, done)),
            Some((_, same)) if same == done => {}
            Some((other, same)) => {
                let what = format!("column {column}: did {done}, but {other} did {same}");
                return Err(what.into());
            }
        }
    }
    expected
        .map(|(_, done)| done)
        .ok_or_else(|| "no column".into())
}

/// So many threads make a batch longer; more share the same batch.
const CROWD: usize = 8;

/// How many operations make a batch long enough for the clock. Warms everything up as well.
fn calibrate(work: &mut Work, effort: Effort<'_>) -> Result<usize, Failure> {
    let mut count = 1;
    let Some(first) = work.cases.first_mut() else {
        return Ok(count);
    };
    #[expect(clippy::cast_precision_loss, reason = "batches are small")]
    while count < work.max_batch
        && time(work.stage.as_ref(), first, count)?.cpu * ((count * first.width) as f64)
            < effort.batch * first.width.min(CROWD) as f64
    {
        count = (count * 2).min(work.max_batch);
    }
    for case in &mut work.cases {
        time(work.stage.as_ref(), case, count)?;
    }
    Ok(count)
}

fn time(stage: &dyn BatchSetup, case: &mut Case, count: usize) -> Result<Sample, Failure> {
    stage.prepare(count)?;
    let watch = Stopwatch::start();
    let result = case.run(count);
    let sample = watch.stop(count * case.width);
    result?;
    stage.clean(count)?;
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_does_less_is_an_error() {
        let mut work = Work::of(vec![
            Case::new(Column::Raw, |_| Ok(4096)),
            Case::new(Column::Std, |_| Ok(4095)),
        ]);
        let failure = measure_work(&mut work, Effort::ONCE, |_| ()).unwrap_err();
        assert!(failure.to_string().contains("column std"), "{failure}");
    }

    #[test]
    fn everybody_comes_after_everybody_sometimes() {
        let mut pairs = std::collections::BTreeSet::new();
        for round in 0..41 {
            let order = shuffled(6, round);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
            pairs.extend(order.windows(2).map(|pair| (pair[0], pair[1])));
        }
        assert_eq!(pairs.len(), 6 * 5);
    }

    #[test]
    fn work_that_does_nothing_is_an_error() {
        let mut work = Work::of(vec![Case::new(Column::Raw, |_| Ok(0))]);
        assert!(measure_work(&mut work, Effort::ONCE, |_| ()).is_err());
    }

    #[test]
    fn every_column_has_its_turn_in_every_round() {
        let mut work = Work::of(vec![
            Case::new(Column::Raw, |_| Ok(1)),
            Case::new(Column::Std, |_| Ok(1)),
        ]);
        let effort = Effort {
            rounds: 5,
            least: 5,
            ..Effort::ONCE
        };
        let mut told = 0;
        let (_, _, cells) = measure_work(&mut work, effort, |_| told += 1).unwrap();
        assert!(cells.iter().all(|cell| cell.samples.len() == 5));
        assert_eq!((cells.len(), told), (2, 5));
    }
}
