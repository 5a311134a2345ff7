//! What carries messages.

mod http;
mod stdio;

/// A longer message is not taken: an answer says so, and the connection goes on.
pub(crate) const MAX_MESSAGE: usize = 10 << 20;
