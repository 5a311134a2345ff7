//! What this kernel and filesystem enforce, and what is missing.
//!
//! Everything is tried, nothing is guessed from a version. What has to be made for that is made in
//! a private directory that is removed afterwards.
//!
//! ```
//! # fn main() -> Result<(), handfast::Error> {
//! # let dir = std::env::temp_dir();
//! let root = handfast::Root::open_ambient(dir)?;
//! let diagnosis = handfast_doctor::Diagnosis::of(&root);
//! for check in &diagnosis.guarantees {
//!     println!("{} {}: {}", check.state.name(), check.title, check.detail);
//! }
//! # assert!(diagnosis.guarantees.len() > 5);
//! # Ok(())
//! # }
//! ```
#![cfg(supported)]

mod check;
mod diagnosis;
mod findings;
mod probe;
mod scratch;
mod trials;

pub use check::{Check, State};
pub use diagnosis::{Diagnosis, Verdict};
pub use probe::{Attempt, AttemptResult, ways};
pub use scratch::TrialPlace;
