//! Names of sub-directories that are still to be entered, for every level of a tree.

use std::ffi::{CStr, CString};

/// One stack of names for all levels: those of the current directory are last.
pub(crate) struct Pending {
    /// NUL-terminated, one after the other.
    names: Vec<u8>,
    /// For each level, where its names begin.
    levels: Vec<usize>,
}

impl Pending {
    /// For a tree of which only the top is entered.
    pub(crate) fn new() -> Self {
        Self {
            names: Vec::new(),
            levels: vec![0],
        }
    }

    pub(crate) fn enter_level(&mut self) {
        self.levels.push(self.names.len());
    }

    pub(crate) fn leave_level(&mut self) {
        self.levels.pop();
    }

    pub(crate) fn push(&mut self, name: &CStr) {
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    /// The next name of the current level.
    pub(crate) fn pop(&mut self) -> Option<CString> {
        let from = *self.levels.last()?;
        let names = self.names.get(from..)?;
        let (_, before) = names.split_last()?;
        let start = before
            .iter()
            .rposition(|byte| *byte == 0)
            .map_or(0, |nul| nul + 1);
        let name = CStr::from_bytes_with_nul(&names[start..]).ok()?.to_owned();
        self.names.truncate(from + start);
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Pending;

    #[test]
    fn levels_keep_their_own_names() {
        let mut pending = Pending::new();
        pending.push(c"a");
        pending.push(c"bb");
        assert_eq!(pending.pop().as_deref(), Some(c"bb"));
        pending.enter_level();
        assert_eq!(pending.pop(), None);
        pending.push(c"c");
        assert_eq!(pending.pop().as_deref(), Some(c"c"));
        assert_eq!(pending.pop(), None);
        pending.leave_level();
        assert_eq!(pending.pop().as_deref(), Some(c"a"));
        assert_eq!(pending.pop(), None);
    }
}
