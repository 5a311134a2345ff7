//! Varlink on a Unix stream socket: JSON objects that end in NUL, descriptors beside them.

mod address;
mod call;
mod channel;
mod sender;
mod text;

pub(crate) use address::{Address, MAX_ADDRESS};
pub(crate) use call::{Call, Incoming, Method, empty_object};
pub(crate) use channel::{Channel, Frame, Trouble};
pub use channel::{MAX_DESCRIPTORS, MAX_MESSAGE};
pub(crate) use sender::Sender;
pub(crate) use text::{Big, PathField, Text, path_field};
