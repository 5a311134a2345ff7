//! What every varlink service says about itself.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fault::{Code, Fault};
use crate::ops::{CallResult, parameters};

/// The description of `io.handfast.Broker`, as it is served.
pub const INTERFACE: &str = include_str!("../../io.handfast.Broker.varlink");

const SERVICE: &str = include_str!("../../org.varlink.service.varlink");

#[derive(Debug, Serialize)]
struct Info {
    vendor: &'static str,
    product: &'static str,
    version: &'static str,
    url: &'static str,
    interfaces: [&'static str; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    interface: String,
}

#[derive(Debug, Serialize)]
struct Description {
    description: &'static str,
}

pub(super) fn service(method: &str, raw: Option<&RawValue>) -> Result<CallResult, Fault> {
    match method {
        "GetInfo" => super::dispatch::nothing(raw).and_then(|()| {
            CallResult::of(&Info {
                vendor: "Handfast",
                product: "handfast-broker",
                version: env!("CARGO_PKG_VERSION"),
                url: env!("CARGO_PKG_REPOSITORY"),
                interfaces: ["org.varlink.service", "io.handfast.Broker"],
            })
        }),
        "GetInterfaceDescription" => {
            let which: Which = parameters(raw)?;
            let description = match which.interface.as_str() {
                "io.handfast.Broker" => INTERFACE,
                "org.varlink.service" => SERVICE,
                other => {
                    let shown = handfast::escape(other.as_bytes());
                    return Err(Fault::new(Code::InterfaceNotFound, shown));
                }
            };
            CallResult::of(&Description { description })
        }
        _ => Err(Fault::new(
            Code::MethodNotFound,
            format!(
                "org.varlink.service.{}",
                handfast::escape(method.as_bytes())
            ),
        )),
    }
}
