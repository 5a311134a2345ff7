//! `state.json`: where the last publication left off, so that opening a log is quick.
//!
//! Nothing is believed because it stands here: the peaks must give the root of the published
//! checkpoint, which is signed, and the frames at the offset must fit. It can only make a reader
//! more careful: what is damaged before its offset was whole once.

use serde::{Deserialize, Serialize};

use crate::event::U64;
use crate::merkle::{Frontier, Hash};
use crate::store::Store;

pub(crate) const FILE: &str = "state.json";

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) version: u32,
    /// The first event of the segment.
    pub(crate) segment: U64,
    /// Behind the checkpoint frame.
    pub(crate) offset: U64,
    pub(crate) size: U64,
    pub(crate) peaks: Vec<String>,
    /// The start of the machine that the last `log.start` names.
    pub(crate) boot_id: Option<String>,
}

impl State {
    /// Reads it; whatever is wrong with it is as good as nothing.
    pub(crate) fn read(store: &Store) -> Option<Self> {
        let bytes = store.read(FILE).ok()??;
        let state: Self = serde_json::from_slice(&bytes).ok()?;
        (state.version == 1).then_some(state)
    }

    pub(crate) fn frontier(&self) -> Option<Frontier> {
        let peaks = self.peaks.iter().map(|peak| Hash::from_base64(peak));
        Frontier::from_peaks(self.size.0, peaks.collect::<Option<_>>()?)
    }
}
