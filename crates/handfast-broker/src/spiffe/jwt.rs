//! JWT-SVIDs. Which algorithm is used is said by the key, never by the token; only public-key
//! signatures count.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk};
use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, Validation, decode, decode_header, signature,
};
use ring::signature as ring_signature;
use serde::Deserialize;
use serde_json::Value;

use super::Vouched;

/// The longest token that is looked at.
const MAX_SVID: usize = 16 * 1024;

/// A key that signs tokens.
pub(super) struct Key {
    id: String,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
    listed: Value,
    pub(super) vouched: Vouched,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: u64,
}

/// The id in a token, when it ends in seconds since 1970, and whether its key still vouches.
///
/// # Errors
/// Why it proves nothing, in words that tell nothing of the token.
pub(super) fn verify(
    keys: &[Key],
    audience: &str,
    token: &str,
) -> Result<(String, u64, Vouched), String> {
    if token.len() > MAX_SVID {
        return Err("the token is too long".to_owned());
    }
    let header = decode_header(token).map_err(|_| "it is no JWT")?;
    if header.crit.is_some() {
        // Who does not know what must be known has to refuse.
        return Err("the token must be understood in a way that is not known here".to_owned());
    }
    let named = header.kid.ok_or("the token names no key")?;
    let mut answer =
        Err("the token was signed with a key that is not in the trust bundle".to_owned());
    // Ids are chosen by who made the keys: two keys may have one.
    for key in keys.iter().filter(|key| key.id == named) {
        answer = key.verify(audience, token);
        if answer.is_ok() {
            break;
        }
    }
    answer
}

impl Key {
    fn verify(&self, audience: &str, token: &str) -> Result<(String, u64, Vouched), String> {
        let mut rules = Validation::default();
        rules.algorithms.clone_from(&self.algorithms);
        rules.leeway = 0;
        rules.validate_nbf = true;
        rules.set_audience(&[audience]);
        rules.set_required_spec_claims(&["exp", "aud", "sub"]);
        use_ring();
        let found = decode::<Claims>(token, &self.key, &rules)
            .map_err(|error| format!("the token is not good: {error}"))?;
        Ok((found.claims.sub, found.claims.exp, self.vouched.clone()))
    }

    /// A key of a bundle; nothing for one of a kind that is not taken, as SPIFFE wants it: a new kind
    /// must not keep the rest of a bundle from being read.
    pub(super) fn parse(listed: &Value) -> Result<Option<Self>, String> {
        if !is_known_kind(listed) {
            return Ok(None);
        }
        let mut plain = listed.clone();
        if let Some(fields) = plain.as_object_mut() {
            // A use that only SPIFFE knows.
            fields.remove("use");
        }
        let jwk: Jwk = serde_json::from_value(plain)
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
        Ok(Some(Self {
            id,
            algorithms,
            key,
            listed: listed.clone(),
            vouched: Vouched::new(),
        }))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.listed == other.listed
    }
}

fn is_known_kind(listed: &Value) -> bool {
    let text = |name: &str| listed.get(name).and_then(Value::as_str);
    match text("kty") {
        Some("RSA") | None => true,
        Some("EC") => matches!(text("crv"), Some("P-256" | "P-384") | None),
        Some(_) => false,
    }
}

/// Signatures are checked by `ring`: it also checks those of certificates, and the other choices of
/// this library would bring twenty crates more.
fn use_ring() {
    static ONCE: Once = Once::new();
    static RING: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(unsupported()),
        verifier_factory: |algorithm, key| {
            Ok(Box::new(ByRing {
                algorithm: *algorithm,
                key: key.clone(),
            }))
        },
        key_utils: KeyUtils::new_unimplemented(),
    };
    ONCE.call_once(|| {
        // Another one that was installed before checks as well.
        let _ = RING.install_default();
    });
}

fn unsupported() -> Error {
    Error::from(ErrorKind::InvalidAlgorithm)
}

struct ByRing {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl signature::Verifier<Vec<u8>> for ByRing {
    fn verify(&self, message: &[u8], found: &Vec<u8>) -> Result<(), signature::Error> {
        let wrong = |_| signature::Error::new();
        match self.key.kind() {
            DecodingKeyKind::SecretOrDer(point) => {
                let curve: &ring_signature::EcdsaVerificationAlgorithm = match self.algorithm {
                    Algorithm::ES256 => &ring_signature::ECDSA_P256_SHA256_FIXED,
                    Algorithm::ES384 => &ring_signature::ECDSA_P384_SHA384_FIXED,
                    _ => return Err(signature::Error::new()),
                };
                ring_signature::UnparsedPublicKey::new(curve, point)
                    .verify(message, found)
                    .map_err(wrong)
            }
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let how: &ring_signature::RsaParameters = match self.algorithm {
                    Algorithm::RS256 => &ring_signature::RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::RS384 => &ring_signature::RSA_PKCS1_2048_8192_SHA384,
                    Algorithm::RS512 => &ring_signature::RSA_PKCS1_2048_8192_SHA512,
                    Algorithm::PS256 => &ring_signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::PS384 => &ring_signature::RSA_PSS_2048_8192_SHA384,
                    Algorithm::PS512 => &ring_signature::RSA_PSS_2048_8192_SHA512,
                    _ => return Err(signature::Error::new()),
                };
                ring_signature::RsaPublicKeyComponents { n, e }
                    .verify(how, message, found)
                    .map_err(wrong)
            }
        }
    }
}
