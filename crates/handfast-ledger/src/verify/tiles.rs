//! Every tile must hold the hashes of the tree that the events give.

use super::Verifier;
use crate::error::Error;
use crate::tiles::{TileReader, WIDTH};

impl Verifier<'_> {
    pub(super) fn check_tiles(&mut self) -> Result<(), Error> {
        let Some((checkpoint, _)) = &self.published else {
            return Ok(());
        };
        let size = checkpoint.size;
        if size > self.tree.size() {
            return Ok(());
        }
        let reader = TileReader::new(&self.log.store, size);
        for level in 0..8_u32 {
            let known = size >> (8 * level);
            if known == 0 {
                break;
            }
            let expected = self.tree.level(8 * level as usize);
            for index in 0..known.div_ceil(WIDTH) {
                let first = index * WIDTH;
                let end = (first + WIDTH).min(known);
                let (Ok(from), Ok(to)) = (usize::try_from(first), usize::try_from(end)) else {
                    break;
                };
                let wanted = &expected[from..to];
                match reader.tile(level, index) {
                    Ok(tile) if tile == wanted => {}
                    Ok(tile) => {
                        let same = tile.iter().zip(wanted).take_while(|(a, b)| a == b).count();
                        let at = (first + same as u64) << (8 * level);
                        let what = format!("a tile of level {level} holds another hash");
                        self.report.problem(Some(at), what);
                    }
                    Err(_) => {
                        let what = format!("a tile of level {level} is missing or cut off");
                        self.report.problem(Some(first << (8 * level)), what);
                    }
                }
            }
        }
        Ok(())
    }
}
