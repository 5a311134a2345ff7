//! The picture of the architecture is true: crates stand on what it says, and on nothing else.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn crates_stand_on_what_the_architecture_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(text) = std::fs::read_to_string(root.join("ARCHITECTURE.md")) else {
        println!("skipped: the project is not here");
        return;
    };
    let mut crates = 0;
    for row in text.lines().filter(|line| line.starts_with("| `handfast")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`');
        let said: BTreeSet<_> = cells[2]
            .split('`')
            .filter(|word| word.starts_with("handfast"))
            .map(str::to_owned)
            .collect();
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        assert_eq!(needs(&manifest), said, "{name}");
        crates += 1;
    }
    assert!(crates >= 8, "only {crates} crates are in the table");
}

/// Our own crates among the dependencies that are built into one, not those of its tests.
fn needs(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-");
        } else if counts && line.starts_with("handfast") {
            let end = line.find([' ', '=', '.']).unwrap();
            found.insert(line[..end].to_owned());
        }
    }
    found
}

#[test]
fn manifests_are_understood() {
    let text = "[dependencies]\nhandfast = 1\nserde = 1\n[target.'cfg(unix)'.dependencies]\nhandfast-ledger.workspace = true\n[dev-dependencies]\nhandfast-siege = 1\n";
    let found: Vec<_> = needs(text).into_iter().collect();
    assert_eq!(found, ["handfast", "handfast-ledger"]);
}
