//! Workloads that prove who they are by a SPIFFE id: with a JWT-SVID, or with an X.509-SVID and its key.
//!
//! Both are checked against the trust bundle of one domain. The bundle is read again while the broker
//! runs. An authority that is gone from it vouches for nobody from then on, also not for identities
//! that it vouched for before.

mod fresh;
mod jwt;
mod prove;
mod reader;
mod workload;
mod x509;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use serde_json::Value;

pub use prove::X509Svid;
pub use reader::{BundleReader, BundleSource, serve_bundle};

/// A proof lasts at most this long, whatever the SVID says.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The longest SPIFFE id.
const MAX_ID: usize = 2048;

/// The random bytes that an X.509-SVID is proved over, and their number.
pub(crate) type Nonce = [u8; 32];

/// The keys of one trust domain, and for whom its tokens must be made.
pub struct TrustBundle {
    domain: String,
    audience: String,
    now: RwLock<Arc<Authorities>>,
    /// Held from reading to replacing: what was read first never replaces what was read later.
    reading: Mutex<()>,
    /// How often the bundle could not be read again, and whether that was so the last time.
    failures: AtomicU64,
    stale: AtomicBool,
}

/// What a bundle says at one moment.
#[derive(Default)]
struct Authorities {
    tokens: Vec<jwt::Key>,
    roots: Vec<x509::Anchor>,
    /// What was parsed, to see whether another reading differs.
    text: Vec<u8>,
}

/// Whether an authority is still in the bundle. Identities that it vouched for hold a copy.
#[derive(Clone, Debug)]
pub(crate) struct Vouched(Arc<AtomicBool>);

impl Vouched {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    pub(crate) fn holds(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Who a workload is, until when, and for how long at most.
#[derive(Clone, Debug)]
pub(crate) struct Svid {
    pub(crate) id: String,
    pub(crate) left: Duration,
    pub(crate) vouched: Vouched,
}

impl TrustBundle {
    /// Reads a SPIFFE bundle: a JWK set, of which keys for `jwt-svid` and `x509-svid` count. Tokens
    /// must be made for `audience`.
    ///
    /// # Errors
    /// In words, if it is none, has no key of use, or one that cannot be used.
    pub fn parse(domain: &str, audience: &str, json: &[u8]) -> Result<Self, String> {
        let domain = domain.strip_prefix("spiffe://").unwrap_or(domain);
        if !is_domain(domain) {
            return Err(
                "a trust domain is letters, digits, `.`, `-` and `_`, in lower case".to_owned(),
            );
        }
        if audience.is_empty() {
            return Err("tokens are made for somebody: name the audience".to_owned());
        }
        let authorities = Authorities::parse(json)?;
        if authorities.tokens.is_empty() && authorities.roots.is_empty() {
            return Err("the trust bundle has no key for `jwt-svid` or `x509-svid`".to_owned());
        }
        Ok(Self {
            domain: domain.to_owned(),
            audience: audience.to_owned(),
            now: RwLock::new(Arc::new(authorities)),
            reading: Mutex::default(),
            failures: AtomicU64::new(0),
            stale: AtomicBool::new(false),
        })
    }

    /// Reads another text for the bundle. Authorities that both have go on to vouch. One without any
    /// authority says that all are taken back. Gives whether anything changed.
    ///
    /// # Errors
    /// In words, if it cannot be read or is no bundle: then the one from before stays.
    pub(crate) fn replace(
        &self,
        read: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<bool, String> {
        let _one = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let json = read()?;
        let before = self.authorities();
        if before.text == json {
            return Ok(false);
        }
        let mut after = Authorities::parse(&json)?;
        after.take_over(&before);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(true)
    }

    /// Takes note of how a reading went.
    fn note(&self, worked: bool) {
        self.stale.store(!worked, Ordering::Relaxed);
        if !worked {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the last reading failed.
    fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// How often the bundle could not be read again.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// For whom proofs must be made.
    pub(crate) fn audience(&self) -> &str {
        &self.audience
    }

    fn authorities(&self) -> Arc<Authorities> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an id is one that this bundle can vouch for.
    ///
    /// # Errors
    /// In words, if not.
    pub(crate) fn can_vouch_for(&self, id: &str) -> Result<(), String> {
        let rest = id.strip_prefix("spiffe://");
        let rest = rest.ok_or("a SPIFFE id begins with `spiffe://`")?;
        let (domain, path) = rest.split_once('/').ok_or("a SPIFFE id has a path")?;
        if id.len() > MAX_ID || !path.split('/').all(is_segment) {
            return Err("its path is no path of a SPIFFE id".to_owned());
        }
        if domain != self.domain {
            return Err(format!("its trust domain is not `{}`", self.domain));
        }
        Ok(())
    }

    /// Checks a JWT-SVID: signed by a key of the bundle, for this audience, not over, of this domain.
    ///
    /// # Errors
    /// Why not, in words that tell nothing of the token.
    pub(crate) fn verify_token(&self, token: &str) -> Result<Svid, String> {
        let authorities = self.authorities();
        let (id, end, vouched) = jwt::verify(&authorities.tokens, &self.audience, token)?;
        self.can_vouch_for(&id)?;
        let end = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(end));
        let left = end.and_then(|end| end.duration_since(SystemTime::now()).ok());
        let left = left.ok_or("the token is over")?.min(LONGEST);
        Ok(Svid { id, left, vouched })
    }

    /// Checks an X.509-SVID, and that who presents it has its key: `signature` is over the nonce of
    /// this connection.
    ///
    /// # Errors
    /// Why not, in words that tell nothing of the certificate.
    pub(crate) fn verify_x509(
        &self,
        chain: &[Vec<u8>],
        nonce: &Nonce,
        signature: &[u8],
    ) -> Result<Svid, String> {
        let authorities = self.authorities();
        let signed = prove::signed_text(&self.audience, nonce);
        let (id, left, vouched) = x509::verify(&authorities.roots, chain, &signed, signature)?;
        self.can_vouch_for(&id)?;
        Ok(Svid { id, left, vouched })
    }
}

impl Authorities {
    fn parse(json: &[u8]) -> Result<Self, String> {
        let set: Value =
            serde_json::from_slice(json).map_err(|error| format!("no trust bundle: {error}"))?;
        let listed = set.get("keys").and_then(Value::as_array);
        let listed = listed.ok_or("no trust bundle: it has no `keys`")?;
        let mut found = Self {
            text: json.to_owned(),
            ..Self::default()
        };
        for key in listed {
            match key.get("use").and_then(Value::as_str) {
                Some("jwt-svid") => found.add_token_key(jwt::Key::parse(key)?),
                Some("x509-svid") => found.add_root(x509::Anchor::parse(key)?),
                // SPIFFE: other uses are for others.
                _ => {}
            }
        }
        Ok(found)
    }

    /// An authority that is listed twice is one: each entry would vouch for itself, and only one of
    /// them would be taken back.
    fn add_root(&mut self, root: x509::Anchor) {
        if !self.roots.iter().any(|known| known.is_same(&root)) {
            self.roots.push(root);
        }
    }

    fn add_token_key(&mut self, key: Option<jwt::Key>) {
        let is_new = |key: &jwt::Key| !self.tokens.iter().any(|known| known.is_same(key));
        if let Some(key) = key.filter(is_new) {
            self.tokens.push(key);
        }
    }

    /// Keeps what earlier authorities vouched for where they are still here, and ends it elsewhere.
    fn take_over(&mut self, before: &Self) {
        for old in &before.tokens {
            match self.tokens.iter_mut().find(|new| new.is_same(old)) {
                Some(new) => new.vouched = old.vouched.clone(),
                None => old.vouched.0.store(false, Ordering::Release),
            }
        }
        for old in &before.roots {
            match self.roots.iter_mut().find(|new| new.is_same(old)) {
                Some(new) => new.vouched = old.vouched.clone(),
                None => old.vouched.0.store(false, Ordering::Release),
            }
        }
    }
}

fn is_domain(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    !text.is_empty() && text.len() <= 255 && text.bytes().all(plain)
}

fn is_segment(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    !matches!(text, "" | "." | "..") && text.bytes().all(plain)
}

impl fmt::Debug for TrustBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.authorities();
        f.debug_struct("TrustBundle")
            .field("domain", &self.domain)
            .field("token_keys", &now.tokens.len())
            .field("x509_roots", &now.roots.len())
            .finish_non_exhaustive()
    }
}
