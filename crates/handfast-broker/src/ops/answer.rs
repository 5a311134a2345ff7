//! What a method gives back, and what it is given.

use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fault::{Code, Fault};
use crate::wire::empty_object;

/// The answer of a method: parameters as JSON, and a descriptor beside them.
#[derive(Debug, Default)]
pub(crate) struct CallResult {
    /// The message up to the end of its parameters; empty if there are none.
    head: Vec<u8>,
    pub(crate) fd: Option<OwnedFd>,
}

/// How a message with parameters begins.
const HEAD: &[u8] = b"{\"parameters\":";

/// The usual answer fits; a longer one grows.
const USUAL: usize = 256;

impl CallResult {
    /// No parameters.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// With parameters.
    pub(crate) fn of(parameters: &impl Serialize) -> Result<Self, Fault> {
        let mut head = Vec::with_capacity(USUAL);
        head.extend_from_slice(HEAD);
        serde_json::to_writer(&mut head, parameters)
            .map_err(|error| Fault::new(Code::Failed, error.to_string()))?;
        Ok(Self { head, fd: None })
    }

    /// The whole message, and the descriptor. Nothing to say is said by nothing: some clients
    /// refuse an empty object.
    pub(crate) fn into_message(self, continues: bool) -> (Vec<u8>, Option<OwnedFd>) {
        let mut json = self.head;
        json.extend_from_slice(match (json.is_empty(), continues) {
            (true, false) => b"{}",
            (true, true) => b"{\"continues\":true}",
            (false, false) => b"}",
            (false, true) => b",\"continues\":true}",
        });
        (json, self.fd)
    }

    /// With a descriptor; its index in the message is 0.
    pub(crate) fn with_fd(mut self, fd: OwnedFd) -> Self {
        self.fd = Some(fd);
        self
    }
}

/// Reads the parameters of a method. Unknown ones are refused: who misspells a limit shall not get
/// what is unlimited.
pub(crate) fn parameters<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<T, Fault> {
    let text = match raw {
        Some(raw) => raw.get(),
        None => empty_object(),
    };
    serde_json::from_str(text).map_err(|error| {
        let why = error.to_string();
        // serde names the field between backticks.
        let name = why.split('`').nth(1).unwrap_or("parameters").to_owned();
        Fault::parameter(&handfast::escape(name.as_bytes()), "not what is expected")
    })
}
