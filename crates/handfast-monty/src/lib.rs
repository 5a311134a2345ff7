//! Monty's filesystem calls, served from a Handfast session.
//!
//! Monty runs Python and performs no I/O: it stops with an
//! [`OsFunctionCall`](monty_types::OsFunctionCall) and goes on with what the host answers.
//! [`MontyFiles`] answers the twenty calls that are about files with the return values, exceptions
//! and words that Monty's own backend has, and everything a session adds: overlays that last,
//! protected patterns, quotas, a log of every decision.
//!
//! ```
//! use std::sync::Arc;
//! use handfast_monty::{MontyFiles, Outcome};
//! use handfast_session::{Caller, Mode, MountSpec, Session, SessionSpec, VirtualPath};
//! use monty_types::OsFunctionCall;
//!
//! # let dir = std::env::temp_dir().join(format!("handfast-monty-doc-{}", std::process::id()));
//! # std::fs::create_dir(&dir).unwrap();
//! # std::fs::write(dir.join("a.txt"), "hello").unwrap();
//! let mount = MountSpec::new(&dir, VirtualPath::parse("/data")?).mode(Mode::ReadOnly);
//! let files = MontyFiles::new(Arc::new(Session::new(&SessionSpec::new().mount(mount), Caller::new("guest"))?));
//! let call = OsFunctionCall::ReadText("/data/a.txt".into());
//! let Outcome::Answered(answer) = files.handle(call) else { panic!("a call about files") };
//! assert_eq!(answer?.as_ref().as_str(), Some("hello"));
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the interpreter: `os_call.resume_with(print, |call| files.answer(call))`.
//!
//! # Does not
//! Answer calls that are not about files; [`Outcome::NotOurs`] gives them back.
//!
//! # Security
//! Texts that reach the sandbox hold virtual paths alone, never a path of the host.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod calls;
mod error;
mod files;
mod limits;
mod path;
mod scan;

pub use error::CallError;
pub use files::{MontyFiles, Outcome};
pub use limits::{DEFAULT_MEMORY_LIMIT, MountLimits};
