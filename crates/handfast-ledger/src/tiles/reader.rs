//! Hashes from tiles, for a tree of a known size.

use std::cell::RefCell;
use std::collections::HashMap;

use super::{MOST_TILE, WIDTH, tile_path};
use crate::error::Error;
use crate::merkle::{Hash, MemoryTree, Subtrees};
use crate::store::Store;

/// Widths of the files that hold more than the partial one of a width: they serve for it, if the
/// writer has replaced it since. `full` is the path of the full file.
pub(crate) fn wider_than(store: &Store, full: &str, width: u64) -> Result<Vec<u64>, Error> {
    let mut widths: Vec<u64> = store
        .list(&format!("{full}.p"))?
        .iter()
        .filter_map(|(name, _)| name.parse().ok())
        .filter(|found| *found > width && *found < WIDTH)
        .collect();
    widths.sort_unstable();
    widths.insert(0, WIDTH);
    Ok(widths)
}

/// How often wider files are looked for again because there are others than were listed. A file gets
/// no other forms once it is full.
const LOOKS: usize = 64;

/// Reads the file of a width, or one that is wider. A writer at work removes a form once there are two
/// wider ones, so one that was listed may be gone: only if nothing has changed is there none.
pub(crate) fn widest_form<T>(
    store: &Store,
    full: &str,
    width: u64,
    read: impl Fn(u64) -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    if let Some(found) = read(width)? {
        return Ok(Some(found));
    }
    let mut widths = wider_than(store, full, width)?;
    for _ in 0..LOOKS {
        for wider in &widths {
            if let Some(found) = read(*wider)? {
                return Ok(Some(found));
            }
        }
        let now = wider_than(store, full, width)?;
        if now == widths {
            break;
        }
        widths = now;
    }
    Ok(None)
}

/// Reads hashes of complete subtrees; whether they are true is for the caller, who knows the root.
pub(crate) struct TileReader<'a> {
    store: &'a Store,
    size: u64,
    tiles: RefCell<HashMap<(u32, u64), MemoryTree>>,
}

impl<'a> TileReader<'a> {
    pub(crate) fn new(store: &'a Store, size: u64) -> Self {
        Self {
            store,
            size,
            tiles: RefCell::default(),
        }
    }

    /// The hashes of one tile, as wide as the tree of this size has it. A full tile serves for a
    /// partial one that has been removed since.
    pub(crate) fn tile(&self, level: u32, index: u64) -> Result<Vec<Hash>, Error> {
        let known = self.size.checked_shr(8 * level).unwrap_or(0);
        let width = known.saturating_sub(index * WIDTH).min(WIDTH);
        let missing = || Error::invalid(format!("the tile {}", tile_path(level, index, width)));
        if width == 0 {
            return Err(missing());
        }
        let read = |width| {
            let path = tile_path(level, index, width);
            self.store.read_at_most(&path, MOST_TILE)
        };
        let full = tile_path(level, index, WIDTH);
        let bytes = widest_form(self.store, &full, width, read)?.ok_or_else(missing)?;
        let hashes: Vec<_> = bytes
            .chunks_exact(32)
            .filter_map(|chunk| chunk.try_into().ok().map(Hash))
            .collect();
        let wanted = usize::try_from(width).unwrap_or(usize::MAX);
        if bytes.len() % 32 != 0 || hashes.len() < wanted {
            return Err(missing());
        }
        Ok(hashes[..wanted].to_vec())
    }
}

impl Subtrees for TileReader<'_> {
    fn subtree(&self, level: u32, index: u64) -> Result<Hash, Error> {
        let (tile_level, height) = (level / 8, level % 8);
        let tile_index = (index << height) / WIDTH;
        let mut tiles = self.tiles.borrow_mut();
        let tile = match tiles.entry((tile_level, tile_index)) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let mut tree = MemoryTree::new();
                for hash in self.tile(tile_level, tile_index)? {
                    tree.append(hash);
                }
                entry.insert(tree)
            }
        };
        tile.subtree(height, index - ((tile_index * WIDTH) >> height))
    }
}
