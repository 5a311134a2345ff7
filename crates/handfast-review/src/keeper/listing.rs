//! Which sessions wait, and what waits in one.

use std::collections::BTreeMap;

use handfast_session::change::{Content, Tag};
use handfast_session::{Change, Comment, Error, ReviewOptions, Session, VirtualPath};

use super::{Keeper, key_of, rfc3339, seal, watch};
use crate::protocol::{CommentLine, Item, KeeperReply, Listing, PAGE, PastLine, SessionLine};

/// So many paths of a past commit are listed.
const MAX_LISTED: usize = 50;

/// Comments by the path that they are about.
pub(super) type Comments = BTreeMap<VirtualPath, Vec<Comment>>;

impl Keeper {
    pub(super) fn sessions(&self) -> Result<KeeperReply, Error> {
        let stamp = self.looking.sessions_stamp()?;
        let names = self.looking.names()?;
        let line = |name: String| {
            let spec = self.looking.catalogue.spec(&name);
            let bases = spec.map_or_else(
                |_| Vec::new(),
                |spec| {
                    let hosts = spec.mounts().iter().map(|mount| mount.host().as_os_str());
                    hosts
                        .map(|host| handfast::escape(host.as_encoded_bytes()))
                        .collect()
                },
            );
            let session = self.open(&name);
            let changes = session.as_ref().map_err(Error::detail);
            let changes = changes.and_then(|session| match session.diff() {
                Ok(changes) => Ok(changes.len()),
                Err(error) => Err(error.detail()),
            });
            let comments = session.ok().and_then(|session| session.comments().ok());
            SessionLine {
                bases,
                changes,
                comments: comments.map_or(0, |comments| comments.len()),
                questions: match self.looking.waiting(&name) {
                    Ok(waiting) => Ok(waiting.len()),
                    Err(error) => Err(error.detail()),
                },
                name,
            }
        };
        Ok(KeeperReply::Sessions(
            names.into_iter().map(line).collect(),
            stamp,
        ))
    }

    pub(super) fn changes(&mut self, name: &str, skip: usize) -> Result<KeeperReply, Error> {
        let session = self.open(name)?;
        let (stamp, total) = watch::changes_stamp(&session, skip)?;
        let comments = comments(&session)?;
        let options = ReviewOptions {
            skip,
            limit: PAGE,
            ..ReviewOptions::default()
        };
        let mut items = Vec::new();
        session.review(&options, &mut |change| {
            items.push(self.item(name, &change, &comments));
            Ok(())
        })?;
        let mut past = Vec::new();
        for (number, commit) in session.past_commits()?.into_iter().enumerate() {
            let seal = seal::of_past(name, &commit);
            // Only the last one can be taken back; the others wait until it is.
            let is_next = number == 0 && commit.why_not.is_none();
            if is_next {
                self.remember(seal.clone());
            }
            let changes = commit.changes.iter().take(MAX_LISTED);
            past.push(PastLine {
                seal: is_next.then(|| seal.as_str().to_owned()),
                made: rfc3339(commit.id),
                message: commit.message.clone(),
                why_not: commit.why_not.clone(),
                changes: changes
                    .map(|(path, kind)| (kind.name().to_owned(), path.to_string()))
                    .collect(),
                more: commit.changes.len().saturating_sub(MAX_LISTED),
            });
        }
        Ok(KeeperReply::Changes(Box::new(Listing {
            session: name.to_owned(),
            total,
            skip,
            items,
            snapshots: self.snapshot_lines(name, &session, &stamp)?,
            past,
            stamp,
            has_log: self.looking.log.is_some(),
        })))
    }

    /// A change for a list. It counts as sent.
    pub(super) fn item(&mut self, session: &str, change: &Change, comments: &Comments) -> Item {
        let seal = seal::of_change(session, change);
        if let Some(seal) = &seal {
            self.remember(seal.clone());
        }
        let parent = change.path.parent().unwrap_or_else(VirtualPath::root);
        let count = |wanted: Tag| {
            let lines = change.hunks().iter().flat_map(|hunk| &hunk.lines);
            lines.filter(|line| line.tag == wanted).count()
        };
        let has_lines = matches!(change.content, Content::Hunks(_));
        Item {
            key: key_of(&change.path),
            path: change.path.to_string(),
            parent: parent.to_string(),
            kind: change.kind.name().to_owned(),
            is_dir: change.is_dir(),
            from: change.from.as_ref().map(ToString::to_string),
            facts: facts(change),
            flags: change
                .flags
                .iter()
                .map(|flag| flag.words().to_owned())
                .collect(),
            meanwhile: change.meanwhile.clone(),
            ignored: change.ignored,
            lines: has_lines.then(|| (count(Tag::Added), count(Tag::Removed))),
            seal: seal.map(|seal| seal.as_str().to_owned()),
            comments: comment_lines(change, comments),
        }
    }
}

/// Kinds, modes, sizes and targets, without what is shown apart.
fn facts(change: &Change) -> String {
    let mut plain = change.clone();
    plain.flags.clear();
    plain.meanwhile = None;
    plain.from = None;
    let mut facts = plain.facts();
    if let Content::NotShown { bytes, .. } = &change.content {
        facts.push_str(&format!(", {bytes} bytes not shown"));
    }
    facts
}

fn comment_lines(change: &Change, comments: &Comments) -> Vec<CommentLine> {
    let digest = change.after.as_ref().and_then(|side| side.digest.as_ref());
    let about = comments.get(&change.path).map_or(&[][..], Vec::as_slice);
    let line = |comment: &Comment| CommentLine {
        made: rfc3339(comment.made),
        by: comment.by.clone(),
        hunk: comment.hunk.clone(),
        text: comment.text.clone(),
        outdated: comment.digest.as_ref() != digest,
    };
    about.iter().map(line).collect()
}

pub(super) fn comments(session: &Session) -> Result<Comments, Error> {
    let mut found = Comments::new();
    for comment in session.comments()? {
        found.entry(comment.path.clone()).or_default().push(comment);
    }
    Ok(found)
}
