//! Reading a log, or all logs below a directory, without the writer's lock.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use handfast::FileKind;

use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::merkle::{Hash, inclusion, root, verify_inclusion};
use crate::note::{Checkpoint, Ed25519Signer, KeyDir, SignedNote, VerifierKey};
use crate::published;
use crate::receipt::Proof;
use crate::segment::{self, Item, Stop};
use crate::store::Store;
use crate::tiles::{Bundle, MOST_BUNDLE, TileReader, WIDTH, bundle_path, bundles_present};

/// A log that is read.
#[derive(Debug)]
pub struct LogReader {
    pub(crate) store: Store,
    path: PathBuf,
    config: Option<Config>,
}

impl LogReader {
    /// Opens one log. Segments need not be there: checkpoint and tiles are enough.
    ///
    /// # Errors
    /// `NotALog` if nothing here is a log's.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let store = Store::open(path)?;
        let config = Config::read(&store)?;
        if config.is_none() && store.open_read(published::CHECKPOINT)?.is_none() {
            return Err(Error::new(
                ErrorKind::NotALog,
                "there is no log here: neither log.json nor checkpoint",
            ));
        }
        Ok(Self {
            store,
            path: path.to_owned(),
            config,
        })
    }

    /// Opens the log here, if there is one, and those one directory below.
    ///
    /// # Errors
    /// `NotALog` if there is none at all.
    pub fn open_all(path: impl AsRef<Path>) -> Result<Vec<Self>, Error> {
        let path = path.as_ref();
        let store = Store::open(path)?;
        let mut found = Vec::new();
        match Self::open(path) {
            Ok(log) => found.push(log),
            Err(error) if error.kind() == ErrorKind::NotALog => {}
            Err(error) => return Err(error),
        }
        for (name, kind) in store.list("")? {
            if kind != FileKind::Dir || [segment::DIR, "tile", published::EPOCHS].contains(&&*name)
            {
                continue;
            }
            match Self::open(path.join(&name)) {
                Ok(log) => found.push(log),
                Err(error) if error.kind() == ErrorKind::NotALog => {}
                Err(error) => return Err(error),
            }
        }
        if found.is_empty() {
            return Err(Error::new(
                ErrorKind::NotALog,
                "there is no log here, nor in a directory below",
            ));
        }
        Ok(found)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its origin, as far as anything here says it.
    #[must_use]
    pub fn origin(&self) -> String {
        if let Some(config) = &self.config {
            return config.origin.clone();
        }
        match published::checkpoint(&self.store) {
            Ok(Some((checkpoint, _))) => checkpoint.origin,
            _ => String::new(),
        }
    }

    /// The keys that the log names, oldest first. Whether they are the right ones, somebody else
    /// must say.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn keys(&self) -> Result<Vec<VerifierKey>, Error> {
        published::keys(&self.store)
    }

    /// The key that signs for this log, if whoever asks may read it.
    ///
    /// # Errors
    /// `Key` if it is not there.
    pub fn signer(&self) -> Result<Ed25519Signer, Error> {
        let config = self
            .config
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Key, "this copy of a log has no key"))?;
        KeyDir::open(&config.key_path())?.load(&config.log_id)
    }

    /// The published checkpoint.
    ///
    /// # Errors
    /// `Invalid` if it is none.
    pub fn checkpoint(&self) -> Result<Option<(Checkpoint, SignedNote)>, Error> {
        published::checkpoint(&self.store)
    }

    /// The first event of the segments, if there are any.
    pub(crate) fn segments(&self) -> Result<Vec<u64>, Error> {
        segment::list(&self.store)
    }

    /// Tells every event from an index on, in order, until the visitor breaks. The segments are
    /// believed first; what is only in bundles comes from there. Nothing is verified.
    ///
    /// # Errors
    /// `Corrupt` if a finished segment or a bundle cannot be read; what the visitor says.
    pub fn for_each(
        &self,
        from: u64,
        mut visit: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let segments = self.segments()?;
        let in_bundles = match (segments.first(), self.checkpoint()?) {
            (Some(first), _) => *first,
            (None, Some((checkpoint, _))) => checkpoint.size,
            (None, None) => 0,
        };
        let mut next = from;
        let mut present = None;
        while next < in_bundles {
            let index = next / WIDTH;
            let Some(entries) = self.bundle(index, in_bundles)? else {
                // Pruned: the next bundle may be there.
                let present = match &mut present {
                    Some(present) => present,
                    none => none.insert(bundles_present(&self.store)?),
                };
                let later = present.range(index + 1..).next();
                let begin = later.and_then(|index| index.checked_mul(WIDTH));
                next = begin.unwrap_or(in_bundles).min(in_bundles);
                continue;
            };
            let end = (index * WIDTH).saturating_add(WIDTH).min(in_bundles);
            for at in next..end {
                let entry = entries.get(usize::try_from(at % WIDTH).unwrap_or(0));
                let entry =
                    entry.ok_or_else(|| Error::corrupt(at, "a bundle holds too few entries"))?;
                if visit(at, entry)?.is_break() {
                    return Ok(());
                }
            }
            next = end;
        }
        let skip = segments.partition_point(|first| *first <= next).max(1) - 1;
        for (at, first) in segments.iter().enumerate().skip(skip) {
            let bytes = self.store.read(&segment::name(*first))?.unwrap_or_default();
            let Some((_, start)) = segment::read_header(&bytes) else {
                if at + 1 == segments.len() {
                    return Ok(());
                }
                return Err(Error::corrupt(*first, "the header of a segment is damaged"));
            };
            let mut done = false;
            let scan = segment::scan(&bytes[start..], start as u64, *first, |item, _| {
                if let Item::Event { index, leaf } = item
                    && index >= next
                    && !done
                {
                    done = visit(index, leaf)?.is_break();
                    next = index + 1;
                }
                Ok(())
            })?;
            if done {
                return Ok(());
            }
            if let Stop::Bad { index } = scan.stop
                && at + 1 < segments.len()
            {
                return Err(Error::corrupt(index, "a finished segment is damaged"));
            }
        }
        Ok(())
    }

    /// The entries of a bundle, as wide as a tree of this size has it.
    pub(crate) fn bundle(&self, index: u64, size: u64) -> Result<Option<Bundle>, Error> {
        let width = (size - index * WIDTH).min(WIDTH);
        let read = |width| {
            let path = bundle_path(index, width);
            self.store.read_at_most(&path, MOST_BUNDLE)
        };
        let bytes = match read(width)? {
            Some(bytes) => Some(bytes),
            None => read(WIDTH)?,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        Bundle::parse(bytes)
            .map(Some)
            .map_err(|error| Error::corrupt(index * WIDTH, error.to_string()))
    }

    /// One event.
    ///
    /// # Errors
    /// `Invalid` if there is none at this index, or it was pruned.
    pub fn event(&self, index: u64) -> Result<Vec<u8>, Error> {
        let mut found = None;
        self.for_each(index, |at, leaf| {
            if at == index {
                found = Some(leaf.to_vec());
            }
            Ok(ControlFlow::Break(()))
        })?;
        found.ok_or_else(|| {
            Error::invalid(format!("there is no event {index} here, or it was pruned"))
        })
    }

    /// The proof that an event is in the published tree. It has been checked against the
    /// checkpoint's root; whose signature is on that is for the reader to say.
    ///
    /// # Errors
    /// `Invalid` if the event has not been published; `Corrupt` if the tiles do not fit.
    pub fn prove(&self, index: u64) -> Result<Proof, Error> {
        let Some((checkpoint, note)) = self.checkpoint()? else {
            return Err(Error::invalid("no checkpoint has been published yet"));
        };
        if index >= checkpoint.size {
            return Err(Error::invalid(format!(
                "event {index} is not among the {} of the published checkpoint",
                checkpoint.size
            )));
        }
        let event = self.event(index)?;
        let tiles = TileReader::new(&self.store, checkpoint.size);
        let path = inclusion(&tiles, index, checkpoint.size)?;
        let holds = root(&tiles, checkpoint.size)? == checkpoint.root
            && verify_inclusion(
                Hash::leaf(&event),
                index,
                checkpoint.size,
                &path,
                checkpoint.root,
            );
        if !holds {
            return Err(Error::corrupt(
                index,
                "event, tiles and checkpoint do not fit together",
            ));
        }
        Ok(Proof {
            event,
            index,
            path,
            checkpoint: note,
        })
    }
}
