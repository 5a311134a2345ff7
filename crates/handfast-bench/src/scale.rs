//! How large the trees are, and how far growth is followed.

/// Sizes.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Files in the wide directory.
    pub wide: usize,
    /// Directories of the tree that is walked, and files in each.
    pub tree: (usize, usize),
    /// Directories of the tree that is removed or copied, and files in each.
    pub small_tree: (usize, usize),
    /// Numbers of files at which growth is looked at.
    pub files: &'static [usize],
    /// Numbers of threads at which growth is looked at.
    pub threads: &'static [usize],
}

impl Scale {
    /// As the budgets have it.
    pub const FULL: Self = Self {
        wide: 1_000,
        tree: (100, 100),
        small_tree: (10, 100),
        files: &[100, 1_000, 10_000, 100_000],
        threads: &[1, 8, 64],
    };
    /// The same trees, and growth not quite as far.
    pub const QUICK: Self = Self {
        files: &[100, 1_000, 10_000],
        ..Self::FULL
    };
    /// For tests.
    pub const SMALL: Self = Self {
        wide: 20,
        tree: (3, 5),
        small_tree: (2, 4),
        files: &[10, 30],
        threads: &[1, 2],
    };
}
