//! Other places where the project's directory is seen: bind mounts of it, or of what it lies in.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// One line of `mountinfo`.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Line {
    mount: u64,
    device: Vec<u8>,
    /// The directory of the filesystem that is mounted.
    root: PathBuf,
    at: PathBuf,
}

fn lines(mountinfo: &[u8]) -> Vec<Line> {
    let fields = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let mount = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let mut fields = fields.skip(1);
        Some(Line {
            mount,
            device: fields.next()?.to_vec(),
            root: unescaped(fields.next()?),
            at: unescaped(fields.next()?),
        })
    };
    mountinfo
        .split(|byte| *byte == b'\n')
        .filter_map(fields)
        .collect()
}

/// The kernel writes a space, a tab, a newline and a backslash as three octal digits.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let code = (after.get(..3))
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                out.push(code);
                rest = &after[3..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// Where a mount is, by its number.
pub(crate) fn place_of(mountinfo: &[u8], mount: u64) -> Option<PathBuf> {
    let mut lines = lines(mountinfo).into_iter();
    lines.find(|line| line.mount == mount).map(|line| line.at)
}

/// Whether something is mounted at a path.
pub(crate) fn is_mount(mountinfo: &[u8], at: &Path) -> bool {
    lines(mountinfo).iter().any(|line| line.at == at)
}

/// What is mounted inside of a directory.
pub(crate) fn mounts_inside(mountinfo: &[u8], dir: &Path) -> Vec<PathBuf> {
    let lines = lines(mountinfo).into_iter();
    let inside = lines.filter(|line| line.at != dir && line.at.starts_with(dir));
    inside.map(|line| line.at).collect()
}

/// Every other path by which a directory is seen, as far as `mountinfo` tells.
pub(crate) fn other_views(mountinfo: &[u8], dir: &Path) -> Vec<PathBuf> {
    let lines = lines(mountinfo);
    // The last of the longest covers the others.
    let above = lines.iter().filter(|line| dir.starts_with(&line.at));
    let Some(own) = above.max_by_key(|line| line.at.as_os_str().as_bytes().len()) else {
        return Vec::new();
    };
    let Ok(rest) = dir.strip_prefix(&own.at) else {
        return Vec::new();
    };
    let on_disk = own.root.join(rest);
    let mut found = Vec::new();
    for line in &lines {
        if line.device != own.device {
            continue;
        }
        let view = match (
            on_disk.strip_prefix(&line.root),
            line.root.strip_prefix(&on_disk),
        ) {
            (Ok(below), _) => line.at.join(below),
            // A directory inside the project is mounted elsewhere.
            (_, Ok(_)) => line.at.clone(),
            _ => continue,
        };
        let view: PathBuf = view.components().collect();
        if view != dir && !view.starts_with(dir) && !found.contains(&view) {
            found.push(view);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bind_mount_of_the_project_or_of_its_parent_is_another_view() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/sda rw\n\
            2 1 0:5 / /proc rw - proc proc rw\n\
            3 1 8:1 /home/me/p /opt/alias rw - ext4 /dev/sda rw\n\
            4 1 8:1 /home /srv/my\\040home rw - ext4 /dev/sda rw\n\
            5 1 8:1 /home/me/p/sub /opt/part rw - ext4 /dev/sda rw\n\
            6 1 8:1 /other /opt/other rw - ext4 /dev/sda rw\n";
        let views = other_views(text, Path::new("/home/me/p"));
        let expected = ["/opt/alias", "/srv/my home/me/p", "/opt/part"];
        assert_eq!(views, expected.map(PathBuf::from));
        assert!(other_views(b"1 0 8:1 / / rw - x x rw\n", Path::new("/a")).is_empty());
    }
}
