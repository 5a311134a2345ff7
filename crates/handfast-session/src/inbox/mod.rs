//! What people say about a session from outside, for the program that works in it: comments on its
//! changes, and answers to what it asks.
//!
//! It lies in the session's home, which no mount reaches: nothing inside a session can write it.
//!
//! # Questions
//! A rule may say `ask`. A request that opens or changes such a file waits, and its question lies in
//! the inbox. The process that asks holds a lock on the question for as long as it waits, so the
//! question of a process that died is known as such and goes with the next look. A person answers
//! through an [`Inbox`]: a page, `handfast approve`, or a server that asks its client.
//!
//! # Security
//! An answer names the digest of the question, which holds the object's identity and content. The
//! request goes on only if the object is still that one. A process that asks, its descendants and
//! programs in a `run` are refused as answerers where the system shows what they are. Other programs
//! of the same user that are not confined can write to the inbox: they could read the files too.

mod answer;
mod comments;
mod object;
mod process;
mod question;
mod refused;
mod store;
mod taken_back;

pub use answer::{Answer, AnsweredBy, Grant, GrantScope};
pub use comments::Comment;
pub use object::AskedObject;
pub use question::{Asker, Question};
pub use store::{Inbox, MAX_WAITING};

pub(crate) use answer::Given;
pub(crate) use object::Seen;
pub(crate) use process::Standing;
pub(crate) use question::NewQuestion;
pub(crate) use store::{Posted, Waiting};
