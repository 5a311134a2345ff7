//! Every crate asks in the same words whether it is supported here.

use std::path::Path;

/// The crates whose build scripts name `cfg(supported)`.
const CRATES: [&str; 9] = [
    "handfast",
    "handfast-broker",
    "handfast-cli",
    "handfast-fuse",
    "handfast-ledger",
    "handfast-mcp",
    "handfast-run",
    "handfast-session",
    "handfast-siege",
];

#[test]
fn build_scripts_are_one_script() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |name: &str| std::fs::read_to_string(crates.join(name).join("build.rs"));
    let Ok(first) = read(CRATES[0]) else {
        println!("skipped: the project is not here");
        return;
    };
    assert!(first.contains("cargo::rustc-cfg=supported"), "{first}");
    for name in CRATES {
        assert_eq!(read(name).unwrap(), first, "{name}");
    }
}
