//! Files under a lease.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::told::{Manner, Standing};
use super::types::{Entry, Opened, Stat};
use super::{Client, ClientError};
use crate::wire::{Big, PathField, path_field};

/// What a file is asked for with; what is not said is left out.
#[derive(Default, Serialize)]
pub(super) struct Ask<'a> {
    pub(super) lease: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<Which<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_size: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) new: Option<bool>,
    #[serde(flatten)]
    pub(super) manner: Option<&'a Manner>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dir: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) draft: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<Big>,
}

/// A version: to be told, or the one that was seen.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Which<'a> {
    Tell(bool),
    Seen(&'a str),
}

impl<'a> Ask<'a> {
    fn of(lease: &'a str) -> Self {
        Self {
            lease,
            ..Self::default()
        }
    }

    pub(super) fn at(lease: &'a str, path: &'a [u8]) -> Self {
        match std::str::from_utf8(path) {
            Ok(text) => Self {
                path: Some(text),
                ..Self::of(lease)
            },
            Err(_) => Self {
                path_b64: Some(STANDARD.encode(path)),
                ..Self::of(lease)
            },
        }
    }
}

#[derive(Deserialize)]
struct OpenAnswer {
    fd: usize,
    handle: String,
    size: Big,
    version: Option<String>,
    copy: Option<bool>,
}

#[derive(Deserialize)]
struct BeginAnswer {
    fd: usize,
    draft: String,
}

#[derive(Deserialize)]
pub(super) struct LeaseEntries {
    pub(super) entries: Vec<Entry>,
    pub(super) end: bool,
}

/// A file that is being written and that nobody else sees. Dropping it leaves it to the broker,
/// which forgets it with the connection; [`Client::abort`] says so at once.
#[derive(Debug)]
pub struct Draft {
    /// The private file. It cannot grow beyond what was asked for.
    pub file: File,
    name: String,
    lease: String,
}

/// A path as a parameter.
pub(super) fn with_path(mut asked: Value, key: &str, path: &[u8]) -> Value {
    let PathField { text, base64 } = path_field(path);
    match (text, base64) {
        (Some(text), _) => asked[key] = text.into(),
        (_, base64) => asked[format!("{key}_b64")] = base64.into(),
    }
    asked
}

fn take(mut fds: Vec<OwnedFd>, index: usize) -> Result<File, ClientError> {
    if index >= fds.len() {
        let error = std::io::Error::other("the broker sent no descriptor");
        return Err(error.into());
    }
    Ok(File::from(fds.swap_remove(index)))
}

impl Draft {
    /// What the broker calls it, for who speaks to it with [`Client::call`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Client {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// How the lease ended; `Denied`; `Failed` with the kind of the failure.
    pub fn open(&mut self, lease: &str, path: impl AsRef<[u8]>) -> Result<Opened, ClientError> {
        self.opened("Open", &Ask::at(lease, path.as_ref()))
    }

    /// As [`Client::open`], and says which version was opened.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn open_versioned(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<Opened, ClientError> {
        let asked = Ask {
            version: Some(Which::Tell(true)),
            ..Ask::at(lease, path.as_ref())
        };
        self.opened("Open", &asked)
    }

    /// Opens a file for writing in place, where the policy hands such descriptors out.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn open_direct(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<Opened, ClientError> {
        let asked = Ask {
            mode: Some("write"),
            ..Ask::at(lease, path.as_ref())
        };
        self.opened("Open", &asked)
    }

    /// Opens a file again after a pause, only if it is the object and the version that was seen.
    ///
    /// # Errors
    /// `Stale` with what differs.
    pub fn resume(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        handle: &str,
        version: &str,
    ) -> Result<Opened, ClientError> {
        let asked = Ask {
            handle: Some(handle),
            version: Some(Which::Seen(version)),
            ..Ask::at(lease, path.as_ref())
        };
        self.opened("Resume", &asked)
    }

    fn opened(&mut self, method: &str, asked: &Ask<'_>) -> Result<Opened, ClientError> {
        let (answer, fds): (OpenAnswer, _) = self.call_with(method, asked, &[])?;
        Ok(Opened {
            file: take(fds, answer.fd)?,
            handle: answer.handle,
            size: answer.size.0,
            version: answer.version,
            is_copy: answer.copy == Some(true),
        })
    }

    /// Begins a file of at most so many bytes, which will replace or create `path`; with a
    /// version, only if that is still the file's.
    ///
    /// # Errors
    /// As [`Client::open`]; `Quota`, `Limit`.
    pub fn begin(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        max_size: u64,
        version: Option<&str>,
    ) -> Result<Draft, ClientError> {
        let asked = Ask {
            max_size: Some(Big(max_size)),
            version: version.map(Which::Seen),
            ..Ask::at(lease, path.as_ref())
        };
        self.begun(&asked)
    }

    /// As [`Client::begin`], for a name that must be free.
    ///
    /// # Errors
    /// As [`Client::begin`].
    pub fn begin_new(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        max_size: u64,
    ) -> Result<Draft, ClientError> {
        let asked = Ask {
            max_size: Some(Big(max_size)),
            new: Some(true),
            ..Ask::at(lease, path.as_ref())
        };
        self.begun(&asked)
    }

    pub(super) fn begun(&mut self, asked: &Ask<'_>) -> Result<Draft, ClientError> {
        let (answer, fds): (BeginAnswer, _) = self.call_with("Begin", asked, &[])?;
        Ok(Draft {
            file: take(fds, answer.fd)?,
            name: answer.draft,
            lease: asked.lease.to_owned(),
        })
    }

    /// Publishes the first `size` bytes of a draft; gives the new version.
    ///
    /// # Errors
    /// `Stale` if the file is not the version that was named; how the lease ended. Nothing is
    /// visible then.
    pub fn commit(&mut self, draft: &Draft, size: u64) -> Result<Option<String>, ClientError> {
        self.publish(draft, size).map(|done| done.version)
    }

    pub(super) fn publish(&mut self, draft: &Draft, size: u64) -> Result<Standing, ClientError> {
        let asked = Ask {
            draft: Some(&draft.name),
            size: Some(Big(size)),
            ..Ask::of(&draft.lease)
        };
        self.call("Commit", &asked)
    }

    /// Drops a draft.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn abort(&mut self, draft: &Draft) -> Result<(), ClientError> {
        let asked = json!({ "lease": draft.lease, "draft": draft.name });
        self.call("Abort", &asked).map(|_: Value| ())
    }

    /// Begins, fills and commits in one.
    ///
    /// # Errors
    /// As [`Client::begin`] and [`Client::commit`].
    pub fn write(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        data: &[u8],
        version: Option<&str>,
    ) -> Result<Option<String>, ClientError> {
        let draft = self.begin(lease, path, data.len() as u64, version)?;
        draft.file.write_all_at(data, 0)?;
        self.commit(&draft, data.len() as u64)
    }

    /// Adds to the end of a file.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn append(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        data: &[u8],
    ) -> Result<(), ClientError> {
        let asked = json!({ "lease": lease, "data_b64": STANDARD.encode(data) });
        self.call("Append", &with_path(asked, "path", path.as_ref()))
            .map(|_: Value| ())
    }

    /// Makes a directory; with `parents`, those above it too.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn mkdir(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        parents: bool,
    ) -> Result<(), ClientError> {
        let asked = json!({ "lease": lease, "parents": parents });
        self.call("Mkdir", &with_path(asked, "path", path.as_ref()))
            .map(|_: Value| ())
    }

    /// Renames; `mode` is `no-replace`, `replace` or `exchange`.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn rename(
        &mut self,
        lease: &str,
        from: impl AsRef<[u8]>,
        to: impl AsRef<[u8]>,
        mode: &str,
    ) -> Result<(), ClientError> {
        self.rename_in(lease, (from.as_ref(), to.as_ref()), mode, None)
    }

    /// Removes; `kind` is `file`, `dir` or `tree`.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn remove(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
        kind: &str,
    ) -> Result<(), ClientError> {
        let asked = json!({ "lease": lease, "kind": kind });
        self.call("Remove", &with_path(asked, "path", path.as_ref()))
            .map(|_: Value| ())
    }

    /// Facts about what a path leads to.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn stat(&mut self, lease: &str, path: impl AsRef<[u8]>) -> Result<Stat, ClientError> {
        let asked = with_path(json!({ "lease": lease }), "path", path.as_ref());
        self.call("Stat", &asked)
    }

    /// The entries of a directory that the lease shows, in byte order.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn list_dir(
        &mut self,
        lease: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<Entry>, ClientError> {
        self.list_held(lease, path.as_ref(), None)
    }

    /// The entries of a tree that the lease shows; names are paths below its top.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn walk(&mut self, lease: &str, path: impl AsRef<[u8]>) -> Result<Vec<Entry>, ClientError> {
        let asked = with_path(json!({ "lease": lease }), "path", path.as_ref());
        let mut found = Vec::new();
        self.call_more("Walk", &asked, |page: LeaseEntries| {
            found.extend(page.entries)
        })?;
        Ok(found)
    }
}
