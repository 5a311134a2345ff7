//! The system calls that have no safe wrapper, and the only `unsafe`.
//!
//! * a message with the descriptors and the sender that came with it ([`receive`]);
//! * who connected ([`peer_pidfd`], [`peer_groups`]) and what the kernel says about a process
//!   ([`pidfd_info`]);
//! * the socket that a service manager passed ([`passed_descriptor`]), and its signals
//!   ([`signal_descriptor`]);
//! * a mount namespace of one's own ([`leave_namespaces`]).
#![allow(unsafe_code)]

mod inherited;
mod memory;
mod message;
mod namespace;
mod peer;
mod signals;

pub(crate) use inherited::passed_descriptor;
pub(crate) use memory::give_large_buffers_back;
pub(crate) use message::{Received, receive};
pub(crate) use namespace::leave_namespaces;
pub(crate) use peer::{
    PidfdInfo, ProcessKey, pass_sender, pass_sender_pid, peer_credentials, peer_groups, peer_pidfd,
    pidfd_info,
};
pub(crate) use signals::signal_descriptor;
