//! How much a session may use.

/// Limits of a session or a mount; what is not set is not limited.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Quota {
    /// Growth in bytes, by apparent size.
    pub bytes: Option<u64>,
    /// New files, directories and links.
    pub inodes: Option<u64>,
    /// Bytes in one file.
    pub file_bytes: Option<u64>,
    /// Handles open at one time.
    pub handles: Option<u64>,
}

impl Quota {
    /// No limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is limited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}
