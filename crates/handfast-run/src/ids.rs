//! Which users a program's namespace knows.

use std::io;

use rustix::process::Pid;

/// Writes the maps of a child that is in a new user namespace. An ordinary user is himself and
/// nobody else; root keeps every user that it has.
///
/// # Errors
/// What the kernel says: somebody has barred user namespaces.
pub(crate) fn write_maps(child: Pid) -> io::Result<()> {
    let of = |name: &str| format!("/proc/{}/{name}", child.as_raw_nonzero());
    if rustix::process::geteuid().is_root() {
        for map in ["uid_map", "gid_map"] {
            let own = read(&format!("/proc/self/{map}"))?;
            write(&of(map), &same_ids(&own))?;
        }
        return Ok(());
    }
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    // Without this an ordinary user may not map groups: a group can also take rights away.
    write(&of("setgroups"), "deny")?;
    write(&of("uid_map"), &format!("{user} {user} 1\n"))?;
    write(&of("gid_map"), &format!("{group} {group} 1\n"))
}

/// A map in which everybody that we know keeps their number.
fn same_ids(own: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split_whitespace();
        let first = fields.next()?;
        let count = fields.nth(1)?;
        Some(format!("{first} {first} {count}\n"))
    };
    own.lines().filter_map(line).collect()
}

#[allow(
    clippy::disallowed_methods,
    reason = "procfs, about ourselves and our child"
)]
fn read(path: &str) -> io::Result<String> {
    std::fs::read_to_string(path)
}

#[allow(
    clippy::disallowed_methods,
    reason = "procfs, about ourselves and our child"
)]
fn write(path: &str, text: &str) -> io::Result<()> {
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::same_ids;

    #[test]
    fn everybody_keeps_the_number_that_is_known_here() {
        assert_eq!(same_ids("0 0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(
            same_ids(" 0 100000 65536\n 70000 5 1\n"),
            "0 0 65536\n70000 70000 1\n"
        );
    }
}
