//! Tokens, in a build without them: none is made, none is read.

use std::convert::Infallible;

use handfast::{ErrorKind, RelPath, Root, Verb};

use crate::fault::{Code, Fault};
use crate::identity::Peer;
use crate::lease::LeaseHandle;
use crate::narrowing::Narrowing;
use crate::start::StartError;

#[derive(Debug)]
pub(crate) struct TokenKey;

impl TokenKey {
    #[expect(clippy::unnecessary_wraps, reason = "the other build can fail")]
    pub(crate) fn open(_state: &Root) -> Result<Self, StartError> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "the other build has a key")]
    pub(crate) fn mint(&self, _handle: &LeaseHandle) -> Result<String, Fault> {
        let why = "this build has no tokens (feature `biscuit`)";
        Err(Fault::new(Code::Failed, why).of_kind(ErrorKind::Unsupported))
    }

    #[expect(clippy::unused_self, reason = "the other build has a key")]
    pub(crate) fn read(&self, _text: &str) -> Option<Token> {
        None
    }
}

/// There is none.
#[derive(Debug)]
pub(crate) struct Token(Infallible);

impl Token {
    pub(crate) fn handle(&self) -> &LeaseHandle {
        match self.0 {}
    }

    pub(crate) fn id(&self) -> &str {
        match self.0 {}
    }

    pub(crate) fn allows(&self, _peer: &Peer, _verb: Verb, _path: &RelPath) -> Result<(), Fault> {
        match self.0 {}
    }
}

/// Narrows a token: this build has none.
///
/// # Errors
/// Always.
pub fn narrow_token(_token: &str, _by: &Narrowing) -> Result<String, String> {
    Err("this build has no tokens (feature `biscuit`)".to_owned())
}
