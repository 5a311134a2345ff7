//! An archive is read, judged, written into a staging tree, and published.

use std::collections::HashSet;
use std::io::{Cursor, Read};

use handfast::{Error, RelPath};

use crate::events::Story;
use crate::existing::Existing;
use crate::input::{Input, beginning};
use crate::judge::{Judge, Judged};
use crate::limits::Meter;
use crate::member::{Member, MemberKind};
use crate::options::{OnRefusal, Options, Progress};
use crate::reader::Reader;
use crate::refusal::Rule;
use crate::report::{Format, MemberVerdict, Outcome, Report};
use crate::source::Source;
use crate::stage::Stage;
use crate::stop::Stop;
use crate::tar::Tar;
use crate::target::Target;
use crate::unpack::{self, MAGIC, format_of};
use crate::zip::{Spool, Zip};

/// What a zip may be larger than its content: headers and a directory.
const ROOM_FOR_HEADERS: u64 = 64 << 20;

/// Extracts an archive. What is refused, and why, is in the report: an archive that is refused is no error
/// and leaves nothing.
///
/// # Errors
/// `Exists` if a new directory's name is taken; `Raced` if another process changed the directory that is merged into; `Io` if the archive cannot be read; what stops the target from
/// being written. Nothing is left then, unless the error's effect says otherwise.
///
/// # Security
/// Nothing is written outside the staging tree, whatever the archive says and whatever other processes do
/// to it meanwhile; the tree gets its name, or is merged, only after the last byte of the archive was judged.
pub fn extract(
    input: Input<'_>,
    target: &Target<'_>,
    options: Options<'_>,
) -> Result<Report, Error> {
    let stage = Stage::begin(target, &options)?;
    run(input, Some(target), Some(stage), options)
}

/// Judges an archive and writes nothing. With a target, the target's own rules are asked too.
///
/// # Errors
/// `Io` if the archive cannot be read.
pub fn list(
    input: Input<'_>,
    target: Option<&Target<'_>>,
    options: Options<'_>,
) -> Result<Report, Error> {
    run(input, target, None, options)
}

fn run(
    input: Input<'_>,
    target: Option<&Target<'_>>,
    stage: Option<Stage<'_>>,
    options: Options<'_>,
) -> Result<Report, Error> {
    let top = target.map_or_else(RelPath::root, |target| target.path.clone());
    let policy = target.and_then(|target| target.judge);
    let existing = match target {
        Some(target) => Existing::of(target)?,
        None => None,
    };
    let story = match (target, options.telling) {
        (Some(target), Some(telling)) if stage.is_some() => Some(Story::new(telling, target)?),
        _ => None,
    };
    let mut run = Extraction {
        meter: Meter::new(options.limits),
        judge: Judge::new(options.names, policy, top, existing),
        options,
        stage,
        story,
        report: Report::new(),
    };
    match run.read(input).and_then(|()| Ok(run.end()?)) {
        Ok(()) => {}
        Err(Stop::Refused(refusal)) => run.report.refusal = Some(refusal),
        Err(Stop::Failed(error)) => {
            if let Some(story) = run.story.take() {
                // What went wrong first is what the caller should know.
                drop(story.refuse(&run.report, error.kind(), error.detail().into()));
            }
            return Err(*error);
        }
    }
    if let (Some(story), Some((kind, why))) = (run.story.take(), run.report.trouble()) {
        story.refuse(&run.report, kind, why)?;
    }
    run.report.bytes = run.meter.bytes;
    Ok(run.report)
}

struct Extraction<'a, 'o> {
    meter: Meter,
    judge: Judge<'a>,
    options: Options<'o>,
    /// Gone as soon as nothing will be extracted.
    stage: Option<Stage<'a>>,
    /// Taken as soon as its result was recorded.
    story: Option<Story<'a>>,
    report: Report,
}

impl Extraction<'_, '_> {
    fn read(&mut self, input: Input<'_>) -> Result<(), Stop> {
        let Input {
            mut stream,
            scratch,
        } = input;
        let start = beginning(&mut *stream, MAGIC).map_err(|error| Stop::unreadable(&error))?;
        let Some(format) = format_of(&start) else {
            return Err(Stop::refused(
                Rule::Format,
                "it is neither a zip nor a tar (plain, gzip, bzip2, xz or zstd)",
            ));
        };
        self.report.format = Some(format);
        let mut whole: Box<dyn Read + '_> = Box::new(Cursor::new(start).chain(stream));
        let limits = self.options.limits;
        let digest = self.options.digest || self.story.is_some();
        if format == Format::Zip {
            let most = limits.bytes.saturating_add(ROOM_FOR_HEADERS);
            let spool = Spool::fill(&mut *whole, scratch, digest, most)?;
            self.members(&mut Zip::new(&spool, limits)?)?;
            self.report.digest = spool.digest;
            return Ok(());
        }
        let mut source = Source::new(whole, digest, limits, |raw| {
            unpack::decoder(format, raw, &limits)
        });
        self.members(&mut Tar::new(&mut source, limits))?;
        self.report.digest = source.digest();
        Ok(())
    }

    fn members(&mut self, reader: &mut dyn Reader) -> Result<(), Stop> {
        while let Some(member) = reader.next()? {
            self.meter
                .member(member.name.len() + member.target.len(), member.size)?;
            let number = self.report.verdicts.len();
            let judged = self.judge.judge(number, &member, &self.options);
            self.meter.tree(self.judge.size())?;
            if matches!(judged.outcome, Outcome::Refused(_))
                && self.options.on_refusal == OnRefusal::RefuseAll
            {
                // The rest is only judged: the list of verdicts is whole, and nothing is left.
                self.stage = None;
            }
            if judged.outcome == Outcome::Accepted {
                self.write(&member, &judged, reader)?;
            }
            self.told(member, judged);
        }
        Ok(())
    }

    fn write(
        &mut self,
        member: &Member,
        judged: &Judged,
        reader: &mut dyn Reader,
    ) -> Result<(), Stop> {
        let Some(path) = &judged.path else {
            return Ok(());
        };
        match (&mut self.stage, member.kind) {
            (Some(stage), MemberKind::Dir) => stage.dir(path, member)?,
            (Some(stage), MemberKind::Symlink) => stage.symlink(path, &member.target),
            (Some(stage), MemberKind::HardLink) => {
                if let Some(source) = &judged.source {
                    stage.hard_link(source, path)?;
                }
            }
            (_, MemberKind::File) => self.content(path, member, reader)?,
            _ => {}
        }
        Ok(())
    }

    /// The content of a file, written or only judged.
    fn content(
        &mut self,
        path: &RelPath,
        member: &Member,
        reader: &mut dyn Reader,
    ) -> Result<(), Stop> {
        let mut content = match &mut self.stage {
            Some(stage) => Some(stage.file(path, member)?),
            None => None,
        };
        loop {
            let piece = reader.content()?;
            if piece.is_empty() {
                break;
            }
            if let Some(content) = &mut content {
                content.write(piece)?;
            }
            self.meter.content(piece.len())?;
            self.progress();
        }
        if let (Some(stage), Some(content)) = (&mut self.stage, content) {
            stage.end_file(path, content)?;
        }
        Ok(())
    }

    fn told(&mut self, member: Member, judged: Judged) {
        self.report.verdicts.push(MemberVerdict {
            name: member.name,
            path: judged.path,
            kind: member.kind,
            size: member.size,
            mode: member.mode,
            target: member.target,
            outcome: judged.outcome,
        });
        self.progress();
    }

    fn progress(&mut self) {
        if let Some(progress) = &mut self.options.progress {
            progress(Progress {
                entries: self.meter.entries,
                bytes: self.meter.bytes,
            });
        }
    }

    /// Everything was read: judges the links, and publishes.
    fn end(&mut self) -> Result<(), Error> {
        let mut refused_links = HashSet::new();
        for (number, refusal) in self.judge.judge_links() {
            let verdict = &mut self.report.verdicts[number];
            verdict.outcome = Outcome::Refused(refusal);
            refused_links.extend(verdict.path.clone());
        }
        let is_refused = self.report.refused().next().is_some();
        if is_refused && self.options.on_refusal == OnRefusal::RefuseAll {
            self.stage = None;
            return Ok(());
        }
        if let Some(stage) = self.stage.take() {
            if let Some(story) = &mut self.story {
                story.intend(&self.report)?;
            }
            let published = stage.publish(|link| !refused_links.contains(link));
            match self.story.take() {
                Some(story) => story.end(published)?,
                None => published?,
            }
        }
        self.report.extracted = true;
        Ok(())
    }
}
