//! `manual` and `completions`: what is generated is whole, and what is kept is what is generated.

use std::time::Duration;

use crate::support::{Run, Scratch};

fn run(args: &[&str]) -> Run {
    Run::of(args, b"", Duration::from_secs(60))
}

#[test]
fn the_page_in_the_documents_is_what_the_command_prints() {
    let kept = include_str!("../../../../docs/cli.md");
    let told = run(&["manual", "--markdown"]);
    assert_eq!(told.code, 0);
    assert!(
        told.text() == kept,
        "docs/cli.md is old: cargo run -- manual --markdown > docs/cli.md"
    );
}

#[test]
fn every_command_has_a_page_that_names_its_options() {
    let scratch = Scratch::new();
    let inside = scratch.inside();
    let told = run(&["manual", inside.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    let reference = include_str!("../../../../docs/cli.md");
    let headings = reference
        .lines()
        .filter(|line| line.contains("# `handfast"));
    let mut pages = 0;
    for heading in headings {
        let name = heading.trim_matches(['#', ' ', '`']).replace(' ', "-");
        let page = std::fs::read_to_string(inside.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{name}");
        pages += 1;
    }
    assert_eq!(pages, std::fs::read_dir(&inside).unwrap().count());
    let commit = std::fs::read_to_string(inside.join("handfast-session-commit.1")).unwrap();
    assert!(commit.contains("skip\\-conflicts"), "{commit}");
}

#[test]
fn a_directory_that_is_not_there_is_not_made() {
    let scratch = Scratch::new();
    let nowhere = scratch.at("nowhere");
    let told = run(&["manual", nowhere.to_str().unwrap()]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.contains("make the directory first"), "{told:?}");
    assert!(!nowhere.exists());
}

#[test]
fn each_shell_gets_completions_with_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let told = run(&["completions", shell]);
        assert_eq!(told.code, 0, "{told:?}");
        for word in ["session", "siege", "tour", "skip-conflicts"] {
            assert!(told.text().contains(word), "{shell}: {word}");
        }
    }
}
