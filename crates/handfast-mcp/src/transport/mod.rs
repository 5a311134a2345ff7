//! What carries messages.

mod http;
mod stdio;

pub use http::Tokens;

/// A longer message is not taken: an answer says so, and the connection goes on.
pub(crate) const MAX_MESSAGE: usize = 10 << 20;
