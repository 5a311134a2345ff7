//! What carries messages.

mod http;
mod questions;
mod stdio;

pub use http::Tokens;

/// How long a client may take to tell its roots.
const ROOTS_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// A longer message is not taken: an answer says so, and the connection goes on.
pub(crate) const MAX_MESSAGE: usize = 10 << 20;
