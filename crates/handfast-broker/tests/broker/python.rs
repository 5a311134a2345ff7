//! The Python client, by its own tests, against a broker.

use std::path::Path;
use std::process::Command;

use crate::stage::Stage;

const CLIENT: &str = include_str!("../../../../clients/python/handfast.py");
const TESTS: &str = include_str!("../../../../clients/python/test_handfast.py");

#[test]
fn its_own_tests_pass() {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|out| out.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "python3 is needed here");
        println!("skipped: python3 is missing");
        return;
    }
    let stage = Stage::new();
    // From the text that was built in: the tree may be out of this user's reach.
    let dir = stage.dir.join("python");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("handfast.py"), CLIENT).unwrap();
    std::fs::write(dir.join("test_handfast.py"), TESTS).unwrap();
    let out = run(&stage, &dir);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    // All of them ran: a file without tests passes too.
    assert!(said.contains("Ran 10 tests"), "{said}");
}

fn run(stage: &Stage, dir: &Path) -> std::process::Output {
    Command::new("python3")
        .args(["-W", "error", "-B", "test_handfast.py"])
        .current_dir(dir)
        .env("HANDFAST_SOCKET", stage.socket())
        .env("HANDFAST_ROOT", stage.root(""))
        .output()
        .unwrap()
}
