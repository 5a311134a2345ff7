//! JSON-RPC and the two eras of MCP, over whatever carries the messages.

mod dispatch;
mod era;
mod id;
mod message;
mod reply;

pub(crate) use dispatch::{Peer, answer, ask_roots, may_be_large, may_change, takes_time};
pub(crate) use era::{bad_meta, unsupported};
pub(crate) use id::{Id, Scanner};
pub(crate) use message::{BadMessage, Message, Request, code, parse};
pub(crate) use reply::{error as error_reply, progress, progress_token, updated};
