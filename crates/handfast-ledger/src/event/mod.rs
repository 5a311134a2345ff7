//! What is in the log: one JSON object a line, closed and versioned.
//!
//! The bytes of a line are the leaf of the tree and are never written again. Numbers that may pass
//! 2^53 are strings. Names are bytes: they are the values of their keys where they are UTF-8 without
//! control characters, and in base64 under the key with `_b64` otherwise; never both.
//! `docs/formats/event.schema.json` says the same to other programs.

mod clock;
mod details;
mod kind;
mod record;
mod text;
mod write;

pub use crate::time::rfc3339;
pub use clock::Moment;
pub use details::{
    Assurance, Clock, Digest, Digests, Entry, Fold, Gap, Io, Lease, Object, Parent, Policy,
    Recovery, Retention, Rotation, Start, Stop, Trace, Workload,
};
pub use kind::EventKind;
pub use record::{
    DecisionField, Destination, MAX_EVENT, PhaseField, Record, Request, ResultField, RootField,
};
pub use text::{Bytes, U64};
