//! From an overlay's changes to data.

use std::collections::BTreeMap;
use std::io::Read;

use handfast::{ErrorKind, FileKind};
use sha2::{Digest, Sha256};

use super::form::Form;
use super::hunk::{Subject, between, hex};
use super::{Change, Content, Flag, NotShown, ReviewOptions, Side, flags};
use crate::error::Error;
use crate::ignored::Ignores;
use crate::mount::Mount;
use crate::moved_names;
use crate::overlay::{DiffChange, DiffKind, FileSide, Overlay, SideObject};
use crate::place::Guard;
use crate::rules::{Access, DENY, Shape};
use crate::session::Session;
use crate::vpath::VirtualPath;
use crate::whole::virtual_path;

/// So much of a long file is looked at to tell whether it is text.
const BEGIN: usize = 64 * 1024;

/// A change that is about to be described.
struct PendingChange<'a> {
    path: VirtualPath,
    from: Option<VirtualPath>,
    mount: &'a Mount,
    overlay: &'a Overlay,
    inner: DiffChange,
    meanwhile: Option<String>,
    ignored: bool,
}

/// A side with as much of its content as was asked for.
struct SideWithContent {
    side: Option<Side>,
    /// Nothing if it is longer than was asked for.
    content: Option<Vec<u8>>,
}

impl Session {
    /// Everything that a commit would write, each changed path as data, in byte order. One after the
    /// other is given to `take`, so that any number of them fits into memory. A caller with a scope
    /// sees what lies in it.
    ///
    /// # Errors
    /// `NotFound` if a path was named under which nothing was changed; as [`Session::diff`]; what
    /// `take` says.
    pub fn review(
        &self,
        options: &ReviewOptions,
        take: &mut dyn FnMut(Change) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let found = self.find_changes()?;
        let is_below = |path: &VirtualPath, above: &VirtualPath| path.starts_with(above);
        let is_about = |found: &PendingChange<'_>, above: &VirtualPath| {
            let from = found.from.as_ref();
            is_below(&found.path, above) || from.is_some_and(|from| is_below(from, above))
        };
        for wanted in &options.paths {
            if !found.iter().any(|found| is_about(found, wanted)) {
                return Err(Error::refused(
                    ErrorKind::NotFound,
                    format!("nothing was changed at or below `{wanted}`"),
                ));
            }
        }
        let is_wanted = |found: &PendingChange<'_>| {
            options.paths.is_empty() || options.paths.iter().any(|path| is_about(found, path))
        };
        let wanted = found.into_iter().filter(is_wanted);
        for found in wanted.skip(options.skip).take(options.limit) {
            take(self.describe(found, options)?)?;
        }
        Ok(())
    }

    fn find_changes(&self) -> Result<Vec<PendingChange<'_>>, Error> {
        let mut all = Vec::new();
        for (mount, overlay) in self.overlays() {
            let mut meanwhile: BTreeMap<Vec<u8>, String> = overlay
                .conflicts(&[])?
                .into_iter()
                .map(|conflict| (conflict.path, conflict.why))
                .collect();
            let mut ignores = Ignores::new(overlay);
            for inner in overlay.diff()? {
                let path = virtual_path(mount, &inner.path)?;
                if self.caller().check(&path, Access::Read).is_err() {
                    continue;
                }
                let from = inner.from.as_deref();
                all.push(PendingChange {
                    from: from.map(|from| virtual_path(mount, from)).transpose()?,
                    meanwhile: meanwhile.remove(&inner.path),
                    ignored: ignores.covers(&inner.path, inner.is_dir),
                    path,
                    mount,
                    overlay,
                    inner,
                });
            }
        }
        all.sort_by(|one, other| (&one.path, one.inner.kind).cmp(&(&other.path, other.inner.kind)));
        Ok(all)
    }

    /// Whether the caller may read what a change is about, on both sides.
    fn may_read(&self, found: &PendingChange<'_>) -> Result<(), Error> {
        let guard = Guard {
            mount: found.mount,
            caller: self.caller(),
            access: Access::Read,
            shape: Shape::MaybeDir,
            is_step: false,
            asked_at: None,
            granted: None,
        };
        for path in std::iter::once(&found.inner.path).chain(&found.inner.from) {
            let path = crate::overlay::base_path(path)?;
            guard.check(&path)?;
            self.refuse_what_is_asked(found.mount, &path)?;
        }
        Ok(())
    }

    fn describe(&self, found: PendingChange<'_>, options: &ReviewOptions) -> Result<Change, Error> {
        let limit = options.text_limit.min(ReviewOptions::FULL);
        let denied = self.may_read(&found).err().map(|error| error.detail());
        let hides = |object: &SideObject| match object {
            SideObject::Kept(_, why) => Some(why.clone()),
            _ => None,
        };
        let before = found.overlay.side_before(&found.inner)?;
        let after = found.overlay.side_after(&found.inner)?;
        let denied = denied.or(hides(&before)).or(hides(&after));
        let is_shown = denied.is_none();
        let (before, after) = (
            told(before, limit, is_shown)?,
            told(after, limit, is_shown)?,
        );
        let path = &found.inner.path;
        let content = match denied {
            Some(why) => Content::NotShown {
                why: NotShown::Denied(why),
                bytes: length(&before) + length(&after),
            },
            None => compare(path, &before, &after),
        };
        let shown = found.path.as_rel().as_bytes();
        let mut flags = flags::of(path, shown, before.side.as_ref(), after.side.as_ref());
        flags.extend(name_flag(&found)?);
        let contents = match (options.keep_content, before.content, after.content) {
            (true, Some(before), Some(after)) => Some((before, after)),
            _ => None,
        };
        Ok(Change {
            path: found.path,
            below: found.inner.path,
            kind: found.inner.kind,
            from: found.from,
            from_below: found.inner.from,
            before: before.side,
            after: after.side,
            content,
            meanwhile: found.meanwhile,
            flags,
            ignored: found.ignored,
            contents,
        })
    }
}

/// What a rule says of a change's name, of where it lies in the base, or of where it comes from.
fn name_flag(found: &PendingChange<'_>) -> Result<Option<Flag>, Error> {
    let change = &found.inner;
    let mut flag = None;
    for path in [
        Some(&change.path),
        change.home.as_ref(),
        change.from.as_ref(),
    ] {
        let Some(path) = path else {
            continue;
        };
        let rule = found.mount.holds_back(&crate::overlay::base_path(path)?);
        flag = flag.or(rule.map(|rule| match rule.list {
            DENY => Flag::DeniedName,
            _ => Flag::ReadOnlyName,
        }));
    }
    // A file that leads git elsewhere.
    if flag.is_none() && !change.is_dir && change.kind != DiffKind::Deleted {
        let path = crate::overlay::base_path(&change.path)?;
        let is_kept = found.mount.rules().keeps_for_a_directory(&path);
        flag = is_kept.then_some(Flag::ReadOnlyName);
    }
    if let (None, true, Some(from)) = (flag, change.is_dir, &change.from) {
        let to: Vec<&[u8]> = std::iter::once(change.path.as_slice())
            .chain(change.home.as_deref())
            .collect();
        flag = moved_names::look(found.mount, from, &to)?.map(|inside| match inside.is_denied() {
            true => Flag::DeniedName,
            false => Flag::ReadOnlyName,
        });
    }
    Ok(flag)
}

fn length(told: &SideWithContent) -> u64 {
    told.side.as_ref().map_or(0, |side| side.len)
}

fn compare(path: &[u8], before: &SideWithContent, after: &SideWithContent) -> Content {
    let digest = |told: &SideWithContent| {
        let side = told.side.as_ref();
        side.and_then(|side| side.digest.clone())
            .unwrap_or_default()
    };
    let (old, new) = (digest(before), digest(after));
    if old == new {
        return Content::Same;
    }
    let bytes = length(before) + length(after);
    let is_binary = |told: &SideWithContent| {
        let form = told.side.as_ref().and_then(|side| side.form.as_ref());
        matches!(form, Some(Form::Binary(_)))
    };
    if is_binary(before) || is_binary(after) {
        let why = NotShown::Binary;
        return Content::NotShown { why, bytes };
    }
    let (Some(one), Some(two)) = (&before.content, &after.content) else {
        let why = NotShown::TooLong;
        return Content::NotShown { why, bytes };
    };
    let subject = Subject {
        path,
        before: &old,
        after: &new,
    };
    Content::Hunks(between(one, two, &subject))
}

fn told(object: SideObject, limit: u64, is_shown: bool) -> Result<SideWithContent, Error> {
    let side = |kind| Side {
        kind,
        mode: None,
        len: 0,
        digest: None,
        form: None,
        target: None,
        names: 1,
        xattrs: Vec::new(),
        modified: None,
    };
    let empty = |side| SideWithContent {
        side,
        content: Some(Vec::new()),
    };
    Ok(match object {
        SideObject::Nothing => empty(None),
        SideObject::Kept(status, _) => empty(Some(Side {
            mode: Some(status.mode & 0o7777),
            len: status.len,
            names: status.nlink,
            modified: Some(status.modified),
            ..side(FileKind::File)
        })),
        SideObject::Other(status) => empty(Some(side(status.kind))),
        SideObject::Dir(mode) => empty(Some(Side {
            mode,
            ..side(FileKind::Dir)
        })),
        SideObject::Link(target) => empty(Some(Side {
            target: Some(target),
            ..side(FileKind::Symlink)
        })),
        SideObject::File(open) => {
            let FileSide {
                file,
                xattrs,
                names,
            } = *open;
            let status = *file.metadata();
            let facts = Side {
                mode: Some(status.mode & 0o7777),
                len: status.len,
                names,
                xattrs,
                modified: Some(status.modified),
                ..side(FileKind::File)
            };
            if !is_shown {
                return Ok(empty(Some(facts)));
            }
            let read = read(file, limit)?;
            SideWithContent {
                side: Some(Side {
                    len: read.len,
                    digest: Some(read.digest),
                    form: Some(Form::of(read.content.as_ref().unwrap_or(&read.begin))),
                    ..facts
                }),
                content: read.content,
            }
        }
    })
}

struct ReadContent {
    len: u64,
    digest: String,
    begin: Vec<u8>,
    content: Option<Vec<u8>>,
}

/// Reads a file once. What is longer than the limit is digested and not kept.
fn read(mut file: handfast::File, limit: u64) -> Result<ReadContent, Error> {
    let mut digest = Sha256::new();
    let (mut len, mut kept, mut begin) = (0_u64, Some(Vec::new()), Vec::new());
    let mut buffer = vec![0; BEGIN];
    loop {
        let got = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let data = &buffer[..got];
        digest.update(data);
        len += got as u64;
        if let Some(content) = &mut kept {
            content.extend_from_slice(data);
        }
        if len > limit
            && let Some(content) = kept.take()
        {
            begin = content;
            begin.truncate(BEGIN);
        }
    }
    Ok(ReadContent {
        len,
        digest: hex(&digest.finalize()),
        begin,
        content: kept,
    })
}
