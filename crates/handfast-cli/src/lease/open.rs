//! `lease open`: prints a file.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast_broker::Client;

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Open a file under a lease and print it
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast lease open $ID src/main.rs"
))]
pub(super) struct OpenArgs {
    /// The lease's id
    lease: String,

    /// The file
    path: OsString,
}

impl OpenArgs {
    pub(super) fn run(&self, client: &mut Client, out: &mut Output) -> LeaseExit {
        let path = self.path.as_bytes();
        if out.is_json() {
            let mut opened = client
                .open_versioned(&self.lease, path)
                .map_err(|error| told::failed("open", path, &error))?;
            let mut content = Vec::new();
            opened
                .file
                .read_to_end(&mut content)
                .map_err(|error| told::broken("read the file", &error.to_string()))?;
            let fields = JsonObject::new()
                .with_bytes("path", path)
                .with("handle", opened.handle)
                .with("object_version", opened.version)
                .with_bytes("content", &content);
            out.object(true, fields);
            return Ok(Exit::Yes);
        }
        let mut opened = client
            .open(&self.lease, path)
            .map_err(|error| told::failed("open", path, &error))?;
        let mut buffer = vec![0; 64 * 1024];
        while out.is_open() {
            match opened.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => out.data(&buffer[..got]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(told::broken("read the file", &error.to_string())),
            }
        }
        Ok(Exit::Yes)
    }
}
