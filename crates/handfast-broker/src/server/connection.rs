//! One connection: message after message, until it closes or misbehaves.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::Probe;
use super::dispatch::{Asking, dispatch};
use crate::broker::{Broker, Tally};
use crate::caller::Caller;
use crate::fault::{Code, Fault};
use crate::identity::Peer;
use crate::ops::CallResult;
use crate::wire::{Channel, Frame, Incoming, MAX_MESSAGE, Sender, Trouble};

pub(super) fn serve(
    broker: &Broker,
    socket: UnixStream,
    peer: Peer,
    is_stranger: bool,
    probe: Option<&Probe>,
) {
    let idle = match is_stranger {
        true => broker.limits.patience,
        false => broker.limits.idle,
    };
    let Ok(channel) = Channel::new(socket, broker.limits.patience) else {
        return;
    };
    let peer = Arc::new(peer);
    let mut channel = channel.waits_at_most(idle);
    if broker.check_sender {
        match channel.checks_senders(Arc::clone(&peer)) {
            Ok(checked) => channel = checked,
            Err(error) => return crate::complain(&format!("a connection is not checked: {error}")),
        }
    }
    let mut caller = Caller::new(peer, is_stranger);
    loop {
        let frame = match channel.receive() {
            Ok(frame) => frame,
            Err(trouble) => {
                if let Some(fault) = spoken(&trouble) {
                    drop(send_fault(&channel, &fault));
                }
                break;
            }
        };
        if answer(broker, &mut caller, &channel, frame, probe).is_err() {
            break;
        }
    }
    // Whatever was begun here was never visible, and is gone.
    broker.drafts.drop_connection(caller.number);
}

/// What a client hears before the connection is closed.
fn spoken(trouble: &Trouble) -> Option<Fault> {
    match trouble {
        Trouble::TooLong => {
            let why = format!("a message has at most {MAX_MESSAGE} bytes");
            Some(Fault::new(Code::Limit, why))
        }
        Trouble::Descriptors => Some(Fault::new(Code::Limit, "too many descriptors")),
        Trouble::Senders => Some(foreign_sender()),
        Trouble::Slow => Some(Fault::new(
            Code::Limit,
            "no message came, or it did not end in time",
        )),
        Trouble::Closed | Trouble::Io(_) => None,
    }
}

fn foreign_sender() -> Fault {
    Fault::denied("this message was not sent by the process that connected")
}

/// Whether the process that connected sent a message.
fn sent_by_peer(sender: Sender) -> Result<(), Fault> {
    match sender {
        Sender::Connected => Ok(()),
        Sender::Other => Err(foreign_sender()),
        // It ended before it was heard, or the broker has no descriptor left to be told.
        Sender::Unknown => {
            let why = "the kernel did not say which process sent this message; connect again";
            Err(Fault::new(Code::Unavailable, why))
        }
    }
}

/// Answers one message. An error closes the connection.
fn answer(
    broker: &Broker,
    caller: &mut Caller,
    channel: &Channel,
    frame: Frame,
    probe: Option<&Probe>,
) -> Result<(), Trouble> {
    Tally::add(&broker.tally.calls);
    if broker.check_sender
        && let Err(fault) = sent_by_peer(frame.sender)
    {
        send_fault(channel, &fault)?;
        return Err(Trouble::Closed);
    }
    let call: Incoming<'_> = match serde_json::from_slice(&frame.json) {
        Ok(call) => call,
        Err(_) => {
            send_fault(channel, &Fault::parameter("message", "not a varlink call"))?;
            return Err(Trouble::Closed);
        }
    };
    let asking = Asking {
        method: &call.method,
        parameters: call.parameters,
        more: call.more,
        fds: frame.fds,
    };
    let result = if call.upgrade {
        Err(Fault::parameter("upgrade", "not offered"))
    } else {
        let oneway = call.oneway;
        let send = |answer: CallResult, continues: bool| {
            if oneway {
                return Ok(());
            }
            send_answer(channel, answer, continues)
        };
        dispatch(broker, caller, asking, probe, send)
    };
    pace(broker, caller, result.is_err());
    match result {
        Ok(None) => Ok(()),
        Ok(Some(answer)) if call.oneway => {
            drop(answer);
            Ok(())
        }
        Ok(Some(answer)) => send_answer(channel, answer, false),
        Err(_) if call.oneway => Ok(()),
        Err(fault) => send_fault(channel, &fault),
    }
}

/// Lets those wait who ask in vain, so that others do not wait for the broker.
fn pace(broker: &Broker, caller: &Caller, is_refused: bool) {
    let uid = caller.peer.uid;
    let is_spent = || is_refused && broker.scribe.journal().budget.is_spent(uid);
    if (caller.is_stranger || is_spent()) && !broker.rulebook().is_keeper(&caller.peer) {
        broker.pace.wait(uid);
    }
}

fn send_answer(channel: &Channel, answer: CallResult, continues: bool) -> Result<(), Trouble> {
    let (mut json, fd) = answer.into_message(continues);
    match &fd {
        Some(fd) => channel.send(&mut json, &[fd.as_fd()]),
        None => channel.send(&mut json, &[]),
    }
}

pub(super) fn send_fault(channel: &Channel, fault: &Fault) -> Result<(), Trouble> {
    let parameters = fault.parameters();
    let mut json = format!(
        "{{\"error\":\"{}\",\"parameters\":{parameters}}}",
        fault.code().name()
    );
    if parameters
        .as_object()
        .is_some_and(serde_json::Map::is_empty)
    {
        json = format!("{{\"error\":\"{}\"}}", fault.code().name());
    }
    channel.send(&mut json.into_bytes(), &[])
}
