//! Sizes and times as people write them.

use std::time::Duration;

/// `4096`, `2GiB`, `10 MB`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// `30s`, `10m`, `1h`, `2d`, in seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.checked_mul(factor)
}

pub(super) fn duration(seconds: Option<u64>, otherwise: u64) -> Duration {
    Duration::from_secs(seconds.unwrap_or(otherwise))
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}
