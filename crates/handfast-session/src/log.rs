//! A log of records that survives its writers, shared by all processes of a session.
//!
//! A record is one `write` of its length, a tag and its content. The tag is the digest of the tag
//! before it and the content, so a record cannot be taken out, changed or put in unnoticed by
//! accident or by an editor. A record that a killed writer left unfinished is shorter than it
//! says: readers stop before it and the next writer cuts it off. So a log that somebody cut off is
//! a log that ends there, and is not noticed.

use std::fs::File;
use std::os::unix::fs::FileExt;

use handfast::{ErrorKind, OpenOptions, RelPath, Root};
use sha2::{Digest, Sha256};

use crate::error::Error;

const MAGIC: &[u8; 16] = b"handfast-log-1\n\0";
const HEAD: usize = 4 + 16;

/// The largest record; a length beyond it is not one of ours.
const MAX_RECORD: usize = 64 << 20;
/// The largest that is added. Written again it may be a little longer: what it speaks of may have got
/// another path.
pub(crate) const MOST: usize = MAX_RECORD - (64 << 10);

/// How often what does not fit is read again without the lock.
const TRIES: u32 = 3;

type Tag = [u8; 16];

/// One process's view of a log.
pub(crate) struct Log {
    file: File,
    /// Where the next record begins, and the tag before it.
    end: u64,
    tag: Tag,
}

impl Log {
    /// Makes a new log with its first records; the name must be free.
    pub(crate) fn create(root: &Root, name: &str, records: &[Vec<u8>]) -> Result<(), Error> {
        root.write_new_with(
            &RelPath::parse(name)?,
            bytes_of(records)?,
            handfast::WriteOptions::new().mode(0o600),
        )?;
        Ok(())
    }

    /// Replaces a log by a new one, all at once.
    pub(crate) fn replace(root: &Root, name: &str, records: &[Vec<u8>]) -> Result<(), Error> {
        root.write_with(
            &RelPath::parse(name)?,
            bytes_of(records)?,
            handfast::WriteOptions::new().mode(0o600),
        )?;
        Ok(())
    }

    pub(crate) fn open(root: &Root, name: &str) -> Result<Self, Error> {
        let name = RelPath::parse(name)?;
        let how = OpenOptions::new().read(true).write(true);
        let file = root.open_with(&name, how).map_err(damaged)?.into_std();
        let mut magic = [0; 16];
        file.read_exact_at(&mut magic, 0)
            .map_err(|_| tampered("its beginning is missing"))?;
        if &magic != MAGIC {
            return Err(tampered("its beginning is not ours"));
        }
        Ok(Self {
            file,
            end: MAGIC.len() as u64,
            tag: [0; 16],
        })
    }

    /// Whether others may have written, or the log was replaced: one system call.
    pub(crate) fn news(&self) -> Result<News, Error> {
        let status = rustix::fs::fstat(&self.file)?;
        if status.st_nlink == 0 {
            return Ok(News::Replaced);
        }
        let size = u64::try_from(status.st_size).unwrap_or(0);
        Ok(match size.cmp(&self.end) {
            std::cmp::Ordering::Equal => News::None,
            std::cmp::Ordering::Greater => News::More,
            std::cmp::Ordering::Less => return Err(tampered("it became shorter")),
        })
    }

    /// Reads what is new. `locked` says that nobody can be writing: then what does not fit
    /// together was not written by us. Otherwise somebody may have cut off an unfinished record
    /// and written another while we read, so it is read again before it counts as changed.
    pub(crate) fn catch_up(
        &mut self,
        locked: bool,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tries = if locked { 1 } else { TRIES };
        for _ in 0..tries {
            if self.read_on(locked, &mut take)? {
                return Ok(());
            }
        }
        Err(tampered("a record does not follow from the one before"))
    }

    /// Reads what is new, as far as it fits. `false` if a record is whole and does not.
    fn read_on(
        &mut self,
        locked: bool,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let size = self.file.metadata()?.len();
        let Some(len) = size.checked_sub(self.end) else {
            return Err(tampered("it became shorter"));
        };
        let mut new = vec![0; usize::try_from(len).map_err(|_| tampered("it is too long"))?];
        match self.file.read_exact_at(&mut new, self.end) {
            Err(error) if !locked && error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Ok(false);
            }
            read => read?,
        }
        let mut rest = new.as_slice();
        while let Some((record, tag, after)) = self.next_record(rest) {
            if tag_of(&self.tag, record) != tag {
                return Ok(false);
            }
            take(record)?;
            self.tag = tag;
            self.end += (HEAD + record.len()) as u64;
            rest = after;
        }
        if rest.len() >= 4 && length_of(rest) > MAX_RECORD {
            if !locked {
                return Ok(false);
            }
            return Err(tampered("a record has an impossible length"));
        }
        if locked && !rest.is_empty() {
            // Unfinished by somebody who died: only we can be here.
            self.file.set_len(self.end)?;
        }
        Ok(true)
    }

    fn next_record<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], Tag, &'b [u8])> {
        if bytes.len() < HEAD {
            return None;
        }
        let len = length_of(bytes);
        let record = bytes.get(HEAD..HEAD.checked_add(len)?)?;
        let tag = bytes[4..HEAD].try_into().ok()?;
        Some((record, tag, &bytes[HEAD + len..]))
    }

    /// Adds a record. The caller holds the lock and has caught up.
    ///
    /// # Errors
    /// `Limit` for one that readers would take for damage; nothing is written then.
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<(), Error> {
        if record.len() > MOST {
            return Err(too_large());
        }
        let (bytes, tag) = framed(&self.tag, record);
        match self.file.write_all_at(&bytes, self.end) {
            Ok(()) => {
                self.end += bytes.len() as u64;
                self.tag = tag;
                Ok(())
            }
            Err(error) => {
                // A part of it may be there: the next writer would cut it off as well.
                drop(self.file.set_len(self.end));
                Err(error.into())
            }
        }
    }

    /// Bytes in use, to know when to write it again.
    pub(crate) fn len(&self) -> u64 {
        self.end
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        Ok(self.file.sync_data()?)
    }
}

/// What became of a log since it was last read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum News {
    None,
    More,
    Replaced,
}

fn bytes_of(records: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let mut bytes = MAGIC.to_vec();
    let mut tag = [0; 16];
    for record in records {
        if record.len() > MAX_RECORD {
            return Err(too_large());
        }
        let (framed, next) = framed(&tag, record);
        bytes.extend_from_slice(&framed);
        tag = next;
    }
    Ok(bytes)
}

fn too_large() -> Error {
    Error::refused(
        ErrorKind::Limit,
        "this touches more names at once than one record of a session holds; do it in parts",
    )
}

fn framed(before: &Tag, record: &[u8]) -> (Vec<u8>, Tag) {
    let tag = tag_of(before, record);
    let len = u32::try_from(record.len()).expect("the limit of a record was asked before");
    let mut bytes = Vec::with_capacity(HEAD + record.len());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(&tag);
    bytes.extend_from_slice(record);
    (bytes, tag)
}

fn tag_of(before: &Tag, record: &[u8]) -> Tag {
    let mut hasher = Sha256::new();
    hasher.update(before);
    hasher.update(record);
    let digest: [u8; 32] = hasher.finalize().into();
    let mut tag = [0; 16];
    tag.copy_from_slice(&digest[..16]);
    tag
}

fn length_of(bytes: &[u8]) -> usize {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
}

fn tampered(why: &str) -> Error {
    Error::refused(
        ErrorKind::Stale,
        format!("the session's journal was changed from outside: {why}"),
    )
}

fn damaged(error: handfast::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => tampered("it is gone"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a log, read again.
    fn records(root: &Root) -> Result<Vec<Vec<u8>>, Error> {
        let mut found = Vec::new();
        Log::open(root, "log")?.catch_up(true, |record| {
            found.push(record.to_vec());
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn a_record_that_nobody_could_read_is_not_written() {
        let memory = Root::open_ambient(std::env::temp_dir()).unwrap();
        let dir = memory.temp_dir(&RelPath::root()).unwrap();
        let root = dir.root();
        Log::create(root, "log", &[b"first".to_vec()]).unwrap();
        let mut log = Log::open(root, "log").unwrap();
        log.catch_up(true, |_| Ok(())).unwrap();
        let huge = vec![0; MAX_RECORD + 1];
        assert_eq!(log.append(&huge).unwrap_err().kind(), ErrorKind::Limit);
        log.append(b"second").unwrap();
        assert_eq!(
            records(root).unwrap(),
            [b"first".to_vec(), b"second".to_vec()]
        );
        let replaced = Log::replace(root, "log", &[huge]);
        assert_eq!(replaced.unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(records(root).unwrap().len(), 2);
    }
}
