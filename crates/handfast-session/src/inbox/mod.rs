//! What people say about a session from outside, for the one who works in it.
//!
//! It lies in the session's home, which no mount reaches: nothing inside a session can write it.

mod comments;

pub use comments::Comment;
