//! Permission bits as people type them.

/// Octal digits up to `7777`.
pub(super) fn parse(text: &str) -> Result<u32, String> {
    parse_up_to(text, 0o7777)
}

/// Octal digits up to `777`: without set-id and sticky bits.
pub(super) fn parse_plain(text: &str) -> Result<u32, String> {
    parse_up_to(text, 0o777)
}

fn parse_up_to(text: &str, most: u32) -> Result<u32, String> {
    let is_octal = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| is_octal && *mode <= most)
        .ok_or_else(|| format!("a mode is octal, up to {most:o}: for example 644"))
}

/// As it is printed.
pub(crate) fn shown(mode: u32) -> String {
    format!("{mode:04o}")
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_plain, shown};

    #[test]
    fn modes_are_octal_and_nothing_else() {
        assert_eq!(parse("644"), Ok(0o644));
        assert_eq!(parse("07777"), Ok(0o7777));
        assert_eq!(parse_plain("0755"), Ok(0o755));
        for bad in ["", "8", "u+x", "+644", "-644", "0o644", " 644", "10000"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse_plain("4755").is_err());
        assert_eq!(shown(0o44), "0044");
    }
}
