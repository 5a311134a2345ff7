//! What both formats are to the rest of the crate.

use crate::member::Member;
use crate::stop::Stop;

/// An archive that is read once, from its beginning to its end.
pub(crate) trait Reader {
    /// The next member. Content of the one before that was not read is skipped. `None` only after
    /// everything was judged, to the last byte of the input.
    fn next(&mut self) -> Result<Option<Member>, Stop>;

    /// The next piece of the member's content; empty at its end. Whatever promises the content holds
    /// (its length, its checksum) were kept by then.
    fn content(&mut self) -> Result<&[u8], Stop>;
}
