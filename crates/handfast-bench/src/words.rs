//! Numbers for people.

/// Nanoseconds: three or four digits and a unit.
pub(crate) fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        small if small < 1e4 => return format!("{small:.0} ns"),
        medium if medium < 1e7 => (medium / 1e3, "µs"),
        large if large < 1e10 => (large / 1e6, "ms"),
        huge => (huge / 1e9, "s"),
    };
    if value < 100.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Nanoseconds that are a round number: the fewest digits.
#[cfg(feature = "plot")]
pub(crate) fn round_duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        small if small < 1e3 => (small, "ns"),
        medium if medium < 1e6 => (medium / 1e3, "µs"),
        large if large < 1e9 => (large / 1e6, "ms"),
        huge => (huge / 1e9, "s"),
    };
    format!("{value:.0} {unit}")
}

/// Bytes.
pub(crate) fn bytes(bytes: u64) -> String {
    if bytes < 10 * 1024 {
        format!("{bytes} B")
    } else {
        format!("{} KiB", bytes.div_ceil(1024))
    }
}

/// A whole number with its thousands apart.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{bytes, duration, grouped};

    #[test]
    fn durations_keep_three_digits() {
        let texts = [999.6, 9_999.0, 23_091.0, 1_260_000.0, 17_300_000.0].map(duration);
        assert_eq!(
            texts,
            ["1000 ns", "9999 ns", "23.1 µs", "1260 µs", "17.3 ms"]
        );
        assert_eq!([0, 4_097, 33_000].map(bytes), ["0 B", "4097 B", "33 KiB"]);
    }

    #[test]
    fn thousands_stand_apart() {
        let texts = [8, 100, 1_000, 100_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["8", "100", "1,000", "100,000", "1,234,567"]);
    }
}
