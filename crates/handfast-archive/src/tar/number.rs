//! Numbers in tar headers.

use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// An octal number: spaces, digits, then spaces and NULs. A field without digits is `None`.
pub(super) fn octal(field: &[u8]) -> Result<Option<u64>, Stop> {
    let start = field.iter().take_while(|byte| **byte == b' ').count();
    let digits = field[start..]
        .iter()
        .take_while(|byte| (b'0'..=b'7').contains(*byte))
        .count();
    let (digits, rest) = field[start..].split_at(digits);
    if !rest.iter().all(|byte| matches!(byte, b' ' | 0)) {
        return refuse(Rule::Number, "a number in a header is not octal");
    }
    if digits.is_empty() {
        return Ok(None);
    }
    let mut value: u64 = 0;
    for digit in digits {
        // At most twelve digits: it fits.
        value = value * 8 + u64::from(digit - b'0');
    }
    Ok(Some(value))
}

/// An octal number, or one in base 256 where the first bit is set. Negative ones and those beyond 63 bits
/// are refused.
pub(super) fn octal_or_binary(field: &[u8]) -> Result<Option<u64>, Stop> {
    match field[0] {
        0x80 => {
            let mut value: u64 = 0;
            for byte in &field[1..] {
                value = match value.checked_mul(256) {
                    Some(value) => value + u64::from(*byte),
                    None => u64::MAX,
                };
            }
            if i64::try_from(value).is_err() {
                return refuse(Rule::Number, "a number in a header is too large");
            }
            Ok(Some(value))
        }
        0x81.. => refuse(
            Rule::Number,
            "a number in a header is negative or too large",
        ),
        _ => octal(field),
    }
}

/// Decimal digits alone, without leading zeros.
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    let plain = match text {
        b"0" => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    // It is ASCII; what does not fit is no number.
    plain.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

/// Seconds with a fraction, as pax writes times.
pub(super) fn time(text: &[u8]) -> Option<(i64, u32)> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        text => (1, text),
    };
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b""[..]),
    };
    if !fraction.iter().all(u8::is_ascii_digit) || text.ends_with(b".") {
        return None;
    }
    let seconds = i64::try_from(decimal(whole)?).ok()?;
    let mut nanoseconds = 0;
    for at in 0..9 {
        let digit = fraction.get(at).map_or(0, |digit| u32::from(digit - b'0'));
        nanoseconds = nanoseconds * 10 + digit;
    }
    match (sign, nanoseconds) {
        (1, _) => Some((seconds, nanoseconds)),
        (_, 0) => Some((-seconds, 0)),
        // Nanoseconds count forward, seconds backward.
        _ => Some((-seconds - 1, 1_000_000_000 - nanoseconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::{decimal, octal, octal_or_binary, time};

    #[test]
    fn octal_numbers_are_digits_between_padding() {
        assert_eq!(octal(b"0000644\0").unwrap(), Some(0o644));
        assert_eq!(octal(b"   644 \0").unwrap(), Some(0o644));
        assert_eq!(octal(b"777777777777").unwrap(), Some(0o777_777_777_777));
        assert_eq!(octal(b"\0\0\0\0").unwrap(), None);
        for bad in [
            &b"0000648\0"[..],
            b"-000644\0",
            b"0x00644\0",
            b"06 44\0\0\0",
            b"0644\x001",
        ] {
            assert!(octal(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn binary_numbers_are_positive_and_fit() {
        let mut field = [0; 12];
        field[0] = 0x80;
        field[11] = 5;
        assert_eq!(octal_or_binary(&field).unwrap(), Some(5));
        field[4] = 0x80;
        assert!(octal_or_binary(&field).is_err());
        field[4] = 0;
        field[3] = 1;
        assert!(octal_or_binary(&field).is_err());
        assert!(octal_or_binary(&[0xff; 12]).is_err());
        // Owners have eight bytes; GNU tar writes large ones so.
        assert_eq!(
            octal_or_binary(&[0x80, 0, 0, 0, 0, 0x20, 0, 1]).unwrap(),
            Some(0x20_0001)
        );
        let mut field = [0xff; 12];
        field[0] = 0x80;
        assert!(octal_or_binary(&field).is_err());
    }

    #[test]
    fn decimals_and_times_have_one_spelling() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            &b""[..],
            b"00",
            b"01",
            b"+1",
            b"-1",
            b" 1",
            b"1 ",
            b"18446744073709551616",
        ] {
            assert_eq!(decimal(bad), None, "{bad:?}");
        }
        assert_eq!(time(b"12.5"), Some((12, 500_000_000)));
        assert_eq!(time(b"-1.25"), Some((-2, 750_000_000)));
        assert_eq!(time(b"1.1234567899"), Some((1, 123_456_789)));
        for bad in [&b"1."[..], b".5", b"1.5.5", b"1e3", b"-"] {
            assert_eq!(time(bad), None, "{bad:?}");
        }
    }
}
