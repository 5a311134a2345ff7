//! The object that a question is about.

use handfast::files::FileHandle;
use handfast::{FileKind, Identity, Metadata, Timestamp};

use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::layer::MountLayer;
use crate::place::Spot;

/// Content up to this size is in a question by its digest; longer files by size and times.
const MAX_DIGESTED: u64 = 16 << 20;

/// The length of a SHA-256 as it is written in a version.
const HEX_DIGEST: usize = 64;

const KINDS: [FileKind; 8] = [
    FileKind::File,
    FileKind::Dir,
    FileKind::Symlink,
    FileKind::Fifo,
    FileKind::Socket,
    FileKind::Block,
    FileKind::Char,
    FileKind::Unknown,
];

/// The object of a question, as it was when it was asked.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AskedObject {
    /// What it is.
    pub kind: FileKind,
    /// How many bytes it has.
    pub size: u64,
    /// The device and the inode number: which object it is.
    pub identity: (u64, u64),
    /// When it was made, where the filesystem keeps that: inode numbers come again.
    pub born: Option<Timestamp>,
    /// Which version of a file it is, as text. It holds the SHA-256 of the content unless the file is
    /// larger than 16 MiB.
    pub version: Option<String>,
    /// Where a symbolic link leads.
    pub target: Option<Vec<u8>>,
}

impl AskedObject {
    /// The SHA-256 of the content, where the question holds it.
    #[must_use]
    pub fn sha256(&self) -> Option<String> {
        let (_, last) = self.version.as_deref()?.rsplit_once('.')?;
        (last.len() == HEX_DIGEST).then(|| last.to_owned())
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.text(self.kind.name().as_bytes());
        out.number(self.size);
        out.number(self.identity.0);
        out.number(self.identity.1);
        out.option(self.born, write_time);
        out.option(self.version.as_ref(), |out, text| out.text(text.as_bytes()));
        out.option(self.target.as_ref(), |out, text| out.text(text));
    }

    pub(super) fn read(input: &mut Reader<'_>) -> Result<Self, Error> {
        let name = input.text()?;
        let kind = KINDS
            .into_iter()
            .find(|kind| kind.name().as_bytes() == name)
            .ok_or_else(unknown)?;
        Ok(Self {
            kind,
            size: input.number()?,
            identity: (input.number()?, input.number()?),
            born: input.option(read_time)?,
            version: input.option(super::question::string)?,
            target: input.option(|input| Ok(input.text()?.to_vec()))?,
        })
    }
}

/// What is at a place, looked at twice: when a person is asked, and after the answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Seen(pub(crate) Option<AskedObject>);

impl Seen {
    /// A file that is open.
    pub(crate) fn opened(file: &handfast::File) -> Result<Self, Error> {
        let now = FileHandle::metadata(file)?;
        let is_short = now.len <= MAX_DIGESTED;
        let mut version = FileHandle::version(file, is_short)?.to_string();
        // A young file has a digest by itself, and has none a moment later.
        if let (false, Some((rest, last))) = (is_short, version.rsplit_once('.'))
            && last.len() == HEX_DIGEST
        {
            version = rest.to_owned();
        }
        Ok(Self(Some(AskedObject {
            version: Some(version),
            ..object(&now)
        })))
    }

    /// What a name leads to, and which object of the host that is.
    pub(crate) fn at(
        layer: &MountLayer,
        spot: Spot<'_>,
    ) -> Result<(Self, Option<Metadata>), Error> {
        let status = match layer.symlink_metadata(spot) {
            Ok(status) => status,
            Err(error) if error.kind() == handfast::ErrorKind::NotFound => {
                return Ok((Self(None), None));
            }
            Err(error) => return Err(error),
        };
        let mut seen = object(&status);
        match status.kind {
            FileKind::Symlink => {
                seen.target = Some(layer.read_link(spot)?.as_bytes().to_vec());
            }
            // A file that its owner made unreadable is known by its metadata alone.
            FileKind::File => match layer.open_read(spot) {
                // The facts are those of the open file: the name may lead to another one by now.
                Ok(opened) => {
                    let status = *opened.file.metadata();
                    return Ok((Self::opened(&opened.file)?, Some(status)));
                }
                Err(_) => seen.version = None,
            },
            // What lies in a directory is not what is asked about.
            FileKind::Dir => seen.size = 0,
            _ => {}
        }
        Ok((Self(Some(seen)), Some(status)))
    }
}

fn object(status: &Metadata) -> AskedObject {
    let Identity {
        device,
        inode,
        born,
        ..
    } = status.identity;
    AskedObject {
        kind: status.kind,
        size: status.len,
        identity: (device, inode),
        born,
        version: None,
        target: None,
    }
}

pub(super) fn write_time(out: &mut Writer, time: Timestamp) {
    out.number(time.seconds.cast_unsigned());
    out.number(u64::from(time.nanoseconds));
}

pub(super) fn read_time(input: &mut Reader<'_>) -> Result<Timestamp, Error> {
    Ok(Timestamp {
        seconds: input.number()?.cast_signed(),
        nanoseconds: u32::try_from(input.number()?).map_err(|_| unknown())?,
    })
}
