//! What a build has, and what it says about commands that it lacks. Made for every set of features:
//! `.ci/release` runs it in small builds too.
#![allow(
    missing_docs,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests run the built command"
)]

use std::process::{Command, Output};

/// Each command, the feature that it needs, and whether this build has it.
const COMMANDS: [(&str, &str, bool); 16] = [
    ("fs", "core", true),
    ("session", "core", true),
    ("log", "core", true),
    ("doctor", "core", true),
    ("mcp", "core", true),
    ("completions", "core", true),
    ("manual", "core", true),
    ("audit", "audit", cfg!(feature = "audit")),
    ("serve", "broker", cfg!(feature = "broker")),
    ("lease", "broker", cfg!(feature = "broker")),
    ("top", "broker", cfg!(feature = "broker")),
    ("mount", "run", cfg!(feature = "run")),
    ("review", "review", cfg!(feature = "review")),
    ("run", "run", cfg!(feature = "run")),
    ("siege", "siege", cfg!(feature = "siege")),
    ("tour", "tour", cfg!(feature = "tour")),
];

fn run(args: &[&str]) -> Output {
    let program = std::env::var_os("HANDFAST_BIN");
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_handfast").into());
    Command::new(program).args(args).output().unwrap()
}

#[test]
fn every_command_is_known_and_an_absent_one_says_how_to_get_it() {
    for (command, feature, is_here) in COMMANDS {
        let told = run(&[command, "--help"]);
        let error = String::from_utf8(told.stderr).unwrap();
        if is_here {
            assert_eq!(told.status.code(), Some(0), "{command}: {error}");
            assert!(!told.stdout.is_empty(), "{command}");
            continue;
        }
        assert_eq!(told.status.code(), Some(2), "{command}: {error}");
        assert!(
            error.contains(&format!("`{feature}`")),
            "{command}: {error}"
        );
        assert!(error.contains("--features core,"), "{command}: {error}");
    }
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    for (command, _, _) in COMMANDS {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command}: {help}"
        );
    }
}

#[test]
fn for_programs_an_absent_command_is_one_object() {
    for (command, feature, is_here) in COMMANDS {
        // Before the command, behind it, and behind arguments that are not understood here.
        let lines: [&[&str]; 3] = [
            &["--json", command, "--no-such-option"],
            &[command, "--json", "--no-such-option"],
            &[command, "--no-such-option", "--json"],
        ];
        for line in lines {
            let told = run(line);
            assert_eq!(told.status.code(), Some(2), "{line:?}");
            let object: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
            assert_eq!(object["version"], 1, "{line:?}");
            let detail = object["error"]["detail"].as_str().unwrap();
            let lacks = detail == format!("this build lacks the feature `{feature}`");
            assert_eq!(lacks, !is_here, "{line:?}: {detail}");
        }
    }
}

#[cfg(feature = "broker")]
#[test]
fn b12_help_lists_what_the_build_has() {
    let help = |command: &str| String::from_utf8(run(&[command, "--help"]).stdout).unwrap();
    let (lease, serve) = (help("lease"), help("serve"));
    for (text, word) in [
        (&lease, "\n  export "),
        (&lease, "\n  narrow "),
        (&lease, "--svid <"),
        (&lease, "--svid-x509"),
        (&lease, "--workload-api"),
        (&serve, "--spiffe-bundle"),
        (&serve, "--workload-api"),
        (&serve, "--spiffe-domain"),
        (&serve, "--spiffe-audience"),
    ] {
        assert!(text.contains(word), "{word}");
    }
}
