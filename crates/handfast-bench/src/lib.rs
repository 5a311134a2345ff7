//! Handfast side by side with raw system calls, the standard library and its peers.
//!
//! One run measures every row (a piece of work) in every column (a way to do it). Rounds go
//! through the columns in turn, so that whatever else the machine does hits all of them alike, and
//! a ratio is the median of the ratios within a round. The floor is the column `raw`: the system
//! calls that the library makes for that row, written by hand.
//!
//! Before a row is timed, every column does it once and what it did is checked: the bytes read,
//! the entries counted, the effect on the disk. A column that does less is an error, not a record.
//!
//! * [`rows`] holds one file for each kind of work, with its floor.
//! * [`contender`] holds one file for each column that is not a floor.
//! * [`raw`] holds what floors are made of: the two ways to look a path up by hand.
//! * [`layers`] measures what stands on the library: sessions and the log.
//! * [`run`] goes through the rounds, [`stats`] sums them up, [`budgets`] judges, [`footprint`]
//!   weighs memory and descriptors, [`report`] prints and `chart` draws.
#![deny(unsafe_code)]

pub mod args;
pub mod budgets;
mod buffer;
#[cfg(feature = "plot")]
pub mod chart;
pub mod clock;
pub mod column;
pub mod contender;
pub mod footprint;
pub mod layers;
pub mod machine;
pub mod progress;
pub mod raw;
pub mod report;
pub mod row;
pub mod rows;
pub mod run;
pub mod scale;
pub mod site;
pub mod stats;
mod sys;
pub mod tally;
mod words;
mod workers;

/// Whatever stops a benchmark.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
