//! A store into a mapped file changes no time while its page is dirty.

use std::fs;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use handfast::{ErrorKind, RootOptions};

use crate::support::*;
use crate::sys::Mapped;

#[test]
fn l12_a_digest_notices_a_mapped_store() {
    let scratch = Scratch::new();
    scratch.file("f", "aaaa");
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(scratch.path("root/f"))
        .unwrap();
    let mapped = Mapped::new(&file);
    mapped.store(0, b'A');
    file.write_at(b"x", 3).unwrap();
    // Older than two seconds: the times alone make its version.
    std::thread::sleep(Duration::from_millis(2200));
    let root = scratch.open(RootOptions::new());
    let (text, digested) = root.read_versioned_with_digest(&rel("f")).unwrap();
    assert_eq!(text, b"Aaax");
    assert!(digested.digest().is_some());
    let by_handle = root.open(&rel("f")).unwrap().version_with_digest().unwrap();
    assert_eq!(by_handle, digested);
    let plain = root.version(&rel("f")).unwrap();
    mapped.store(1, b'B');
    // Whether the times show it is the kernel's business; the digest does not depend on it.
    println!(
        "the times alone: {:?}",
        plain.differs_from(&root.version(&rel("f")).unwrap())
    );
    assert_kind(root.write_if(&rel("f"), &digested, "new"), ErrorKind::Stale);
    assert_kind(root.remove_if(&rel("f"), &digested), ErrorKind::Stale);
    assert_eq!(scratch.read("root/f"), "ABax");
}
