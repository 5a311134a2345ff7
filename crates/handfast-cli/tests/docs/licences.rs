//! What ships depends on nothing whose licence asks more of its users than ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that may be part of what ships.
const FINE: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "0BSD",
    // As free as BSD's, with the name of the product: libbz2-rs-sys.
    "bzip2-1.0.6",
];

#[test]
fn every_dependency_that_ships_has_a_licence_on_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join("Cargo.lock").exists() {
        println!("skipped: the project is not here");
        return;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let found = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .current_dir(&root)
        .output();
    let Some(found) = found.ok().filter(|found| found.status.success()) else {
        // Another user than who built it, or another machine.
        println!("skipped: cargo does not answer here");
        return;
    };
    let metadata: Value = serde_json::from_slice(&found.stdout).unwrap();
    let shipped = shipped(&metadata);
    assert!(shipped.len() > 30, "{shipped:?}");
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let licence = package["license"].as_str().unwrap_or("none");
        if shipped.contains(package["id"].as_str().unwrap()) && !is_fine(licence) {
            wrong.push(format!("{}: {licence}", package["name"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Everything that a published crate is built of, on Linux.
fn shipped(metadata: &Value) -> BTreeSet<&str> {
    let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let real = node["deps"].as_array().unwrap().iter().filter(|dep| {
            let kinds = dep["dep_kinds"].as_array().unwrap();
            kinds.iter().any(|kind| kind["kind"] != "dev")
        });
        let real = real.map(|dep| dep["pkg"].as_str().unwrap()).collect();
        needs.insert(node["id"].as_str().unwrap(), real);
    }
    let members: BTreeSet<_> = metadata["workspace_members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    let mut todo: Vec<&str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package["publish"].is_null())
        .map(|package| package["id"].as_str().unwrap())
        .filter(|id| members.contains(id))
        .collect();
    let mut found = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if found.insert(id) {
            todo.extend(needs.get(id).into_iter().flatten());
        }
    }
    found
}

/// Whether one of the choices of an expression is on the list, and everything it joins.
fn is_fine(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression
        .split(" AND ")
        .all(|all| all.split(" OR ").any(|one| FINE.contains(&one.trim())))
}

#[test]
fn expressions_are_understood() {
    for fine in [
        "MIT",
        "MIT OR GPL-3.0",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
    ] {
        assert!(is_fine(fine), "{fine}");
    }
    for not in [
        "GPL-3.0",
        "MPL-2.0",
        "MIT AND GPL-2.0",
        "none",
        "LGPL-3.0-or-later",
    ] {
        assert!(!is_fine(not), "{not}");
    }
}
