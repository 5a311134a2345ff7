//! How long an answered write lasts.

/// What has reached the disk when a write is answered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing need have. Other processes see whole-old or whole-new; after a power loss the file
    /// may be old, new, or on some filesystems empty.
    None,
    /// The content, before the name points to it: whole-old or whole-new even after a power loss.
    #[default]
    File,
    /// Content and name: an answered write survives a power loss.
    Full,
}

impl Durability {
    pub(crate) fn syncs_file(self) -> bool {
        self >= Self::File
    }

    pub(crate) fn syncs_dir(self) -> bool {
        self == Self::Full
    }
}
