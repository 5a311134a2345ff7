//! How long and how deep a path may be.

/// Limits on a parsed path. The defaults are those of Linux, with a depth of 128.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes in one segment.
    pub segment: usize,
    /// Bytes in the whole path.
    pub total: usize,
    /// Segments.
    pub depth: usize,
}

impl Limits {
    /// 255 bytes a segment, 4096 bytes in all, 128 segments.
    pub const DEFAULT: Self = Self {
        segment: 255,
        total: 4096,
        depth: 128,
    };

    /// The default limits.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    /// Allows this many bytes in the whole path. Paths longer than the kernel takes in one call
    /// are resolved component by component.
    #[must_use]
    pub const fn with_total(mut self, bytes: usize) -> Self {
        self.total = bytes;
        self
    }

    /// Allows this many bytes in one segment.
    #[must_use]
    pub const fn with_segment(mut self, bytes: usize) -> Self {
        self.segment = bytes;
        self
    }

    /// Allows this many segments.
    #[must_use]
    pub const fn with_depth(mut self, segments: usize) -> Self {
        self.depth = segments;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
