//! Workloads that say who they are by a JWT-SVID, which is checked against a trust bundle.
//!
//! The bundle is read once, before the wall goes up: keys that are changed need a restart. Which
//! algorithm is used is said by the key, never by the token; only public-key signatures count.

use std::fmt;
use std::time::{Duration, SystemTime};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

/// The longest token that is looked at, and the longest id.
const MAX_SVID: usize = 16 * 1024;
const MAX_ID: usize = 2048;

/// The keys of one trust domain, and for whom its tokens must be made.
pub struct TrustBundle {
    domain: String,
    audience: String,
    keys: Vec<Key>,
}

struct Key {
    id: String,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// Who somebody is, until when.
#[derive(Clone, Debug)]
pub(crate) struct Svid {
    pub(crate) id: String,
    pub(crate) left: Duration,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: u64,
}

impl TrustBundle {
    /// Reads a SPIFFE bundle: a JWK set, of which keys for `jwt-svid` count. Tokens must be made for
    /// `audience`.
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
        let set: Value =
            serde_json::from_slice(json).map_err(|error| format!("no trust bundle: {error}"))?;
        let listed = set.get("keys").and_then(Value::as_array);
        let listed = listed.ok_or("no trust bundle: it has no `keys`")?;
        let of_tokens = |key: &&Value| key.get("use").and_then(Value::as_str) == Some("jwt-svid");
        let keys: Vec<Key> = listed
            .iter()
            .filter(of_tokens)
            .map(Key::parse)
            .collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err("the trust bundle has no key for `jwt-svid`".to_owned());
        }
        Ok(Self {
            domain: domain.to_owned(),
            audience: audience.to_owned(),
            keys,
        })
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

    /// Checks a token: signed by a key of the bundle, for this audience, not over, of this domain.
    ///
    /// # Errors
    /// Why not, in words that tell nothing of the token.
    pub(crate) fn verify(&self, token: &str) -> Result<Svid, String> {
        if token.len() > MAX_SVID {
            return Err("the token is too long".to_owned());
        }
        let header = decode_header(token).map_err(|_| "it is no JWT")?;
        let named = header.kid.ok_or("the token names no key")?;
        let key = self.keys.iter().find(|key| key.id == named);
        let key = key.ok_or("the token was signed with a key that is not in the trust bundle")?;
        let mut rules = Validation::default();
        rules.algorithms.clone_from(&key.algorithms);
        rules.leeway = 0;
        rules.validate_nbf = true;
        rules.set_audience(&[&self.audience]);
        rules.set_required_spec_claims(&["exp", "aud", "sub"]);
        let found = decode::<Claims>(token, &key.key, &rules)
            .map_err(|error| format!("the token is not good: {error}"))?;
        let claims = found.claims;
        self.can_vouch_for(&claims.sub)?;
        let end = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(claims.exp));
        let left = end.and_then(|end| end.duration_since(SystemTime::now()).ok());
        Ok(Svid {
            id: claims.sub,
            left: left.ok_or("the token is over")?,
        })
    }
}

impl Key {
    fn parse(listed: &Value) -> Result<Self, String> {
        let mut listed = listed.clone();
        if let Some(fields) = listed.as_object_mut() {
            // A use that only SPIFFE knows.
            fields.remove("use");
        }
        let jwk: Jwk = serde_json::from_value(listed)
            .map_err(|error| format!("a key of the trust bundle cannot be read: {error}"))?;
        let id = jwk.common.key_id.clone();
        let id = id.ok_or("a key of the trust bundle has no `kid`")?;
        let algorithms = match &jwk.algorithm {
            AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
                vec![Algorithm::ES256]
            }
            AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P384 => {
                vec![Algorithm::ES384]
            }
            AlgorithmParameters::RSA(_) => vec![
                Algorithm::RS256,
                Algorithm::RS384,
                Algorithm::RS512,
                Algorithm::PS256,
                Algorithm::PS384,
                Algorithm::PS512,
            ],
            _ => {
                return Err(format!(
                    "key `{id}` of the trust bundle is of a kind that is not taken"
                ));
            }
        };
        let key = DecodingKey::from_jwk(&jwk)
            .map_err(|error| format!("key `{id}` of the trust bundle: {error}"))?;
        Ok(Self {
            id,
            algorithms,
            key,
        })
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
        f.debug_struct("TrustBundle")
            .field("domain", &self.domain)
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}
