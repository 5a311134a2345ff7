//! `extract ARCHIVE [DIR]`: an archive becomes a new directory.

use std::ffi::{OsStr, OsString};

use clap::Args;
use handfast::FileKind;
use handfast_archive::{Input, extract};

use super::args::{JudgeArgs, ModeRule};
use super::input;
use super::report::{About, RecordedReport};
use crate::failure::Failure;
use crate::fs::answer::PrintResult;
use crate::fs::asked::Asked;
use crate::fs::target::Target;
use crate::log::Recording;
use crate::output::Output;
use crate::progress::Progress;

/// Extract an archive into a new directory, or into one that is there
///
/// tar (plain, gzip, bzip2, xz, zstd) and zip, known by their content. The directory appears whole, after
/// the last byte of the archive was judged, or not at all; with `--merge`, either everything goes into
/// the directory or nothing, and `recover` settles a merge that was killed. By default one refused member refuses the
/// archive; links, set-id bits, owners and devices are never taken from it unless asked for.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads extract project.tar.gz
  handfast fs --root site extract --merge --replace update.zip .
  curl -s URL | handfast fs --root uploads extract - project --strip-components 1
  handfast fs --session review extract --keep-links /in/a.zip /out/a"
))]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    judge: JudgeArgs,

    /// Merge into a directory that is there; names that are taken are refused, or replaced with `--replace`
    #[arg(long)]
    merge: bool,

    /// Choose which permission bits are taken from the archive
    #[arg(long, value_enum, value_name = "RULE", default_value = "safe")]
    modes: ModeRule,

    /// Give files the times that the archive says
    #[arg(long)]
    times: bool,

    /// Wait until everything is on the disk
    #[arg(long)]
    sync: bool,

    /// The archive, a file of the root or the session; `-` is standard input
    #[arg(value_name = "ARCHIVE")]
    archive: OsString,

    /// The directory [default: the archive's name without its ending]
    #[arg(value_name = "DIR")]
    dir: Option<OsString>,
}

impl ExtractArgs {
    pub(in crate::fs) fn run(
        &self,
        target: &Target,
        recording: Option<&Recording>,
        out: &mut Output,
    ) -> PrintResult {
        let dir = self.dir(target)?;
        let asked = Asked::new(target, "extract", "extract", &self.archive).and("to", dir);
        let to = match self.merge {
            true => asked.destination_or_root()?,
            false => asked.destination()?,
        };
        let mut options = self.judge.options(&asked)?;
        options.modes = self.modes.into();
        (options.times, options.durable) = (self.times, self.sync);
        let scratch = input::scratch(&asked)?;
        let stream = input::open(&asked, out)?;
        let mut progress = Progress::new(out.is_json() || out.is_quiet());
        let mut tell = |so_far: handfast_archive::Progress| {
            progress.tell(|| {
                let members = crate::width::counted(so_far.entries, "member");
                format!("{members}, {}", crate::width::size(so_far.bytes))
            });
        };
        options.progress = Some(&mut tell);
        options.telling = recording.map(Recording::telling);
        let archive = Input::new(stream, &scratch);
        let judge = |path: &handfast::RelPath, kind: FileKind| match target {
            Target::Session(session) => input::judge(session, path, kind),
            _ => Ok(()),
        };
        let mut goal = input::goal(target, &to).judged_by(&judge);
        if self.merge {
            goal = goal.merged();
        }
        let extracted = extract(archive, &goal, options);
        progress.end();
        let report = extracted.map_err(|error| asked.failed(&error))?;
        let shown = asked.shown_destination();
        Ok(Box::new(RecordedReport::new(
            &asked,
            report,
            About::Extracted,
            shown,
        )))
    }

    fn dir<'a>(&'a self, target: &'a Target) -> Result<&'a OsStr, Box<Failure>> {
        if let Some(dir) = &self.dir {
            return Ok(dir);
        }
        input::suggested(&self.archive)
            .map(OsStr::new)
            .ok_or_else(|| {
                let asked = Asked::new(target, "extract", "extract", &self.archive);
                asked.misused(
                    "the name has no archive ending, so the new directory has no name; give DIR"
                        .to_owned(),
                )
            })
    }
}
