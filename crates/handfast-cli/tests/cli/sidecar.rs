//! `contrib/sidecar`, played with namespaces: a broker and an agent in roots of their own, and one volume.

use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, binary, skip};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/sidecar.sh");
const POLICY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/sidecar/policy.toml"
);

#[test]
fn b6_the_documented_sidecar_serves_an_agent_that_has_only_the_socket() {
    let may = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "true"])
        .output();
    // The policy is for a user of its own, which an ordinary user cannot become.
    if !rustix::process::geteuid().is_root() || !may.is_ok_and(|made| made.status.success()) {
        skip(
            "the sidecar",
            "only root can make these namespaces and users",
        );
        return;
    }
    let scratch = Scratch::new();
    let played = Command::new("unshare")
        .args(["--mount", "bash", SCRIPT])
        .arg(scratch.path.join("play"))
        .arg(Path::new(&binary()).parent().unwrap())
        .arg(POLICY)
        .env("AGENT", "2001")
        .env("STRANGER", "2002")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&played.stdout).into_owned();
    let said = |what: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(what));
        line.unwrap_or_else(|| panic!("{what}: {told}\n{played:?}"))
            .trim()
            .to_owned()
    };
    assert_eq!(said("ready "), "0 ready");
    // The agent's root has no workspace: what it gets, it gets from the broker.
    assert!(said("sees ").contains("No such file"), "{told}");
    assert_eq!(said("open "), "0 alpha");
    assert_eq!(said("written "), "beta");
    for (what, why) in [
        ("denied ", "protected by deny"),
        ("beyond ", "does not cover"),
        ("stranger ", "gives this user nothing"),
        ("stolen ", "no such lease for this process"),
        ("revoked ", "the lease was revoked"),
    ] {
        let line = said(what);
        assert!(
            line.starts_with("1 ") && line.contains(why),
            "{what}: {line}"
        );
    }
    assert_eq!(said("stopped "), "0", "the broker ends when it is asked to");
    assert!(played.status.success(), "{played:?}");
}
