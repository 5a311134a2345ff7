//! Which verbs a lease grants.

use handfast::Verb;

/// A set of verbs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct VerbSet(u64);

/// Words for several verbs at once.
const GROUPS: &[(&str, &[Verb])] = &[
    ("stat", &[Verb::Metadata, Verb::Version]),
    ("list", &[Verb::ReadDir, Verb::Walk, Verb::Metadata]),
    ("mkdir", &[Verb::CreateDir, Verb::CreateDirAll]),
    (
        "remove",
        &[
            Verb::RemoveFile,
            Verb::RemoveDir,
            Verb::RemoveTree,
            Verb::RemoveIf,
        ],
    ),
    ("commit", &[Verb::Write, Verb::WriteNew, Verb::WriteIf]),
];

impl VerbSet {
    /// No verb.
    pub const NONE: Self = Self(0);
    /// Every verb.
    pub const ALL: Self = Self(u64::MAX);

    fn bit(verb: Verb) -> u64 {
        const { assert!(Verb::ALL.len() <= 64) };
        1 << (verb as u8)
    }

    /// Reads verbs: `read` (whatever changes nothing), `write` (whatever does), `stat`, `list`,
    /// `mkdir`, `remove`, `commit`, or single verbs as the log names them.
    ///
    /// # Errors
    /// The word that is no verb.
    pub fn parse<T: AsRef<str>>(words: &[T]) -> Result<Self, String> {
        let mut set = 0;
        for word in words {
            let word = word.as_ref();
            let of = |wanted: &dyn Fn(Verb) -> bool| {
                Verb::ALL
                    .iter()
                    .filter(|verb| wanted(**verb))
                    .fold(0, |set, verb| set | Self::bit(*verb))
            };
            let found = match word {
                "read" => of(&|verb| !verb.changes()),
                "write" => of(&Verb::changes),
                _ => match GROUPS.iter().find(|(name, _)| *name == word) {
                    Some((_, verbs)) => of(&|verb| verbs.contains(&verb)),
                    None => of(&|verb| verb.name() == word),
                },
            };
            if found == 0 {
                let shown = handfast::escape(word.as_bytes());
                return Err(format!(
                    "`{shown}` is no verb; say read, write, list, stat, append, mkdir, rename, remove or commit"
                ));
            }
            set |= found;
        }
        Ok(Self(set))
    }

    /// Whether a verb is in it.
    #[must_use]
    pub fn has(self, verb: Verb) -> bool {
        self.0 & Self::bit(verb) != 0
    }

    /// Whether a verb is in both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it has nothing that the other has not.
    #[must_use]
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// What either has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_single_verbs() {
        let read = VerbSet::parse(&["read"]).unwrap();
        assert!(read.has(Verb::Open) && read.has(Verb::ReadDir) && !read.has(Verb::Write));
        let write = VerbSet::parse(&["write"]).unwrap();
        assert!(write.has(Verb::Rename) && !write.has(Verb::Open));
        let one = VerbSet::parse(&["append"]).unwrap();
        assert!(one.has(Verb::Append) && !one.has(Verb::Write) && one.is_within(write));
        assert!(!read.or(write).is_within(read));
        assert!(VerbSet::parse(&["read", "fly"]).is_err());
        assert!(VerbSet::parse::<&str>(&[]).unwrap().is_empty());
    }
}
