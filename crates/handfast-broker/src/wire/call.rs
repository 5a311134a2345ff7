//! A call, taken apart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// A call as it comes in. Parameters are read by the method, which knows their shape.
#[derive(Debug, Deserialize)]
pub(crate) struct Incoming<'a> {
    #[serde(borrow)]
    pub(crate) method: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) parameters: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) oneway: bool,
    #[serde(default)]
    pub(crate) more: bool,
    #[serde(default)]
    pub(crate) upgrade: bool,
}

/// A call as it goes out.
#[derive(Debug, Serialize)]
pub(crate) struct Call<'a, P: Serialize> {
    pub(crate) method: Method<'a>,
    pub(crate) parameters: &'a P,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) more: bool,
}

/// The name of a method; one without an interface is the broker's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method<'a>(pub(crate) &'a str);

impl Serialize for Method<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let interface = match self.0.contains('.') {
            true => "",
            false => "io.handfast.Broker.",
        };
        serializer.collect_str(&format_args!("{interface}{}", self.0))
    }
}

/// What a method without parameters gets.
pub(crate) fn empty_object() -> &'static str {
    "{}"
}
