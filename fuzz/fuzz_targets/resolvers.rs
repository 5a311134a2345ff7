//! The walk answers what the kernel answers, for any tree and any path.
#![no_main]

#[path = "../../crates/handfast/tests/properties/mod.rs"]
mod properties;

use handfast::BackendChoice;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let scratch = tempfile::tempdir().expect("a private directory");
    properties::resolvers::check(scratch.path(), bytes);
    for backend in [BackendChoice::Kernel, BackendChoice::Walk] {
        let scratch = tempfile::tempdir().expect("a private directory");
        properties::resolvers::check_spellings(scratch.path(), backend, bytes);
    }
});
