//! What can be asked of the broker: one file a group of methods.

mod acquire;
mod answer;
mod held;
mod identify;
mod leases;
mod look;
mod manner;
mod names;
mod open;
mod page;
mod status;
mod view;
mod wide;
mod write;

pub(crate) use answer::{CallResult, parameters};
pub(crate) use wide::Copies;
