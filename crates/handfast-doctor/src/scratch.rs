//! A private directory in which things are tried.

use handfast::{RelPath, Root, RootOptions, TempDir};

/// Where the private directory lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrialPlace {
    /// In the system's temporary directory, on the root's own filesystem.
    System,
    /// In the root itself.
    InRoot,
    /// In the system's temporary directory, on another filesystem than the root.
    Elsewhere,
}

impl TrialPlace {
    /// For programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "temporary-directory",
            Self::InRoot => "root",
            Self::Elsewhere => "other-filesystem",
        }
    }

    /// For people.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::System => "a private directory on the same filesystem, gone by now",
            Self::InRoot => "a private directory in the root, gone by now",
            Self::Elsewhere => {
                "a private directory on another filesystem, since the root is not writable"
            }
        }
    }
}

/// A private directory, gone with everything in it when this is dropped.
pub(crate) struct Scratch {
    dir: TempDir,
    pub(crate) place: TrialPlace,
}

impl Scratch {
    /// Made on the root's filesystem if that is possible, and outside the root if that is.
    pub(crate) fn near(root: &Root) -> Option<Self> {
        // The operator may have made the temporary directory a link: what it leads to is meant.
        let system = std::fs::File::open(std::env::temp_dir())
            .ok()
            .map(|dir| Root::from_fd(dir.into(), RootOptions::new()));
        let same = |other: &Root| other.identity().device == root.identity().device;
        let here = RelPath::root();
        let system = system.and_then(Result::ok);
        if let Some(system) = system.as_ref().filter(|system| same(system))
            && let Ok(dir) = system.temp_dir(&here)
        {
            return Some(Self {
                dir,
                place: TrialPlace::System,
            });
        }
        if let Ok(dir) = root.temp_dir(&here) {
            return Some(Self {
                dir,
                place: TrialPlace::InRoot,
            });
        }
        system?.temp_dir(&here).ok().map(|dir| Self {
            dir,
            place: TrialPlace::Elsewhere,
        })
    }

    /// The directory, under strict options.
    pub(crate) fn root(&self) -> &Root {
        self.dir.root()
    }

    /// A new directory in it, as a root of its own with these options; nothing where even that
    /// fails.
    pub(crate) fn sub_root(&self, name: &str, options: RootOptions) -> Option<Root> {
        let path = RelPath::parse(name).ok()?;
        let dir = self.root().create_dir_all(&path).ok()?;
        reopen(&dir, options)
    }
}

/// The same directory under other options.
pub(crate) fn reopen(dir: &impl std::os::fd::AsFd, options: RootOptions) -> Option<Root> {
    let fd = dir.as_fd().try_clone_to_owned().ok()?;
    Root::from_fd(fd, options).ok()
}
