//! The workload's side: an X.509-SVID with its key, and the signature that proves it.

use std::fmt;

use ring::rand::SystemRandom;
use ring::signature as by;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::Nonce;

/// What the key signs. It begins with words that no other protocol uses: a signature for a broker is
/// of no use elsewhere, and the other way round.
pub(super) fn signed_text(audience: &str, nonce: &Nonce) -> Vec<u8> {
    let mut text = b"handfast-broker proof of an X.509-SVID, 1\0".to_vec();
    text.extend(audience.as_bytes());
    text.push(0);
    text.extend(nonce);
    text
}

/// A certificate that says who a workload is, and its key.
pub struct X509Svid {
    pub(crate) chain: Vec<Vec<u8>>,
    key: Vec<u8>,
}

impl X509Svid {
    /// From PEM: certificates with the workload's own first, and a PKCS #8 key.
    ///
    /// # Errors
    /// In words, if one of them is none.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(chain)
            .map(|found| found.map(|der| der.to_vec()))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("the certificates: {error}"))?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(key)
            .map_err(|error| format!("the key (PKCS #8 is taken): {error}"))?;
        let key = key.secret_pkcs8_der().to_vec();
        Self::from_der(chain, key)
    }

    /// From DER: the workload's own certificate first, and a PKCS #8 key.
    ///
    /// # Errors
    /// In words, if there is no certificate.
    pub fn from_der(chain: Vec<Vec<u8>>, key: Vec<u8>) -> Result<Self, String> {
        match chain.is_empty() {
            true => Err("there is no certificate".to_owned()),
            false => Ok(Self { chain, key }),
        }
    }

    /// The X.509-SVID that a Workload API gives this process.
    ///
    /// # Errors
    /// In words, if it gives none.
    pub fn from_workload_api(socket: &std::path::Path) -> Result<Self, String> {
        let (chain, key) = super::workload::fetch_svid(socket)?;
        Self::from_der(chain, key)
    }

    /// A signature over the nonce of a connection.
    ///
    /// # Errors
    /// In words, if the key is of a kind that is not taken.
    pub(crate) fn sign(&self, audience: &str, nonce: &Nonce) -> Result<Vec<u8>, String> {
        let text = signed_text(audience, nonce);
        let random = SystemRandom::new();
        let failed = |_| "the key does not sign".to_owned();
        for curve in [
            &by::ECDSA_P256_SHA256_ASN1_SIGNING,
            &by::ECDSA_P384_SHA384_ASN1_SIGNING,
        ] {
            if let Ok(pair) = by::EcdsaKeyPair::from_pkcs8(curve, &self.key, &random) {
                let signature = pair.sign(&random, &text).map_err(failed)?;
                return Ok(signature.as_ref().to_vec());
            }
        }
        if let Ok(pair) = by::Ed25519KeyPair::from_pkcs8_maybe_unchecked(&self.key) {
            return Ok(pair.sign(&text).as_ref().to_vec());
        }
        if let Ok(pair) = by::RsaKeyPair::from_pkcs8(&self.key) {
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(&by::RSA_PSS_SHA256, &random, &text, &mut signature)
                .map_err(failed)?;
            return Ok(signature);
        }
        Err("the key is no PKCS #8 key of a kind that is taken: P-256, P-384, Ed25519 or RSA from 2048 bits".to_owned())
    }
}

impl fmt::Debug for X509Svid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("X509Svid")
            .field("certificates", &self.chain.len())
            .finish_non_exhaustive()
    }
}
