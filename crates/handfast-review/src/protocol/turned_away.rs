//! Requests that did not come from the reviewer's browser.

use serde::{Deserialize, Serialize};

/// Each of the first this many refused requests is reported.
const FIRST: u64 = 20;

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum TurnedAway {
    /// It names another host.
    Host,
    /// Another page, or a program, sent it.
    Origin,
    /// It has no cookie, or another one.
    Cookie,
    /// It has another token, or the token was used before.
    Token,
}

impl TurnedAway {
    /// Why, in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Host => "it names another host",
            Self::Origin => "another page or program sent it",
            Self::Cookie => "it does not have the page's cookie",
            Self::Token => "its token is wrong, or was used before",
        }
    }
}

/// Whether the request of this number is reported: each of the first, then fewer and fewer.
#[must_use]
pub const fn is_told(number: u64) -> bool {
    number <= FIRST || number.is_power_of_two()
}
