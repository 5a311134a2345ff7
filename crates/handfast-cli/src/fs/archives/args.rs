//! How an archive is judged, as options.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use clap::{Args, ValueEnum};
use handfast_archive::{LinkPolicy, Modes, Names, OnRefusal, Options, Overwrite};

use crate::failure::Failure;
use crate::fs::asked::Asked;

/// What `extract` and `list-archive` have in common.
#[derive(Debug, Args)]
pub(super) struct JudgeArgs {
    /// Make symbolic and hard links that stay inside; without this, links are refused
    #[arg(long)]
    keep_links: bool,

    /// Let a later file take the place of an earlier one with the same name
    #[arg(long)]
    replace: bool,

    /// Choose which names are accepted
    #[arg(long, value_enum, value_name = "RULE", default_value = "distinct")]
    names: NameRule,

    /// Take this many leading segments off every name; members without a name after that are left
    /// out
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    strip_components: usize,

    /// Extract only this member and everything below it, by its name in the archive; may be
    /// repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<OsString>,

    /// Leave refused members out and take the others; without this, one refusal refuses all
    #[arg(long)]
    leave_out_refused: bool,

    /// Print the SHA-256 of the archive
    #[arg(long)]
    digest: bool,

    /// Allow this many members [default: 100000]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = whole_number)]
    max_entries: Option<u64>,

    /// Allow this many bytes in all [default: 1 GiB]
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = whole_number)]
    max_bytes: Option<u64>,

    /// Allow this many bytes in one file [default: 512 MiB]
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = whole_number)]
    max_file: Option<u64>,

    /// Allow this many unpacked bytes for each packed one, after the first MiB [default: 200]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = whole_number)]
    max_ratio: Option<u64>,

    /// Allow this many seconds [default: 600]
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = whole_number)]
    max_time: Option<u64>,
}

/// A limit, as it is typed.
fn whole_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a limit is a whole number without a unit, such as 1073741824".to_owned())
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NameRule {
    /// Whatever a filesystem of Linux holds
    Any,
    /// Names that stay apart where case and normalisation are ignored
    Distinct,
    /// As distinct, and fit for Windows and macOS too
    Portable,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ModeRule {
    /// The archive's, not writable for others, narrowed by the umask
    Safe,
    /// The archive's, without set-id bits
    Exact,
    /// 0644 and 0755, narrowed by the umask
    Ignore,
}

impl From<ModeRule> for Modes {
    fn from(rule: ModeRule) -> Self {
        match rule {
            ModeRule::Safe => Self::Safe,
            ModeRule::Exact => Self::Exact,
            ModeRule::Ignore => Self::Ignore,
        }
    }
}

impl JudgeArgs {
    pub(super) fn options<'a>(&self, asked: &Asked<'_>) -> Result<Options<'a>, Box<Failure>> {
        let mut options = Options::new();
        if self.keep_links {
            options.links = LinkPolicy::Inside;
        }
        if self.replace {
            options.overwrite = Overwrite::Replace;
        }
        if self.leave_out_refused {
            options.on_refusal = OnRefusal::LeaveOut;
        }
        options.names = match self.names {
            NameRule::Any => Names::Any,
            NameRule::Distinct => Names::Distinct,
            NameRule::Portable => Names::Portable,
        };
        options.strip_components = self.strip_components;
        options.digest = self.digest;
        for name in &self.only {
            options.extract_only(name.as_bytes()).map_err(|error| {
                asked.misused(format!(
                    "`--only` takes a name in the archive: {}",
                    error.detail()
                ))
            })?;
        }
        self.limit(&mut options);
        Ok(options)
    }

    fn limit(&self, options: &mut Options<'_>) {
        let limits = &mut options.limits;
        limits.entries = self.max_entries.unwrap_or(limits.entries);
        limits.bytes = self.max_bytes.unwrap_or(limits.bytes);
        limits.file_size = self.max_file.unwrap_or(limits.file_size);
        limits.ratio = self.max_ratio.unwrap_or(limits.ratio);
        if let Some(seconds) = self.max_time {
            limits.time = Some(Duration::from_secs(seconds));
        }
    }
}
