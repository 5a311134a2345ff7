//! The directory that others read: tiles of hashes and bundles of entries, as in C2SP tlog-tiles.

mod bundle;
mod path;
mod reader;
mod writer;

pub(crate) use bundle::{Bundle, parse as parse_bundle, push as push_entry};
pub use path::{bundle_path, tile_path};
pub(crate) use reader::TileReader;
pub(crate) use writer::TileWriter;

/// How many hashes or entries a full tile holds.
pub(crate) const WIDTH: u64 = 256;
