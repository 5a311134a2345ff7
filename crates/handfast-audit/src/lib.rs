//! A static auditor for code that turns external text into filesystem paths.
//!
//! It answers every item of a checklist with an anchor, a reason why it does not apply, or a
//! finding. It reads text and nothing else: nothing of the target is run.
#![forbid(unsafe_code)]

mod accept;
mod anchors;
mod audit;
pub mod baseline;
mod callgraph;
mod calls;
pub mod choice;
mod config;
pub mod diff;
pub mod explain;
mod facts;
mod flow;
mod gate;
mod gather;
mod grade;
mod hazards;
mod interp;
mod ir;
mod items;
mod judge;
mod kb;
mod known;
mod lang;
mod link_hazards;
mod lower;
mod program;
mod quick;
mod regex;
pub mod render;
mod report;
mod roots;
mod scope;
mod sieve;
mod standing;
mod state;
mod tables;
mod term;
mod tests_index;
mod trace;

pub use accept::is_date;
pub use audit::{Input, MAX_FILE, Options, audit};
pub use config::{ConfigError, configure};
pub use gate::FailOn;
pub use kb::{Knowledge, KnowledgeError};
pub use lang::Lang;
pub use report::{
    Coverage, Covered, Depth, Evidence, Finding, Insufficient, Outcome, Report, Skipped, Step,
};
pub use tables::{ChecklistItem, Classification, Severity, Verdict, item, items};
