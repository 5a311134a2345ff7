//! Writes tiles and bundles as the log grows.
//!
//! They never run ahead of what is synced in the segments. Where the segments are still there,
//! tiles are written again from them after a crash; a segment goes only when its events are on the
//! disk in bundles ([`TileWriter::sync`]), and then the rest is found from those (`rebuild.rs`).

use handfast::Durability;

use super::{TileReader, WIDTH, bundle_path, push_entry, stale, tile_path};
use crate::error::Error;
use crate::merkle::{Hash, root};
use crate::store::Store;

/// So many files are synced one by one; for more, one call for the whole filesystem is quicker.
const FEW: usize = 8;

/// What is not yet a full tile.
#[derive(Debug, Default)]
pub(crate) struct TileWriter {
    pub(super) size: u64,
    /// The last, partial tile of every level.
    pub(super) levels: Vec<Vec<Hash>>,
    /// The last, partial bundle.
    pub(super) bundle: Vec<u8>,
    /// Events before this one are in no segment any more. As long as the last bundle holds some of
    /// them, every form of it is on the disk before the one before goes.
    pub(super) anchor: u64,
    /// Partial files of earlier checkpoints; those of the last one stay for its readers.
    pub(super) old: [Vec<String>; 2],
    /// Full files written since the last sync.
    pub(super) unsynced: Vec<String>,
}

impl TileWriter {
    /// Takes up where the tiles of a checkpoint end, if they are there and fit its root. `anchor`
    /// is the first event that is in a segment.
    pub(crate) fn resume(
        store: &Store,
        size: u64,
        expected: Hash,
        anchor: u64,
    ) -> Result<Option<Self>, Error> {
        let reader = TileReader::new(store, size);
        if root(&reader, size).ok() != Some(expected) {
            return Ok(None);
        }
        let mut writer = Self {
            size,
            anchor,
            ..Self::default()
        };
        if !writer.find_partial(store, &reader)? {
            return Ok(None);
        }
        let current = writer.partial_paths();
        writer.old = [stale::partials(store, size, &current)?, current];
        Ok(Some(writer))
    }

    /// The partial tiles and the partial bundle of the present size, from their files.
    fn find_partial(&mut self, store: &Store, reader: &TileReader<'_>) -> Result<bool, Error> {
        for level in 0..8 {
            let known = self.size >> (8 * level);
            if known == 0 {
                break;
            }
            self.levels.push(match known % WIDTH {
                0 => Vec::new(),
                _ => match reader.tile(level, known / WIDTH) {
                    Ok(tile) => tile,
                    Err(_) => return Ok(false),
                },
            });
        }
        let width = self.size % WIDTH;
        if width == 0 {
            return Ok(true);
        }
        let Some(bundle) = store.read(&bundle_path(self.size / WIDTH, width))? else {
            return Ok(false);
        };
        let bundle = super::Bundle::parse_front(bundle);
        let hashes: Vec<_> = bundle.iter().map(Hash::leaf).collect();
        let fits = self.levels.first() == Some(&hashes);
        self.bundle = bundle.into_bytes();
        Ok(fits)
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Events before this one are in no segment any more.
    pub(crate) fn anchor_at(&mut self, first: u64) {
        self.anchor = first;
    }

    /// Whether the last bundle holds events that are nowhere else.
    fn is_anchored(&self) -> bool {
        self.anchor > self.size - self.size % WIDTH
    }

    /// Takes one entry; full tiles are written at once.
    pub(crate) fn append(&mut self, store: &Store, entry: &[u8]) -> Result<(), Error> {
        let durability = match self.is_anchored() {
            true => Durability::Full,
            false => Durability::None,
        };
        push_entry(&mut self.bundle, entry);
        self.size += 1;
        if self.size.is_multiple_of(WIDTH) {
            let path = bundle_path(self.size / WIDTH - 1, WIDTH);
            let bundle = std::mem::take(&mut self.bundle);
            store.write(&path, &bundle, durability)?;
            self.unsynced.push(path);
        }
        self.append_hash(store, Hash::leaf(entry))
    }

    fn append_hash(&mut self, store: &Store, mut hash: Hash) -> Result<(), Error> {
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
            hash = super::root_of_full(&tile);
            let (level, above) = (level as u32, 8 * (level as u32 + 1));
            let index = (self.size >> above) - 1;
            put_tile(store, level, index, &tile, Durability::None)?;
            self.unsynced.push(tile_path(level, index, WIDTH));
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
        let durability = match sync || self.is_anchored() {
            true => Durability::File,
            false => Durability::None,
        };
        let [oldest, last] = std::mem::take(&mut self.old);
        for (level, tile) in self.levels.iter().enumerate() {
            let index = (self.size >> (8 * level)) / WIDTH;
            let path = tile_path(level as u32, index, tile.len() as u64);
            // A tile of the same width is the same tile.
            if !tile.is_empty() && !last.contains(&path) {
                put_tile(store, level as u32, index, tile, durability)?;
            }
        }
        if !self.bundle.is_empty() {
            let path = bundle_path(self.size / WIDTH, self.size % WIDTH);
            if !last.contains(&path) {
                store.write(&path, &self.bundle, durability)?;
            }
        }
        if sync && !self.unsynced.is_empty() {
            store.sync_all()?;
            self.unsynced.clear();
        }
        let current = self.partial_paths();
        remove(store, oldest, &[&last, &current])?;
        self.old = [last, current];
        Ok(())
    }

    /// Removes the partial files of earlier checkpoints: nobody writes any more, and readers find
    /// the wider ones.
    pub(crate) fn tidy(&mut self, store: &Store) -> Result<(), Error> {
        let [oldest, last] = &mut self.old;
        let (oldest, current) = (std::mem::take(oldest), last.clone());
        remove(store, oldest, &[&current])
    }

    /// Waits until every event that was taken is on the disk in a bundle, the partial one too if
    /// it is asked for.
    pub(crate) fn sync(&mut self, store: &Store, partial: bool) -> Result<(), Error> {
        let mut paths = std::mem::take(&mut self.unsynced);
        if partial {
            paths.extend(self.partial_paths());
        }
        if paths.len() > FEW {
            return store.sync_all();
        }
        for path in &paths {
            store.sync_file(path)?;
        }
        // Their names, and those of the directories that were made for them.
        let mut dirs = std::collections::BTreeSet::new();
        for path in &paths {
            let mut rest = path.as_str();
            while let Some((dir, _)) = rest.rsplit_once('/') {
                dirs.insert(dir);
                rest = dir;
            }
        }
        dirs.iter().rev().try_for_each(|dir| store.sync_dir(dir))
    }
}

fn remove(store: &Store, paths: Vec<String>, kept: &[&Vec<String>]) -> Result<(), Error> {
    for path in paths {
        if kept.iter().any(|kept| kept.contains(&path)) {
            continue;
        }
        store.remove(&path)?;
        // The directory of a tile that is full by now is empty.
        if let Some((dir, _)) = path.rsplit_once('/') {
            drop(store.remove_empty_dir(dir));
        }
    }
    Ok(())
}

pub(super) fn put_tile(
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
