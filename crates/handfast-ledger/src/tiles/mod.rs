//! The directory that others read: tiles of hashes and bundles of entries, as in C2SP tlog-tiles.

mod bundle;
mod path;
mod present;
mod reader;
mod rebuild;
mod stale;
mod writer;

pub(crate) use bundle::{Bundle, push as push_entry};
pub use path::{bundle_path, tile_path};
pub(crate) use present::bundles as bundles_present;
pub(crate) use reader::{TileReader, wider_than, widest_form};
use rebuild::root_of_full;
pub(crate) use writer::TileWriter;

/// How many hashes or entries a full tile holds.
pub(crate) const WIDTH: u64 = 256;

/// No bundle is longer, and no tile.
pub(crate) const MOST_BUNDLE: usize = WIDTH as usize * (2 + crate::event::MAX_EVENT);
const MOST_TILE: usize = WIDTH as usize * 32;
