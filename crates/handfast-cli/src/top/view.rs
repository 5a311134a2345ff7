//! Which part of the picture is looked at, and how keys change that.

use handfast_broker::LeaseInfo;

/// What a reader has asked for with keys.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct TableView {
    /// As many leases are passed over.
    pub(super) offset: usize,
    /// Only leases with this in their handle, purpose, verbs or paths are shown.
    pub(super) filter: String,
    /// Keys are letters of the filter now.
    pub(super) is_typing: bool,
}

/// What a key asks for beside another view.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Asked {
    /// The same picture, seen otherwise.
    Drawing,
    /// The end.
    Quitting,
}

/// Ctrl-C and Ctrl-D, which a terminal without line editing hands over like other keys.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const ESCAPE: u8 = 27;

impl TableView {
    pub(super) fn of(filter: Option<&str>) -> Self {
        Self {
            filter: filter.unwrap_or_default().to_owned(),
            ..Self::default()
        }
    }

    /// Takes what was typed. A key is a byte, or several that begin with Escape; `page` is how many
    /// leases fit.
    pub(super) fn press(&mut self, typed: &[u8], page: usize) -> Asked {
        let mut rest = typed;
        while let [first, ..] = rest {
            let length = match rest {
                [ESCAPE, b'[', b'5' | b'6', b'~', ..] => 4,
                [ESCAPE, b'[', _, ..] => 3,
                _ => 1,
            };
            let (key, after) = rest.split_at(length);
            rest = after;
            match (self.is_typing, key) {
                (_, [INTERRUPT | END]) | (false, b"q") => return Asked::Quitting,
                (true, [b'\r' | b'\n']) => self.is_typing = false,
                (true, [ESCAPE]) | (false, [ESCAPE]) => *self = Self::default(),
                (true, [byte]) if BACKSPACE.contains(byte) => drop(self.filter.pop()),
                // Letters beyond ASCII come as several bytes; names of leases have none.
                (true, [b' '..=b'~']) => {
                    self.filter.push(char::from(*first));
                    self.offset = 0;
                }
                (false, b"/") => self.is_typing = true,
                (false, b"j" | b"\x1b[B") => self.offset += 1,
                (false, b"k" | b"\x1b[A") => self.offset = self.offset.saturating_sub(1),
                (false, b" " | b"\x1b[6~") => self.offset += page,
                (false, b"b" | b"\x1b[5~") => self.offset = self.offset.saturating_sub(page),
                (false, b"g") => self.offset = 0,
                _ => {}
            }
        }
        Asked::Drawing
    }

    /// Whether a lease is shown.
    pub(super) fn shows(&self, lease: &LeaseInfo) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.filter.to_lowercase());
        let words = lease.paths.iter().chain(&lease.verbs).chain(&lease.purpose);
        has(&lease.handle) || words.into_iter().any(|word| has(word))
    }

    /// What the keys do, or what is being typed.
    pub(super) fn help(&self) -> String {
        let filter = handfast::escape(self.filter.as_bytes());
        match (self.is_typing, filter.as_str()) {
            (true, _) => format!("filter: {filter}_   Enter keeps it, Escape clears it"),
            (false, "") => "q quit   j k space b scroll   / filter".to_owned(),
            (false, _) => {
                format!("q quit   j k space b scroll   filter: {filter}   Escape clears it")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_scroll_filter_and_quit() {
        let mut view = TableView::default();
        assert_eq!(view.press(b"jj\x1b[B", 10), Asked::Drawing);
        assert_eq!(view.offset, 3);
        view.press(b"k\x1b[A\x1b[A\x1b[Ak", 10);
        assert_eq!(view.offset, 0, "not above the first");
        view.press(b" \x1b[6~b", 10);
        assert_eq!(view.offset, 10);
        // While a filter is typed, letters are letters.
        view.press(b"/quiet", 10);
        assert_eq!((view.filter.as_str(), view.offset), ("quiet", 0));
        view.press(&[BACKSPACE[1], b'\r'], 10);
        assert_eq!((view.filter.as_str(), view.is_typing), ("quie", false));
        assert_eq!(view.press(b"q", 10), Asked::Quitting);
        view.press(&[ESCAPE], 10);
        assert_eq!(view, TableView::default());
        view.press(b"/x", 10);
        assert_eq!(view.press(&[INTERRUPT], 10), Asked::Quitting);
    }
}
