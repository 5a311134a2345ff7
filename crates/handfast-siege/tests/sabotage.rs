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

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fault: its name, the cells that are run, and the layers whose cells must all notice it.
struct Fault {
    name: &'static str,
    arguments: &'static [&'static str],
    layers: &'static [&'static str],
}

const ROOTS: &[&str] = &["kernel", "walk"];

const FAULTS: [Fault; 10] = [
    Fault {
        name: "no-symlinks",
        arguments: &["--backend", "kernel", "--only", "inner-swap/read"],
        layers: &["kernel"],
    },
    Fault {
        name: "no-beneath",
        arguments: &["--backend", "kernel", "--only", "directory-swap/read"],
        layers: &["kernel"],
    },
    Fault {
        name: "trailing-slash",
        arguments: &["--backend", "walk", "--only", "directory-swap/read"],
        layers: &["walk"],
    },
    Fault {
        name: "re-resolve",
        arguments: &["--only", "directory-swap/open", "leaf-swap/open"],
        layers: ROOTS,
    },
    Fault {
        name: "truncate-first",
        arguments: &["--only", "hard-link-plant/open-write"],
        layers: ROOTS,
    },
    Fault {
        name: "judge-names",
        arguments: &[
            "--only",
            "denied-name/read@session",
            "denied-name/read@broker",
            "denied-name/read@mcp",
        ],
        layers: &["session", "broker", "mcp"],
    },
    Fault {
        name: "judge-last-name",
        arguments: &["--only", "protected-swap/write@", "denied-swap/read@"],
        layers: &["session", "overlay", "broker", "mcp"],
    },
    Fault {
        name: "version-apart",
        arguments: &["--only", "version-swap/"],
        layers: &["kernel", "walk", "session", "overlay", "mcp"],
    },
    Fault {
        name: "any-owner",
        arguments: &["--only", "foreign-owner/"],
        layers: &["kernel", "walk", "session"],
    },
    Fault {
        name: "usual-mode",
        arguments: &["--only", "wider-access/write@"],
        // A broker that keeps its own state in files of such a mode does not start.
        layers: &["kernel", "walk", "session", "mcp"],
    },
];

fn build() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("HANDFAST_SABOTAGE_TARGET")
        .map_or_else(|| workspace.join("target/sabotage"), PathBuf::from);
    let status = Command::new(env!("CARGO"))
        .current_dir(&workspace)
        .args(["build", "--quiet", "--locked", "-p", "handfast-cli"])
        // What a siege needs, and nothing else: the rest takes most of the time to build.
        .args(["--no-default-features", "--features", "core,siege"])
        .env("RUSTFLAGS", "--cfg handfast_sabotage")
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .unwrap();
    assert!(status.success());
    target.join("debug/handfast")
}

/// What a siege said.
struct Said {
    code: Option<i32>,
    /// The layers that let something out.
    escaped: BTreeSet<String>,
    sentence: String,
}

fn lay_siege(binary: &Path, fault: Option<&str>, arguments: &[&str]) -> Said {
    let mut command = Command::new(binary);
    command
        .args(["siege", "--json", "--rounds", "2000"])
        .args(arguments);
    match fault {
        Some(fault) => command.env("HANDFAST_SABOTAGE", fault),
        None => command.env_remove("HANDFAST_SABOTAGE"),
    };
    let output = command.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap().iter();
    let escaped = cells.filter(|cell| cell["finding"] == "ESCAPED");
    Said {
        code: output.status.code(),
        escaped: escaped
            .map(|cell| cell["backend"].as_str().unwrap().to_owned())
            .collect(),
        sentence: report["sentence"].to_string(),
    }
}

#[test]
fn every_sabotage_is_caught() {
    if std::env::var_os("HANDFAST_SABOTAGE_TEST").is_none() {
        for (index, fault) in FAULTS.iter().enumerate() {
            println!(
                "skipped: {}: sabotage {}: HANDFAST_SABOTAGE_TEST is not set",
                index + 1,
                fault.name
            );
        }
        return;
    }
    let binary = build();
    for fault in &FAULTS {
        let name = fault.name;
        // The same build without the fault holds: it is the fault that is caught. A busy machine
        // may be too weak to tell once.
        let turns = turns::Turns::start();
        let mut found = lay_siege(&binary, None, fault.arguments);
        for _ in 0..2 {
            if found.code == Some(3) {
                found = lay_siege(&binary, None, fault.arguments);
            }
        }
        if found.code == Some(3) {
            turns.settle(&format!("without sabotage {name}"), &found.sentence);
            found.code = Some(0);
        }
        assert_eq!(found.code, Some(0), "without it: {}", found.sentence);
        assert!(found.escaped.is_empty(), "without it: {}", found.sentence);
        let is_everywhere = |on: &BTreeSet<String>| fault.layers.iter().all(|it| on.contains(*it));
        let mut escaped = BTreeSet::new();
        // A layer that is slow has few attempts, and may hold once by chance.
        for _ in 0..4 {
            let caught = lay_siege(&binary, Some(name), fault.arguments);
            assert_eq!(caught.code, Some(1), "{name}: {}", caught.sentence);
            escaped.extend(caught.escaped);
            if is_everywhere(&escaped) {
                break;
            }
        }
        assert!(
            is_everywhere(&escaped),
            "{name} is noticed on {escaped:?} only, and not on all of {:?}",
            fault.layers
        );
        println!("caught: {name} on {escaped:?}");
    }
}
