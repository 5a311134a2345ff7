//! From text to something the library accepts: once, at the door.
//!
//! [`RelPath`] and [`Name`] can only be made by parsing, and nothing else in this crate takes a
//! string for something that has to stay inside. Neither type can hold `..`, an absolute path, an
//! empty segment or NUL, and a [`Name`] cannot hold `/`, so no name handed to the kernel can make
//! it walk.

mod limits;
mod name;
mod rel;
mod rel_ref;
mod rules;

pub use limits::Limits;
pub use name::{Name, NameRef};
pub use rel::RelPath;
pub use rel_ref::RelPathRef;
pub use rules::{NameRules, fold_case};
