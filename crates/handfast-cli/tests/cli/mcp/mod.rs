//! `handfast mcp`, spoken to as clients do.

mod bad_input;
mod client;
mod eras;
mod fuzz;
mod grants;
mod http;
mod logged;
mod more_tools;
mod names;
mod order;
mod versions;
