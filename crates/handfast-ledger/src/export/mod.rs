//! The log in other people's forms.

mod dsse;
mod html;
mod ocsf;

use std::ops::ControlFlow;

use crate::error::Error;
use crate::reader::LogReader;

pub use dsse::dsse;
pub use html::{HtmlPage, html};
pub use ocsf::{OCSF_VERSION, ocsf};

/// The events as JSON lines: `{"index":"<n>","event":<the leaf, byte for byte>}`.
///
/// # Errors
/// If the log cannot be read.
pub fn jsonl(log: &LogReader, mut put: impl FnMut(&[u8])) -> Result<(), Error> {
    log.for_each(0, |index, leaf| {
        let mut line = format!("{{\"index\":\"{index}\",\"event\":").into_bytes();
        line.extend_from_slice(leaf);
        line.extend_from_slice(b"}\n");
        put(&line);
        Ok(ControlFlow::Continue(()))
    })
}
