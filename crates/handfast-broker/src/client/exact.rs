//! Calls with everything said: which directory must hold a name, how content is written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::files::{Put, WhatToRemove};
use serde_json::{Value, json};

use super::files::{Ask, Draft, LeaseEntries, Which, with_path};
use super::told::{Linked, Made, Manner, Standing, Status};
use super::types::Entry;
use super::{Client, ClientError};
use crate::wire::Big;

impl Client {
    /// As [`Client::begin`] and [`Client::begin_new`], with everything said; `dir` is the directory
    /// that must hold the name.
    pub(super) fn begin_with(
        &mut self,
        (lease, path): (&str, &[u8]),
        max_size: u64,
        put: Put<'_>,
        manner: &Manner,
        dir: Option<&str>,
    ) -> Result<Draft, ClientError> {
        let version = match put {
            Put::If(version) => Some(version.to_string()),
            _ => None,
        };
        let asked = Ask {
            max_size: Some(Big(max_size)),
            version: version.as_deref().map(Which::Seen),
            new: matches!(put, Put::New).then_some(true),
            manner: Some(manner),
            dir,
            ..Ask::at(lease, path)
        };
        self.begun(&asked)
    }

    pub(super) fn append_with(
        &mut self,
        (lease, path): (&str, &[u8]),
        data: &[u8],
        manner: &Manner,
        dir: Option<&str>,
    ) -> Result<Standing, ClientError> {
        let asked = json!({
            "lease": lease,
            "data_b64": STANDARD.encode(data),
            "file_mode": manner.file_mode,
            "created_mode": manner.created_mode,
            "durability": manner.durability,
            "dir": dir,
        });
        self.call("Append", &with_path(asked, "path", path))
    }

    pub(super) fn mkdir_with(
        &mut self,
        lease: &str,
        path: &[u8],
        mode: u32,
        dir: Option<&str>,
    ) -> Result<Made, ClientError> {
        let asked = json!({ "lease": lease, "dir_mode": format!("{mode:o}"), "dir": dir });
        self.call("Mkdir", &with_path(asked, "path", path))
    }

    pub(super) fn remove_what(
        &mut self,
        lease: &str,
        path: &[u8],
        what: WhatToRemove<'_>,
        dir: Option<&str>,
    ) -> Result<(), ClientError> {
        let (kind, version) = match what {
            WhatToRemove::Dir => ("dir", None),
            WhatToRemove::FileIf(version) => ("file", Some(version.to_string())),
            _ => ("file", None),
        };
        let asked = json!({ "lease": lease, "kind": kind, "version": version, "dir": dir });
        self.call("Remove", &with_path(asked, "path", path))
            .map(|_: Value| ())
    }

    pub(super) fn status(
        &mut self,
        lease: &str,
        path: &[u8],
        follow: bool,
    ) -> Result<Status, ClientError> {
        let asked = json!({ "lease": lease, "follow": follow });
        self.call("Stat", &with_path(asked, "path", path))
    }

    /// The text of a link; with a handle, of that link only.
    pub(super) fn link(
        &mut self,
        lease: &str,
        path: &[u8],
        handle: Option<&str>,
    ) -> Result<Linked, ClientError> {
        let asked = json!({ "lease": lease, "handle": handle });
        self.call("ReadLink", &with_path(asked, "path", path))
    }

    /// As [`Client::rename`]; with handles, only from and to those directories.
    pub(super) fn rename_in(
        &mut self,
        lease: &str,
        (from, to): (&[u8], &[u8]),
        mode: &str,
        dirs: Option<(&str, &str)>,
    ) -> Result<(), ClientError> {
        let (dir, to_dir) = dirs.unzip();
        let asked = json!({ "lease": lease, "mode": mode, "dir": dir, "to_dir": to_dir });
        let asked = with_path(asked, "path", from);
        self.call("Rename", &with_path(asked, "to", to))
            .map(|_: Value| ())
    }

    /// As [`Client::list_dir`]; with a handle, of that directory only.
    pub(super) fn list_held(
        &mut self,
        lease: &str,
        path: &[u8],
        handle: Option<&str>,
    ) -> Result<Vec<Entry>, ClientError> {
        let mut found: Vec<Entry> = Vec::new();
        loop {
            let mut asked = json!({ "lease": lease, "handle": handle });
            asked = with_path(asked, "path", path);
            if let Some(last) = found.last() {
                asked = with_path(asked, "after", &last.name());
            }
            let page: LeaseEntries = self.call("ListDir", &asked)?;
            let end = page.end || page.entries.is_empty();
            found.extend(page.entries);
            if end {
                return Ok(found);
            }
        }
    }
}
