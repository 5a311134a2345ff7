//! Sizes as people read them.

const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];

/// `13 B`, `1.50 KB`: base 1024, two decimals beyond bytes.
pub(crate) fn human(bytes: u64) -> String {
    let mut unit = 0;
    let mut below = 1024_u128;
    while unit + 1 < UNITS.len() && u128::from(bytes) >= below {
        unit += 1;
        below *= 1024;
    }
    if unit == 0 {
        return format!("{bytes} B");
    }
    #[allow(
        clippy::cast_precision_loss,
        reason = "two decimals are shown, and no more is promised"
    )]
    let value = bytes as f64 / (below / 1024) as f64;
    format!("{value:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn units_change_at_powers_of_1024() {
        for (bytes, text) in [
            (0, "0 B"),
            (13, "13 B"),
            (1023, "1023 B"),
            (1024, "1.00 KB"),
            (1536, "1.50 KB"),
            (1 << 20, "1.00 MB"),
            (10 << 30, "10.00 GB"),
            (5 << 40, "5.00 TB"),
            (2048 << 40, "2048.00 TB"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }
}
