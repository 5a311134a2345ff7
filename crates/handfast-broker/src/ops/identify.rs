//! `Challenge` and `Identify`: a workload proves its SPIFFE id, for as long as the proof lasts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::clock;
use crate::fault::{Code, Fault};
use crate::identity::Proved;
use crate::spiffe::{Nonce, Svid, TrustBundle};

/// A JWT-SVID in `svid`, or the certificates of an X.509-SVID, its own first, with a signature over what
/// `Challenge` said last on this connection.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identify {
    svid: Option<String>,
    x509_svid: Option<Vec<String>>,
    signature: Option<String>,
}

#[derive(Debug, Serialize)]
struct Identified<'a> {
    spiffe_id: &'a str,
    /// Seconds that it lasts.
    ttl: u64,
}

#[derive(Debug, Serialize)]
struct Challenged<'a> {
    nonce: String,
    audience: &'a str,
}

impl Broker {
    /// What an X.509-SVID must be proved over on this connection.
    pub(crate) fn challenge(&self, caller: &mut Caller) -> Result<CallResult, Fault> {
        let bundle = self.bundle()?;
        let mut nonce: Nonce = [0; 32];
        let flags = rustix::rand::GetRandomFlags::empty();
        if rustix::rand::getrandom(&mut nonce, flags) != Ok(nonce.len()) {
            return Err(Fault::new(Code::Failed, "the system has no random bytes"));
        }
        caller.challenge(nonce);
        CallResult::of(&Challenged {
            nonce: STANDARD.encode(nonce),
            audience: bundle.audience(),
        })
    }

    pub(crate) fn identify(
        &self,
        caller: &mut Caller,
        asked: &Identify,
    ) -> Result<CallResult, Fault> {
        let bundle = self.bundle()?;
        // Good for one try, whatever comes of it.
        let nonce = caller.take_challenge();
        let svid = match verified(bundle, asked, nonce)? {
            Ok(svid) => svid,
            Err(why) => return Err(caller.note(self, "", Fault::denied(why))),
        };
        // From here on by the boot clock: setting the wall clock makes no proof last longer.
        let left = u64::try_from(svid.left.as_nanos()).unwrap_or(u64::MAX);
        let answer = CallResult::of(&Identified {
            spiffe_id: &svid.id,
            ttl: svid.left.as_secs(),
        })?;
        caller.identify(Proved {
            id: svid.id,
            until_ns: clock::now_ns().saturating_add(left),
            vouched: svid.vouched,
        });
        Ok(answer)
    }

    fn bundle(&self) -> Result<&TrustBundle, Fault> {
        self.bundle.as_ref().ok_or_else(|| {
            let why = "this broker has no trust bundle to check SPIFFE ids with";
            Fault::new(Code::Failed, why).of_kind(handfast::ErrorKind::Unsupported)
        })
    }
}

/// Who the workload is, or why it proved nothing.
///
/// # Errors
/// For a question that is none.
fn verified(
    bundle: &TrustBundle,
    asked: &Identify,
    nonce: Option<Nonce>,
) -> Result<Result<Svid, String>, Fault> {
    let (chain, signature) = match (&asked.svid, &asked.x509_svid, &asked.signature) {
        (Some(token), None, None) => return Ok(bundle.verify_token(token)),
        (None, Some(chain), Some(signature)) => (chain, signature),
        _ => {
            let why = "give `svid`, or `x509_svid` and `signature`";
            return Err(Fault::parameter("svid", why));
        }
    };
    let bytes = |name: &str, text: &String| {
        let decoded = STANDARD.decode(text);
        decoded.map_err(|_| Fault::parameter(name, "it is no base64"))
    };
    let chain: Vec<Vec<u8>> = chain
        .iter()
        .map(|text| bytes("x509_svid", text))
        .collect::<Result<_, _>>()?;
    let signature = bytes("signature", signature)?;
    let Some(nonce) = nonce else {
        let why = "an X.509-SVID is proved over a nonce of this connection: ask for a `Challenge` first, for each try";
        return Ok(Err(why.to_owned()));
    };
    Ok(bundle.verify_x509(&chain, &nonce, &signature))
}
