//! Attacks that won once, one file for each: by outsiders, by co-owners of the parent directory, and
//! on older kernels, which a filter imitates.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(target_os = "linux")]

mod l01_foreign_directories;
mod l02_access_lists;
mod l03_symlink_targets;
mod l04_published_is_ok;
mod l05_recover_owners;
mod l06_copied_hard_links;
mod l07_staged_facts;
mod l08_named_drafts;
mod l09_effects;
mod l10_unnamed_files;
mod l11_locks;
mod l12_mapped_stores;
mod l13_details;
mod l14_by_reading;
mod others;
#[path = "../support/mod.rs"]
mod support;
mod sys;
mod traced;
