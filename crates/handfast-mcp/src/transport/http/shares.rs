//! How something that there is only so much of is divided among callers.

/// Some are for the callers that come first, the rest is divided: whatever others do, each caller has its part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    first_come: usize,
    each: usize,
}

impl Shares {
    pub(super) fn new(first_come: usize, divided: usize, callers: usize) -> Self {
        Self {
            first_come,
            each: (divided / callers.max(1)).max(1),
        }
    }

    /// Whether a caller may have one more, beside those that are held.
    pub(super) fn allow<'a>(&self, held: impl Iterator<Item = &'a str>, caller: &str) -> bool {
        let (mut all, mut own) = (0, 0);
        for holder in held {
            all += 1;
            own += usize::from(holder == caller);
        }
        all < self.first_come || own < self.each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caller_has_its_part_whatever_others_hold() {
        let shares = Shares::new(3, 4, 2);
        let mut held: Vec<&str> = Vec::new();
        while shares.allow(held.iter().copied(), "ben") {
            held.push("ben");
        }
        assert_eq!(held.len(), 3);
        while shares.allow(held.iter().copied(), "ana") {
            held.push("ana");
        }
        assert_eq!(held.len(), 5);
        // More callers than there is to divide: each has one.
        assert!(Shares::new(0, 4, 9).allow(["ben"; 9].into_iter(), "ana"));
    }
}
