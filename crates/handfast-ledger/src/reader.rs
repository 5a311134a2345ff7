//! Reading a log, or all logs below a directory, without the writer's lock.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use handfast::FileKind;

use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::merkle::{Hash, inclusion, root, verify_inclusion};
use crate::note::{Checkpoint, Ed25519Signer, KeyDir, SignedNote, VerifierKey};
use crate::published;
use crate::reading::Reading;
use crate::receipt::Proof;
use crate::segment;
use crate::store::Store;
use crate::tiles::{Bundle, MOST_BUNDLE, TileReader, WIDTH, bundle_path, wider_than, widest_form};

/// A log that is read.
#[derive(Debug)]
pub struct LogReader {
    pub(crate) store: Store,
    path: PathBuf,
    config: Option<Config>,
    /// Why the configuration cannot be read, in a log that is one by its other files.
    unread: Option<String>,
}

#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path"
)]
fn without_links(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// Whether a directory has parts of a log. One that lost its first files is still no other thing.
fn has_pieces(store: &Store) -> Result<bool, Error> {
    let names = store.list("")?;
    Ok(names.iter().any(|(name, kind)| match kind {
        FileKind::Dir => [segment::DIR, "tile", published::EPOCHS].contains(&name.as_str()),
        _ => name == published::KEYS,
    }))
}

impl LogReader {
    /// Opens one log. Segments need not be there: checkpoint and tiles are enough.
    ///
    /// # Errors
    /// `NotALog` if nothing here is a log's.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let store = Store::open(path)?;
        let published = store.open_read(published::CHECKPOINT)?.is_some();
        let (config, unread) = match Config::read(&store) {
            Ok(config) => (config, None),
            Err(error) if published => (None, Some(error.to_string())),
            Err(error) => return Err(error),
        };
        let mut unread = unread;
        if config.is_none() && !published && has_pieces(&store)? {
            unread = Some(
                "neither log.json nor checkpoint is there, and other parts of a log are".to_owned(),
            );
        } else if config.is_none() && !published {
            return Err(Error::new(
                ErrorKind::NotALog,
                "there is no log here: neither log.json nor checkpoint",
            ));
        }
        Ok(Self {
            store,
            path: path.to_owned(),
            config,
            unread,
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
            // A link may lead to a log that lies elsewhere: it is read like one that lies here.
            let may_be = matches!(kind, FileKind::Dir | FileKind::Symlink | FileKind::Unknown);
            if !may_be || [segment::DIR, "tile", published::EPOCHS].contains(&&*name) {
                continue;
            }
            let mut place = path.join(&name);
            if kind == FileKind::Symlink {
                match without_links(&place) {
                    Ok(target) => place = target,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(Error::os("a link", error)),
                }
            }
            match Self::open(&place) {
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

    /// The key that signs for this log, if the caller may read it.
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

    /// Why `log.json` could not be read, if it could not.
    pub(crate) fn unread_config(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// Tells every event from an index on, in order, until the visitor breaks. The segments are
    /// believed first; what is not in them comes from the bundles. Nothing is verified.
    ///
    /// # Errors
    /// `Corrupt` if the log is damaged: everything that is intact has been told by then, and the
    /// error says what is lost. What the visitor says.
    pub fn for_each(
        &self,
        from: u64,
        visit: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        Reading::new(self, from, visit).run()
    }

    /// The entries of a bundle, as wide as a tree of this size has it.
    pub(crate) fn bundle(&self, index: u64, size: u64) -> Result<Option<Bundle>, Error> {
        let width = (size - index * WIDTH).min(WIDTH);
        let damaged = |error: Error| Error::corrupt(index * WIDTH, error.to_string());
        // The writer may have put a wider one in its place since the checkpoint was read.
        let found = widest_form(&self.store, &bundle_path(index, WIDTH), width, |found| {
            let path = bundle_path(index, found);
            let bytes = self.store.read_at_most(&path, MOST_BUNDLE)?;
            Ok(bytes.map(|bytes| (found, bytes)))
        })?;
        let Some((found, bytes)) = found else {
            return Ok(None);
        };
        let mut bundle = Bundle::parse(bytes).map_err(damaged)?;
        if found > width {
            bundle.truncate(usize::try_from(width).unwrap_or(0));
        }
        Ok(Some(bundle))
    }

    /// As [`LogReader::bundle`], or the widest that is there: the writer may have replaced the one
    /// of this size, and a checkpoint may say anything. Entries behind a damaged length are left
    /// out.
    pub(crate) fn widest_bundle(&self, index: u64, size: u64) -> Result<Option<Bundle>, Error> {
        let width = (size - index * WIDTH).min(WIDTH);
        let full = bundle_path(index, WIDTH);
        let read = |width| {
            let path = bundle_path(index, width);
            self.store.read_at_most(&path, MOST_BUNDLE)
        };
        if let Some(bytes) = widest_form(&self.store, &full, width, read)? {
            return Ok(Some(Bundle::parse_front(bytes)));
        }
        for width in wider_than(&self.store, &full, 0)?.into_iter().rev() {
            if let Some(bytes) = read(width)? {
                return Ok(Some(Bundle::parse_front(bytes)));
            }
        }
        Ok(None)
    }

    /// One event.
    ///
    /// # Errors
    /// `Invalid` if there is none at this index, or it was pruned.
    pub fn event(&self, index: u64) -> Result<Vec<u8>, Error> {
        let mut found = None;
        let read = self.for_each(index, |at, leaf| {
            if at == index {
                found = Some(leaf.to_vec());
            }
            Ok(ControlFlow::Break(()))
        });
        match (found, read) {
            // Damage elsewhere does not make this one less intact.
            (Some(found), _) => Ok(found),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::invalid(format!(
                "there is no event {index} here, or it was pruned"
            ))),
        }
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
