//! `list-archive ARCHIVE`: what `extract` would do.

use std::ffi::OsString;

use clap::Args;
use handfast_archive::{Input, list};

use super::args::JudgeArgs;
use super::input;
use super::report::{About, RecordedReport};
use crate::fs::answer::PrintResult;
use crate::fs::asked::Asked;
use crate::fs::target::Target;
use crate::output::Output;

/// List an archive with a verdict for each member, and extract nothing
///
/// Every byte is judged as `extract` does. The exit code is 1 if anything is refused.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads list-archive project.tar.gz"
))]
pub(crate) struct ListArchiveArgs {
    #[command(flatten)]
    judge: JudgeArgs,

    /// Judge as if it were merged into a directory that is there
    #[arg(long, requires = "dir")]
    merge: bool,

    /// The archive, a file of the root or the session; `-` is standard input
    #[arg(value_name = "ARCHIVE")]
    archive: OsString,

    /// Ask the session's rules as if it were extracted to this directory
    #[arg(value_name = "DIR")]
    dir: Option<OsString>,
}

impl ListArchiveArgs {
    pub(in crate::fs) fn run(&self, target: &Target, out: &mut Output) -> PrintResult {
        let asked = Asked::new(target, "list-archive", "list", &self.archive);
        let options = self.judge.options(&asked)?;
        let to = match &self.dir {
            Some(dir) => {
                let asked = asked.and("for", dir);
                Some(match self.merge {
                    true => asked.destination_or_root()?,
                    false => asked.destination()?,
                })
            }
            None => None,
        };
        let scratch = input::scratch(&asked)?;
        let archive = Input::new(input::open(&asked, out)?, &scratch);
        let judge = |path: &handfast::RelPath, kind| match target {
            Target::Session(session) => input::judge(session, path, kind),
            _ => Ok(()),
        };
        let goal = to.as_ref().map(|to| {
            let goal = input::goal(target, to).judged_by(&judge);
            match self.merge {
                true => goal.merged(),
                false => goal,
            }
        });
        let listed = list(archive, goal.as_ref(), options);
        let report = listed.map_err(|error| asked.failed(&error))?;
        Ok(Box::new(RecordedReport::new(
            &asked,
            report,
            About::Listed,
            String::new(),
        )))
    }
}
