//! What two versions of a file differ in, read from their text form.
//!
//! The text is `v1.DEVICE.INODE.BORN.LENGTH.MODIFIED.CHANGED[.DIGEST]`; it has exactly one
//! spelling, so comparing parts is comparing facts.

use std::io;
use std::os::fd::BorrowedFd;

use handfast::{Metadata, Version};
use sha2::{Digest, Sha256};

/// What differs, in a word or two; nothing if both are the same state of the same object.
pub(crate) fn between(seen: &Version, now: &Version) -> Option<&'static str> {
    let (seen, now) = (seen.to_string(), now.to_string());
    let (seen, now): (Vec<&str>, Vec<&str>) = (seen.split('.').collect(), now.split('.').collect());
    let part = |of: &[&str], at: usize| of.get(at).map(|text| (*text).to_owned());
    let same = |at: usize| part(&seen, at) == part(&now, at);
    if !(same(1) && same(2) && same(3)) {
        return Some("object");
    }
    if !(same(4) && same(5)) {
        return Some("content");
    }
    // An old file needs no digest any more: its times tell.
    if let (Some(seen), Some(now)) = (part(&seen, 7), part(&now, 7))
        && seen != now
    {
        return Some("content");
    }
    if !same(6) {
        return Some("metadata");
    }
    None
}

/// Whether the content is another, where only that tells: what was seen was so young that times
/// could not tell its next change, and is old by now.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn content(
    seen: &Version,
    now: &Version,
    file: BorrowedFd<'_>,
) -> io::Result<Option<&'static str>> {
    let Some(digest) = seen.digest().filter(|_| now.digest().is_none()) else {
        return Ok(None);
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut offset = 0;
    loop {
        let got = match rustix::io::pread(file, &mut buffer, offset) {
            Ok(0) => break,
            Ok(got) => got,
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        hasher.update(&buffer[..got]);
        offset += got as u64;
        // What was seen had a length; a file that goes on is another.
        if offset > seen.len() {
            return Ok(Some("content"));
        }
    }
    let same = <[u8; 32]>::from(hasher.finalize()) == digest;
    Ok((!same).then_some("content"))
}

/// Whether a version is of the object, and the state, that was opened.
pub(crate) fn is_of(version: &Version, object: &Metadata) -> bool {
    let text = version.to_string();
    let mut parts = text.split('.').skip(1);
    let mut number = || {
        parts
            .next()
            .and_then(|part| u64::from_str_radix(part, 16).ok())
    };
    let same = number() == Some(object.identity.device) && number() == Some(object.identity.inode);
    let _born = parts.next();
    let length = parts
        .next()
        .and_then(|part| u64::from_str_radix(part, 16).ok());
    let changed = parts.nth(1);
    let time = format!(
        "{:x}-{:x}",
        object.changed.seconds, object.changed.nanoseconds
    );
    same && length == Some(object.len) && changed == Some(time.as_str())
}
