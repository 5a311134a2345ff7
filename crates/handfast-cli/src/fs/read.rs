//! `read PATH`: the content of a file.

use std::ffi::OsString;

use clap::Args;
use handfast::files::FileHandle;
use handfast::{ErrorKind, OpenOptions};

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::Output;

/// Print the content of a file
///
/// The bytes go to standard output as they are, as a stream. With `--json` they are `content`, or
/// `content_b64` where they are not UTF-8; files beyond 64 MiB are refused then.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads read notes.txt
  handfast fs --session review read /src/main.rs"
))]
pub(crate) struct ReadArgs {
    /// The file
    pub(crate) path: OsString,
}

impl ReadArgs {
    pub(super) fn run(&self, target: &Target, out: &Output) -> PrintResult {
        let asked = Asked::new(target, "read", "read", &self.path);
        let (files, path) = (asked.files(), asked.path()?);
        if !out.is_json() {
            let file = files
                .open(&path, OpenOptions::new())
                .map_err(|error| asked.failed(&error))?;
            return Ok(Box::new(Stream {
                file,
                offset: 0,
                io_failure: asked.refused(ErrorKind::Io, ""),
            }));
        }
        let (content, version) = match target.read_versioned(&path) {
            Ok((content, version)) => (content, Some(version.to_string())),
            // Another process keeps writing to it: there is content, but no version of it.
            Err(error) if error.kind() == ErrorKind::Raced => {
                let content = files.read(&path, files.read_limit());
                let content = content.map_err(|error| asked.failed(&error))?;
                (content, None)
            }
            Err(error) => return Err(asked.failed(&error)),
        };
        Ok(Box::new(Whole {
            fields: asked
                .fields()
                .with("size", content.len() as u64)
                .with("file_version", version),
            content,
        }))
    }
}

/// A file that is read while it is printed.
struct Stream {
    file: Box<dyn FileHandle>,
    offset: u64,
    /// What is said if reading stops half-way.
    io_failure: Box<Failure>,
}

impl Printable for Stream {
    fn fields(&self) -> JsonObject {
        JsonObject::new()
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        let mut buffer = vec![0; 64 * 1024];
        while out.is_open() {
            match self.file.read_at(&mut buffer, self.offset) {
                Ok(0) => break,
                Ok(got) => {
                    out.data(&buffer[..got]);
                    self.offset += got as u64;
                }
                Err(error) => {
                    let mut failure = self.io_failure.clone();
                    failure.kind = error.kind();
                    failure.detail = format!("reading stopped half-way: {}", error.detail());
                    return Err(failure);
                }
            }
        }
        Ok(())
    }
}

/// A file that was read whole, for programs.
struct Whole {
    fields: JsonObject,
    content: Vec<u8>,
}

impl Printable for Whole {
    fn fields(&self) -> JsonObject {
        self.fields.clone().with_bytes("content", &self.content)
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        out.data(&self.content);
        Ok(())
    }
}
