//! `archive DIR ARCHIVE`: a tree becomes an archive.

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, ValueEnum};
use handfast::files::Put;
use handfast::{ErrorKind, RelPath};
use handfast_archive::{CreateOptions, Created, LinkPolicy, NewFormat, create};

use crate::failure::Failure;
use crate::fs::answer::{Done, PrintResult};
use crate::fs::asked::Asked;
use crate::fs::target::Target;
use crate::fs::write::bytes;
use crate::output::Output;

/// Make an archive of a directory
///
/// The same tree makes the same bytes: names are sorted, and times, owners and modes are left out, but for
/// whether a file can be run. What cannot be read or archived is an error; nothing is left out silently.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root project archive src src.tar.gz
  handfast fs --session review archive / - --format tar > review.tar"
))]
pub(crate) struct ArchiveArgs {
    /// Choose the format [default: by the archive's ending]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatChoice>,

    /// Archive symbolic links that stay inside; without this, a link is an error
    #[arg(long)]
    keep_links: bool,

    /// Give every member this time, in seconds since 1970 [default: 0; not for zip]
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0,
        hide_default_value = true
    )]
    time: u32,

    /// The directory
    #[arg(value_name = "DIR")]
    dir: OsString,

    /// The archive, a new file of the root or the session; `-` is standard output
    #[arg(value_name = "ARCHIVE")]
    archive: OsString,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatChoice {
    /// tar
    Tar,
    /// tar in gzip
    TarGz,
    /// zip
    Zip,
}

impl ArchiveArgs {
    pub(in crate::fs) fn run(&self, target: &Target, out: &mut Output) -> PrintResult {
        let asked =
            Asked::new_dir(target, "archive", "archive", &self.dir).and("as", &self.archive);
        let from = asked.path_or_root()?;
        let mut options = CreateOptions::new();
        options.format = self.format(&asked)?;
        options.modified = self.time;
        if self.keep_links {
            options.links = LinkPolicy::Inside;
        }
        let created = match self.archive == "-" {
            true => self.to_output(&asked, &from, options, out)?,
            false => self.to_file(&asked, &from, options)?,
        };
        let fields = asked
            .fields()
            .with("entries", created.entries)
            .with("bytes", created.bytes);
        let note = format!(
            "archived {} with {} as `{}`",
            crate::width::counted(created.entries, "member"),
            bytes(created.bytes),
            asked.shown_destination()
        );
        Done::answer(fields, note)
    }

    /// The archive becomes visible whole, under a name that was free.
    fn to_file(
        &self,
        asked: &Asked<'_>,
        from: &RelPath,
        options: CreateOptions,
    ) -> Result<Created, Box<Failure>> {
        let to = asked.destination()?;
        let failed = |error: handfast::Error| asked.failed(&error);
        let mut staged = asked.target.stage(&to, None, None).map_err(failed)?;
        let created = create(asked.files(), from, &mut *staged, options).map_err(failed)?;
        staged.publish(Put::New).map_err(failed)?;
        Ok(created)
    }

    fn to_output(
        &self,
        asked: &Asked<'_>,
        from: &RelPath,
        options: CreateOptions,
        out: &mut Output,
    ) -> Result<Created, Box<Failure>> {
        if out.is_json() {
            return Err(asked.misused("standard output is either the archive or JSON".to_owned()));
        }
        if Output::is_terminal() {
            return Err(asked.refused(ErrorKind::Invalid, "an archive is not shown on a terminal"));
        }
        create(asked.files(), from, &mut Printed(out), options)
            .map_err(|error| asked.failed(&error))
    }

    fn format(&self, asked: &Asked<'_>) -> Result<NewFormat, Box<Failure>> {
        let name = self.archive.to_string_lossy();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match self.format {
            Some(FormatChoice::Tar) => Ok(NewFormat::Tar),
            Some(FormatChoice::TarGz) => Ok(NewFormat::TarGzip),
            Some(FormatChoice::Zip) => Ok(NewFormat::Zip),
            None if ends(&[".tar"]) => Ok(NewFormat::Tar),
            None if ends(&[".tar.gz", ".tgz"]) => Ok(NewFormat::TarGzip),
            None if ends(&[".zip"]) => Ok(NewFormat::Zip),
            None => Err(asked.misused(
                "the format is not known from the ending; give `--format tar`, `tar-gz` or `zip`"
                    .to_owned(),
            )),
        }
    }
}

/// Standard output; the trouble is printed at the end.
struct Printed<'a>(&'a mut Output);

impl Write for Printed<'_> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.0.data(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush();
        Ok(())
    }
}
