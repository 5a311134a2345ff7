//! The parser accepts what the documentation says, and nothing else.
#![no_main]

#[path = "../../crates/handfast/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::parser::check(bytes));
