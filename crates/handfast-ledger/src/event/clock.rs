//! Points in time: the wall's, and the machine's own since it was started.

use rustix::time::{ClockId, clock_gettime};

/// One moment by both clocks. Events are ordered by their index, never by these.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Nanoseconds since 1970 by the wall clock.
    pub wall_ns: i128,
    /// Nanoseconds since the machine was started, sleep included.
    pub boot_ns: u64,
}

impl Moment {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        let nanoseconds = |clock| {
            let time = clock_gettime(clock);
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        Self {
            wall_ns: nanoseconds(ClockId::Realtime),
            boot_ns: u64::try_from(nanoseconds(ClockId::Boottime)).unwrap_or(0),
        }
    }
}

/// RFC 3339 in UTC with nanoseconds.
#[must_use]
pub fn rfc3339(wall_ns: i128) -> String {
    // 64 bits reach from 1677 to 2262, and divide many times faster.
    let (seconds, nanoseconds) = match i64::try_from(wall_ns) {
        Ok(near) => (
            near.div_euclid(1_000_000_000),
            near.rem_euclid(1_000_000_000) as u32,
        ),
        Err(_) => (
            i64::try_from(wall_ns.div_euclid(1_000_000_000)).unwrap_or(0),
            wall_ns.rem_euclid(1_000_000_000) as u32,
        ),
    };
    let (days, second) = (
        seconds.div_euclid(86_400),
        seconds.rem_euclid(86_400) as u32,
    );
    let (year, month, day) = civil(days);
    let mut text = *b"0000-00-00T00:00:00.000000000Z";
    for (from, to, number) in [
        (0, 4, year.unsigned_abs() as u32),
        (5, 7, month as u32),
        (8, 10, day as u32),
        (11, 13, second / 3600),
        (14, 16, second / 60 % 60),
        (17, 19, second % 60),
        (20, 29, nanoseconds),
    ] {
        let mut rest = number;
        for digit in text[from..to].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
    String::from_utf8(text.to_vec()).unwrap_or_default()
}

/// Year, month and day of a number of days since 1970-01-01. Counting from March of the year 0
/// puts the leap day last and makes every 400 years (146,097 days) alike.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let (month, next) = if from_march < 10 {
        (from_march + 3, 0)
    } else {
        (from_march - 9, 1)
    };
    (year + era * 400 + next, month, day)
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
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000_000), expected);
        }
        assert_eq!(rfc3339(1_500_000_001), "1970-01-01T00:00:01.500000001Z");
    }
}
