//! `write PATH`: replace or create a file with what comes on standard input.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use handfast::files::{LastLink, Put, StagedContent};
use handfast::{Durability, Error, ErrorKind, RelPath, Written};

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::input::{self, kind_of, reason};
use super::target::Target;
use super::{mode, version};
use crate::failure::Failure;
use crate::output::Output;

/// Replace or create a file with the content of standard input
///
/// The new content becomes visible all at once when standard input ends, or not at all. The old
/// file's mode is kept; other hard-linked names of it keep the old content.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  echo hello | handfast fs --root uploads write notes.txt
  handfast fs --root uploads write --new report.pdf < report.pdf
  handfast fs --root uploads write a --if-version \"$SEEN\" < new"
))]
pub(crate) struct WriteArgs {
    /// Refuse if anything is there already
    #[arg(long, conflicts_with = "if_version")]
    pub(crate) new: bool,

    /// Refuse unless the file is still this version, as `version`, `stat` and `write` print it
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,

    /// Choose what is on the disk when the answer comes [default: file; in an overlay none]
    #[arg(long, value_enum, value_name = "LEVEL")]
    durability: Option<DurabilityLevel>,

    /// Wait until content and name are on the disk: `--durability full`
    #[arg(long, conflicts_with = "durability")]
    sync: bool,

    /// Set these permission bits, in octal [default: the old file's, or 0666 and the umask]
    #[arg(long, value_name = "MODE", value_parser = mode::parse_plain)]
    pub(crate) mode: Option<u32>,

    /// The file
    pub(crate) path: OsString,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DurabilityLevel {
    /// Nothing need be: after a power loss the file may be old, new or empty
    None,
    /// The content, before the name points to it: whole-old or whole-new after a power loss
    File,
    /// Content and name: what was answered survives a power loss
    Full,
}

impl WriteArgs {
    pub(super) fn run(&self, target: &Target, out: &mut Output) -> PrintResult {
        let asked = Asked::new(target, "write", "write", &self.path);
        let expected = self
            .if_version
            .as_deref()
            .map(|text| version::parse(&asked, text))
            .transpose()?;
        let path = asked.path()?;
        if self.new {
            refuse_existing(&asked, &path)?;
        }
        let stale_if_missing = |error: Error| match error.kind() {
            ErrorKind::NotFound if expected.is_some() => {
                asked.refused(ErrorKind::Stale, "the file is gone")
            }
            _ => asked.failed(&error),
        };
        let mut staged = target
            .stage(&path, self.durability(), self.mode)
            .map_err(stale_if_missing)?;
        let size = copy_input(&asked, &mut *staged, out)?;
        // What is there now decides, not what was there when the upload began.
        let put = match &expected {
            Some(version) => Put::If(version),
            None if self.new => Put::New,
            None => Put::Replace,
        };
        let written = staged.publish(put).map_err(|error| asked.failed(&error))?;
        let fields = asked
            .fields()
            .with("size", size)
            .with("file_version", version_of(&written, out));
        Done::answer(
            fields,
            format!("wrote {} to `{}`", bytes(size), asked.shown_path()),
        )
    }

    fn durability(&self) -> Option<Durability> {
        if self.sync {
            return Some(Durability::Full);
        }
        self.durability.map(|level| match level {
            DurabilityLevel::None => Durability::None,
            DurabilityLevel::File => Durability::File,
            DurabilityLevel::Full => Durability::Full,
        })
    }
}

/// A size as people say it.
pub(crate) fn bytes(size: u64) -> String {
    match size {
        1 => "1 byte".to_owned(),
        size => format!("{size} bytes"),
    }
}

/// The version of what was written, for programs: it costs reading the file once. The write counts
/// as done even if its version is not known (others write too, or it may not be read).
pub(crate) fn version_of(written: &Written, out: &Output) -> Option<String> {
    if !out.is_json() {
        return None;
    }
    written.version().ok().map(|version| version.to_string())
}

/// Says no before standard input is read. What decides is the commit; this look only names the
/// refusal, whatever kind of thing is there.
fn refuse_existing(asked: &Asked<'_>, path: &RelPath) -> Result<(), Box<Failure>> {
    let is_there = || asked.files().metadata(path, LastLink::Itself).is_ok();
    if !path.must_be_dir() && is_there() {
        return Err(asked.refused(ErrorKind::Exists, ErrorKind::Exists.sentence()));
    }
    Ok(())
}

/// Streams standard input into a file that no other process sees yet.
fn copy_input(
    asked: &Asked<'_>,
    staged: &mut dyn StagedContent,
    out: &mut Output,
) -> Result<u64, Box<Failure>> {
    let mut input = input::stdin(out);
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    loop {
        let got = input::read_some(asked, &mut input, &mut buffer)?;
        if got == 0 {
            return Ok(size);
        }
        staged.write_all(&buffer[..got]).map_err(|error| {
            let kind = kind_of(&error);
            asked.refused(
                kind,
                &format!("{} (write: {})", kind.sentence(), reason(&error)),
            )
        })?;
        size += got as u64;
    }
}
