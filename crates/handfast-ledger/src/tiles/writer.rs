//! Writes tiles and bundles as the log grows.
//!
//! Tiles are derived: after a crash they are written anew from the segments. They never run ahead
//! of what is synced there.

use handfast::Durability;

use super::{Bundle, TileReader, WIDTH, bundle_path, push_entry, tile_path};
use crate::error::Error;
use crate::merkle::{Hash, root};
use crate::store::Store;

/// What is not yet a full tile.
#[derive(Debug, Default)]
pub(crate) struct TileWriter {
    size: u64,
    /// The last, partial tile of every level.
    levels: Vec<Vec<Hash>>,
    /// The last, partial bundle.
    bundle: Vec<u8>,
    /// Partial files of earlier checkpoints; those of the last one stay for its readers.
    old: [Vec<String>; 2],
    /// Full tiles written since the last sync.
    written: usize,
}

impl TileWriter {
    /// Takes up where the tiles of a checkpoint end, if they are there and fit its root.
    pub(crate) fn resume(store: &Store, size: u64, expected: Hash) -> Result<Option<Self>, Error> {
        let reader = TileReader::new(store, size);
        if root(&reader, size).ok() != Some(expected) {
            return Ok(None);
        }
        let mut writer = Self {
            size,
            ..Self::default()
        };
        let mut level = 0;
        while size >> (8 * level) > 0 {
            let known = size >> (8 * level);
            let tile = match known % WIDTH {
                0 => Vec::new(),
                _ => match reader.tile(level, known / WIDTH) {
                    Ok(tile) => tile,
                    Err(_) => return Ok(None),
                },
            };
            writer.levels.push(tile);
            level += 1;
            if level == 8 {
                break;
            }
        }
        let width = size % WIDTH;
        if width > 0 {
            let Some(bundle) = store.read(&bundle_path(size / WIDTH, width))? else {
                return Ok(None);
            };
            let Ok(entries) = Bundle::parse(bundle) else {
                return Ok(None);
            };
            let hashes: Vec<_> = entries.iter().map(Hash::leaf).collect();
            if writer.levels.first() != Some(&hashes) {
                return Ok(None);
            }
            writer.bundle = entries.into_bytes();
        }
        writer.old[1] = writer.partial_paths();
        Ok(Some(writer))
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Takes one entry; full tiles are written at once.
    pub(crate) fn append(&mut self, store: &Store, entry: &[u8]) -> Result<(), Error> {
        push_entry(&mut self.bundle, entry);
        self.size += 1;
        if self.size.is_multiple_of(WIDTH) {
            let path = bundle_path(self.size / WIDTH - 1, WIDTH);
            let bundle = std::mem::take(&mut self.bundle);
            self.written += 1;
            store.write(&path, &bundle, Durability::None)?;
        }
        let mut hash = Hash::leaf(entry);
        for level in 0..8 {
            if self.levels.len() <= level {
                self.levels.push(Vec::new());
            }
            let tile = &mut self.levels[level];
            tile.push(hash);
            if tile.len() < 256 {
                break;
            }
            let tile = std::mem::take(tile);
            let mut row = tile.clone();
            while row.len() > 1 {
                row = row
                    .chunks_exact(2)
                    .map(|pair| Hash::node(&pair[0], &pair[1]))
                    .collect();
            }
            hash = row[0];
            let (level, above) = (level as u32, 8 * (level as u32 + 1));
            let index = (self.size >> above) - 1;
            self.written += 1;
            put_tile(store, level, index, &tile, Durability::None)?;
        }
        Ok(())
    }

    /// The partial tiles of the present size.
    fn partial_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for (level, tile) in self.levels.iter().enumerate() {
            if !tile.is_empty() {
                let index = (self.size >> (8 * level)) / WIDTH;
                paths.push(tile_path(level as u32, index, tile.len() as u64));
            }
        }
        if !self.bundle.is_empty() {
            paths.push(bundle_path(self.size / WIDTH, self.size % WIDTH));
        }
        paths
    }

    /// Writes the partial tiles, so that a checkpoint of this size can be published. Nothing is
    /// left of tiles two checkpoints ago but the full ones.
    pub(crate) fn flush(&mut self, store: &Store, sync: bool) -> Result<(), Error> {
        // A few partial tiles are synced one by one; for many full ones one call does.
        let durability = if sync {
            Durability::File
        } else {
            Durability::None
        };
        for (level, tile) in self.levels.iter().enumerate() {
            if !tile.is_empty() {
                let index = (self.size >> (8 * level)) / WIDTH;
                put_tile(store, level as u32, index, tile, durability)?;
            }
        }
        if !self.bundle.is_empty() {
            let path = bundle_path(self.size / WIDTH, self.size % WIDTH);
            store.write(&path, &self.bundle, durability)?;
        }
        if sync && self.written > 0 {
            store.sync_all()?;
        }
        self.written = 0;
        let current = self.partial_paths();
        let [oldest, last] = std::mem::take(&mut self.old);
        for path in oldest {
            if !last.contains(&path) && !current.contains(&path) {
                store.remove(&path)?;
                // The directory of a tile that is full by now is empty.
                if let Some((dir, _)) = path.rsplit_once('/') {
                    drop(store.remove_empty_dir(dir));
                }
            }
        }
        self.old = [last, current];
        Ok(())
    }
}

fn put_tile(
    store: &Store,
    level: u32,
    index: u64,
    tile: &[Hash],
    durability: Durability,
) -> Result<(), Error> {
    let bytes: Vec<u8> = tile.iter().flat_map(|hash| hash.0).collect();
    let path = tile_path(level, index, tile.len() as u64);
    store.write(&path, &bytes, durability)
}
