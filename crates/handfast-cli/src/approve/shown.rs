//! Questions and kept answers, for people and programs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use handfast::escape;
use handfast_session::{Access, Grant, Inbox, Question, VirtualPath};

use crate::failure::Failure;
use crate::fs::answer::{PrintResult, Printable};
use crate::json::JsonObject;
use crate::output::{self, Output};
use crate::session::failed;

/// Questions that wait, with the names of their sessions.
pub(super) struct Questions(pub(super) Vec<(String, Question)>);

impl Printable for Questions {
    fn fields(&self) -> JsonObject {
        let all = self.0.iter().map(|(session, one)| fields(session, one));
        JsonObject::new().with("questions", output::list(all))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.0.is_empty() {
            out.note("note: nothing waits for an answer");
        }
        for (session, question) in &self.0 {
            for line in lines(session, question) {
                out.line(&line);
            }
        }
        Ok(())
    }
}

fn fields(session: &str, question: &Question) -> JsonObject {
    let mut fields = JsonObject::new()
        .with("session", session)
        .with("id", question.id.as_str())
        .with("digest", question.digest.as_str())
        .with("verb", question.verb.as_str())
        .with("access", access(question.access))
        .with_bytes("path", &bytes(&question.path))
        .with("rule", question.rule.to_string())
        .with("caller", question.caller.as_str())
        .with("seconds_left", left(question).as_secs());
    if let Some(other) = &question.other {
        fields = fields.with_bytes("other_path", &bytes(other));
    }
    let object = question.object.as_ref().map(|object| {
        let mut fields = JsonObject::new()
            .with("kind", object.kind.name())
            .with("size", object.size)
            .with("dev", object.identity.0)
            .with("ino", object.identity.1)
            .with("version", object.version.clone())
            .with("sha256", object.sha256());
        if let Some(target) = &object.target {
            fields = fields.with_bytes("target", target);
        }
        fields
    });
    match object {
        Some(object) => fields.with("object", object),
        None => fields.with("object", None::<String>),
    }
}

/// A question as a person reads it. Everything that a program chose is escaped.
pub(super) fn lines(session: &str, question: &Question) -> Vec<String> {
    let caller = match question.caller.as_str() {
        "" => "a program".to_owned(),
        caller => escape(caller.as_bytes()),
    };
    let mut lines = vec![format!(
        "{}  {caller} in `{session}` wants to {}",
        question.id,
        question.sentence()
    )];
    let object = match &question.object {
        None => "nothing is there yet".to_owned(),
        Some(object) => {
            let target = object
                .target
                .as_ref()
                .map(|target| format!(" to {}", escape(target)));
            let digest = match object.sha256() {
                Some(digest) => format!(", SHA-256 {digest}"),
                None => String::new(),
            };
            let size = match object.kind {
                handfast::FileKind::File => format!(", {} bytes", object.size),
                _ => String::new(),
            };
            let target = target.unwrap_or_default();
            format!("{}{target}{size}{digest}", object.kind)
        }
    };
    lines.push(format!("    {object}"));
    lines.push(format!(
        "    {}; denied in {} s",
        question.rule,
        left(question).as_secs()
    ));
    lines
}

fn left(question: &Question) -> Duration {
    let asked = UNIX_EPOCH + Duration::from_nanos(question.asked);
    let gone = SystemTime::now().duration_since(asked).unwrap_or_default();
    Duration::from_millis(question.waits).saturating_sub(gone)
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Change => "change",
    }
}

fn bytes(path: &VirtualPath) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend_from_slice(path.as_rel().as_bytes());
    text
}

/// Answers that are kept, with the names of their sessions.
pub(super) struct Grants(Vec<(String, Grant)>);

impl Grants {
    pub(super) fn read(inboxes: &[(String, Inbox)]) -> PrintResult {
        let mut all = Vec::new();
        for (name, inbox) in inboxes {
            let grants = inbox.grants();
            let grants =
                grants.map_err(|error| failed("approve", "open the session", name, &error))?;
            all.extend(grants.into_iter().map(|grant| (name.clone(), grant)));
        }
        Ok(Box::new(Self(all)))
    }
}

impl Printable for Grants {
    fn fields(&self) -> JsonObject {
        let all = self.0.iter().map(|(session, grant)| {
            JsonObject::new()
                .with("session", session.as_str())
                .with("id", grant.id.as_str())
                .with("yes", grant.yes)
                .with("for", grant.scope.name())
                .with("access", access(grant.access))
                .with_bytes("path", &bytes(&grant.path))
                .with("pattern", grant.pattern.as_str())
                .with("by", grant.by.as_str())
        });
        JsonObject::new().with("grants", output::list(all))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.0.is_empty() {
            out.note("note: no answer holds for more than one request");
        }
        for (session, grant) in &self.0 {
            let word = if grant.yes { "allowed" } else { "denied" };
            let what = match grant.scope {
                handfast_session::GrantScope::Session => {
                    format!("`{}`", escape(grant.pattern.as_bytes()))
                }
                _ => grant.path.to_string(),
            };
            out.line(&format!(
                "{}  {word} in `{session}`: {} {what}, by {}",
                grant.id,
                access(grant.access),
                escape(grant.by.as_bytes())
            ));
        }
        Ok(())
    }
}
