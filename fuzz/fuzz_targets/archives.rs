//! Whatever the bytes are: no panic, limits hold, and what is extracted is what `list` said.
#![no_main]

#[path = "../../crates/handfast-archive/tests/it/any_bytes.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_bytes::check(bytes));
