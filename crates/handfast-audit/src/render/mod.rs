//! One file per form of output.

mod json;
mod markdown;
mod sarif;
mod short;
mod text;

pub use json::json;
pub use markdown::markdown;
pub use sarif::sarif;
pub use short::short;
pub use text::text;
