//! Writing whole files.

use handfast::{Durability, Verb, Version, WriteOptions, Written};

use super::names::refuse_stand_in;
use super::read::{judge_names, refuse_new};
use crate::error::Error;
use crate::layer::{Put, Source};
use crate::pipeline::{Ask, Place};
use crate::rules::Access;
use crate::session::Session;

impl Session {
    /// Replaces a file atomically, or creates it. In a read-write mount the content is on the disk
    /// before the name points to it.
    ///
    /// # Errors
    /// `Denied` if the mount is read-only or a pattern protects the path; `Quota`; `Link` for a
    /// link that may not be followed; otherwise as [`handfast::Root::write`].
    pub fn write(&self, path: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.put(
            Verb::Write,
            path.as_ref(),
            data.as_ref(),
            Put::Replace,
            None,
        )
    }

    /// As [`Session::write`], with exact permission bits.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn write_with_mode(
        &self,
        path: impl AsRef<[u8]>,
        data: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<Written, Error> {
        let mode = Some(mode & 0o777);
        self.put(
            Verb::Write,
            path.as_ref(),
            data.as_ref(),
            Put::Replace,
            mode,
        )
    }

    /// Creates a file with its whole content; the name must be free.
    ///
    /// # Errors
    /// `Exists` if anything stands under the name; otherwise as [`Session::write`].
    pub fn write_new(
        &self,
        path: impl AsRef<[u8]>,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        self.put(Verb::WriteNew, path.as_ref(), data.as_ref(), Put::New, None)
    }

    /// Replaces a file only if it is still the version that was seen.
    ///
    /// # Errors
    /// `Stale` if it is not; nothing is changed then. Otherwise as [`Session::write`].
    pub fn write_if(
        &self,
        path: impl AsRef<[u8]>,
        version: &Version,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        let put = Put::If(version);
        self.put(Verb::WriteIf, path.as_ref(), data.as_ref(), put, None)
    }

    fn put(
        &self,
        verb: Verb,
        path: &[u8],
        data: &[u8],
        put: Put<'_>,
        mode: Option<u32>,
    ) -> Result<Written, Error> {
        let ask = Ask::change(verb, path);
        let ask = match put {
            // A new file is never looked for behind a link.
            Put::New => ask.itself(),
            _ => ask,
        };
        let durability = self.durability();
        self.act(ask, |place, _| {
            store(place, Source::Bytes(data), put, mode, durability)
        })
    }

    /// Adds to the end of a file, creating it if it is missing.
    ///
    /// # Errors
    /// `HardLink` if the file has other names; otherwise as [`Session::write`].
    pub fn append(&self, path: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        let data = data.as_ref();
        self.act(Ask::change(Verb::Append, path.as_ref()), |place, _| {
            if place.through_link {
                refuse_new(place)?;
            }
            refuse_stand_in(place)?;
            judge_names(place, Access::Change)?;
            place.mount.layer.append(&place.path, data)
        })
    }

    /// Copies a file, between mounts too. The new file has the source's permission bits.
    ///
    /// # Errors
    /// As [`Session::read`] and [`Session::write`].
    pub fn copy(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<Written, Error> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let source = Ask::read(Verb::Copy, from);
        self.act_on_two(source, Ask::change(Verb::Copy, to), |source, target, _| {
            let opened = source.mount.layer.open_read(&source.path)?;
            source
                .mount
                .check_other_names(&opened.metadata, Access::Read)?;
            let there = target.mount.layer.symlink_metadata(&target.path).is_ok();
            let mode = (!there).then_some(opened.metadata.mode & 0o777);
            let durability = self.durability();
            store(
                target,
                Source::of_file(&opened.file)?,
                Put::Replace,
                mode,
                durability,
            )
        })
    }
}

/// Puts content under a place.
pub(super) fn store(
    place: &Place<'_>,
    source: Source<'_>,
    put: Put<'_>,
    mode: Option<u32>,
    durability: Durability,
) -> Result<Written, Error> {
    if place.through_link {
        refuse_new(place)?;
    }
    refuse_stand_in(place)?;
    let mut options = WriteOptions::new().durability(durability);
    if let Some(mode) = mode {
        options = options.mode(mode);
    }
    place
        .mount
        .layer
        .write(&place.path, source, put, options, mode)
}
