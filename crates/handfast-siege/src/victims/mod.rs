//! Every verb as an attacker's target: what must be there, and one call.

mod chains;
mod change;
mod dirs;
mod lock;
mod names;
mod read;
mod remove;
mod versioned;
mod write;

pub(crate) use chains::{APPEND_AND_READ, COPY_AND_READ, FILL_NEW_DIR, RENAME_ONTO};

use handfast::{Durability, Error, Files, Identity, RelPath, Root, Version, WriteOptions};

/// What a call gave back; nothing of the outside may be in it.
#[derive(Default)]
pub(crate) struct Returned {
    pub(crate) text: Vec<u8>,
    pub(crate) object: Option<(u64, u64)>,
    /// Which version the text is said to be.
    pub(crate) version: Option<Version>,
}

impl Returned {
    pub(crate) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub(crate) fn versioned(text: Vec<u8>, version: Version) -> Self {
        Self {
            version: Some(version),
            ..Self::text(text)
        }
    }

    fn object(identity: Identity) -> Self {
        Self {
            object: Some((identity.device, identity.inode)),
            ..Self::default()
        }
    }
}

/// The call's result without what it gave back.
pub(crate) fn nothing<T>(result: Result<T, Error>) -> Result<Returned, Error> {
    result.map(|_| Returned::default())
}

/// Names below the directory that is attacked.
pub(crate) struct Names<'a> {
    pub(crate) prefix: &'a str,
}

impl Names<'_> {
    pub(crate) fn at(&self, name: &str) -> Result<RelPath, Error> {
        RelPath::parse(format!("{}{name}", self.prefix))
    }
}

type Prepare = fn(&Root, u64);
type Attempt = fn(&dyn Files, &Names<'_>, u64) -> Result<Returned, Error>;
type RootAttempt = fn(&Root, &Names<'_>, u64) -> Result<Returned, Error>;

/// A verb as a target.
pub(crate) struct Victim {
    pub(crate) verb: &'static str,
    /// The existing name it uses: what attacks on a last component swap.
    pub(crate) leaf: Option<&'static str>,
    /// The name it may create: what attacks plant something at.
    pub(crate) creates: Option<&'static str>,
    /// How many lookups one call makes: each may meet another state of the tree.
    pub(crate) lookups: u32,
    /// Whether every layer is attacked through it, or only a root.
    pub(crate) is_common: bool,
    /// Sets the scene for an attempt and clears what the one before left, through a root of its
    /// own on the directory that is attacked.
    pub(crate) prepare: Prepare,
    /// The call through the interface that every layer has; `None` for verbs of a root alone.
    pub(crate) attempt: Option<Attempt>,
    /// The call that is made to a root instead: it has the verb under another signature.
    pub(crate) on_root: Option<RootAttempt>,
}

const fn victim(
    verb: &'static str,
    leaf: Option<&'static str>,
    prepare: Prepare,
    attempt: Attempt,
) -> Victim {
    Victim {
        verb,
        leaf,
        creates: None,
        lookups: 1,
        is_common: false,
        prepare,
        attempt: Some(attempt),
        on_root: None,
    }
}

/// A victim of the tests' own.
#[cfg(test)]
pub(crate) const fn fake(verb: &'static str, attempt: Attempt) -> Victim {
    victim(verb, None, keep, attempt)
}

impl Victim {
    /// A verb that only a root has.
    const fn of_root(
        verb: &'static str,
        leaf: Option<&'static str>,
        prepare: Prepare,
        attempt: RootAttempt,
    ) -> Self {
        Self {
            verb,
            leaf,
            creates: None,
            lookups: 1,
            is_common: false,
            prepare,
            attempt: None,
            on_root: Some(attempt),
        }
    }

    /// Whether the call changes anything.
    pub(crate) fn changes(&self) -> bool {
        let looks = ["read", "read-versioned", "open", "metadata", "read-dir"];
        !looks.contains(&self.verb)
    }

    const fn on_root(mut self, attempt: RootAttempt) -> Self {
        self.on_root = Some(attempt);
        self
    }

    const fn looks_up(mut self, lookups: u32) -> Self {
        self.lookups = lookups;
        self
    }

    const fn creates(mut self, name: &'static str) -> Self {
        self.creates = Some(name);
        self
    }

    const fn common(mut self) -> Self {
        self.is_common = true;
        self
    }
}

/// Every verb, in the library's order of groups.
pub(crate) fn all() -> impl Iterator<Item = &'static Victim> {
    [
        read::VICTIMS,
        write::VICTIMS,
        dirs::VICTIMS,
        names::VICTIMS,
        remove::VICTIMS,
        change::VICTIMS,
        versioned::VICTIMS,
        lock::VICTIMS,
    ]
    .into_iter()
    .flatten()
}

/// Nothing has to be prepared.
fn keep(_: &Root, _: u64) {}

/// A file named `f`.
fn with_f(inside: &Root, _: u64) {
    write_inside(inside, "f");
}

fn write_inside(inside: &Root, name: &str) {
    if let Ok(path) = RelPath::parse(name) {
        // An attacker may be faster; the attempt then meets what it put there.
        drop(inside.write_with(&path, "", fast()));
    }
}

/// Makes a name free.
fn clear(inside: &Root, name: &str) {
    if let Ok(path) = RelPath::parse(name) {
        drop(inside.remove_tree(&path));
    }
}

/// Nothing here is about durability.
pub(crate) fn fast() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

#[cfg(test)]
mod tests {
    use handfast::Verb;

    #[test]
    fn every_verb_of_the_library_is_a_victim() {
        // Not reached by a path below a root.
        let mut others = vec![Verb::Parse, Verb::OpenRoot, Verb::Harden];
        others.extend(Verb::OF_SESSIONS);
        for verb in Verb::ALL.iter().filter(|verb| !others.contains(verb)) {
            assert!(
                super::all().any(|victim| victim.verb == verb.name()),
                "{verb} is not attacked"
            );
        }
    }
}
