//! Files that a reader may write by its own rights: a lease to read them is no more than that.

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Stdio;

use crate::stage::{Stage, text};

/// A user that exists on no machine of ours.
const READER: u32 = 60_001;

/// A broker whose root is closed to others, with a file in it that they may write.
fn served(lease: &str) -> Option<Stage> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can become other users");
        return None;
    }
    let mut stage = Stage::prepare(&[]);
    std::fs::write(stage.root("wide"), "alpha").unwrap();
    let mode = |path: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(stage.root(path), mode).unwrap();
    };
    mode("wide", 0o666);
    mode("", 0o700);
    stage.policy(&format!(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/ws\"\n\
         mode = \"read-write\"\n[lease]\n{lease}\n[[allow]]\nuid = {READER}\nverbs = [\"read\"]\n"
    ));
    stage.start();
    Some(stage)
}

fn reader(stage: &Stage) -> String {
    let mut role = stage.role("reopen");
    role.env("HF_UID", READER.to_string())
        .stdout(Stdio::piped());
    let mut child = role.spawn().unwrap();
    let told = crate::roles::told(child.stdout.take().unwrap());
    child.wait().unwrap();
    told
}

#[test]
fn b3_what_the_reader_may_write_is_read_from_a_sealed_copy() {
    let Some(stage) = served("") else {
        return;
    };
    assert_eq!(reader(&stage), "read alpha, could not write");
    assert_eq!(text(&stage.root("wide")), "alpha");
    // Its owner could make it writable, whatever its mode says.
    chown(stage.root("wide"), Some(READER), None).unwrap();
    let closed = std::fs::Permissions::from_mode(0o400);
    std::fs::set_permissions(stage.root("wide"), closed).unwrap();
    assert_eq!(reader(&stage), "read alpha, could not write");
    let mode = std::fs::metadata(stage.root("wide")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o400, "changed through the descriptor");
}

#[test]
fn b3_the_policy_refuses_such_reads_and_copies_are_bounded() {
    let Some(stage) = served("wide_reads = \"refuse\"") else {
        return;
    };
    assert_eq!(reader(&stage), "Denied");
    // Nobody but its owner may write it any more: then the file itself is handed out.
    let closed = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(stage.root("wide"), closed).unwrap();
    assert_eq!(reader(&stage), "read alpha, could not write");
    let Some(stage) = served("") else {
        return;
    };
    let file = std::fs::File::options()
        .write(true)
        .open(stage.root("wide"))
        .unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    assert_eq!(reader(&stage), "Limit");
}
