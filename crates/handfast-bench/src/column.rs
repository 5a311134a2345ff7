//! The ways to do the work.

use std::fmt;

/// One way to do the work of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub enum Column {
    /// The library's system calls by hand, the path looked up by `openat2`: the floor.
    Raw,
    /// The same with the path looked up component by component.
    RawWalk,
    /// The standard library by absolute path. It confines nothing.
    Std,
    /// Handfast, kernel backend.
    Kernel,
    /// Handfast, walk backend.
    Walk,
    /// cap-std (feature `peers`).
    CapStd,
}

impl Column {
    /// Every column, in the order of the tables.
    pub const ALL: [Self; 6] = [
        Self::Raw,
        Self::RawWalk,
        Self::Std,
        Self::Kernel,
        Self::Walk,
        Self::CapStd,
    ];

    /// The columns that this build can measure.
    pub fn built() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|column| cfg!(feature = "peers") || *column != Self::CapStd)
    }

    /// The name, as it stands in tables, in JSON and in the budgets.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::RawWalk => "raw-walk",
            Self::Std => "std",
            Self::Kernel => "kernel",
            Self::Walk => "walk",
            Self::CapStd => "cap-std",
        }
    }

    /// The column with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// What its ratio is taken to: the same lookup by hand.
    #[must_use]
    pub const fn baseline(self) -> Option<Self> {
        match self {
            Self::Raw => None,
            Self::Walk => Some(Self::RawWalk),
            Self::RawWalk | Self::Std | Self::Kernel | Self::CapStd => Some(Self::Raw),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
