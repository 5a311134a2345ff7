//! The number that stands for every user who has none here.
//!
//! In a user namespace that does not map all users, peers of the others come with one and the same
//! number, the overflow uid. It says nothing about who they are.

use std::sync::OnceLock;

/// The overflow uid, if somebody can come with it; nothing where every user has a number. Asked once,
/// before the wall goes up: later the answer cannot be read, and it does not change.
pub(crate) fn overflow_uid() -> Option<u32> {
    static FOUND: OnceLock<Option<u32>> = OnceLock::new();
    *FOUND.get_or_init(find)
}

fn find() -> Option<u32> {
    // Where the map cannot be read, users without a number are expected.
    if kernel_text("/proc/self/uid_map").is_some_and(|map| maps_everybody(&map)) {
        return None;
    }
    let number = kernel_text("/proc/sys/kernel/overflowuid");
    Some(
        number
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(65_534),
    )
}

/// A file that the kernel makes up. Those below `/proc/sys` are told in one read, or cut.
fn kernel_text(path: &str) -> Option<String> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = vec![0; 1 << 16];
    let length = rustix::io::read(&file, &mut text).ok()?;
    text.truncate(length);
    String::from_utf8(text).ok()
}

/// Whether a map has a number for every user: lines of first inside, first outside, count.
fn maps_everybody(map: &str) -> bool {
    let counts = map
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2));
    let mapped: u64 = counts.filter_map(|count| count.parse::<u64>().ok()).sum();
    // The last number stands for "nobody in particular" and is not given.
    mapped >= u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::maps_everybody;

    #[test]
    fn only_a_whole_map_leaves_nobody_out() {
        assert!(maps_everybody("         0          0 4294967295\n"));
        assert!(!maps_everybody("0 1000 1\n"));
        assert!(!maps_everybody("0 1000 1\n1 100000 65536\n"));
        assert!(!maps_everybody(""));
    }
}
