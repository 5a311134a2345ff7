//! The texts of answers: pure functions of what was read.

pub(crate) mod collate;
pub(crate) mod date;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod glob;
pub(crate) mod lines;
pub(crate) mod lossless;
pub(crate) mod names;
pub(crate) mod nearest;
pub(crate) mod size;
