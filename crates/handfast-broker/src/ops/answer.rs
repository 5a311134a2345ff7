//! What a method gives back, and what it is given.

use std::os::fd::OwnedFd;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::fault::{Code, Fault};
use crate::wire::empty_object;

/// The answer of a method: parameters as JSON, and a descriptor beside them.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Nothing means an empty answer.
    pub(crate) json: Option<Vec<u8>>,
    pub(crate) fd: Option<OwnedFd>,
}

impl Answer {
    /// No parameters.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// With parameters.
    pub(crate) fn of(parameters: &impl Serialize) -> Result<Self, Fault> {
        let json = serde_json::to_vec(parameters)
            .map_err(|error| Fault::new(Code::Failed, error.to_string()))?;
        Ok(Self {
            json: Some(json),
            fd: None,
        })
    }

    /// With a descriptor; its index in the message is 0.
    pub(crate) fn with_fd(mut self, fd: OwnedFd) -> Self {
        self.fd = Some(fd);
        self
    }
}

/// Reads the parameters of a method. Unknown ones are refused: who misspells a limit shall not get
/// what is unlimited.
pub(crate) fn parameters<T: DeserializeOwned>(raw: Option<&RawValue>) -> Result<T, Fault> {
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
