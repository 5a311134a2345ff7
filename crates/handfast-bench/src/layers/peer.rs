//! The log's peer: SQLite in WAL mode with FULL, the leaf's hash and neither tree nor signature. A new
//! database every time, as the log is new: both go where nothing was written before.

use std::path::Path;
use std::time::Duration;

use crate::Failure;

/// Events a second in batches; nothing in a build without the feature `peers`.
#[cfg(feature = "peers")]
pub(super) fn sqlite(
    file: &Path,
    leaves: &[Vec<u8>],
    time: Duration,
) -> Result<Option<f64>, Failure> {
    let mut connection = rusqlite::Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
         CREATE TABLE events (n INTEGER PRIMARY KEY, leaf BLOB NOT NULL, hash BLOB NOT NULL);",
    )?;
    let begun = std::time::Instant::now();
    let mut count = 0;
    while begun.elapsed() < time {
        let transaction = connection.transaction()?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO events (leaf, hash) VALUES (?1, ?2)")?;
            for leaf in leaves {
                let hash = handfast_ledger::merkle::Hash::leaf(leaf);
                insert.execute((leaf, &hash.0[..]))?;
            }
        }
        transaction.commit()?;
        count += leaves.len();
    }
    Ok(Some(super::ledger::rate(count, begun.elapsed())))
}

#[cfg(not(feature = "peers"))]
pub(super) fn sqlite(
    _file: &Path,
    _leaves: &[Vec<u8>],
    _time: Duration,
) -> Result<Option<f64>, Failure> {
    Ok(None)
}
