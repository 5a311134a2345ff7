//! One change with its content.

use handfast::{ErrorKind, FileKind};
use handfast_session::change::{Content, Hunk, NotShown, Side};
use handfast_session::{Change, Changed, DiffKind, Error, ReviewOptions, Session, VirtualPath};

use super::{Keeper, image, key_of, listing, path_of, seal, stale, text, watch};
use crate::protocol::{FileView, HunkView, KeeperReply, LINE, LINES, SideLines};

impl Keeper {
    pub(super) fn change(
        &mut self,
        name: &str,
        key: &str,
        full: bool,
        skip: usize,
    ) -> Result<KeeperReply, Error> {
        let path = path_of(key)?;
        let session = self.open(name)?;
        let stamp = watch::change_stamp(&session, &path)?;
        let change = find(&session, &path, full, true)?;
        let comments = listing::comments(&session)?;
        let item = self.item(name, &change, &comments);
        let hunks = part_of(change.hunks(), skip, full);
        for hunk in &hunks {
            self.remember(seal::of_hunk(name, &hunk.id));
        }
        let cut = hunks.iter().flat_map(|hunk| &hunk.lines);
        let is_cut = cut.clone().any(|line| line.cut > 0);
        let is_long = match &change.content {
            Content::NotShown { why, .. } => {
                *why == NotShown::TooLong
                    || (*why == NotShown::Binary && change.contents().is_none())
            }
            _ => false,
        };
        let contents = change.contents();
        Ok(KeeperReply::Change(Box::new(FileView {
            session: name.to_owned(),
            item,
            before: change
                .before
                .as_ref()
                .map(|known| side(known, contents.map(|both| both.0))),
            after: change
                .after
                .as_ref()
                .map(|known| side(known, contents.map(|both| both.1))),
            lines: change.hunks().iter().map(|hunk| hunk.lines.len()).sum(),
            by_hunk: change.kind == DiffKind::Changed && !change.hunks().is_empty(),
            hunks,
            skip,
            not_shown: not_shown(&change.content),
            more_with_full: !full && (is_cut || is_long),
            full,
            neighbours: neighbours(&session.diff()?, &path),
            stamp,
        })))
    }
}

/// One change, looked at closely.
pub(super) fn find(
    session: &Session,
    path: &VirtualPath,
    full: bool,
    keep_content: bool,
) -> Result<Change, Error> {
    let options = ReviewOptions {
        paths: vec![path.clone()],
        text_limit: match full {
            true => ReviewOptions::FULL,
            false => ReviewOptions::USUAL,
        },
        keep_content,
        // What lies below comes after it.
        limit: 1,
        ..ReviewOptions::default()
    };
    let mut found = None;
    session.review(&options, &mut |change| {
        found = Some(change);
        Ok(())
    })?;
    found
        .filter(|change| change.path == *path)
        .ok_or_else(|| stale(format!("`{path}`")))
}

/// The lines of all hunks from one on, as many as fit on a page.
fn part_of(hunks: &[Hunk], skip: usize, full: bool) -> Vec<HunkView> {
    let most = if full { usize::MAX } else { LINE };
    let (mut at, mut views) = (0, Vec::new());
    let mut room = text::Room::of_page();
    for hunk in hunks {
        let lines = hunk.lines.len();
        let from = skip.saturating_sub(at).min(lines);
        let to = skip.saturating_add(LINES).saturating_sub(at).min(lines);
        if from < to {
            views.push(text::hunk(hunk, from..to, most, &mut room));
        }
        at += lines;
    }
    views
}

fn not_shown(content: &Content) -> Option<String> {
    let Content::NotShown { why, bytes } = content else {
        return None;
    };
    Some(match why {
        NotShown::TooLong => format!("{bytes} bytes of text are not shown: the file is long"),
        NotShown::Binary => {
            format!("{bytes} bytes are not shown: they are no text; the digests stand above")
        }
        NotShown::Denied(why) => {
            format!("{bytes} bytes may not be shown ({why}), so this cannot be accepted here")
        }
        _ => format!("{bytes} bytes are not shown"),
    })
}

fn side(side: &Side, content: Option<&[u8]>) -> SideLines {
    let mut facts = vec![("kind".to_owned(), side.kind.to_string())];
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(mode) = side.mode {
        fact("mode", format!("{mode:04o}"));
    }
    if let Some(target) = &side.target {
        fact("target", handfast::escape(target));
    }
    if side.kind == FileKind::File {
        fact("size", format!("{} bytes", side.len));
        if let Some(form) = &side.form {
            let why = form.why().map(|why| format!(": {why}")).unwrap_or_default();
            fact("form", format!("{}{why}", form.name()));
        }
        fact("SHA-256", side.digest.clone().unwrap_or_default());
        if side.names > 1 {
            fact("names", side.names.to_string());
        }
        if !side.xattrs.is_empty() {
            fact(
                "attributes",
                handfast::escape(side.xattrs.join(", ").as_bytes()),
            );
        }
    }
    let is_image = side.len <= image::MAX_IMAGE && content.and_then(image::media_type).is_some();
    SideLines {
        facts,
        image: side.digest.clone().filter(|_| is_image),
    }
}

fn neighbours(changes: &[Changed], path: &VirtualPath) -> (Option<String>, Option<String>) {
    let Some(at) = changes.iter().position(|change| change.path == *path) else {
        return (None, None);
    };
    let key = |at: usize| changes.get(at).map(|change| key_of(&change.path));
    (at.checked_sub(1).and_then(key), key(at + 1))
}

/// A change that is not there any more is the page's age, not a mistake.
pub(super) fn missing_is_stale(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => stale("the session"),
        _ => error,
    }
}
