//! A report as data, and as lines for people.

use handfast::{ErrorKind, escape};
use handfast_archive::{MemberVerdict, Outcome, Refusal, Report};

use crate::failure::Failure;
use crate::fs::answer::Printable;
use crate::fs::asked::Asked;
use crate::fs::write::bytes;
use crate::json::{Json, JsonObject};
use crate::output::{self, Output};

/// What the answer is about.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum About {
    /// What was done.
    Extracted,
    /// What would be.
    Listed,
}

/// The answer of `extract` and `list-archive`.
pub(super) struct RecordedReport {
    about: About,
    fields: JsonObject,
    report: Report,
    troubles: Vec<Failure>,
    to: String,
}

impl RecordedReport {
    pub(super) fn new(asked: &Asked<'_>, report: Report, about: About, to: String) -> Self {
        Self {
            about,
            fields: asked.fields(),
            troubles: trouble(asked, &report).into_iter().collect(),
            report,
            to,
        }
    }

    fn line(&self, verdict: &MemberVerdict) -> Option<String> {
        let name = escape(&verdict.name);
        let refused = match &verdict.outcome {
            Outcome::Refused(refusal) => refusal,
            _ if self.about == About::Extracted => return None,
            outcome => {
                let word = match outcome {
                    Outcome::Accepted => "accepted",
                    _ => "left out",
                };
                let target = match verdict.target.is_empty() {
                    true => String::new(),
                    false => format!(" -> {}", escape(&verdict.target)),
                };
                let kind = verdict.kind.name();
                return Some(format!(
                    "{word}  {kind:9} {:>10}  {name}{target}",
                    verdict.size
                ));
            }
        };
        Some(format!("refused   {name}: {refused}"))
    }
}

/// Why not everything of the archive was or would be extracted.
fn trouble(asked: &Asked<'_>, report: &Report) -> Option<Failure> {
    let (kind, detail) = report.trouble()?;
    let mut failure = *asked.refused(kind, &detail);
    if report.extracted {
        let some = "cannot extract all of ";
        failure.sentence = failure.sentence.replacen("cannot extract ", some, 1);
    }
    failure.hints = hint(kind).map(str::to_owned).into_iter().collect();
    Some(failure)
}

/// What a person can do about it.
fn hint(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Link => Some("`--keep-links` makes links that stay inside"),
        ErrorKind::Limit => Some("limits are options: see `--help`"),
        ErrorKind::Exists => Some("`--replace` and `--names any` are less strict about names"),
        _ => None,
    }
}

impl Printable for RecordedReport {
    fn fields(&self) -> JsonObject {
        let report = &self.report;
        let digest = report.digest.map(|digest| {
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            hex
        });
        let fields = self
            .fields
            .clone()
            .with("format", report.format.map(handfast_archive::Format::name))
            .with(
                "extracted",
                report.extracted && self.about == About::Extracted,
            )
            .with("acceptable", report.extracted)
            .with("bytes", report.bytes)
            .with("refusal", report.refusal.as_ref().map(refusal_json));
        let fields = match digest {
            Some(digest) => fields.with("sha256", digest),
            None => fields,
        };
        fields.with(
            "entries",
            output::list(report.verdicts.iter().map(verdict_json)),
        )
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for verdict in &self.report.verdicts {
            if let Some(line) = self.line(verdict) {
                out.line(&line);
            }
        }
        if let Some(digest) = self.report.digest {
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            out.line(&format!("sha256 {hex}"));
        }
        if self.about == About::Extracted && self.report.extracted {
            let accepted = self.report.verdicts.iter();
            let count = accepted
                .filter(|it| it.outcome == Outcome::Accepted)
                .count();
            out.note(&format!(
                "extracted {} with {} to `{}`",
                crate::width::counted(count as u64, "member"),
                bytes(self.report.bytes),
                self.to
            ));
        }
        Ok(())
    }

    fn troubles(&self) -> &[Failure] {
        &self.troubles
    }
}

fn refusal_json(refusal: &Refusal) -> JsonObject {
    JsonObject::new()
        .with("rule", refusal.rule.name())
        .with("detail", refusal.detail.as_ref())
}

fn verdict_json(verdict: &MemberVerdict) -> JsonObject {
    let (word, refusal) = match &verdict.outcome {
        Outcome::Accepted => ("accepted", None),
        Outcome::LeftOut => ("left-out", None),
        Outcome::Refused(refusal) => ("refused", Some(refusal_json(refusal))),
    };
    let mut object = JsonObject::new().with_bytes("name", &verdict.name);
    if let Some(path) = &verdict.path {
        object = object.with_bytes("path", path.as_bytes());
    }
    object = object
        .with("type", verdict.kind.name())
        .with("size", verdict.size)
        .with("mode", verdict.mode.map(|mode| format!("{mode:04o}")));
    if !verdict.target.is_empty() {
        object = object.with_bytes("target", &verdict.target);
    }
    object = object.with("outcome", word);
    match refusal {
        Some(refusal) => object.with("refusal", Json::from(refusal)),
        None => object,
    }
}
