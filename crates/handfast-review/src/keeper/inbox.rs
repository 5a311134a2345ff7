//! Requests that wait for a person, and the answers.

use std::time::{SystemTime, UNIX_EPOCH};

use handfast::{ErrorKind, FileKind};
use handfast_session::{Answer, AnsweredBy, Error, Grant, GrantScope, Inbox, Question};

use super::seal::{Seal, Sealing};
use super::watch::Looking;
use super::{Keeper, rfc3339};
use crate::protocol::{DoneView, GrantLine, InboxView, KeeperReply, QuestionLine};

/// So many questions that wait no more are remembered.
const MAX_ENDED: usize = 50;

/// What is known of questions that were shown.
#[derive(Debug, Default)]
pub(super) struct ShownQuestions {
    waiting: Vec<QuestionLine>,
    /// The newest first.
    ended: Vec<(QuestionLine, String)>,
}

impl Looking {
    fn inbox(&self, name: &str) -> Result<Inbox, Error> {
        match self.only.as_deref().is_some_and(|only| only != name) {
            true => Err(Error::refused(
                ErrorKind::Denied,
                "this page shows another session",
            )),
            false => self.catalogue.inbox(name),
        }
    }

    /// The requests that wait in a session.
    pub(super) fn waiting(&self, name: &str) -> Result<Vec<Question>, Error> {
        self.inbox(name)?.questions()
    }

    pub(super) fn inbox_stamp(&self) -> Result<String, Error> {
        let mut sealing = Sealing::new("inbox", "");
        for name in self.names()? {
            let seen = self.waiting(&name);
            let seen = seen.and_then(|waiting| Ok((waiting, self.inbox(&name)?.grants()?)));
            match seen {
                Ok((waiting, grants)) => {
                    for question in waiting {
                        sealing.text(question.digest.as_bytes());
                    }
                    for grant in grants {
                        sealing.text(grant.id.as_bytes());
                    }
                }
                Err(error) => sealing.text(error.detail().as_bytes()),
            }
        }
        Ok(sealing.done().as_str().to_owned())
    }
}

impl Keeper {
    pub(super) fn inbox(&mut self) -> Result<KeeperReply, Error> {
        let stamp = self.looking.inbox_stamp()?;
        let (mut waiting, mut grants, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for name in self.looking.names()? {
            let inbox = self.looking.inbox(&name);
            let seen = inbox.and_then(|inbox| Ok((inbox.questions()?, inbox.grants()?)));
            match seen {
                Ok((questions, kept)) => {
                    waiting.extend(questions.iter().map(|one| question_line(&name, one)));
                    grants.extend(kept.iter().map(|one| grant_line(&name, one)));
                }
                Err(error) => problems.push(format!("{name}: {}", error.detail())),
            }
        }
        for line in &waiting {
            self.remember(of_question(&line.session, &line.id, &line.digest));
        }
        for line in &grants {
            self.remember(of_grant(&line.session, &line.id));
        }
        self.questions.update(&waiting);
        Ok(KeeperReply::Inbox(Box::new(InboxView {
            waiting,
            ended: self.questions.ended.clone(),
            grants,
            problems,
            stamp,
        })))
    }

    /// Answers a question that was shown. The session that asks compares the object with the question
    /// once more, and denies if it is another.
    pub(super) fn answer_question(
        &mut self,
        name: &str,
        (id, digest): (&str, &str),
        yes: bool,
        scope: &str,
    ) -> Result<KeeperReply, Error> {
        self.require_sent(&of_question(name, id, digest))?;
        let known = GrantScope::ALL.into_iter();
        let scope = known.into_iter().find(|known| known.name() == scope);
        let scope = scope.ok_or_else(|| {
            Error::refused(ErrorKind::Invalid, "an answer is for once, file or session")
        })?;
        let by = AnsweredBy::Person(self.looking.caller.actor().to_owned());
        let answer = Answer { yes, scope, by };
        let question = self.looking.inbox(name)?.answer(digest, &answer);
        let question = question.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::refused(
                ErrorKind::Stale,
                "the request does not wait any more: it was answered, given up, or timed out",
            ),
            _ => error,
        })?;
        let words = match yes {
            true => "Allowed",
            false => "Denied",
        };
        self.questions.end(
            digest,
            &format!("{} here, {}", words.to_lowercase(), scope.name()),
        );
        Ok(KeeperReply::Done(DoneView {
            session: name.to_owned(),
            sentence: match yes {
                true => format!(
                    "{words}: {}, if it is still what was shown.",
                    question.sentence()
                ),
                false => format!("{words}: {}.", question.sentence()),
            },
            paths: Vec::new(),
            conflicts: Vec::new(),
            notes: Vec::new(),
        }))
    }

    /// Takes an answer back that was shown.
    pub(super) fn take_back(&mut self, name: &str, id: &str) -> Result<KeeperReply, Error> {
        self.require_sent(&of_grant(name, id))?;
        let by = AnsweredBy::Person(self.looking.caller.actor().to_owned());
        self.looking.inbox(name)?.take_back(id, &by)?;
        // It is taken back. Where the log is another's for the moment, that one records it later.
        let notes = match self.record_taken_back(name) {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!(
                "It is not in the log yet, and will be once the session is used with one: {}.",
                error.detail()
            )],
        };
        Ok(KeeperReply::Done(DoneView {
            session: name.to_owned(),
            sentence: "The answer is taken back. What was opened because of it stays open."
                .to_owned(),
            paths: Vec::new(),
            conflicts: Vec::new(),
            notes,
        }))
    }

    fn record_taken_back(&self, name: &str) -> Result<(), Error> {
        if self.begin.is_none() {
            return Ok(());
        }
        let (_log, session) = self.open_to_change(name)?;
        session.record_taken_back()
    }
}

impl ShownQuestions {
    /// What waits now; what waited before and does not has ended.
    fn update(&mut self, waiting: &[QuestionLine]) {
        let is_waiting =
            |line: &QuestionLine| waiting.iter().any(|other| other.digest == line.digest);
        let (_, gone): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_waiting);
        for line in gone {
            let words = match now() >= line.until {
                true => "timed out: denied",
                false => "answered elsewhere, or given up",
            };
            self.push(line, words.to_owned());
        }
        self.waiting = waiting.to_vec();
    }

    fn end(&mut self, digest: &str, words: &str) {
        if let Some(at) = self.waiting.iter().position(|line| line.digest == digest) {
            let line = self.waiting.remove(at);
            self.push(line, words.to_owned());
        }
    }

    fn push(&mut self, line: QuestionLine, words: String) {
        self.ended.insert(0, (line, words));
        self.ended.truncate(MAX_ENDED);
    }
}

fn of_question(session: &str, id: &str, digest: &str) -> Seal {
    let mut sealing = Sealing::new("question", session);
    sealing.text(id.as_bytes());
    sealing.text(digest.as_bytes());
    sealing.done()
}

fn of_grant(session: &str, id: &str) -> Seal {
    let mut sealing = Sealing::new("grant", session);
    sealing.text(id.as_bytes());
    sealing.done()
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

fn question_line(session: &str, question: &Question) -> QuestionLine {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    match &question.object {
        None => fact("object", "does not exist yet".to_owned()),
        Some(object) => {
            fact("kind", object.kind.to_string());
            if object.kind == FileKind::File {
                fact("size", format!("{} bytes", object.size));
            }
            let (device, inode) = object.identity;
            fact("identity", format!("device {device}, inode {inode}"));
            match object.sha256() {
                Some(digest) => fact("SHA-256", digest),
                None if object.kind != FileKind::File => {}
                None => fact("content", "known by size and times only".to_owned()),
            }
            if let Some(target) = &object.target {
                fact("target", handfast::escape(target));
            }
        }
    }
    let until = question
        .asked
        .saturating_add(question.waits.saturating_mul(1_000_000));
    QuestionLine {
        session: session.to_owned(),
        id: question.id.clone(),
        digest: question.digest.clone(),
        sentence: question.sentence(),
        // A program chose it.
        caller: match question.caller.as_str() {
            "" => "a program".to_owned(),
            caller => handfast::escape(caller.as_bytes()),
        },
        rule: question.rule.to_string(),
        facts,
        asked: rfc3339(question.asked),
        until,
        ends: rfc3339(until),
    }
}

fn grant_line(session: &str, grant: &Grant) -> GrantLine {
    let yes = if grant.yes { "allowed" } else { "denied" };
    let about = match grant.scope {
        GrantScope::Session => format!("everything that `{}` asks about", grant.pattern),
        _ => grant.path.to_string(),
    };
    GrantLine {
        session: session.to_owned(),
        id: grant.id.clone(),
        words: format!(
            "{yes} for the {}: {about} (by {})",
            grant.scope.name(),
            handfast::escape(grant.by.as_bytes())
        ),
    }
}
