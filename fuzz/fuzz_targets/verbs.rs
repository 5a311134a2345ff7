//! The verbs as a state machine against the model, on both backends.
#![no_main]

#[path = "../../crates/handfast/tests/properties/mod.rs"]
mod properties;

use handfast::BackendChoice;
use properties::verbs::Succeeded;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for backend in [BackendChoice::Kernel, BackendChoice::Walk] {
        let scratch = tempfile::tempdir().expect("a private directory");
        properties::verbs::check(scratch.path(), backend, bytes, &mut Succeeded::new());
    }
});
