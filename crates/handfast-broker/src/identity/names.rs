//! Names of users and groups, from the machine's own files. Read once, before the wall goes up.

use handfast::{RelPath, Root};

/// The number of a user.
pub(crate) fn uid_of(name: &str) -> Option<u32> {
    number_of("passwd", name)
}

/// The number of a group.
pub(crate) fn gid_of(name: &str) -> Option<u32> {
    number_of("group", name)
}

fn number_of(file: &str, name: &str) -> Option<u32> {
    let etc = Root::open_ambient("/etc").ok()?;
    let path = RelPath::parse(file).ok()?;
    let text = etc.read_to_limit(&path, 4 << 20).ok()?;
    find(&String::from_utf8_lossy(&text), name)
}

fn find(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn whole_names_only() {
        let text = "root:x:0:0:root:/root:/bin/sh\nrootless:x:7:7::/:/bin/false\n";
        assert_eq!(find(text, "root"), Some(0));
        assert_eq!(find(text, "rootless"), Some(7));
        assert_eq!(find(text, "roo"), None);
    }
}
