//! Leases in one SQLite database.
//!
//! Durability: a change that was answered survives the death of the broker (write-ahead log, no
//! wait for the disk at each change). It need not survive the death of the machine: leases end
//! with that anyway. The write-ahead log keeps the database whole either way.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};

use super::{LeaseStore, Revision, StoreError};
use crate::lease::{Ended, LeaseHandle, LeaseRecord};

/// As many ended leases are kept for who asks later.
const KEEP_ENDED: u32 = 10_000;

/// Leases in a file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Mutex<Connection>,
    /// As many ended leases are kept.
    keep: u32,
    /// As many were ended since the last time that older ones were taken out.
    ended: AtomicU32,
}

impl SqliteStore {
    /// Opens a store at an ambient path, or makes it. Only one broker at a time can have it.
    ///
    /// # Errors
    /// `Locked`, `Corrupt` or `Failed`.
    pub fn open_ambient(path: &Path) -> Result<Self, StoreError> {
        Self::open_keeping(path, KEEP_ENDED)
    }

    fn open_keeping(path: &Path, keep: u32) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_millis(500))?;
        // One broker: the lock is taken with the first write and kept.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        let check: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if check != "ok" {
            return Err(StoreError::Corrupt(check));
        }
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        match version {
            0 => connection.execute_batch(
                "BEGIN IMMEDIATE;
                 CREATE TABLE lease (
                     number INTEGER PRIMARY KEY,
                     handle TEXT NOT NULL UNIQUE,
                     record TEXT NOT NULL,
                     expires TEXT NOT NULL,
                     renewed TEXT,
                     opens TEXT NOT NULL,
                     ended TEXT
                 ) STRICT;
                 CREATE TABLE revision (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), number INTEGER NOT NULL) STRICT;
                 INSERT INTO revision VALUES (1, 0);
                 PRAGMA user_version = 1;
                 COMMIT;",
            )?,
            1 => {}
            other => {
                return Err(StoreError::Corrupt(format!(
                    "it has version {other}, which this program does not know"
                )));
            }
        }
        // Takes the lock now, so that a second broker learns of the first at once.
        connection.execute("UPDATE revision SET number = number + 1", [])?;
        take_out_old(&connection, keep)?;
        Ok(Self {
            connection: Mutex::new(connection),
            keep,
            ended: AtomicU32::new(0),
        })
    }

    fn hold(&self) -> MutexGuard<'_, Connection> {
        // A transaction that a panic left open is rolled back when it is dropped.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change and counts it.
    fn change(
        &self,
        change: impl FnOnce(&Connection) -> Result<(), StoreError>,
    ) -> Result<Revision, StoreError> {
        let mut connection = self.hold();
        let transaction = connection.transaction()?;
        change(&transaction)?;
        let revision: i64 = transaction
            .prepare_cached("UPDATE revision SET number = number + 1 RETURNING number")?
            .query_row([], |row| row.get(0))?;
        transaction.commit()?;
        Ok(revision.cast_unsigned())
    }
}

impl LeaseStore for SqliteStore {
    fn live(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        let connection = self.hold();
        let mut rows = connection.prepare(
            "SELECT record, expires, renewed, opens FROM lease WHERE ended IS NULL ORDER BY number",
        )?;
        let mut rows = rows.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let record: String = row.get(0)?;
            let mut record: LeaseRecord = serde_json::from_str(&record)
                .map_err(|error| StoreError::Corrupt(format!("a lease cannot be read: {error}")))?;
            let number = |text: String| {
                text.parse()
                    .map_err(|_| StoreError::Corrupt("a lease has no end".to_owned()))
            };
            record.expires_ns = number(row.get(1)?)?;
            record.renewed_wall_ns = row
                .get::<_, Option<String>>(2)?
                .and_then(|text| text.parse().ok());
            record.opens = number(row.get(3)?)?;
            found.push(record);
        }
        Ok(found)
    }

    fn insert(&self, record: &LeaseRecord) -> Result<Revision, StoreError> {
        let text =
            serde_json::to_string(record).map_err(|error| StoreError::Failed(error.to_string()))?;
        self.change(|connection| {
            connection
                .prepare_cached(
                    "INSERT INTO lease (handle, record, expires, opens) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![
                    record.handle.as_str(),
                    text,
                    record.expires_ns.to_string(),
                    record.opens.to_string()
                ])?;
            Ok(())
        })
    }

    fn extend(
        &self,
        handle: &LeaseHandle,
        expires_ns: u64,
        renewed_wall_ns: i64,
    ) -> Result<Revision, StoreError> {
        self.change(|connection| {
            let changed = connection
                .prepare_cached(
                    "UPDATE lease SET expires = ?2, renewed = ?3 WHERE handle = ?1 AND ended IS NULL",
                )?
                .execute(params![
                    handle.as_str(),
                    expires_ns.to_string(),
                    renewed_wall_ns.to_string()
                ])?;
            expect_one(changed)
        })
    }

    fn count_opens(&self, handle: &LeaseHandle, opens: u64) -> Result<Revision, StoreError> {
        self.change(|connection| {
            let changed = connection
                .prepare_cached("UPDATE lease SET opens = ?2 WHERE handle = ?1 AND ended IS NULL")?
                .execute(params![handle.as_str(), opens.to_string()])?;
            expect_one(changed)
        })
    }

    fn end(&self, handles: &[LeaseHandle], how: Ended) -> Result<Revision, StoreError> {
        self.change(|connection| {
            let mut update = connection.prepare_cached(
                "UPDATE lease SET ended = ?2 WHERE handle = ?1 AND ended IS NULL",
            )?;
            for handle in handles {
                update.execute(params![handle.as_str(), how.name()])?;
            }
            // From time to time: a broker may run for years.
            let more = u32::try_from(handles.len()).unwrap_or(u32::MAX);
            let ended = self.ended.load(Ordering::Relaxed).saturating_add(more);
            let due = ended > self.keep / 10;
            self.ended
                .store(if due { 0 } else { ended }, Ordering::Relaxed);
            if due {
                take_out_old(connection, self.keep)?;
            }
            Ok(())
        })
    }
}

/// Takes out ended leases, but for the last that were given.
fn take_out_old(connection: &Connection, keep: u32) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM lease WHERE ended IS NOT NULL AND number NOT IN
             (SELECT number FROM lease WHERE ended IS NOT NULL ORDER BY number DESC LIMIT ?1)",
        )?
        .execute(params![keep])?;
    Ok(())
}

fn expect_one(changed: usize) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Corrupt("a lease is missing from it".to_owned()))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::{Bound, LeaseId};
    use crate::store::MemoryStore;

    fn record(parent: Option<&LeaseRecord>) -> LeaseRecord {
        LeaseRecord {
            handle: LeaseId::new(7, "store").unwrap().handle(),
            parent: parent.map(|parent| parent.handle.clone()),
            uid: 7,
            bound: Bound::Cgroup(u64::MAX),
            tether: None,
            paths: vec!["a \u{e9}".to_owned()],
            verbs: vec!["read".to_owned()],
            purpose: Some("test".to_owned()),
            max_opens: Some(u64::MAX),
            opens: 0,
            issued_wall_ns: -1,
            renewed_wall_ns: None,
            expires_ns: u64::MAX,
            limit_ns: u64::MAX,
            boot_id: "boot".to_owned(),
        }
    }

    /// A directory of its own, gone with the test.
    struct Dir(std::path::PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let name = format!("hf-store-{name}-{}", std::process::id());
            let dir = std::env::temp_dir().join(name);
            std::fs::create_dir(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let below = handfast::Root::open_ambient(&self.0)
                .and_then(|root| root.remove_file(&handfast::RelPath::parse("leases.db")?));
            drop(below);
            drop(std::fs::remove_dir(&self.0));
        }
    }

    /// What every store must do.
    fn keeps(store: &dyn LeaseStore) -> Vec<LeaseRecord> {
        let parent = record(None);
        let child = record(Some(&parent));
        let other = record(None);
        let first = store.insert(&parent).unwrap();
        assert!(store.insert(&child).unwrap() > first);
        store.insert(&other).unwrap();
        assert_eq!(
            store.live().unwrap(),
            [parent.clone(), child.clone(), other.clone()]
        );
        store.extend(&child.handle, u64::MAX - 1, 5).unwrap();
        store.count_opens(&child.handle, u64::MAX).unwrap();
        store
            .end(std::slice::from_ref(&other.handle), Ended::Revoked)
            .unwrap();
        let live = store.live().unwrap();
        assert_eq!(live.len(), 2);
        assert_eq!(
            (live[1].expires_ns, live[1].opens),
            (u64::MAX - 1, u64::MAX)
        );
        assert_eq!(live[1].renewed_wall_ns, Some(5));
        live
    }

    #[test]
    fn both_stores_keep_what_they_answered() {
        keeps(&MemoryStore::new());
        let dir = Dir::new("both");
        let path = dir.0.join("leases.db");
        let store = SqliteStore::open_ambient(&path).unwrap();
        let live = keeps(&store);
        assert!(matches!(
            SqliteStore::open_ambient(&path),
            Err(StoreError::Locked)
        ));
        drop(store);
        assert_eq!(
            SqliteStore::open_ambient(&path).unwrap().live().unwrap(),
            live
        );
        // A database that is whole, with something in it that is no lease.
        let connection = Connection::open(&path).unwrap();
        let changed = connection.execute("UPDATE lease SET record = '{}' WHERE ended IS NULL", []);
        assert_eq!(changed.unwrap(), 2);
        drop(connection);
        assert!(matches!(
            SqliteStore::open_ambient(&path).unwrap().live(),
            Err(StoreError::Corrupt(_))
        ));
    }

    #[test]
    fn leases_that_ended_long_ago_are_taken_out_while_the_store_is_used() {
        let dir = Dir::new("old");
        let store = SqliteStore::open_keeping(&dir.0.join("leases.db"), 20).unwrap();
        let lasting = record(None);
        store.insert(&lasting).unwrap();
        for _ in 0..100 {
            let short = record(None);
            store.insert(&short).unwrap();
            store.end(&[short.handle], Ended::Expired).unwrap();
        }
        let count = |of: &str| -> u32 {
            let text = format!("SELECT count(*) FROM lease WHERE {of}");
            store.hold().query_row(&text, [], |row| row.get(0)).unwrap()
        };
        let kept = count("ended IS NOT NULL");
        assert!((20..=23).contains(&kept), "{kept}");
        assert_eq!(count("ended IS NULL"), 1);
        assert_eq!(store.live().unwrap(), [lasting]);
    }
}
