//! Which bundles of entries there are.

use std::collections::BTreeSet;

use handfast::FileKind;

use crate::error::Error;
use crate::store::Store;

/// The indices of all bundles, full or partial, by their names. How many there could be is said by
/// a checkpoint that nobody has verified: a reader that looks for the next one looks here, and does not
/// count up to it.
pub(crate) fn bundles(store: &Store) -> Result<BTreeSet<u64>, Error> {
    let mut found = BTreeSet::new();
    let mut pending = vec![("tile/entries".to_owned(), 0_u64)];
    while let Some((dir, above)) = pending.pop() {
        for (name, kind) in store.list(&dir)? {
            let (group, is_group) = match name.strip_prefix('x') {
                Some(rest) => (rest, true),
                None => (name.strip_suffix(".p").unwrap_or(&name), false),
            };
            let digits = group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
            let number = above
                .checked_mul(1000)
                .zip(group.parse().ok().filter(|_| digits))
                .and_then(|(above, number)| above.checked_add(number));
            let Some(number) = number else { continue };
            if !is_group {
                found.insert(number);
            } else if kind == FileKind::Dir {
                pending.push((format!("{dir}/{name}"), number));
            }
        }
    }
    Ok(found)
}
