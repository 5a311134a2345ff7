//! What one operation needs besides time: memory and descriptors.
//!
//! Memory is counted by the allocator: the most bytes in use at once, and how often it was asked.
//! Descriptors are found by taking them away: the fewest with which the operation still works,
//! besides those that were open before. So both are exact and do not depend on the machine.
//! They are numbers of the whole process, so nothing else may run in it meanwhile.

use std::collections::BTreeSet;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Failure;
use crate::column::Column;
use crate::contender::MAKERS;
use crate::row::{BatchSetup, Case, Row};
use crate::run::Effort;
use crate::site::Site;
use crate::sys::{Heap, succeeds};

/// The rows that are weighed.
pub const ROWS: [&str; 9] = [
    "open-read/4",
    "stat/4",
    "rename/4",
    "atomic-write/no-sync",
    "create-dir-all/new",
    "read-dir/metadata",
    "walk/metadata",
    "remove-tree",
    "copy-tree",
];

/// Nobody needs more than this, so a failure has another reason.
const MANY: usize = 64;

/// Where the system lists the descriptors of this process.
const OWN: &str = "/proc/self/fd";

/// What one operation of a column needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Needs {
    /// The most bytes of heap in use at once.
    pub heap: u64,
    /// How often memory was asked for.
    pub allocations: u64,
    /// The fewest descriptors with which it works.
    pub descriptors: usize,
}

/// A row, weighed.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The row's id.
    pub id: String,
    /// The row's title.
    pub title: String,
    /// The columns that do it.
    pub cells: Vec<(Column, Needs)>,
}

/// Weighs one row.
///
/// # Errors
/// What the work fails with.
pub fn weigh(row: &Row, site: &Site, effort: Effort<'_>) -> Result<Footprint, Failure> {
    let mut work = row.build(site)?;
    let mut cells = Vec::new();
    let stage = work.stage.as_ref();
    for case in &mut work.cases {
        if effort.wants(case.column) {
            let needs = weigh_case(stage, case)
                .map_err(|failure| format!("{}, column {}: {failure}", row.id, case.column))?;
            cells.push((case.column, needs));
        }
    }
    Ok(Footprint {
        id: row.id.clone(),
        title: row.title.clone(),
        cells,
    })
}

fn weigh_case(stage: &dyn BatchSetup, case: &mut Case) -> Result<Needs, Failure> {
    // Whatever is made once and kept is made here.
    stage.prepare(1)?;
    case.run(1)?;
    stage.clean(1)?;
    stage.prepare(1)?;
    let (heap, result) = Heap::of(|| case.run(1));
    result?;
    stage.clean(1)?;
    Ok(Needs {
        heap: heap.peak,
        allocations: heap.calls,
        descriptors: descriptors(stage, case)?,
    })
}

/// The fewest free descriptors with which the work is done. Each try is a process of its own, since
/// not everybody survives that there are none left.
fn descriptors(stage: &dyn BatchSetup, case: &mut Case) -> Result<usize, Failure> {
    for free in 0..=MANY {
        stage.prepare(1)?;
        let done = succeeds(|| {
            // The numbers that are taken are looked up where they count.
            let taken = open_descriptors();
            taken.is_ok_and(|taken| narrow(&taken, free).is_ok() && case.run(1).is_ok())
        })?;
        if done {
            stage.clean(1)?;
            return Ok(free);
        }
        stage.reset();
    }
    Err(format!("{MANY} descriptors are not enough").into())
}

/// How many descriptors each contender holds from its making on.
///
/// # Errors
/// What stops one of them.
pub fn at_rest(site: &Site, effort: Effort<'_>) -> Result<Vec<(Column, usize)>, Failure> {
    // The floors hold the directory that they begin at.
    let mut held = vec![(Column::Raw, 1), (Column::RawWalk, 1)];
    held.retain(|(column, _)| effort.wants(*column));
    for (column, make) in MAKERS.iter().filter(|(column, _)| effort.wants(*column)) {
        let before = open_descriptors()?.len();
        let contender = make(site)?;
        held.push((*column, open_descriptors()?.len().saturating_sub(before)));
        drop(contender);
    }
    Ok(held)
}

fn open_descriptors() -> Result<BTreeSet<u64>, Failure> {
    let mut numbers: Vec<u64> = Vec::new();
    // An entry keeps its listing open, so only its name is kept.
    for found in std::fs::read_dir(OWN)? {
        numbers.push(found?.file_name().to_string_lossy().parse()?);
    }
    // The listing's own is gone by now.
    let still = |number: &u64| std::fs::read_link(format!("{OWN}/{number}")).is_ok();
    Ok(numbers.into_iter().filter(still).collect())
}

/// From now on this process can open so many descriptors more, and none beyond.
fn narrow(taken: &BTreeSet<u64>, free: usize) -> Result<(), Failure> {
    // The numbers below the limit, but those that are taken, are the free ones.
    let limit = (0..).filter(|number| !taken.contains(number)).nth(free);
    let limits = Rlimit {
        current: limit,
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    Ok(setrlimit(Resource::Nofile, limits)?)
}
