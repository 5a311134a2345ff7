//! `lease write`: commits standard input.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use clap::Args;
use handfast_broker::Client;

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::fs::input::stdin;
use crate::json::JsonObject;
use crate::output::Output;

/// Commit standard input as the new content of a file
///
/// Nothing is visible before all of it is.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease write $ID notes.txt < notes.txt"
))]
pub(super) struct WriteArgs {
    /// The lease's id
    lease: String,

    /// The file; replaced or created
    path: OsString,

    /// Write only if the file is still this version, as `lease open --json` prints it
    #[arg(long, value_name = "VERSION")]
    if_version: Option<String>,

    /// Write only if the name is free
    #[arg(long, conflicts_with = "if_version")]
    new: bool,
}

impl WriteArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let path = self.path.as_bytes();
        let mut data = Vec::new();
        stdin(out)
            .read_to_end(&mut data)
            .map_err(|error| told::broken("read standard input", &error.to_string()))?;
        let size = data.len() as u64;
        let refused = |error| told::failed("write", path, &error);
        let draft = if self.new {
            client.begin_new(&self.lease, path, size)
        } else {
            client.begin(&self.lease, path, size, self.if_version.as_deref())
        };
        let draft = draft.map_err(refused)?;
        draft
            .file
            .write_all_at(&data, 0)
            .map_err(|error| told::broken("fill the private file", &error.to_string()))?;
        let version = client.commit(&draft, size).map_err(refused)?;
        if out.is_json() {
            let fields = JsonObject::new()
                .with_bytes("path", path)
                .with("bytes", size)
                .with("object_version", version);
            out.object(true, fields);
        }
        Ok(Exit::Yes)
    }
}
