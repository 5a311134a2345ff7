//! Choices, read from a string of bytes: the same string, the same choices.

/// What is left of the string. When it is spent, every choice is the first.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_spent(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `end`, which is small.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    /// A name from a tiny alphabet, so that names meet.
    pub fn name(&mut self) -> &'static str {
        self.pick(&["a", "b", "c"])
    }

    /// One to `most` names.
    pub fn names(&mut self, most: u8) -> Vec<String> {
        let count = 1 + self.below(most);
        (0..count).map(|_| self.name().to_owned()).collect()
    }

    /// One to three names; fewer are likelier, so that something is there.
    pub fn path(&mut self) -> Vec<String> {
        let count = self.pick(&[1, 1, 1, 2, 2, 3]);
        (0..count).map(|_| self.name().to_owned()).collect()
    }

    /// A relative link's text, with steps up.
    pub fn target(&mut self) -> String {
        let count = 1 + self.below(4);
        let steps: Vec<_> = (0..count)
            .map(|_| self.pick(&["a", "b", "c", "..", "..", "."]))
            .collect();
        steps.join("/")
    }
}
