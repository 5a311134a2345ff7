//! `Identify`: a workload proves its SPIFFE id, for as long as the proof lasts.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::clock;
use crate::fault::{Code, Fault};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identify {
    /// A JWT-SVID.
    svid: String,
}

#[derive(Debug, Serialize)]
struct Identified<'a> {
    spiffe_id: &'a str,
    /// Seconds that it lasts.
    ttl: u64,
}

impl Broker {
    pub(crate) fn identify(&self, caller: &mut Caller, asked: &Identify) -> Result<Answer, Fault> {
        let Some(bundle) = &self.bundle else {
            let why = "this broker has no trust bundle to check SPIFFE ids with";
            return Err(Fault::new(Code::Failed, why).of_kind(handfast::ErrorKind::Unsupported));
        };
        let svid = match bundle.verify(&asked.svid) {
            Ok(svid) => svid,
            Err(why) => return Err(caller.note(self, "", Fault::denied(why))),
        };
        // From here on by the boot clock: setting the wall clock makes no proof last longer.
        let left = u64::try_from(svid.left.as_nanos()).unwrap_or(u64::MAX);
        let answer = Answer::of(&Identified {
            spiffe_id: &svid.id,
            ttl: svid.left.as_secs(),
        })?;
        caller.identify(svid.id, clock::now_ns().saturating_add(left));
        Ok(answer)
    }
}
