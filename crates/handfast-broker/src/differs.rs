//! Whether a file that was seen long ago has another content by now.

use handfast::files::FileHandle;
use handfast::{Difference, Error, Version};
use sha2::{Digest, Sha256};

/// Whether the content is another, where only that tells: what was seen was so young that times
/// could not tell its next change, and is old by now.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn content(
    seen: &Version,
    now: &Version,
    file: &dyn FileHandle,
) -> Result<Option<Difference>, Error> {
    let Some(digest) = seen.digest().filter(|_| now.digest().is_none()) else {
        return Ok(None);
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut offset = 0;
    loop {
        let got = file.read_at(&mut buffer, offset)?;
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        offset += got as u64;
        // What was seen had a length; a file that goes on is another.
        if offset > seen.len() {
            return Ok(Some(Difference::Content));
        }
    }
    let same = <[u8; 32]>::from(hasher.finalize()) == digest;
    Ok((!same).then_some(Difference::Content))
}
