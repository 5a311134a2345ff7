//! Attacks that once won, one file for each.

mod g1;
mod g3;
