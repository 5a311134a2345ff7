//! A digest of everything that was shown of something.

use handfast_session::change::{Content, NotShown, Side};
use handfast_session::{Change, PastCommit};
use sha2::{Digest, Sha256};

/// Stands for what was shown: whatever differs has another one.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Seal(String);

impl Seal {
    /// One that came back from the page. It means nothing until it is compared.
    pub(super) fn claimed(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Puts a seal together. Every part has its length before it.
pub(super) struct Sealing(Sha256);

impl Sealing {
    pub(super) fn new(what: &str, session: &str) -> Self {
        let mut sealing = Self(Sha256::new());
        sealing.text(what.as_bytes());
        sealing.text(session.as_bytes());
        sealing
    }

    pub(super) fn text(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    pub(super) fn optional(&mut self, bytes: Option<&[u8]>) {
        self.number(u64::from(bytes.is_some()));
        self.text(bytes.unwrap_or_default());
    }

    pub(super) fn done(self) -> Seal {
        Seal(hex(&self.0.finalize()[..20]))
    }
}

/// The seal of a change. Nothing if a content may not be shown: no person could agree to it.
pub(super) fn of_change(session: &str, change: &Change) -> Option<Seal> {
    if let Content::NotShown {
        why: NotShown::Denied(_),
        ..
    } = &change.content
    {
        return None;
    }
    let mut sealing = Sealing::new("change", session);
    sealing.text(change.path.as_rel().as_bytes());
    sealing.text(change.kind.name().as_bytes());
    let from = change.from.as_ref();
    sealing.optional(from.map(|from| from.as_rel().as_bytes()));
    for side in [&change.before, &change.after] {
        sealing.number(u64::from(side.is_some()));
        if let Some(side) = side {
            of_side(&mut sealing, side);
        }
    }
    sealing.optional(change.meanwhile.as_deref().map(str::as_bytes));
    sealing.number(change.flags.len() as u64);
    for flag in &change.flags {
        sealing.text(flag.name().as_bytes());
    }
    Some(sealing.done())
}

fn of_side(sealing: &mut Sealing, side: &Side) {
    sealing.text(side.kind.to_string().as_bytes());
    sealing.number(side.mode.map_or(u64::MAX, u64::from));
    sealing.number(side.len);
    sealing.optional(side.digest.as_deref().map(str::as_bytes));
    sealing.optional(side.target.as_deref());
    sealing.number(side.names);
    sealing.number(side.xattrs.len() as u64);
    for name in &side.xattrs {
        sealing.text(name.as_bytes());
    }
}

/// The seal of a commit that can be taken back.
pub(super) fn of_past(session: &str, commit: &PastCommit) -> Seal {
    let mut sealing = Sealing::new("commit", session);
    sealing.number(commit.id);
    sealing.number(commit.changes.len() as u64);
    for (path, kind) in &commit.changes {
        sealing.text(path.as_rel().as_bytes());
        sealing.text(kind.name().as_bytes());
    }
    sealing.done()
}

/// The seal of a hunk, whose ID is a digest already.
pub(super) fn of_hunk(session: &str, id: &str) -> Seal {
    let mut sealing = Sealing::new("hunk", session);
    sealing.text(id.as_bytes());
    sealing.done()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
