//! The closed list of operations, as they are named in errors, events and on the command line.

use std::fmt;

macro_rules! verbs {
    ($($(#[$doc:meta])* $variant:ident => $name:literal, $change:literal;)*) => {
        /// An operation on a root. There may be more in later versions.
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Verb {
            $($(#[$doc])* $variant,)*
        }

        impl Verb {
            /// Every verb, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the verb, as it is in errors, events and JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether the verb changes a name, a mode or content, and therefore records an
            /// intent before and a result after.
            #[must_use]
            pub const fn changes(self) -> bool {
                match self { $(Self::$variant => $change,)* }
            }
        }
    };
}

verbs! {
    /// Turn text into a path.
    Parse => "parse", false;
    /// Pin a directory as a root.
    OpenRoot => "open-root", false;
    /// Look one name of a directory up.
    Resolve => "resolve", false;
    /// Open a file for reading.
    Open => "open", false;
    /// Open a file for writing in place, appending or creating.
    OpenWrite => "open-write", true;
    /// Open a directory.
    OpenDir => "open-dir", false;
    /// Read a whole file.
    Read => "read", false;
    /// Replace a file atomically.
    Write => "write", true;
    /// Create a file atomically; fail if the name exists.
    WriteNew => "write-new", true;
    /// Replace a file only if it is still the version that was seen.
    WriteIf => "write-if", true;
    /// Append to a file.
    Append => "append", true;
    /// Create a directory.
    CreateDir => "create-dir", true;
    /// Create a directory and its missing parents.
    CreateDirAll => "create-dir-all", true;
    /// List a directory.
    ReadDir => "read-dir", false;
    /// List a whole tree.
    Walk => "walk", false;
    /// Copy a file.
    Copy => "copy", true;
    /// Copy a whole tree.
    CopyTree => "copy-tree", true;
    /// Rename or exchange.
    Rename => "rename", true;
    /// Remove a file, link or special file by name.
    RemoveFile => "remove-file", true;
    /// Remove an empty directory.
    RemoveDir => "remove-dir", true;
    /// Remove a whole tree.
    RemoveTree => "remove-tree", true;
    /// Remove a file only if it is still the version that was seen.
    RemoveIf => "remove-if", true;
    /// Look at an object.
    Metadata => "metadata", false;
    /// Read the text of a symbolic link.
    ReadLink => "read-link", false;
    /// Create a symbolic link.
    Symlink => "symlink", true;
    /// Give a file another name.
    HardLink => "hard-link", true;
    /// Change permission bits.
    Chmod => "chmod", true;
    /// Change owner and group.
    Chown => "chown", true;
    /// Change access and modification times.
    SetTimes => "set-times", true;
    /// Read one extended attribute.
    GetXattr => "get-xattr", false;
    /// List the names of extended attributes.
    ListXattr => "list-xattr", false;
    /// Set an extended attribute.
    SetXattr => "set-xattr", true;
    /// Remove an extended attribute.
    RemoveXattr => "remove-xattr", true;
    /// Create a temporary file.
    TempFile => "temp-file", true;
    /// Create a temporary directory.
    TempDir => "temp-dir", true;
    /// Lock a file or a directory.
    Lock => "lock", true;
    /// Tell which version a file is.
    Version => "version", false;
    /// Clean up after writers that died.
    Recover => "recover", true;
    /// Restrict the process or a thread to its roots.
    Harden => "harden", true;
    /// Make the changes of a session the base's.
    Commit => "commit", true;
    /// Take a commit of a session back.
    Undo => "undo", true;
    /// Drop the changes of a session.
    Discard => "discard", true;
    /// Keep the state of a session.
    Snapshot => "snapshot", true;
    /// Go back to a kept state of a session.
    Rollback => "roll-back", true;
    /// Make a session with the state of another.
    Fork => "fork", true;
    /// Extract an archive.
    Extract => "extract", true;
    /// Ask a person whether a request may go on.
    Ask => "ask", true;
}

impl Verb {
    /// What layers above roots do: to a session as a whole, or with an archive. No root has these.
    pub const OF_SESSIONS: &'static [Self] = &[
        Self::Commit,
        Self::Undo,
        Self::Discard,
        Self::Snapshot,
        Self::Rollback,
        Self::Fork,
        Self::Extract,
        Self::Ask,
    ];
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
