//! What the log's first event says of machine and program.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::note::hex;
use crate::store::Store;

/// Which machine this is, for an origin.
pub(super) fn host_id() -> String {
    let id = read_system("etc", "machine-id").unwrap_or_else(|| "unknown".to_owned());
    // The machine's id is not for everybody; a digest tells machines apart as well.
    let digest: [u8; 32] = Sha256::digest(format!("handfast log {id}")).into();
    hex(&digest[..8])
}

/// Which start of the machine this is.
pub(super) fn boot_id() -> Option<String> {
    read_system("proc/sys/kernel/random", "boot_id")
}

fn read_system(dir: &str, name: &str) -> Option<String> {
    let store = Store::open(&Path::new("/").join(dir)).ok()?;
    let bytes = store.read(name).ok()??;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// The kernel's release.
pub(super) fn kernel() -> String {
    let name = rustix::system::uname();
    name.release().to_string_lossy().into_owned()
}

/// The digest of the running program.
pub(super) fn own_digest() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let mut file = std::fs::File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).ok()? {
            0 => break,
            got => hasher.update(&buffer[..got]),
        }
    }
    let digest: [u8; 32] = hasher.finalize().into();
    Some(hex(&digest))
}
