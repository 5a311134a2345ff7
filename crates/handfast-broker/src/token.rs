//! Leases as biscuit tokens: their holder narrows them without asking, and hands them on.
//!
//! A token names one lease, which was made for it, and is signed by this broker. A process that presents
//! it gets what the lease gives, if every caveat that was added on the way holds, and the policy
//! lets the presenter have it. It is a bearer's: it is worth what the lease is worth, to any process that
//! has it, and it is void when the lease ends.

use std::fmt;
use std::time::{Duration, SystemTime};

use biscuit_auth::builder::{Algorithm, date, fact, int, string};
use biscuit_auth::{
    AuthorizerBuilder, AuthorizerLimits, Biscuit, BlockBuilder, KeyPair, PrivateKey, PublicKey,
    UnverifiedBiscuit,
};
use handfast::{RelPath, Root, Verb, WriteOptions};

use crate::fault::{Code, Fault};
use crate::identity::Peer;
use crate::lease::{LeaseHandle, hex};
use crate::narrowing::Narrowing;
use crate::start::StartError;

/// How a token begins where a lease is presented.
pub(crate) const PREFIX: &str = "biscuit:";

/// The longest token, and how often it may have been narrowed.
const MAX_TOKEN: usize = 8 * 1024;
const MAX_BLOCKS: usize = 16;

/// What judging one use may cost: caveats are written by the process that narrowed the token.
fn limits() -> AuthorizerLimits {
    AuthorizerLimits {
        max_facts: 1000,
        max_iterations: 100,
        max_time: Duration::from_millis(250),
    }
}

/// The broker's key.
pub(crate) struct TokenKey {
    pair: KeyPair,
    public: PublicKey,
}

impl TokenKey {
    /// The key in the state directory; it is made if there is none.
    ///
    /// # Errors
    /// If it cannot be read or made, or is no key.
    pub(crate) fn open(state: &Root) -> Result<Self, StartError> {
        let wrong =
            |error: &dyn fmt::Display| StartError::Config(format!("the token key: {error}"));
        let name = RelPath::parse("token.key").map_err(|error| wrong(&error))?;
        let bytes = match state.read_to_limit(&name, 64) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == handfast::ErrorKind::NotFound => {
                let mut bytes = [0; 32];
                let flags = rustix::rand::GetRandomFlags::empty();
                match rustix::rand::getrandom(&mut bytes, flags) {
                    Ok(32) => {}
                    _ => return Err(wrong(&"the system has no random bytes")),
                }
                let private = WriteOptions::new().mode(0o600);
                state
                    .write_new_with(&name, &bytes[..], private)
                    .map_err(|error| wrong(&error))?;
                bytes.to_vec()
            }
            Err(error) => return Err(wrong(&error)),
        };
        let key = PrivateKey::from_bytes(&bytes, Algorithm::Ed25519).map_err(|_| {
            wrong(&"it is damaged; without it a new one is made, and tokens are void")
        })?;
        let pair = KeyPair::from(&key);
        let public = pair.public();
        Ok(Self { pair, public })
    }

    /// A token for a lease.
    pub(crate) fn mint(&self, handle: &LeaseHandle) -> Result<String, Fault> {
        let made = Biscuit::builder()
            .fact(fact("lease", &[string(handle.as_str())]))
            .and_then(|builder| builder.build(&self.pair))
            .and_then(|token| token.to_base64());
        made.map(|text| format!("{PREFIX}{text}"))
            .map_err(|error| Fault::new(Code::Failed, format!("no token: {error}")))
    }

    /// Reads a token, if this broker signed it and all its blocks follow from that.
    pub(crate) fn read(&self, text: &str) -> Option<Token> {
        let text = text.strip_prefix(PREFIX)?;
        if text.len() > MAX_TOKEN {
            return None;
        }
        let biscuit = Biscuit::from_base64(text, self.public).ok()?;
        if biscuit.block_count() > MAX_BLOCKS {
            return None;
        }
        // What this broker wrote: facts of blocks that others added are not seen by this.
        let mut asking = AuthorizerBuilder::new()
            .set_limits(limits())
            .build(&biscuit)
            .ok()?;
        let (handle,): (String,) = asking
            .query_exactly_one("data($handle) <- lease($handle)")
            .ok()?;
        let ids = biscuit.revocation_identifiers();
        let id = ids.last().map(|id| hex(&id[..id.len().min(8)]))?;
        Some(Token {
            handle: LeaseHandle::parse(&handle)?,
            id,
            biscuit,
        })
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").finish_non_exhaustive()
    }
}

/// A token whose signatures are good.
pub(crate) struct Token {
    handle: LeaseHandle,
    id: String,
    biscuit: Biscuit,
}

impl Token {
    /// The lease that it stands for.
    pub(crate) fn handle(&self) -> &LeaseHandle {
        &self.handle
    }

    /// For the log: which of the tokens of a lease it is.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether all caveats hold for this use, now.
    ///
    /// # Errors
    /// `Denied` if not; also if they cannot be judged.
    pub(crate) fn allows(&self, peer: &Peer, verb: Verb, path: &RelPath) -> Result<(), Fault> {
        let Ok(path) = str::from_utf8(path.as_bytes()) else {
            return Err(Fault::denied("a token is for paths that are UTF-8"));
        };
        let access = if verb.changes() { "write" } else { "read" };
        let judged = AuthorizerBuilder::new()
            .set_limits(limits())
            .fact(fact("operation", &[string(verb.name())]))
            .and_then(|asking| asking.fact(fact("access", &[string(access)])))
            .and_then(|asking| asking.fact(fact("path", &[string(path)])))
            .and_then(|asking| asking.fact(fact("uid", &[int(peer.uid.into())])))
            .and_then(|asking| asking.fact(fact("time", &[date(&SystemTime::now())])))
            .and_then(|asking| asking.policy("allow if true"))
            .and_then(|asking| asking.build(&self.biscuit))
            .and_then(|mut asking| asking.authorize());
        match judged {
            Ok(_) => Ok(()),
            Err(_) => Err(Fault::denied("a caveat of the token says no")),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({} {})", self.handle, self.id)
    }
}

/// Narrows a token, without asking anybody.
///
/// # Errors
/// If it is no token, or nothing is narrowed, in words.
pub fn narrow_token(token: &str, by: &Narrowing) -> Result<String, String> {
    let said = |error: biscuit_auth::error::Token| error.to_string();
    let text = token.strip_prefix(PREFIX).ok_or("it is no token")?;
    let biscuit = UnverifiedBiscuit::from_base64(text).map_err(said)?;
    let mut block = BlockBuilder::new();
    let mut narrowed = false;
    if !by.paths.is_empty() {
        let mut ways = Vec::new();
        for path in &by.paths {
            let path = path.trim_matches('/');
            if path.is_empty() || path.contains(['"', '\\', '\n']) {
                return Err("a path names something, without quotes".to_owned());
            }
            ways.push(format!("path(\"{path}\")"));
            ways.push(format!("path($path), $path.starts_with(\"{path}/\")"));
        }
        let check = format!("check if {}", ways.join(" or "));
        block = block.check(check.as_str()).map_err(said)?;
        narrowed = true;
    }
    if by.read_only {
        block = block.check("check if access(\"read\")").map_err(said)?;
        narrowed = true;
    }
    if let Some(seconds) = by.seconds {
        let end = SystemTime::now() + Duration::from_secs(seconds.min(100 * 365 * 86_400));
        let since = end.duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.map_or(0, |since| i128::from(since.as_secs()) * 1_000_000_000);
        let end = handfast_ledger::event::rfc3339(nanos);
        let check = format!("check if time($time), $time < {end}");
        block = block.check(check.as_str()).map_err(said)?;
        narrowed = true;
    }
    if let Some(uid) = by.uid {
        let check = format!("check if uid({uid})");
        block = block.check(check.as_str()).map_err(said)?;
        narrowed = true;
    }
    if let Some(check) = &by.check {
        block = block.check(check.as_str()).map_err(said)?;
        narrowed = true;
    }
    if !narrowed {
        return Err("nothing was said to narrow it by".to_owned());
    }
    let longer = biscuit.append(block).and_then(|token| token.to_base64());
    longer.map(|text| format!("{PREFIX}{text}")).map_err(said)
}
