//! X.509-SVIDs: a certificate that a root of the bundle vouches for, and a signature made with its key.
//!
//! A certificate is public. It proves nothing unless who presents it signs a nonce that was made for
//! this connection.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use der::asn1::{BitStringRef, ObjectIdentifier, OctetStringRef};
use der::{AnyRef, Decode, Reader, Tag, TagNumber};
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use serde_json::Value;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::{LONGEST, Vouched};

/// How many certificates a chain may have, and how long one may be.
const MAX_CHAIN: usize = 8;
const MAX_CERTIFICATE: usize = 16 * 1024;

/// What a workload may sign the nonce with: the key of the certificate decides.
const PROOFS: [&dyn SignatureVerificationAlgorithm; 4] = [
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::ED25519,
    webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
];

/// A root of the bundle.
pub(super) struct Anchor {
    der: Vec<u8>,
    anchor: TrustAnchor<'static>,
    pub(super) vouched: Vouched,
}

impl Anchor {
    /// The certificate of a `x509-svid` key.
    pub(super) fn parse(listed: &Value) -> Result<Self, String> {
        let certificates = listed.get("x5c").and_then(Value::as_array);
        let Some([Value::String(text)]) = certificates.map(Vec::as_slice) else {
            return Err("a `x509-svid` key of the trust bundle has not one `x5c`".to_owned());
        };
        let der = STANDARD
            .decode(text)
            .map_err(|_| "a certificate of the trust bundle is no base64")?;
        let certificate = CertificateDer::from(der.as_slice());
        let anchor = anchor_from_trusted_cert(&certificate)
            .map_err(|error| format!("a certificate of the trust bundle: {error}"))?;
        let anchor = anchor.to_owned();
        Ok(Self {
            der,
            anchor,
            vouched: Vouched::new(),
        })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.der == other.der
    }
}

/// The id in a chain (the leaf first), how long it lasts, and whether its root still vouches.
///
/// # Errors
/// Why it proves nothing, in words that tell nothing of the certificate.
pub(super) fn verify(
    roots: &[Anchor],
    chain: &[Vec<u8>],
    signed: &[u8],
    signature: &[u8],
) -> Result<(String, Duration, Vouched), String> {
    if roots.is_empty() {
        return Err("the trust bundle has no root for X.509-SVIDs".to_owned());
    }
    if chain.len() > MAX_CHAIN || chain.iter().any(|der| der.len() > MAX_CERTIFICATE) {
        return Err("the certificates are too long".to_owned());
    }
    let chain: Vec<CertificateDer<'_>> = chain
        .iter()
        .map(|der| CertificateDer::from(der.as_slice()))
        .collect();
    let (leaf, others) = chain.split_first().ok_or("there is no certificate")?;
    let usage = key_usage(leaf);
    let leaf = EndEntityCert::try_from(leaf).map_err(|_| "it is no certificate")?;
    // The cheap question first: who has not the key gets no chain built.
    let has_key = |how: &&dyn SignatureVerificationAlgorithm| {
        leaf.verify_signature(*how, signed, signature).is_ok()
    };
    if !PROOFS.iter().any(has_key) {
        return Err("the signature was not made with the certificate's key over the nonce of this connection".to_owned());
    }
    if !is_for_a_workload(usage.map_err(|_| "it is no certificate")?) {
        return Err(
            "the certificate's key is not for a workload's signatures, or also signs certificates"
                .to_owned(),
        );
    }
    // SPIFFE: exactly one URI, which is the id.
    let mut names = leaf.valid_uri_names();
    let (Some(id), None) = (names.next(), names.next()) else {
        return Err("the certificate has not exactly one URI".to_owned());
    };
    let anchors: Vec<TrustAnchor<'_>> = roots.iter().map(|root| root.anchor.clone()).collect();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.map_err(|_| "the clock is before 1970")?;
    let root_at = |after: Duration| {
        let found = leaf.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            &anchors,
            others,
            UnixTime::since_unix_epoch(now + after),
            KeyUsage::client_auth(),
            None,
            None,
        );
        let path = found.map_err(|error| format!("the certificate is not good: {error}"))?;
        let used = path.anchor();
        let root = anchors.iter().position(|anchor| anchor == used);
        root.ok_or_else(|| "its root is not in the trust bundle".to_owned())
    };
    let root = root_at(Duration::ZERO)?;
    let left = last_moment(|after| root_at(after) == Ok(root));
    Ok((id.to_owned(), left, roots[root].vouched.clone()))
}

/// What the key of a certificate may be used for: bits from the left, as RFC 5280 counts them. Nothing
/// if the certificate does not say.
fn key_usage(certificate: &[u8]) -> der::Result<Option<u8>> {
    const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
    let extensions = AnyRef::from_der(certificate)?.sequence(|parts| {
        let signed: AnyRef<'_> = parts.decode()?;
        // The algorithm and the signature, which were checked elsewhere.
        (_, _) = (parts.decode::<AnyRef<'_>>()?, parts.decode::<AnyRef<'_>>()?);
        signed.sequence(|fields| {
            let mut found = None;
            while !fields.is_finished() {
                let field: AnyRef<'_> = fields.decode()?;
                let extensions = Tag::ContextSpecific {
                    constructed: true,
                    number: TagNumber::N3,
                };
                if der::Tagged::tag(&field) == extensions {
                    found = Some(field.value());
                }
            }
            Ok(found)
        })
    })?;
    let Some(extensions) = extensions else {
        return Ok(None);
    };
    AnyRef::from_der(extensions)?.sequence(|extensions| {
        let mut usage = None;
        while !extensions.is_finished() {
            let extension: AnyRef<'_> = extensions.decode()?;
            extension.sequence(|parts| {
                let kind: ObjectIdentifier = parts.decode()?;
                let _critical: Option<bool> = parts.decode()?;
                let value: OctetStringRef<'_> = parts.decode()?;
                if kind == KEY_USAGE {
                    let bits = BitStringRef::from_der(value.as_bytes())?;
                    usage = Some(bits.raw_bytes().first().copied().unwrap_or(0));
                }
                Ok(())
            })?;
        }
        Ok(usage)
    })
}

/// SPIFFE: the key of a workload signs no certificates and no lists of revoked ones. The proof is a
/// signature, so it must be for signatures.
fn is_for_a_workload(usage: Option<u8>) -> bool {
    const SIGNATURES: u8 = 0x80;
    const CERTIFICATES_AND_LISTS: u8 = 0x04 | 0x02;
    usage.is_none_or(|usage| usage & SIGNATURES != 0 && usage & CERTIFICATES_AND_LISTS == 0)
}

/// The last second, counted from now, at which something holds that holds now and not again after its
/// end. The end of a chain is asked for like this, and not read from its certificates: the library
/// that checks them does not tell it, and nothing else here parses them.
fn last_moment(holds: impl Fn(Duration) -> bool) -> Duration {
    let (mut good, mut bad) = (0, LONGEST.as_secs() + 1);
    while bad - good > 1 {
        let middle = u64::midpoint(good, bad);
        match holds(Duration::from_secs(middle)) {
            true => good = middle,
            false => bad = middle,
        }
    }
    Duration::from_secs(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_to_the_second() {
        for end in [0, 1, 2, 59, 3600, 86_399, 86_400] {
            let found = last_moment(|after| after.as_secs() <= end);
            assert_eq!(found.as_secs(), end);
        }
        assert_eq!(last_moment(|_| true), LONGEST);
    }
}
