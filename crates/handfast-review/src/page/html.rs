//! HTML that is put together so that nothing from outside becomes markup.

use std::fmt::Display;

use super::highlight::{Token, TokenClass};

/// HTML as it grows. Markup is written in this crate; everything else is text.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, between tags or between the quotes of an attribute. Characters that are obeyed or hidden are
    /// spelled out.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        for letter in text.to_string().chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\t' | '\n' => self.0.push(letter),
                _ if handfast::is_hidden(letter) => {
                    self.0.push_str(&format!("&lt;U+{:04X}&gt;", letter as u32));
                }
                _ => self.0.push(letter),
            }
        }
        self
    }

    /// A line in colours, with marks around what spells out something hidden.
    pub(super) fn tokens(&mut self, tokens: &[Token<'_>]) -> &mut Self {
        for (class, text) in tokens {
            let (begin, end) = match class {
                TokenClass::Plain => ("", ""),
                TokenClass::Hidden => ("<mark class=hid>", "</mark>"),
                TokenClass::Comment => ("<i class=c>", "</i>"),
                TokenClass::Text => ("<i class=t>", "</i>"),
                TokenClass::Number => ("<i class=n>", "</i>"),
                TokenClass::Keyword => ("<i class=w>", "</i>"),
            };
            self.raw(begin).text(text).raw(end);
        }
        self
    }

    /// Part of an address.
    pub(super) fn url(&mut self, text: &str) -> &mut Self {
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                    self.0.push(char::from(byte));
                }
                _ => self.0.push_str(&format!("%{byte:02X}")),
            }
        }
        self
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut html = Html::default();
        html.text("<script>\"'&\u{202e}\u{0}")
            .raw("<p>")
            .url("a b/\"é");
        assert_eq!(
            html.done(),
            "&lt;script&gt;&quot;&#39;&amp;&lt;U+202E&gt;&lt;U+0000&gt;<p>a%20b%2F%22%C3%A9"
        );
    }
}
