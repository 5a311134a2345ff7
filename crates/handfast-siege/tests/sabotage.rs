//! A library that was broken on purpose is caught.
//!
//! Builds the command with `--cfg handfast_sabotage` into a target directory of its own and lays
//! siege to each variant. That takes minutes, so it runs only with `HANDFAST_SABOTAGE_TEST=1`.
#![allow(missing_docs, reason = "tests are named after what they show")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build and run the command, and say what they skip"
)]
#![cfg(supported)]

#[path = "../../handfast/tests/support/turns.rs"]
mod turns;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What is broken, and the cells that must notice: names, and arguments.
const VARIANTS: [(&str, &[&str]); 10] = [
    (
        "no-symlinks",
        &["--backend", "kernel", "--only", "inner-swap/read"],
    ),
    (
        "no-beneath",
        &["--backend", "kernel", "--only", "directory-swap/read"],
    ),
    (
        "trailing-slash",
        &["--backend", "walk", "--only", "directory-swap/read"],
    ),
    (
        "re-resolve",
        &["--only", "directory-swap/open", "leaf-swap/open"],
    ),
    ("truncate-first", &["--only", "hard-link-plant/open-write"]),
    (
        "judge-names",
        &[
            "--only",
            "denied-name/read@session",
            "denied-name/read@broker",
        ],
    ),
    (
        "judge-last-name",
        &[
            "--only",
            "protected-swap/write@",
            "denied-swap/read@session",
        ],
    ),
    ("version-apart", &["--only", "version-swap/"]),
    ("any-owner", &["--only", "foreign-owner/"]),
    ("usual-mode", &["--only", "wider-access/write@"]),
];

fn build() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("HANDFAST_SABOTAGE_TARGET")
        .map_or_else(|| workspace.join("target/sabotage"), PathBuf::from);
    let status = Command::new(env!("CARGO"))
        .current_dir(&workspace)
        .args(["build", "--quiet", "--locked", "-p", "handfast-cli"])
        .env("RUSTFLAGS", "--cfg handfast_sabotage")
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .unwrap();
    assert!(status.success());
    target.join("debug/handfast")
}

/// The exit code, the cells that let something out, and the verdict.
fn lay_siege(
    binary: &Path,
    variant: Option<&str>,
    arguments: &[&str],
) -> (Option<i32>, usize, String) {
    let mut command = Command::new(binary);
    command
        .args(["siege", "--json", "--rounds", "2000"])
        .args(arguments);
    match variant {
        Some(variant) => command.env("HANDFAST_SABOTAGE", variant),
        None => command.env_remove("HANDFAST_SABOTAGE"),
    };
    let output = command.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let escaped = |cell: &&serde_json::Value| cell["finding"] == "ESCAPED";
    let cells = report["cells"].as_array().unwrap();
    (
        output.status.code(),
        cells.iter().filter(escaped).count(),
        report["sentence"].to_string(),
    )
}

#[test]
fn every_sabotage_is_caught() {
    if std::env::var_os("HANDFAST_SABOTAGE_TEST").is_none() {
        for (index, (variant, _)) in VARIANTS.iter().enumerate() {
            println!(
                "skipped: {}: sabotage {variant}: HANDFAST_SABOTAGE_TEST is not set",
                index + 1
            );
        }
        return;
    }
    let binary = build();
    for (variant, arguments) in VARIANTS {
        // The same build without a variant holds: it is the fault that is caught. A busy machine
        // may be too weak to tell once.
        let turns = turns::Turns::start();
        let mut found = lay_siege(&binary, None, arguments);
        for _ in 0..2 {
            if found.0 == Some(3) {
                found = lay_siege(&binary, None, arguments);
            }
        }
        if found.0 == Some(3) {
            turns.settle(&format!("without sabotage {variant}"), &found.2);
            found.0 = Some(0);
        }
        assert_eq!((found.0, found.1), (Some(0), 0), "without it: {}", found.2);
        let (code, escaped, sentence) = lay_siege(&binary, Some(variant), arguments);
        assert_eq!(code, Some(1), "{variant}: {sentence}");
        assert!(escaped > 0, "{variant}: {sentence}");
        println!("caught: {variant}");
    }
}
