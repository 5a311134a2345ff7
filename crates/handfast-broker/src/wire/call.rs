//! A call, taken apart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
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
    pub(crate) method: &'a str,
    pub(crate) parameters: &'a P,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) more: bool,
}

/// What a method without parameters gets.
pub(crate) fn empty_object() -> &'static str {
    "{}"
}
