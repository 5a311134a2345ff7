//! Archives that are the same for the same tree.
//!
//! The tree is walked by held directories, in the byte order of its names. Times, owners and everything of
//! a mode but whether a file can be run are left out, so that two trees with the same names and contents
//! make the same bytes.

mod tar;
mod zip;

use std::io::{self, Write};

use handfast::files::{FileHandle, TreeEntry};
use handfast::{
    Error, ErrorKind, FileKind, Files, OpenOptions, RelPath, TreeLimits, check_symlink_target,
};

use crate::options::LinkPolicy;

/// The format of a new archive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum NewFormat {
    /// tar, as it is.
    #[default]
    Tar,
    /// tar in gzip.
    TarGzip,
    /// zip.
    Zip,
}

/// Options of [`create`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CreateOptions {
    /// The format.
    pub format: NewFormat,
    /// Symbolic links: refused, or kept if they stay inside.
    pub links: LinkPolicy,
    /// The time of every member, in seconds since 1970. Not for zip, which is always of its first day.
    pub modified: u32,
    /// How large and how deep the tree may be.
    pub limits: TreeLimits,
}

impl CreateOptions {
    /// A plain tar without links.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// What went into an archive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Created {
    /// Members.
    pub entries: u64,
    /// Bytes of content.
    pub bytes: u64,
}

/// Writes a tree as an archive. Names in it count from the tree's top.
///
/// # Errors
/// `Link` for a link that is refused or leads outside; `Kind` for special files; `Raced` if the tree changes
/// while it is read; `Denied` for what may not be read: nothing is left out silently.
pub fn create(
    files: &dyn Files,
    top: &RelPath,
    out: &mut dyn Write,
    options: CreateOptions,
) -> Result<Created, Error> {
    if options.format == NewFormat::Zip && options.modified != 0 {
        let why = "members of a zip are always of 1 January 1980 here";
        return Err(Error::refused(ErrorKind::Invalid, why));
    }
    let done = match options.format {
        NewFormat::Tar => walk(
            files,
            top,
            options,
            &mut tar::Writer::new(out, options.modified),
        )?,
        NewFormat::Zip => walk(files, top, options, &mut zip::Writer::new(out))?,
        NewFormat::TarGzip => {
            let mut packed =
                flate2::write::GzEncoder::new(&mut *out, flate2::Compression::default());
            let done = walk(
                files,
                top,
                options,
                &mut tar::Writer::new(&mut packed, options.modified),
            )?;
            packed.finish().map_err(Error::from)?;
            done
        }
    };
    out.flush().map_err(Error::from)?;
    Ok(done)
}

/// What both formats do with a member.
trait MemberWriter {
    fn dir(&mut self, name: &[u8]) -> io::Result<()>;
    fn symlink(&mut self, name: &[u8], target: &[u8]) -> io::Result<()>;
    fn begin(&mut self, name: &[u8], size: u64, is_program: bool) -> io::Result<()>;
    fn content(&mut self, data: &[u8]) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
    fn finish(&mut self) -> io::Result<()>;
}

fn walk(
    files: &dyn Files,
    top: &RelPath,
    options: CreateOptions,
    writer: &mut dyn MemberWriter,
) -> Result<Created, Error> {
    let mut walk = files.walk(top, options.limits)?;
    let mut done = Created::default();
    while let Some(entry) = walk.next_entry()? {
        if walk.skipped() > 0 {
            break;
        }
        let shown = files.shown_path(&entry.path);
        let named = |error: Error| error.on(handfast::Verb::Read, shown.clone());
        done.bytes += member(files, top, &entry, options, writer).map_err(named)?;
        done.entries += 1;
    }
    if walk.skipped() > 0 {
        return Err(Error::refused(
            ErrorKind::Denied,
            "a directory of the tree cannot be read, or is gone by now",
        ));
    }
    writer.finish().map_err(Error::from)?;
    Ok(done)
}

fn member(
    files: &dyn Files,
    top: &RelPath,
    entry: &TreeEntry,
    options: CreateOptions,
    writer: &mut dyn MemberWriter,
) -> Result<u64, Error> {
    let path = match top.is_root() {
        true => entry.path.clone(),
        false => entry
            .path
            .strip_prefix(top)
            .map_or_else(RelPath::root, |rest| rest.to_path()),
    };
    let Some(node) = &entry.node else {
        let why = "it may not be looked at, or is gone by now";
        return Err(Error::refused(ErrorKind::Denied, why));
    };
    match entry.kind {
        FileKind::Dir => writer.dir(path.as_bytes()).map_err(Error::from).map(|()| 0),
        FileKind::Symlink if options.links == LinkPolicy::Inside => {
            let target = files.link_of(node)?;
            check_symlink_target(target.as_bytes(), &path)?;
            let written = writer.symlink(path.as_bytes(), target.as_bytes());
            written.map_err(Error::from).map(|()| 0)
        }
        FileKind::Symlink => Err(Error::refused(ErrorKind::Link, "links are refused")),
        FileKind::File => {
            let file = files.open_node(node, OpenOptions::new())?;
            content(&*file, path.as_bytes(), writer)
        }
        _ => Err(Error::refused(
            ErrorKind::Kind,
            "a special file has no place in an archive",
        )),
    }
}

/// The content that a file had when it was opened, exactly: its length is written before it.
fn content(
    file: &dyn FileHandle,
    name: &[u8],
    writer: &mut dyn MemberWriter,
) -> Result<u64, Error> {
    let opened = file.opened_metadata();
    writer
        .begin(name, opened.len, opened.mode & 0o111 != 0)
        .map_err(Error::from)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut offset = 0;
    while offset < opened.len {
        let most =
            usize::try_from(opened.len - offset).map_or(buffer.len(), |it| it.min(buffer.len()));
        let got = file.read_at(&mut buffer[..most], offset)?;
        if got == 0 {
            let why = "the file became shorter while it was read";
            return Err(Error::refused(ErrorKind::Raced, why));
        }
        writer.content(&buffer[..got]).map_err(Error::from)?;
        offset += got as u64;
    }
    writer.end().map_err(Error::from)?;
    Ok(offset)
}
