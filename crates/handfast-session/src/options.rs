//! How a file is opened in a session.

/// How a file is opened. [`OpenOptions::new`] reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OpenOptions {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) append: bool,
    pub(crate) truncate: bool,
    pub(crate) create: bool,
    pub(crate) create_new: bool,
    pub(crate) mode: u32,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Reading.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            read: true,
            write: false,
            append: false,
            truncate: false,
            create: false,
            create_new: false,
            mode: 0o666,
        }
    }

    /// Whether the file is read.
    #[must_use]
    pub const fn read(mut self, yes: bool) -> Self {
        self.read = yes;
        self
    }

    /// Whether the file is written in place.
    #[must_use]
    pub const fn write(mut self, yes: bool) -> Self {
        self.write = yes;
        self
    }

    /// Whether everything written goes to the end.
    #[must_use]
    pub const fn append(mut self, yes: bool) -> Self {
        self.append = yes;
        self
    }

    /// Whether the file is emptied, after it passed the rules.
    #[must_use]
    pub const fn truncate(mut self, yes: bool) -> Self {
        self.truncate = yes;
        self
    }

    /// Creates the file if it is missing.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> Self {
        self.create = yes;
        self
    }

    /// Creates the file; it is an error if the name exists.
    #[must_use]
    pub const fn create_new(mut self, yes: bool) -> Self {
        self.create_new = yes;
        self
    }

    /// The mode of a file that is created, subject to the umask. The default is `0o666`.
    #[must_use]
    pub const fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    pub(crate) const fn changes(self) -> bool {
        self.write || self.append || self.truncate || self.create || self.create_new
    }

    /// As the library's, without truncation: that comes after the session's own rules.
    pub(crate) const fn to_library(self) -> handfast::OpenOptions {
        let options = handfast::OpenOptions::new()
            .read(self.read)
            .write(self.write)
            .append(self.append)
            .mode(self.mode);
        if self.create_new {
            options.create_new(true)
        } else {
            options.create(self.create)
        }
    }
}
