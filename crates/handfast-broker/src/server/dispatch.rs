//! From a method's name to what does it.

use std::os::fd::OwnedFd;

use serde_json::value::RawValue;

use super::{Probe, describe};
use crate::broker::Broker;
use crate::caller::Caller;
use crate::fault::{Code, Fault};
use crate::ops::{CallResult, parameters};
use crate::wire::Trouble;

/// A call, as far as a method needs it.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) method: &'a str,
    pub(super) parameters: Option<&'a RawValue>,
    pub(super) more: bool,
    /// Dropped, and so closed, by every method that does not ask for them.
    pub(super) fds: Vec<OwnedFd>,
}

/// Does what a call asks for. Methods that answer in parts use `send` and return nothing.
pub(super) fn dispatch(
    broker: &Broker,
    caller: &mut Caller,
    asking: Asking<'_>,
    probe: Option<&Probe>,
    send: impl Fn(CallResult, bool) -> Result<(), Trouble>,
) -> Result<Option<CallResult>, Fault> {
    let Some((interface, method)) = asking.method.rsplit_once('.') else {
        return Err(unknown_method(asking.method));
    };
    let raw = asking.parameters;
    match interface {
        "io.handfast.Broker" => {}
        "org.varlink.service" => return describe::service(method, raw).map(Some),
        _ => {
            let shown = handfast::escape(interface.as_bytes());
            return Err(Fault::new(Code::InterfaceNotFound, shown));
        }
    }
    match method {
        "Info" => nothing(raw).and_then(|()| broker.info(caller)),
        "Denials" => nothing(raw).and_then(|()| broker.denials(caller)),
        "Challenge" => nothing(raw).and_then(|()| broker.challenge(caller)),
        "Identify" => broker.identify(caller, &parameters(raw)?),
        "Acquire" => broker.acquire(caller, parameters(raw)?, asking.fds),
        "Export" => broker.export(caller, parameters(raw)?),
        "Renew" => broker.renew(caller, parameters(raw)?),
        "Lookup" => broker.lookup(caller, &parameters(raw)?),
        "List" => broker.list(caller, &parameters(raw)?),
        "Revoke" => broker.revoke(caller, &parameters(raw)?),
        "RevokePrefix" => broker.revoke_prefix(caller, &parameters(raw)?),
        "Open" => broker.open(caller, parameters(raw)?),
        "Resume" => broker.resume(caller, parameters(raw)?),
        "Begin" => broker.begin(caller, parameters(raw)?),
        "Commit" => broker.commit(caller, &parameters(raw)?),
        "Abort" => broker.abort(caller, &parameters(raw)?),
        "Append" => broker.append(caller, parameters(raw)?),
        "Mkdir" => broker.mkdir(caller, parameters(raw)?),
        "Rename" => broker.rename(caller, parameters(raw)?),
        "Remove" => broker.remove(caller, parameters(raw)?),
        "Stat" => broker.stat(caller, parameters(raw)?),
        "ReadLink" => broker.read_link(caller, parameters(raw)?),
        "ListDir" => broker.list_dir(caller, parameters(raw)?),
        "Mount" => broker.mount(caller, &parameters(raw)?, asking.fds),
        "Walk" => {
            if !asking.more {
                return Err(Fault::new(Code::ExpectedMore, "call it with `more`"));
            }
            let gone = |_| Fault::new(Code::Failed, "the client does not listen");
            broker.walk(caller, parameters(raw)?, |answer, continues| {
                send(answer, continues).map_err(gone)
            })?;
            return Ok(None);
        }
        "Probe" if probe.is_some() => {
            let text: String = raw.map_or_else(String::new, |raw| raw.get().to_owned());
            let said = probe.map(|probe| probe(&text)).unwrap_or_default();
            CallResult::of(&serde_json::json!({ "said": said }))
        }
        _ => Err(unknown_method(asking.method)),
    }
    .map(Some)
}

/// The parameters of a method that has none.
///
/// # Errors
/// If there are some.
pub(super) fn nothing(raw: Option<&RawValue>) -> Result<(), Fault> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    parameters(raw).map(|Nothing {}| ())
}

fn unknown_method(name: &str) -> Fault {
    Fault::new(Code::MethodNotFound, handfast::escape(name.as_bytes()))
}
