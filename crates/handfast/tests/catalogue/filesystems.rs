//! Full, read-only, layered and mounted filesystems.

use crate::support::*;
use handfast::{ErrorKind, FilesystemKind, RenameMode, Root};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn attack_31_a_full_disk_loses_nothing_and_leaves_nothing() {
    let scratch = Scratch::new();
    if let Some(output) = unshared(&["full-disk", scratch.root_path().to_str().unwrap()]) {
        assert_success(&output);
    }
}

#[test]
fn attack_31_a_filesystem_that_turns_read_only() {
    let scratch = Scratch::new();
    if let Some(output) = unshared(&["read-only", scratch.root_path().to_str().unwrap()]) {
        assert_success(&output);
    }
}

/// What a power loss leaves is decided by the order of syncs; the loss itself is not tried here.
#[test]
fn attack_33_content_is_synced_before_the_name_and_the_name_before_the_answer() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "old");
    let log = scratch.path("trace");
    let output = Command::new("strace")
        .args([
            "-f",
            "-o",
            log.to_str().unwrap(),
            "-e",
            "trace=write,fsync,linkat,renameat,renameat2",
        ])
        .arg(victim())
        .args([
            "write",
            scratch.root_path().to_str().unwrap(),
            "auto",
            "d/f",
            "new content",
            "full",
        ])
        .output()
        .unwrap();
    assert_success(&output);
    let calls: Vec<String> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter_map(|call| call.split_once('(').map(|(name, _)| name.to_owned()))
        .collect();
    // The last three, and the content's own sync before them, whatever a filesystem without
    // unnamed files needs besides.
    assert_eq!(calls[calls.len() - 3..], ["renameat", "fsync", "write"]);
    let rename = calls.len() - 3;
    let synced = calls.iter().rposition(|call| call == "fsync");
    let before = calls[..rename]
        .iter()
        .rposition(|call| call == "fsync")
        .unwrap();
    let written = calls[..rename]
        .iter()
        .rposition(|call| call == "write")
        .unwrap();
    assert!(written < before && synced == Some(rename + 1), "{calls:?}");
}

#[test]
fn attack_44_overlay_copy_up_does_not_confuse_identities() {
    assert_eq!(
        FilesystemKind::from_magic(0x794c_7630),
        FilesystemKind::Overlay
    );
    for kind in [
        FilesystemKind::Nfs,
        FilesystemKind::Smb,
        FilesystemKind::Fuse,
    ] {
        assert!(kind.is_remote() && !kind.weaknesses().is_empty());
    }
    assert!(FilesystemKind::Ext.weaknesses().is_empty());
    let scratch = Scratch::new();
    // An upper directory needs a filesystem that overlayfs takes.
    if let Some(output) = unshared(&["overlay", scratch.root_path().to_str().unwrap()]) {
        assert_success(&output);
    }
}

#[test]
fn attack_10_what_is_mounted_into_a_temporary_directory_is_left_alone() {
    let scratch = Scratch::new();
    let outside = scratch.path("outside");
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o751)).unwrap();
    let root = scratch.root_path();
    let args = [
        "mounted-temp",
        root.to_str().unwrap(),
        outside.to_str().unwrap(),
    ];
    if let Some(output) = unshared(&args) {
        assert_success(&output);
        assert_eq!(scratch.read("outside/secret"), "outside");
    }
}

/// A rename between filesystems is refused, and never done in two steps.
#[test]
fn b34_a_rename_between_filesystems_is_refused() {
    let scratch = Scratch::new();
    scratch.file("f", "f");
    let root = scratch.open(handfast::RootOptions::new());
    let Ok(other) = Root::open_ambient("/dev/shm") else {
        skip("there is no other filesystem");
        return;
    };
    if other.identity().device == root.identity().device {
        skip("there is no other filesystem");
        return;
    }
    let name = rel(format!("handfast-test-{}", std::process::id()));
    for mode in [RenameMode::Replace, RenameMode::NoReplace] {
        assert_kind(
            root.rename_to(&rel("f"), &other, &name, mode),
            ErrorKind::Mount,
        );
    }
    assert_kind(other.metadata(&name), ErrorKind::NotFound);
    assert_eq!(scratch.read("root/f"), "f");
}
