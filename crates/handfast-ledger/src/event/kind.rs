//! What an event is about: a verb of the library, or the log itself.

use std::borrow::Cow;
use std::fmt;

use handfast::Verb;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident => $name:literal;)*) => {
        /// The `type` of an event.
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
        pub enum EventKind {
            /// A verb of the library, under the verb's own name.
            Verb(Verb),
            $($(#[$doc])* $variant,)*
        }

        impl EventKind {
            /// Every kind that is not a verb.
            pub const OTHERS: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as it is in the log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Verb(verb) => verb.name(),
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The first event of a log, and of every start of the machine.
    LogStart => "log.start";
    /// The last event before a log was stopped.
    LogStop => "log.stop";
    /// A policy came into force.
    PolicyLoad => "policy.load";
    /// From the next checkpoint on another key signs.
    KeyRotate => "key.rotate";
    /// Events are missing here.
    Gap => "gap";
    /// A log that was ahead of this one is gone.
    Rollback => "rollback";
    /// What was done after a crash.
    Recovered => "recovered";
    /// The wall clock jumped.
    ClockStep => "clock.step";
    /// Older events are dropped from now on.
    RetentionSet => "retention.set";
    /// A descriptor outlives its lease.
    FdOutstanding => "fd.outstanding";
    /// A lease was given.
    LeaseAcquire => "lease.acquire";
    /// A lease was made longer.
    LeaseRenew => "lease.renew";
    /// A lease was given back.
    LeaseRelease => "lease.release";
    /// A lease was taken away.
    LeaseRevoke => "lease.revoke";
    /// A lease ran out.
    LeaseExpire => "lease.expire";
}

impl EventKind {
    /// The kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let verbs = Verb::ALL.iter().map(|verb| Self::Verb(*verb));
        let others = Self::OTHERS.iter().copied();
        others.chain(verbs).find(|kind| kind.name() == name)
    }
}

/// What people type, and the verbs that the log has for it.
const TYPED: &[(&str, &[Verb])] = &[
    ("read cat", &[Verb::Read, Verb::Open]),
    ("write", &[Verb::Write, Verb::WriteNew, Verb::WriteIf]),
    (
        "rm remove delete unlink",
        &[
            Verb::RemoveFile,
            Verb::RemoveDir,
            Verb::RemoveTree,
            Verb::RemoveIf,
        ],
    ),
    ("rmdir", &[Verb::RemoveDir]),
    ("mv move", &[Verb::Rename]),
    ("cp copy", &[Verb::Copy, Verb::CopyTree]),
    ("ls list", &[Verb::ReadDir]),
    ("tree find", &[Verb::Walk]),
    ("mkdir", &[Verb::CreateDir, Verb::CreateDirAll]),
    ("stat", &[Verb::Metadata, Verb::Version]),
    ("readlink", &[Verb::ReadLink]),
    ("ln", &[Verb::Symlink, Verb::HardLink]),
    ("link", &[Verb::HardLink]),
];

impl EventKind {
    /// The kinds that a word of people's means: the name of one, a command such as `rm`, or the
    /// first part of a name with a dot, such as `lease`. Nothing if it means none.
    #[must_use]
    pub fn typed(word: &str) -> Vec<Self> {
        let known = TYPED
            .iter()
            .find(|(names, _)| names.split(' ').any(|name| name == word));
        if let Some((_, verbs)) = known {
            return verbs.iter().map(|verb| Self::Verb(*verb)).collect();
        }
        if let Some(kind) = Self::from_name(word) {
            return vec![kind];
        }
        let others = Self::OTHERS.iter().copied();
        others
            .filter(|kind| {
                kind.name()
                    .split_once('.')
                    .is_some_and(|(part, _)| part == word)
            })
            .collect()
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::custom("an unknown type of event"))
    }
}
