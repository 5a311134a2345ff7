//! Points in time as text.

use handfast::Timestamp;

const SECONDS_A_DAY: i64 = 86_400;

/// RFC 3339 in UTC with nanoseconds. Years beyond four digits, which the format does not have, get
/// a sign and as many digits as they need.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    let (year, month, day) = civil(time.seconds.div_euclid(SECONDS_A_DAY));
    let second = time.seconds.rem_euclid(SECONDS_A_DAY);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        year => format!("{year:+05}"),
    };
    format!(
        "{year}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:09}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        time.nanoseconds
    )
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar without end
/// on either side.
///
/// Counting years from March puts the leap day last, so that a month's first day is a straight
/// line; counting from 0000-03-01 makes every 400 years (146,097 days) alike.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next_year) = match month_from_march {
        0..=9 => (month_from_march + 3, 0),
        _ => (month_from_march - 9, 1),
    };
    (year_of_era + era * 400 + next_year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, civil, rfc3339};

    fn text(seconds: i64, nanoseconds: u32) -> String {
        rfc3339(Timestamp {
            seconds,
            nanoseconds,
        })
    }

    #[test]
    fn known_moments() {
        for (seconds, nanoseconds, expected) in [
            (0, 0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_400, 1, "2000-02-29T00:00:00.000000001Z"),
            (1_234_567_890, 123_456_789, "2009-02-13T23:31:30.123456789Z"),
            (4_107_542_399, 0, "2100-02-28T23:59:59.000000000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000000000Z"),
            (253_402_300_799, 0, "9999-12-31T23:59:59.000000000Z"),
        ] {
            assert_eq!(text(seconds, nanoseconds), expected);
        }
    }

    #[test]
    fn before_1970_the_fraction_still_counts_upwards() {
        assert_eq!(text(-1, 500_000_000), "1969-12-31T23:59:59.500000000Z");
        assert_eq!(text(-86_400, 0), "1969-12-31T00:00:00.000000000Z");
        assert_eq!(text(-2_208_988_800, 0), "1900-01-01T00:00:00.000000000Z");
        assert_eq!(text(-11_676_096_000, 0), "1600-01-01T00:00:00.000000000Z");
    }

    #[test]
    fn the_ends_of_the_range_do_not_overflow() {
        assert_eq!(text(253_402_300_800, 0), "+10000-01-01T00:00:00.000000000Z");
        assert_eq!(text(-62_167_219_201, 0), "-0001-12-31T23:59:59.000000000Z");
        assert!(text(i64::MAX, 999_999_999).starts_with("+292277026596-12-04T15:30:07"));
        assert!(text(i64::MIN, 0).starts_with("-292277022657-01-27T08:29:52"));
    }

    #[test]
    fn every_day_of_800_years_follows_the_one_before() {
        let length = |year: i64, month| match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let (mut year, mut month, mut day) = (1600, 1, 1);
        for days in -135_140..157_054 {
            assert_eq!(civil(days), (year, month, day));
            day += 1;
            if day > length(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2400, 1, 1));
    }
}
