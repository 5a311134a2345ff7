//! One file per form of output.

mod json;
mod text;

pub use json::json;
pub use text::text;
