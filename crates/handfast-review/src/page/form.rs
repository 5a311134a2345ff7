//! Forms and queries: names and values with percent signs in them.

/// The fields of a form, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The query after `?`, or the body of a form. Bytes that are not UTF-8 are replaced.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        Self(pairs.map(pair).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A number, or 0. There are not more things to count than that.
    pub(super) fn number(&self, name: &str) -> usize {
        let number: Option<u32> = self.get(name).and_then(|text| text.parse().ok());
        number.map_or(0, |number| number as usize)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// What was typed in several lines. Browsers end them with two characters, of which people see one.
    pub(super) fn lines(&self, name: &str) -> String {
        self.text(name).replace("\r\n", "\n")
    }
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3);
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, number) {
            (b'%', Some(number)) => {
                out.push(number);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_write_them() {
        let fields = Fields::parse("a=1&b=%3Cx%3E+y&a=2&&c&d=%zz%4");
        assert_eq!(fields.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.get("b"), Some("<x> y"));
        assert_eq!((fields.get("c"), fields.get("e")), (Some(""), None));
        assert_eq!(fields.get("d"), Some("%zz%4"));
        assert_eq!((fields.number("a"), fields.number("b")), (1, 0));
    }
}
