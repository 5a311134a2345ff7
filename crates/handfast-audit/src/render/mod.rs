//! One file per form of output.

mod json;
mod markdown;
mod sarif;
mod text;

pub use json::json;
pub use markdown::markdown;
pub use sarif::sarif;
pub use text::text;
