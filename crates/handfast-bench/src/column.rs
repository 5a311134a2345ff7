//! The ways to do the work.

use std::fmt;

/// One way to do the work of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub enum Column {
    /// The library's system calls by hand, the path looked up by `openat2`: the floor.
    Raw,
    /// The same with the path looked up component by component: the floor of the walk backend.
    RawWalk,
    /// The standard library by absolute path. It confines nothing.
    Std,
    /// Handfast, kernel backend.
    Kernel,
    /// Handfast, walk backend.
    Walk,
    /// cap-std (feature `peers`, as all that follow).
    CapStd,
    /// pathrs, the Rust crate of libpathrs.
    Pathrs,
    /// path_jail with a pinned root.
    JailGuard,
    /// path_jail, which checks a path that the standard library then uses.
    JailJoin,
    /// strict-path.
    StrictPath,
}

impl Column {
    /// Every column, in the order of the tables.
    pub const ALL: [Self; 10] = [
        Self::Raw,
        Self::RawWalk,
        Self::Std,
        Self::Kernel,
        Self::Walk,
        Self::CapStd,
        Self::Pathrs,
        Self::JailGuard,
        Self::JailJoin,
        Self::StrictPath,
    ];

    /// The columns that this build can measure.
    pub fn built() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|column| cfg!(feature = "peers") || !column.is_peer())
    }

    /// Whether it is somebody else's library.
    #[must_use]
    pub const fn is_peer(self) -> bool {
        match self {
            Self::CapStd | Self::Pathrs | Self::JailGuard | Self::JailJoin | Self::StrictPath => {
                true
            }
            Self::Raw | Self::RawWalk | Self::Std | Self::Kernel | Self::Walk => false,
        }
    }

    /// The name for people, with the version of what is not ours.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Raw => "raw calls",
            Self::RawWalk => "raw walk",
            Self::Std => "std",
            Self::Kernel => "Handfast (kernel)",
            Self::Walk => "Handfast (walk)",
            Self::CapStd => "cap-std 4.0.3",
            Self::Pathrs => "pathrs 0.2.6",
            Self::JailGuard => "path_jail 0.5.1 guard",
            Self::JailJoin => "path_jail 0.5.1 join",
            Self::StrictPath => "strict-path 0.2.3",
        }
    }

    /// What it promises, and what its documentation leaves out of scope.
    #[must_use]
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Raw => {
                "the system calls that Handfast makes, by hand: the floor. No parsing, no rules, \
                 no errors that explain."
            }
            Self::RawWalk => {
                "the same for the walk backend: one component a call. The floor of that column."
            }
            Self::Std => "paths as they are. It confines nothing.",
            Self::Kernel => {
                "default options: no link, no other mount, no special file, no write to a file \
                 with other names; decided on the opened object."
            }
            Self::Walk => "the same promises without `openat2`.",
            Self::CapStd => {
                "paths cannot leave a directory handle. Rules about hard links, special files \
                 and mounts are not part of it. A file is replaced by a draft and a rename by \
                 hand; a tree is copied by hand."
            }
            Self::Pathrs => {
                "paths are resolved as if the root were `/`; it gives handles and leaves their \
                 use to the caller. Its documentation advises against a root that itself lies \
                 in a tree that others control."
            }
            Self::JailGuard => {
                "opens beneath a pinned root, with its checks for regular files and hard links \
                 turned on. Its documentation leaves listing and walking out of scope, and a \
                 parent that is moved out before the call."
            }
            Self::JailJoin => {
                "checks a path and gives it back; the standard library then uses it. Its \
                 documentation leaves processes that change the tree in between out of scope, and hard \
                 links and mounts."
            }
            Self::StrictPath => {
                "a path type checked when it is joined; the standard library then uses it. Its \
                 documentation leaves changes between the check and the use out of scope."
            }
        }
    }

    /// The name, as it is in tables, in JSON and in the budgets.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::RawWalk => "raw-walk",
            Self::Std => "std",
            Self::Kernel => "kernel",
            Self::Walk => "walk",
            Self::CapStd => "cap-std",
            Self::Pathrs => "pathrs",
            Self::JailGuard => "path_jail-guard",
            Self::JailJoin => "path_jail-join",
            Self::StrictPath => "strict-path",
        }
    }

    /// The column with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Column;

    /// The versions in the titles are those that are built.
    #[test]
    fn titles_name_the_pinned_versions() {
        let manifest = include_str!("../Cargo.toml");
        for column in Column::ALL.into_iter().filter(|column| column.is_peer()) {
            let mut words = column.title().split(' ');
            let (name, version) = (words.next().unwrap(), words.next().unwrap());
            let mut lines = manifest.lines();
            let pinned = format!("version = \"={version}\"");
            assert!(
                lines.any(|line| line.starts_with(&format!("{name} = ")) && line.contains(&pinned)),
                "{name} {version}"
            );
        }
    }
}
