//! Leases, in Vault's words.

use std::os::fd::BorrowedFd;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::types::{Acquire, Acquired, Denial, Exported, LeaseInfo, Revoked};
use super::{Client, ClientError};
use crate::spiffe::X509Svid;

#[derive(Deserialize)]
struct One {
    lease: LeaseInfo,
}

#[derive(Deserialize)]
struct Challenged {
    nonce: String,
    audience: String,
}

#[derive(Deserialize)]
struct Identified {
    spiffe_id: String,
}

#[derive(Deserialize)]
struct Denials {
    denials: Vec<Denial>,
}

#[derive(Deserialize)]
struct Page {
    leases: Vec<LeaseInfo>,
    end: bool,
}

impl Client {
    /// What the broker says about itself.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn info(&mut self) -> Result<Value, ClientError> {
        self.call("Info", &json!({}))
    }

    /// Proves a SPIFFE id by a JWT-SVID, for this connection; gives the id.
    ///
    /// # Errors
    /// `Denied` if it is not good; `Failed` if the broker checks none.
    pub fn identify(&mut self, svid: &str) -> Result<String, ClientError> {
        self.call("Identify", &json!({ "svid": svid }))
            .map(|said: Identified| said.spiffe_id)
    }

    /// Proves a SPIFFE id by an X.509-SVID and its key, for this connection; gives the id.
    ///
    /// # Errors
    /// If the key cannot sign, or the broker does not take the proof.
    pub fn identify_x509(&mut self, svid: &X509Svid) -> Result<String, ClientError> {
        let asked: Challenged = self.call("Challenge", &json!({}))?;
        let wrong = |why: String| ClientError::Io(std::io::Error::other(why));
        let nonce = STANDARD.decode(&asked.nonce).ok();
        let nonce = nonce.and_then(|nonce| <[u8; 32]>::try_from(nonce).ok());
        let nonce = nonce.ok_or_else(|| wrong("the broker's nonce is none".to_owned()))?;
        let signature = svid.sign(&asked.audience, &nonce).map_err(wrong)?;
        let chain: Vec<String> = svid.chain.iter().map(|der| STANDARD.encode(der)).collect();
        let proof = json!({ "x509_svid": chain, "signature": STANDARD.encode(signature) });
        self.call("Identify", &proof)
            .map(|said: Identified| said.spiffe_id)
    }

    /// The last refusals, newest first: of this user, or all for the broker's user and root.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn denials(&mut self) -> Result<Vec<Denial>, ClientError> {
        self.call("Denials", &json!({}))
            .map(|said: Denials| said.denials)
    }

    /// Asks for a lease.
    ///
    /// # Errors
    /// `Denied` if the policy says no, `Limit`; otherwise as [`Client::call`].
    pub fn acquire(&mut self, wanted: &Acquire) -> Result<Acquired, ClientError> {
        self.call("Acquire", wanted)
    }

    /// Asks for a lease that another process of this user shall hold, named by its pidfd.
    ///
    /// # Errors
    /// As [`Client::acquire`].
    pub fn acquire_for(
        &mut self,
        wanted: &Acquire,
        holder: BorrowedFd<'_>,
    ) -> Result<Acquired, ClientError> {
        let mut wanted = wanted.clone();
        wanted.holder = Some(0);
        let (acquired, _) = self.call_with("Acquire", &wanted, &[holder])?;
        Ok(acquired)
    }

    /// Makes a lease below another and tells a token for it, to be handed on.
    ///
    /// # Errors
    /// `Failed` with `Unsupported` if the broker's build has no tokens; as [`Client::acquire`].
    pub fn export(&mut self, lease: &str, seconds: Option<u64>) -> Result<Exported, ClientError> {
        let mut asked = json!({ "lease": lease });
        if let Some(seconds) = seconds {
            asked["ttl"] = seconds.into();
        }
        self.call("Export", &asked)
    }

    /// Makes a lease longer: so many seconds from now, as far as it may be.
    ///
    /// # Errors
    /// `LeaseExpired` once it has run out.
    pub fn renew(&mut self, lease: &str, seconds: Option<u64>) -> Result<LeaseInfo, ClientError> {
        let mut asked = json!({ "lease": lease });
        if let Some(seconds) = seconds {
            asked["increment"] = seconds.into();
        }
        self.call("Renew", &asked).map(|one: One| one.lease)
    }

    /// Shows a lease, by id or handle.
    ///
    /// # Errors
    /// `NoSuchLease`, or how it ended.
    pub fn lookup(&mut self, lease: &str) -> Result<LeaseInfo, ClientError> {
        self.call("Lookup", &json!({ "lease": lease }))
            .map(|one: One| one.lease)
    }

    /// All leases below a prefix that this user may see.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn list(&mut self, prefix: &str) -> Result<Vec<LeaseInfo>, ClientError> {
        let mut found: Vec<LeaseInfo> = Vec::new();
        loop {
            let mut asked = json!({ "prefix": prefix });
            if let Some(last) = found.last() {
                asked["after"] = last.handle.as_str().into();
            }
            let page: Page = self.call("List", &asked)?;
            let end = page.end || page.leases.is_empty();
            found.extend(page.leases);
            if end {
                return Ok(found);
            }
        }
    }

    /// Ends a lease, by id or handle, and all below it.
    ///
    /// # Errors
    /// `NoSuchLease`, or how it ended before.
    pub fn revoke(&mut self, lease: &str) -> Result<Revoked, ClientError> {
        self.call("Revoke", &json!({ "lease": lease }))
    }

    /// Ends all leases below a prefix.
    ///
    /// # Errors
    /// `Denied` for what is not this user's.
    pub fn revoke_prefix(&mut self, prefix: &str) -> Result<Revoked, ClientError> {
        self.call("RevokePrefix", &json!({ "prefix": prefix }))
    }
}
