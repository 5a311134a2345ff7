//! Runs any program in a session.
//!
//! ```text
//!  Request ──plan──▶ Plan ──run──▶ [ namespaces ── mounts ── no privileges ── filter ── program ]
//!                                        │ FUSE
//!                                   Files (a session), served by this process
//! ```
//!
//! * [`Plan`] says what a program will see and may do, before anything is started. It is plain data.
//! * [`Profile`] names what well-known programs need besides.
//! * [`run`] builds the wall from it and waits for the program; [`run_fast`] does so over the kernel's own
//!   overlay; [`confine`] builds a weaker one without
//!   namespaces.
//! * [`show`] mounts files under a directory, for editors and people.
//! * [`try_engines`] says which engines there are here, and what is missing.
//! * [`Refusal`] says why a program is not run. What was asked for and cannot be enforced is refused,
//!   never left out.
//!
//! # Does not
//! Protect from a bug in the kernel, or from somebody who is root outside.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![deny(unsafe_code)]
#![cfg(supported)]

mod channel;
mod confine;
mod engines;
mod environment;
mod fast;
mod filter;
mod ids;
mod init;
mod mounts;
mod plan;
mod privileges;
mod processes;
mod profile;
mod project;
mod refusal;
mod repository;
mod root;
mod show;
mod supervise;
mod sys;
mod terminal;
mod views;
mod weaker;

pub use confine::confine;
pub use engines::{EngineTrial, try_engines};
pub use fast::Layers;
pub use handfast_fuse::{asking_process, request_goes_on, request_waits};
pub use plan::{Grant, Net, Plan, Request, Wall};
pub use processes::{Observed, Processes};
pub use profile::Profile;
pub use project::Project;
pub use refusal::{Refusal, RefusalKind};
pub use repository::Repository;
pub use show::show;
pub use supervise::{Ended, ProjectView, run, run_fast};
