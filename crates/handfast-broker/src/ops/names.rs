//! `Append`, `Mkdir`, `Rename`, `Remove`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::files::{Files, WhatToRemove};
use handfast::{Durability, ErrorKind, RenameMode, Verb, Version};
use handfast_session::VirtualPath;
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use super::held::HeldName;
use super::manner::{Manner, mode_bits};
use super::open::handle_of;
use super::write::WriteTarget;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::fault::Fault;
use crate::path;
use crate::wire::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Append {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    data: Option<String>,
    data_b64: Option<String>,
    file_mode: Option<String>,
    created_mode: Option<String>,
    durability: Option<String>,
    /// The handle of the directory that holds the name; nothing is done in another one.
    dir: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mkdir {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    parents: Option<bool>,
    dir_mode: Option<String>,
    /// The handle of the directory that holds the name; nothing is done in another one.
    dir: Option<String>,
}

#[derive(Debug, Serialize)]
struct CreatedName {
    /// Which directory was made, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    to: Option<String>,
    to_b64: Option<String>,
    /// `no-replace` (if it is left out), `replace` or `exchange`.
    mode: Option<String>,
    /// The handle of the directory that holds the name; nothing is done in another one.
    dir: Option<String>,
    /// The same for the new name; the two are given together.
    to_dir: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remove {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    /// `file` (if it is left out), `dir` or `tree`.
    kind: Option<String>,
    version: Option<String>,
    /// The handle of the directory that holds the name; nothing is done in another one.
    dir: Option<String>,
}

fn asked(name: &str, text: Option<String>, base64: Option<String>) -> Result<VirtualPath, Fault> {
    path::from_fields(name, text.map(Text::from), base64)
}

impl Broker {
    pub(crate) fn append(&self, caller: &mut Caller, wanted: Append) -> Result<CallResult, Fault> {
        let path = asked("path", wanted.path, wanted.path_b64)?;
        let data = match (wanted.data, wanted.data_b64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => STANDARD
                .decode(base64)
                .map_err(|_| Fault::parameter("data_b64", "not base64"))?,
            _ => return Err(Fault::parameter("data", "`data` or `data_b64`")),
        };
        let manner = Manner {
            file_mode: wanted.file_mode.as_deref(),
            created_mode: wanted.created_mode.as_deref(),
            durability: wanted.durability.as_deref(),
        };
        let options = manner.options(Durability::None)?;
        let claim = caller.claim(self, &wanted.lease, Verb::Append, &path)?;
        let _held = claim.hold(self, Verb::Append, &path)?;
        let written = self.act(&claim, Verb::Append, &path, |session| {
            match (&wanted.dir, options) {
                (Some(dir), options) => {
                    let held = HeldName::find(session, &path, dir)?;
                    Files::append_at(session, held.at(), &data, options.unwrap_or_default())
                }
                (None, Some(options)) => session.append_with(&path, &data, options),
                (None, None) => session.append(&path, &data),
            }
        })?;
        CallResult::of(&WriteTarget::of(&written, data.len() as u64))
    }

    pub(crate) fn mkdir(&self, caller: &mut Caller, wanted: Mkdir) -> Result<CallResult, Fault> {
        let path = asked("path", wanted.path, wanted.path_b64)?;
        let verb = Verb::CreateDir;
        let mode = match &wanted.dir_mode {
            Some(text) => mode_bits("dir_mode", text)?,
            None => 0o777,
        };
        let claim = caller.claim(self, &wanted.lease, verb, &path)?;
        let _held = claim.hold(self, verb, &path)?;
        if let Some(dir) = &wanted.dir {
            if wanted.parents == Some(true) {
                return Err(Fault::parameter(
                    "dir",
                    "the directory is there, with its parents",
                ));
            }
            let made = self.act(&claim, verb, &path, |session| {
                let held = HeldName::find(session, &path, dir)?;
                Files::create_dir_at(session, held.at(), mode)
            })?;
            let handle = Some(handle_of(&made.metadata().identity));
            return CallResult::of(&CreatedName { handle });
        }
        let make = |path: &VirtualPath| {
            self.act(&claim, verb, path, |session| {
                session.create_dir_with(path, mode)
            })
        };
        if wanted.parents != Some(true) {
            make(&path)?;
            return Ok(CallResult::empty());
        }
        self.judge(&claim, verb, &path)?;
        let mut at = VirtualPath::root();
        for name in path.as_rel().segments() {
            at = at.join(name);
            // What the lease does not cover is not made; if it is missing, the next one says so.
            if !claim.lease.covers(&at) {
                continue;
            }
            match make(&at) {
                Err(fault) if fault.kind() == Some(ErrorKind::Exists) => {}
                made => made?,
            }
        }
        Ok(CallResult::empty())
    }

    pub(crate) fn rename(&self, caller: &mut Caller, wanted: Rename) -> Result<CallResult, Fault> {
        let from = asked("path", wanted.path, wanted.path_b64)?;
        let to = asked("to", wanted.to, wanted.to_b64)?;
        let mode = match wanted.mode.as_deref() {
            None | Some("no-replace") => RenameMode::NoReplace,
            Some("replace") => RenameMode::Replace,
            Some("exchange") => RenameMode::Exchange,
            Some(_) => {
                return Err(Fault::parameter("mode", "no-replace, replace or exchange"));
            }
        };
        let verb = Verb::Rename;
        let claim = caller.claim(self, &wanted.lease, verb, &from)?;
        let _held = claim.hold(self, verb, &from)?;
        if wanted.dir.is_some() != wanted.to_dir.is_some() {
            return Err(Fault::parameter(
                "to_dir",
                "`dir` and `to_dir` are given together",
            ));
        }
        self.act(&claim, verb, &from, |session| {
            let (Some(from_dir), Some(to_dir)) = (&wanted.dir, &wanted.to_dir) else {
                return session.rename(&from, &to, mode);
            };
            let source = HeldName::find(session, &from, from_dir)?;
            let target = HeldName::find(session, &to, to_dir)?;
            Files::rename_at(session, source.at(), target.at(), mode)
        })?;
        Ok(CallResult::empty())
    }

    pub(crate) fn remove(&self, caller: &mut Caller, wanted: Remove) -> Result<CallResult, Fault> {
        let path = asked("path", wanted.path, wanted.path_b64)?;
        let version = match &wanted.version {
            Some(text) => Some(
                text.parse::<Version>()
                    .map_err(|_| Fault::parameter("version", "not a version this broker gave"))?,
            ),
            None => None,
        };
        let verb = match (wanted.kind.as_deref(), &version) {
            (None | Some("file"), None) => Verb::RemoveFile,
            (None | Some("file"), Some(_)) => Verb::RemoveIf,
            (Some("dir"), None) => Verb::RemoveDir,
            (Some("tree"), None) => Verb::RemoveTree,
            (Some("dir" | "tree"), Some(_)) => {
                return Err(Fault::parameter("version", "only files have versions"));
            }
            _ => return Err(Fault::parameter("kind", "file, dir or tree")),
        };
        if wanted.dir.is_some() && verb == Verb::RemoveTree {
            return Err(Fault::parameter("dir", "a tree is removed by its path"));
        }
        let claim = caller.claim(self, &wanted.lease, verb, &path)?;
        let _held = claim.hold(self, verb, &path)?;
        if let Some(dir) = &wanted.dir {
            let what = match (verb, &version) {
                (Verb::RemoveIf, Some(version)) => WhatToRemove::FileIf(version),
                (Verb::RemoveDir, _) => WhatToRemove::Dir,
                _ => WhatToRemove::File,
            };
            self.act(&claim, verb, &path, |session| {
                let held = HeldName::find(session, &path, dir)?;
                Files::remove_at(session, held.at(), what)
            })?;
            return Ok(CallResult::empty());
        }
        self.act(&claim, verb, &path, |session| match (verb, &version) {
            (Verb::RemoveIf, Some(version)) => session.remove_if(&path, version),
            (Verb::RemoveDir, _) => session.remove_dir(&path),
            (Verb::RemoveTree, _) => session.remove_tree(&path),
            _ => session.remove_file(&path),
        })?;
        Ok(CallResult::empty())
    }
}
