//! Names of users and groups, from the machine's own files. They are read before the wall goes up;
//! later the witness hands them over.

use handfast::{RelPath, Root};

/// The largest of these files that is read.
pub(crate) const MAX_NAMES: u64 = 4 << 20;

/// The numbers of users and groups, by name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Of `/etc/passwd`.
    pub(crate) users: Vec<u8>,
    /// Of `/etc/group`.
    pub(crate) groups: Vec<u8>,
}

impl Names {
    /// As they are now. A file that is not there names nobody.
    pub(crate) fn of_this_machine() -> Self {
        let read = |file: &str| {
            let path = RelPath::parse(file).ok()?;
            let etc = Root::open_ambient("/etc").ok()?;
            etc.read_to_limit(&path, MAX_NAMES).ok()
        };
        Self {
            users: read("passwd").unwrap_or_default(),
            groups: read("group").unwrap_or_default(),
        }
    }

    /// The number of a user.
    pub(crate) fn uid_of(&self, name: &str) -> Option<u32> {
        find(&self.users, name)
    }

    /// The number of a group.
    pub(crate) fn gid_of(&self, name: &str) -> Option<u32> {
        find(&self.groups, name)
    }
}

fn find(text: &[u8], name: &str) -> Option<u32> {
    String::from_utf8_lossy(text).lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn whole_names_only() {
        let text = b"root:x:0:0:root:/root:/bin/sh\nrootless:x:7:7::/:/bin/false\n";
        assert_eq!(find(text, "root"), Some(0));
        assert_eq!(find(text, "rootless"), Some(7));
        assert_eq!(find(text, "roo"), None);
    }
}
