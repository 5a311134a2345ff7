//! `Append`, `Mkdir`, `Rename`, `Remove`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::{ErrorKind, RelPath, RenameMode, Verb, Version};
use serde::Deserialize;

use super::answer::Answer;
use super::write::Standing;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::fault::{Code, Fault};
use crate::path::{Asked, Last, absolute};
use crate::wire::{Big, PathField};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Append {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    data: Option<String>,
    data_b64: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mkdir {
    lease: String,
    path: Option<String>,
    path_b64: Option<String>,
    parents: Option<bool>,
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
}

fn asked(name: &str, text: Option<String>, base64: Option<String>) -> Result<Asked, Fault> {
    let bytes = PathField::bytes(text, base64).map_err(|why| Fault::parameter(name, why))?;
    Asked::parse(name, &bytes)
}

impl Broker {
    pub(crate) fn append(&self, caller: &mut Caller, wanted: Append) -> Result<Answer, Fault> {
        let path = asked("path", wanted.path, wanted.path_b64)?;
        let data = match (wanted.data, wanted.data_b64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => STANDARD
                .decode(base64)
                .map_err(|_| Fault::parameter("data_b64", "not base64"))?,
            _ => return Err(Fault::parameter("data", "`data` or `data_b64`")),
        };
        let claim = caller.claim(self, &wanted.lease, Verb::Append, &path)?;
        let _held = claim.hold(self, Verb::Append, path.rel())?;
        let written = self.act_on(
            &claim,
            &caller.peer,
            Verb::Append,
            &path,
            Last::Follow,
            |session, at| session.append(absolute(at), &data),
        )?;
        Answer::of(&Standing {
            version: written.version().ok().map(|version| version.to_string()),
            size: Big(data.len() as u64),
        })
    }

    pub(crate) fn mkdir(&self, caller: &mut Caller, wanted: Mkdir) -> Result<Answer, Fault> {
        let path = asked("path", wanted.path, wanted.path_b64)?;
        let verb = Verb::CreateDir;
        let claim = caller.claim(self, &wanted.lease, verb, &path)?;
        let _held = claim.hold(self, verb, path.rel())?;
        claim.judge(self, &caller.peer, verb, path.rel())?;
        let peer = &caller.peer;
        let make = |path: &Asked| {
            self.act_on(&claim, peer, verb, path, Last::Itself, |session, at| {
                session.create_dir(absolute(at))
            })
        };
        if wanted.parents != Some(true) {
            make(&path)?;
            return Ok(Answer::empty());
        }
        let mut at = RelPath::root();
        for name in path.rel().segments() {
            at = at.join(name);
            // What the lease does not cover is not made; if it is missing, the next one says so.
            if !claim.lease.covers(&at) {
                continue;
            }
            match make(&Asked::from(absolute(&at))) {
                Err(fault) if fault.kind() == Some(ErrorKind::Exists) => {}
                made => made?,
            }
        }
        Ok(Answer::empty())
    }

    pub(crate) fn rename(&self, caller: &mut Caller, wanted: Rename) -> Result<Answer, Fault> {
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
        let _held = claim.hold(self, verb, from.rel())?;
        let peer = &caller.peer;
        // The inner call settles links on the way to the destination, the outer one on the way to
        // the source; both ends are judged each time.
        self.act_on(
            &claim,
            peer,
            verb,
            &from,
            Last::Itself,
            |session, source| {
                let mut target = to.rel().clone();
                for _ in 0..40 {
                    if let Err(fault) = claim.judge(self, peer, verb, &target) {
                        return Ok(Err(fault));
                    }
                    let renamed = session.rename(absolute(source), absolute(&target), mode);
                    match renamed {
                        Err(error) if error.kind() == ErrorKind::Link => {
                            match self.behind_link(&target, Last::Itself) {
                                Ok(Some(next)) => target = next,
                                Ok(None) => return Err(error),
                                Err(fault) => return Ok(Err(fault)),
                            }
                        }
                        done => return done.map(Ok),
                    }
                }
                let fault = Fault::new(Code::Failed, "too many links, or a loop");
                Ok(Err(fault.of_kind(ErrorKind::Link)))
            },
        )??;
        Ok(Answer::empty())
    }

    pub(crate) fn remove(&self, caller: &mut Caller, wanted: Remove) -> Result<Answer, Fault> {
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
        let claim = caller.claim(self, &wanted.lease, verb, &path)?;
        let _held = claim.hold(self, verb, path.rel())?;
        self.act_on(
            &claim,
            &caller.peer,
            verb,
            &path,
            Last::Itself,
            |session, at| {
                let at = absolute(at);
                match (verb, &version) {
                    (Verb::RemoveIf, Some(version)) => session.remove_if(at, version),
                    (Verb::RemoveDir, _) => session.remove_dir(at),
                    (Verb::RemoveTree, _) => session.remove_tree(at),
                    _ => session.remove_file(at),
                }
            },
        )?;
        Ok(Answer::empty())
    }
}
