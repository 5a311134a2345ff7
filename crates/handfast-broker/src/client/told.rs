//! What the broker tells about files, as the library's types.

use handfast::{
    Durability, Error, ErrorKind, FileKind, Identity, Metadata, RelPath, Timestamp, WriteOptions,
    Written,
};
use serde::{Deserialize, Serialize};

use super::ClientError;
use crate::wire::{Big, PathField};

/// An answer to `Stat`, as far as [`Metadata`] goes.
#[derive(Deserialize)]
pub(super) struct Status {
    kind: String,
    mode: String,
    uid: u32,
    gid: u32,
    size: Big,
    links: Big,
    pub(super) handle: String,
    blocks: Big,
    accessed_ns: String,
    modified_ns: String,
    changed_ns: String,
}

/// An answer to `Mkdir`.
#[derive(Deserialize)]
pub(super) struct Made {
    /// The directory, where one above it was named.
    pub(super) handle: Option<String>,
}

impl Status {
    /// The facts; nothing if they cannot be read.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        let mut told = Metadata::told(identity_of(&self.handle)?, kind_of(&self.kind));
        told.mode = u32::from_str_radix(&self.mode, 8).ok()?;
        (told.uid, told.gid) = (self.uid, self.gid);
        (told.len, told.nlink, told.blocks) = (self.size.0, self.links.0, self.blocks.0);
        told.accessed = time_of(&self.accessed_ns)?;
        told.modified = time_of(&self.modified_ns)?;
        told.changed = time_of(&self.changed_ns)?;
        Some(told)
    }
}

/// An answer to `ReadLink`.
#[derive(Deserialize)]
pub(super) struct Linked {
    target: Option<String>,
    target_b64: Option<String>,
}

impl Linked {
    pub(super) fn target(self) -> Vec<u8> {
        PathField::bytes(self.target, self.target_b64).unwrap_or_default()
    }
}

/// What was written.
#[derive(Deserialize)]
pub(super) struct Standing {
    pub(super) version: Option<String>,
    handle: String,
}

impl Standing {
    pub(super) fn written(&self, path: &RelPath) -> Result<Written, Error> {
        let identity = identity_of(&self.handle).ok_or_else(|| {
            let why = "the broker does not say which file was written";
            Error::refused(ErrorKind::Io, why).with_effect(handfast::Effect::Visible)
        })?;
        let version = self.version.as_deref().map(str::parse).transpose()?;
        Ok(Written::told(path, identity, version))
    }
}

/// How content is written, as parameters of a call.
#[derive(Default, Serialize)]
pub(super) struct Manner {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) durability: Option<&'static str>,
}

impl Manner {
    pub(super) fn of(options: WriteOptions) -> Self {
        let octal = |mode: u32| format!("{mode:o}");
        Self {
            file_mode: options.exact_mode().map(octal),
            created_mode: options.mode_if_created().map(octal),
            durability: Some(match options.durability_level() {
                Durability::None => "none",
                Durability::File => "file",
                Durability::Full => "full",
            }),
        }
    }
}

/// The kind of a name.
pub(super) fn kind_of(name: &str) -> FileKind {
    let all = [
        FileKind::File,
        FileKind::Dir,
        FileKind::Symlink,
        FileKind::Fifo,
        FileKind::Socket,
        FileKind::Block,
        FileKind::Char,
    ];
    let found = all.into_iter().find(|kind| kind.name() == name);
    found.unwrap_or(FileKind::Unknown)
}

/// The error of a call, as the library's.
pub(super) fn error_of(error: ClientError) -> Error {
    match error {
        ClientError::Fault(fault) => Error::refused(fault.log_kind(), fault.why().to_owned())
            .with_effect(fault.effect())
            .because(fault),
        ClientError::Io(error) => Error::refused(
            ErrorKind::Io,
            format!("the connection to the broker: {error}"),
        ),
    }
}

/// The object of a handle: `device:inode@seconds.nanoseconds`.
fn identity_of(handle: &str) -> Option<Identity> {
    let (object, born) = match handle.split_once('@') {
        Some((object, born)) => (object, Some(born)),
        None => (handle, None),
    };
    let (device, inode) = object.split_once(':')?;
    let born = match born {
        Some(text) => {
            let (seconds, nanoseconds) = text.split_once('.')?;
            Some(Timestamp {
                seconds: seconds.parse().ok()?,
                nanoseconds: nanoseconds.parse().ok()?,
            })
        }
        None => None,
    };
    Some(Identity {
        device: u64::from_str_radix(device, 16).ok()?,
        inode: inode.parse().ok()?,
        mount: None,
        born,
    })
}

fn time_of(nanoseconds: &str) -> Option<Timestamp> {
    let whole: i128 = nanoseconds.parse().ok()?;
    Some(Timestamp {
        seconds: i64::try_from(whole.div_euclid(1_000_000_000)).ok()?,
        nanoseconds: u32::try_from(whole.rem_euclid(1_000_000_000)).ok()?,
    })
}
