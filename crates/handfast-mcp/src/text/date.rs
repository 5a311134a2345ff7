//! Dates as JavaScript prints them, in UTC.

use handfast::Timestamp;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// `Sun Nov 15 2026 19:57:34 GMT+0000 (Coordinated Universal Time)`.
pub(crate) fn javascript(time: Timestamp) -> String {
    let days = time.seconds.div_euclid(86_400);
    let second = time.seconds.rem_euclid(86_400);
    let (year, month, day) = civil(days);
    format!(
        "{} {} {day:02} {year:04} {:02}:{:02}:{:02} GMT+0000 (Coordinated Universal Time)",
        usize::try_from(days.rem_euclid(7)).map_or("", |index| DAYS[index]),
        MONTHS[month],
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// Year, month (from 0) and day of a day since 1970, by the Gregorian calendar.
fn civil(days: i64) -> (i64, usize, i64) {
    // Years that begin in March: the leap day comes last, and months have a regular length.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    (year, usize::try_from(month).unwrap_or(0), day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> String {
        javascript(Timestamp {
            seconds,
            nanoseconds: 999_999_999,
        })
    }

    #[test]
    fn known_moments() {
        let utc = " GMT+0000 (Coordinated Universal Time)";
        for (seconds, text) in [
            (0, "Thu Jan 01 1970 00:00:00"),
            (-1, "Wed Dec 31 1969 23:59:59"),
            (951_782_400, "Tue Feb 29 2000 00:00:00"),
            (1_794_772_654, "Sun Nov 15 2026 19:57:34"),
            (4_107_542_400, "Mon Mar 01 2100 00:00:00"),
        ] {
            assert_eq!(at(seconds), format!("{text}{utc}"));
        }
    }
}
