//! Partial files that no checkpoint needs any more.

use super::{WIDTH, bundle_path, tile_path};
use crate::error::Error;
use crate::store::Store;

/// The partial files beside those of a tree of this size, `current`: every writer that was cut off
/// leaves some.
pub(super) fn partials(store: &Store, size: u64, current: &[String]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let levels = (0..8).filter(|level| size >> (8 * level) > 0);
    let mut places: Vec<_> = levels
        .map(|level| tile_path(level, (size >> (8 * level)) / WIDTH, WIDTH))
        .collect();
    places.push(bundle_path(size / WIDTH, WIDTH));
    for place in places {
        let Some((dir, _)) = place.rsplit_once('/') else {
            continue;
        };
        for (name, _) in store.list(dir)? {
            if !name.ends_with(".p") {
                continue;
            }
            for (width, _) in store.list(&format!("{dir}/{name}"))? {
                let path = format!("{dir}/{name}/{width}");
                if !current.contains(&path) {
                    found.push(path);
                }
            }
        }
    }
    Ok(found)
}
