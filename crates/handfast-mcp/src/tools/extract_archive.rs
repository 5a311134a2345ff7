//! `extract_archive`: a tar or a zip of the session into a directory of the session. Not in the reference.

use std::io::{self, Read};
use std::time::Duration;

use handfast::files::{FileHandle, LastLink};
use handfast::{ErrorKind, FileKind, OpenOptions, RelPath, Verb, escape};
use handfast_archive::{
    Input, LinkPolicy, OnRefusal, Options, Outcome, Overwrite, Refusal, Report, Target, extract,
    list,
};

use super::move_file::two_failed;
use crate::answer::{Archive, Refused, ToolResult};
use crate::call::Call;
use crate::trouble::Trouble;

/// A call that takes longer holds up others.
const TIME: Duration = Duration::from_secs(60);

/// As many refused members are listed at most.
const LISTED: usize = 100;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let from = call.place("source")?;
    let to = call.place("destination")?;
    let opened = call.files().open(from.rel(), OpenOptions::new());
    let file = opened.map_err(|error| call.trouble(&error, "open", &from))?;
    if !file.opened_metadata().is_file() {
        let text = format!(
            "EISDIR: illegal operation on a directory, read '{}'",
            from.shown
        );
        return Err(Trouble::new(ErrorKind::IsADirectory, text));
    }
    let input = Input::in_memory(Waited { file, call, at: 0 });
    let judge = |path: &RelPath, kind: FileKind| call.is_allowed(path, verb_of(kind));
    let mut target = Target::new_dir_in(call.files(), to.rel()).judged_by(&judge);
    if call.flag("merge") {
        target = target.merged();
    }
    let mut options = options(call)?;
    let dry = call.flag("dryRun");
    let done = match dry {
        true if is_taken(call, &target, to.rel()) => {
            return Err(two_failed(call, &taken(), &from, &to));
        }
        true => list(input, Some(&target), options),
        false => {
            options.telling = call.telling();
            extract(input, &target, options)
        }
    };
    let report = done.map_err(|error| match error.kind() {
        // The reference's words for one path fit better than those for two.
        ErrorKind::NotFound | ErrorKind::Denied => call.trouble(&error, "open", &to),
        _ => two_failed(call, &error, &from, &to),
    })?;
    Ok(answer(call, &report, dry))
}

/// What the caller asks for; how much it may be is the operator's word.
fn options<'a>(call: &Call<'_>) -> Result<Options<'a>, Trouble> {
    let mut options = Options::new();
    let most = call.server.archive_limit();
    options.limits.bytes = most;
    options.limits.file_size = options.limits.file_size.min(most);
    options.limits.time = Some(TIME);
    options.digest = true;
    // A session cannot promise that for a whole tree, and says so.
    options.durable = call.server.syncs();
    if call.flag("keepLinks") {
        options.links = LinkPolicy::Inside;
    }
    if call.flag("replace") {
        options.overwrite = Overwrite::Replace;
    }
    if call.flag("leaveOutRefused") {
        options.on_refusal = OnRefusal::LeaveOut;
    }
    let strip = call.count("stripComponents").unwrap_or(0);
    options.strip_components = usize::try_from(strip).unwrap_or(usize::MAX);
    for name in call.texts("only") {
        options.extract_only(name).map_err(|error| {
            let text = format!(
                "Input validation error: only: not a name in an archive: {}",
                error.detail()
            );
            Trouble::new(ErrorKind::Invalid, text)
        })?;
    }
    Ok(options)
}

/// Whether an extraction would be refused because of the destination's name alone.
fn is_taken(call: &Call<'_>, target: &Target<'_>, to: &RelPath) -> bool {
    !target.is_merged() && call.looking().metadata(to, LastLink::Itself).is_ok()
}

fn taken() -> handfast::Error {
    handfast::Error::refused(ErrorKind::Exists, "the destination is there already")
}

fn verb_of(kind: FileKind) -> Verb {
    match kind {
        FileKind::Dir => Verb::CreateDir,
        FileKind::Symlink => Verb::Symlink,
        _ => Verb::WriteNew,
    }
}

fn answer(call: &Call<'_>, report: &Report, dry: bool) -> ToolResult {
    let (from, to) = (call.text("source"), call.text("destination"));
    let accepted = report.verdicts.iter();
    let members = accepted
        .filter(|verdict| verdict.outcome == Outcome::Accepted)
        .count();
    let counted = match members {
        1 => "1 member".to_owned(),
        members => format!("{members} members"),
    };
    let mut text = match (report.trouble(), report.extracted, dry) {
        (_, true, true) => format!("{counted} from {from} can be extracted"),
        (_, true, false) => format!("Successfully extracted {counted} from {from} to {to}"),
        (Some((_, why)), false, _) => format!("Refused - {why}: {from}. Nothing was extracted."),
        (None, false, _) => format!("Nothing was extracted from {from}"),
    };
    let refused: Vec<Refused> = report
        .refused()
        .take(LISTED)
        .map(|(verdict, refusal)| told(Some(escape(&verdict.name)), refusal))
        .collect();
    for it in &refused {
        let name = it.name.as_deref().unwrap_or_default();
        text.push_str(&format!("\n- {name}: {} ({})", it.detail, it.rule));
    }
    let in_all = report.refused().count();
    if in_all > refused.len() {
        text.push_str(&format!("\n- and {} more", in_all - refused.len()));
    }
    let hex = |digest: &[u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let archive = Archive {
        extracted: report.extracted && !dry,
        format: report.format.map(handfast_archive::Format::name),
        sha256: report.digest.as_ref().map(hex),
        members,
        bytes: report.bytes,
        refusal: report.refusal.as_ref().map(|it| told(None, it)),
        refused,
        refused_in_all: in_all,
    };
    let failed = !report.extracted && !dry;
    let note = (archive.extracted).then(|| call.kept_apart()).flatten();
    ToolResult::text(text)
        .with_archive(archive, failed)
        .with_note(note)
}

fn told(name: Option<String>, refusal: &Refusal) -> Refused {
    Refused {
        name,
        rule: refusal.rule.name(),
        detail: refusal.detail.to_string(),
    }
}

/// The archive, read from its beginning to its end as long as somebody waits for the answer.
struct Waited<'a> {
    file: Box<dyn FileHandle>,
    call: &'a Call<'a>,
    at: u64,
}

impl Read for Waited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let so_far = usize::try_from(self.at >> 10).unwrap_or(usize::MAX);
        if self.call.is_cancelled(so_far) {
            return Err(io::Error::other("nobody waits for the answer any more"));
        }
        let got = self
            .file
            .read_at(buffer, self.at)
            .map_err(io::Error::from)?;
        self.at += got as u64;
        Ok(got)
    }
}
