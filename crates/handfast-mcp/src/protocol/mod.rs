//! JSON-RPC and the two eras of MCP, over whatever carries the messages.

mod dispatch;
mod era;
mod id;
mod message;
mod reply;

pub(crate) use dispatch::{Peer, answer, ask_roots, takes_time};
pub(crate) use era::{bad_meta, unsupported};
pub(crate) use id::{Id, Scanner};
pub(crate) use message::{Fault, Message, Request, code, parse};
pub(crate) use reply::error as error_reply;
