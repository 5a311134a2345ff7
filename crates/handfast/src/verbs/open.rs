//! Open a file: for reading, for writing in place, for appending, creating it or not.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, ErrorKind, Fault};
use crate::file::File;
use crate::metadata::Metadata;
use crate::op::Op;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::{CAUTIOUS, Root};
use crate::rules::{self, Want};
use crate::sys;
use crate::verb::Verb;

/// How a file is opened. [`OpenOptions::new`] reads; once writing or appending is asked for, it reads
/// only if that is asked for too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OpenOptions {
    read: Option<bool>,
    write: bool,
    append: bool,
    truncate: bool,
    create: Create,
    mode: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Create {
    Never,
    IfMissing,
    New,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Reading.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            read: None,
            write: false,
            append: false,
            truncate: false,
            create: Create::Never,
            mode: 0o666,
        }
    }

    /// Whether the file is read. If this is not said, it is unless it is written or appended to.
    #[must_use]
    pub const fn read(mut self, yes: bool) -> Self {
        self.read = Some(yes);
        self
    }

    /// Whether the file is written in place.
    #[must_use]
    pub const fn write(mut self, yes: bool) -> Self {
        self.write = yes;
        self
    }

    /// Whether everything written goes to the end.
    #[must_use]
    pub const fn append(mut self, yes: bool) -> Self {
        self.append = yes;
        self
    }

    /// Whether the file is emptied: after it passed the rules, never before.
    #[must_use]
    pub const fn truncate(mut self, yes: bool) -> Self {
        self.truncate = yes;
        self
    }

    /// Creates the file if it is missing.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> Self {
        self.create = if yes {
            Create::IfMissing
        } else {
            Create::Never
        };
        self
    }

    /// Creates the file; it is an error if the name exists, even as a dangling link.
    #[must_use]
    pub const fn create_new(mut self, yes: bool) -> Self {
        self.create = if yes { Create::New } else { Create::Never };
        self
    }

    /// The mode of a file that is created, subject to the umask. The default is `0o666`.
    #[must_use]
    pub const fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    /// Whether a missing file is created.
    #[must_use]
    pub const fn creates(self) -> bool {
        !matches!(self.create, Create::Never)
    }

    /// Whether the file is emptied.
    #[must_use]
    pub const fn truncates(self) -> bool {
        self.truncate
    }

    /// Whether everything written goes to the end.
    #[must_use]
    pub const fn appends(self) -> bool {
        self.append
    }

    /// The mode of a file that is created, before the umask narrows it.
    #[must_use]
    pub const fn creation_mode(self) -> u32 {
        self.mode
    }

    /// Whether the name must be free.
    #[must_use]
    pub const fn creates_new(self) -> bool {
        matches!(self.create, Create::New)
    }

    /// Whether the file may be changed through the handle, or by opening it.
    #[must_use]
    pub fn changes(self) -> bool {
        self.write || self.append || self.truncate || self.create != Create::Never
    }

    /// Whether the options make sense together.
    ///
    /// # Errors
    /// `Invalid` if they do not.
    pub fn check(self) -> Result<(), Error> {
        match self.flags() {
            Ok(_) => Ok(()),
            Err(fault) => Err(Error::new(Verb::OpenWrite, "", fault)),
        }
    }

    fn flags(self) -> Result<OFlags, Fault> {
        let writes = self.write || self.append;
        if !writes && (self.truncate || self.create != Create::Never) {
            return Err(Fault::rule(
                ErrorKind::Invalid,
                "truncating and creating need writing or appending",
            ));
        }
        if self.append && self.truncate {
            return Err(Fault::rule(
                ErrorKind::Invalid,
                "appending and truncating exclude each other",
            ));
        }
        let access = match (self.read.unwrap_or(!writes), writes) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (true, false) => OFlags::RDONLY,
            (false, false) => {
                return Err(Fault::rule(
                    ErrorKind::Invalid,
                    "neither reading nor writing was asked for",
                ));
            }
        };
        let append = if self.append {
            OFlags::APPEND
        } else {
            OFlags::empty()
        };
        let create = match self.create {
            Create::Never => OFlags::empty(),
            Create::IfMissing => OFlags::CREATE,
            Create::New => OFlags::CREATE | OFlags::EXCL,
        };
        Ok(access | append | create | CAUTIOUS)
    }
}

impl Root {
    /// Opens a file for reading.
    ///
    /// On return the file is the object that was resolved; a later rename does not change it.
    ///
    /// # Errors
    /// `Escape`, `Link`, `Mount` if the path leads where it may not; `Kind`, `HardLink`,
    /// `IsADirectory` if the object is not one that may be read; `Busy` if it has a lease;
    /// `NotFound`, `NotADirectory`, `Denied`.
    ///
    /// # Security
    /// Someone who can write inside the root may choose which inside file this is, never one
    /// outside. A FIFO or a leased file is refused, and never waited for.
    pub fn open(&self, path: &RelPath) -> Result<File, Error> {
        self.open_with(path, OpenOptions::new())
    }

    /// Opens a file with options.
    ///
    /// # Errors
    /// As [`Root::open`]; `Exists` if a new file was asked for; `HardLink` if writing in place
    /// would reach other names; `Invalid` if the options make no sense together.
    ///
    /// # Security
    /// Nothing is ever created through a link, and nothing is truncated before the opened object
    /// passed the rules.
    pub fn open_with(&self, path: &RelPath, options: OpenOptions) -> Result<File, Error> {
        let verb = if options.changes() {
            Verb::OpenWrite
        } else {
            Verb::Open
        };
        self.act(verb, path, |op| {
            let (fd, status) = open_checked(self, path, options, op)?;
            if options.truncate && status.is_file() {
                sys::truncate(&fd, 0)?;
            }
            Ok(File::new(fd, status, self.full(path)))
        })
    }
}

/// Opens, applies the rules to what was opened, and records.
#[inline(always)]
pub(super) fn open_checked(
    root: &Root,
    path: &RelPath,
    options: OpenOptions,
    op: &mut Op<'_>,
) -> Result<(OwnedFd, Metadata), Fault> {
    if options.create != Create::Never {
        // Creating is a change of its own: it is recorded before it happens.
        op.allow(None)?;
        let (fd, status) = open_ruled(root, path, options)?;
        op.note(&status);
        return Ok((fd, status));
    }
    let (fd, status) = open_ruled(root, path, options)?;
    op.allow(Some(&status))?;
    Ok((fd, status))
}

/// Opens, applies the rules to what was opened, and makes it an ordinary descriptor.
#[inline(always)]
pub(super) fn open_ruled(
    root: &Root,
    path: &RelPath,
    options: OpenOptions,
) -> Result<(OwnedFd, Metadata), Fault> {
    let flags = options.flags()?;
    #[cfg(handfast_sabotage)]
    let flags = crate::sabotage::truncating(flags, options.truncate);
    let mode = Mode::from_raw_mode(options.mode & 0o777);
    let want = if options.changes() {
        Want::Change
    } else {
        Want::Read
    };
    resolve::require_file_path(root, path, Last::Follow)?;
    let (fd, status) = rules::open_by_own_name(root, path, want, || {
        let (fd, is_new) = match options.create {
            Create::Never => (resolve::open(root, path, flags, mode, Last::Follow)?, false),
            Create::New => (resolve::create(root, path, flags, mode)?, true),
            // A file that is certainly new has no other name to be asked for.
            Create::IfMissing => match resolve::create(root, path, flags | OFlags::EXCL, mode) {
                Err(fault) if fault.kind == ErrorKind::Exists => {
                    (resolve::create(root, path, flags, mode)?, false)
                }
                made => (made?, true),
            },
        };
        let status = sys::status(&fd)?;
        rules::check_file(root, &status, want)?;
        Ok((fd, status, is_new))
    })?;
    #[cfg(handfast_sabotage)]
    let fd = crate::sabotage::opened_again(fd, root, path, flags)?;
    if !may_wait(&status, options) {
        sys::set_blocking(&fd, flags)?;
    }
    Ok((fd, status))
}

/// Whether reading may wait for ever: files of procfs and the like say that they are empty and use no
/// blocks, and some wait until the kernel has something to say. They stay as they were opened, and
/// answer that nothing is there now. For a file that is really empty that makes no difference.
fn may_wait(status: &Metadata, options: OpenOptions) -> bool {
    status.is_file() && status.len == 0 && status.blocks == 0 && !options.changes()
}
