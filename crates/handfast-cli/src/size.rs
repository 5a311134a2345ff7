//! Sizes as they are typed.

/// `4096`, `100MiB`, `2GB`.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err("a size is a number with B, KiB, MiB, GiB, kB, MB or GB".to_owned()),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "a size is a number of bytes".to_owned())?;
    number
        .checked_mul(factor)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "a size between 1 byte and 16 EiB is needed".to_owned())
}

/// A size that a log can do with.
pub(crate) fn of_log(text: &str) -> Result<u64, String> {
    match parse(text)? {
        bytes if bytes < 16 << 20 => Err("a log of the server needs at least 16MiB".to_owned()),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn numbers_with_units() {
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("100MiB"), Ok(100 << 20));
        assert_eq!(parse("2 GB"), Ok(2_000_000_000));
        for bad in ["", "MiB", "1x", "-1", "0", "99999999999999GiB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
