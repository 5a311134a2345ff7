//! Takes up tiles where a segment begins, from what was on the disk when the segments before it
//! went: full bundles and tiles, and the bundle that the segment begins in.

use super::{Bundle, TileReader, TileWriter, WIDTH, bundle_path, wider_than};
use crate::error::Error;
use crate::merkle::{Frontier, Hash, MemoryTree, root};
use crate::store::Store;

/// The root of the subtree over the 256 hashes of a tile.
pub(super) fn root_of_full(tile: &[Hash]) -> Hash {
    let mut row = tile.to_vec();
    while row.len() > 1 {
        row = row
            .chunks_exact(2)
            .map(|pair| Hash::node(&pair[0], &pair[1]))
            .collect();
    }
    row[0]
}

impl TileWriter {
    /// The writer as it was when the tree was this one; `None` if what is on the disk does not lead
    /// to it.
    pub(crate) fn rebuild(store: &Store, wanted: &Frontier) -> Result<Option<Self>, Error> {
        let size = wanted.size();
        let mut writer = Self {
            size,
            anchor: size,
            ..Self::default()
        };
        let (full, width) = (size / WIDTH, size % WIDTH);
        let mut tree = MemoryTree::new();
        let reader = TileReader::new(store, full * WIDTH);
        // Level by level: a hash of one is the root of a full tile of the one below.
        for level in 0..8 {
            let known = size >> (8 * level);
            if known == 0 {
                break;
            }
            let mut tile = Vec::new();
            if level > 0 {
                for index in known - known % WIDTH..known {
                    match reader.tile(level - 1, index) {
                        Ok(below) => tile.push(root_of_full(&below)),
                        Err(_) => return Ok(None),
                    }
                }
            }
            writer.levels.push(tile);
        }
        if width > 0 {
            let Some(bundle) = entries(store, full, width)? else {
                return Ok(None);
            };
            writer.levels[0] = bundle.iter().map(Hash::leaf).collect();
            writer.bundle = bundle.into_bytes();
        }
        for index in 0..full {
            match reader.tile(0, index) {
                Ok(tile) => tile.into_iter().for_each(|hash| tree.append(hash)),
                Err(_) => return Ok(None),
            }
        }
        if let Some(last) = writer.levels.first() {
            last.iter().for_each(|hash| tree.append(*hash));
        }
        let fits = tree.size() == size && root(&tree, size).ok() == Some(wanted.root());
        Ok(fits.then_some(writer))
    }
}

/// The first entries of a bundle, from whichever form of it has them.
fn entries(store: &Store, index: u64, width: u64) -> Result<Option<Bundle>, Error> {
    let full = bundle_path(index, WIDTH);
    let wanted = usize::try_from(width).unwrap_or(0);
    for found in std::iter::once(width).chain(wider_than(store, &full, width)?) {
        if let Some(bytes) = store.read(&bundle_path(index, found))? {
            let mut bundle = Bundle::parse_front(bytes);
            bundle.truncate(wanted);
            if bundle.len() == wanted {
                return Ok(Some(bundle));
            }
        }
    }
    Ok(None)
}
