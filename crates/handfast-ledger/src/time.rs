//! Times and durations as text. All times are UTC.

use std::time::Duration;

use jiff::fmt::temporal::DateTimePrinter;
use jiff::{SpanRelativeTo, Timestamp};

/// Every time has nine digits behind the point, so that times compare as text.
const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(9));

/// RFC 3339 in UTC with nanoseconds. Beyond the years that the format has, seconds since 1970
/// behind an `@`.
#[must_use]
pub fn rfc3339(wall_ns: i128) -> String {
    match Timestamp::from_nanosecond(wall_ns) {
        Ok(time) if time.as_second() >= YEAR_0 => PRINTER.timestamp_to_string(&time),
        _ => {
            let second = wall_ns.div_euclid(1_000_000_000);
            format!("@{second}.{:09}", wall_ns.rem_euclid(1_000_000_000))
        }
    }
}

/// The first second with a year of four digits and no sign.
const YEAR_0: i64 = -62_167_219_200;

/// Milliseconds since 1970 of a time as it is in an event; 0 for any other text.
#[must_use]
pub fn milliseconds(text: &str) -> i64 {
    text.parse().map_or(0, Timestamp::as_millisecond)
}

/// A duration as people write it: `90s`, `10m`, `1h30m`, `2 days`, `1w`; a bare number is seconds.
///
/// # Errors
/// What a duration looks like, if it is none, is none at all, or has months or years, which are of
/// no certain length.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a duration is a number with s, m, h, d or w, such as 90s or 1h30m".to_owned();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let span: jiff::Span = match is_number {
        true => format!("{text}s").parse().map_err(|_| wrong())?,
        false => text.parse().map_err(|_| wrong())?,
    };
    let days = SpanRelativeTo::days_are_24_hours();
    let found = span.to_duration(days).map_err(|_| wrong())?;
    match Duration::try_from(found) {
        Ok(found) if !found.is_zero() => Ok(found),
        _ => Err("a duration is more than nothing and goes forward".to_owned()),
    }
}

/// The earliest time that is asked for, as times stand in events: a time, the beginning of one, or
/// how long ago.
///
/// # Errors
/// What may be given, if it is none of these.
pub fn since(text: &str, now_ns: i128) -> Result<String, String> {
    let form = b"0000-00-00T00:00:00.000000000";
    let cut = text.strip_suffix('Z').unwrap_or(text).replacen(' ', "T", 1);
    let is_beginning = cut.len() >= 4
        && cut.len() <= form.len()
        && cut.bytes().zip(form).all(|(given, wanted)| match wanted {
            b'0' => given.is_ascii_digit(),
            other => given == *other,
        });
    if is_beginning {
        return Ok(cut);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(PRINTER.timestamp_to_string(&time));
    }
    match duration(text) {
        Ok(ago) => Ok(rfc3339(now_ns - ago.as_nanos() as i128)),
        Err(_) => Err(
            "a time is written like 2026-11-16T10:25:00, the end may be left out; how long ago like 90s, 10m, 1h or 2d"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000000Z"),
            (1_794_787_200, "2026-11-16T00:00:00.000000000Z"),
            (-1, "1969-12-31T23:59:59.000000000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000000000Z"),
            (-11_676_096_000, "1600-01-01T00:00:00.000000000Z"),
            (-62_167_219_200, "0000-01-01T00:00:00.000000000Z"),
            (-62_167_219_201, "@-62167219201.000000000"),
            (253_402_300_800, "@253402300800.000000000"),
            (i64::MAX.into(), "@9223372036854775807.000000000"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000_000), expected);
        }
        assert_eq!(rfc3339(1_500_000_001), "1970-01-01T00:00:01.500000001Z");
        assert_eq!(rfc3339(-500_000_000), "1969-12-31T23:59:59.500000000Z");
        assert_eq!(milliseconds("1970-01-01T00:00:01.500000000Z"), 1500);
        assert_eq!(
            milliseconds(&rfc3339(951_782_400 * 1_000_000_000)),
            951_782_400_000
        );
        assert_eq!(milliseconds("yesterday"), 0);
    }

    #[test]
    fn durations_have_units_that_have_a_length() {
        for (text, seconds) in [
            ("30s", 30),
            ("10m", 600),
            ("1h", 3600),
            ("1h30m", 5400),
            ("1.5h", 5400),
            ("2d", 172_800),
            ("2 days", 172_800),
            ("1w", 604_800),
            ("7", 7),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in [
            "",
            "m",
            "-1s",
            "1s ago",
            "1mo",
            "2y",
            "0",
            "0s",
            "soon",
            "99999999999999999999d",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn since_takes_a_time_the_beginning_of_one_or_how_long_ago() {
        let now = 1_794_787_200 * 1_000_000_000;
        for (given, kept) in [
            ("2026", "2026"),
            ("2026-11-16", "2026-11-16"),
            ("2026-11-16 10:25", "2026-11-16T10:25"),
            ("2026-11-16T10:25:18Z", "2026-11-16T10:25:18"),
            ("2026-11-16T10:25:18.123", "2026-11-16T10:25:18.123"),
            (
                "2026-11-16T10:25:18+01:00",
                "2026-11-16T09:25:18.000000000Z",
            ),
            ("1h", "2026-11-15T23:00:00.000000000Z"),
            ("90", "2026-11-15T23:58:30.000000000Z"),
            ("2d", "2026-11-14T00:00:00.000000000Z"),
        ] {
            assert_eq!(since(given, now).as_deref(), Ok(kept), "{given}");
        }
        for bad in ["", "Z", "yesterday", "1mo", "-1h", "2026-11-16T1O"] {
            assert!(since(bad, now).is_err(), "{bad}");
        }
    }
}
