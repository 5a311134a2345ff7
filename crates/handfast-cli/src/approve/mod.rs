//! `handfast approve`: answer what programs in a session ask.

pub(crate) mod inside;
mod prompt;
mod shown;

use std::time::Duration;

use clap::{Args, ValueEnum};
use handfast_session::{Answer, AnsweredBy, Catalogue, GrantScope, Inbox, Question};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::fs::answer::{self, Done, PrintResult};
use crate::json::JsonObject;
use crate::log::LogChoice;
use crate::output::{Form, Output};
use crate::session::{StateArgs, failed};
use shown::{Grants, Questions};

/// How often a terminal that waits looks for new questions.
const LOOK: Duration = Duration::from_millis(200);

/// Answer programs that ask before they open or change a file
///
/// Rules that say `ask` make a request wait. Without an option, the questions of all sessions are
/// listed, and asked one after the other on a terminal. An answer is taken from a terminal outside
/// of any run only: not from the program that asks, not from what it started, and not from its
/// terminal.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast approve
  handfast approve review --wait
  handfast approve review --yes 4f1d22c07a9be310 --for file
  handfast approve review --grants"
))]
#[command(group(clap::ArgGroup::new("an answer").args(["yes", "deny"]).multiple(true)))]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    state: StateArgs,

    /// Allow the request of this ID or digest
    #[arg(long, value_name = "ID", conflicts_with_all = ["deny", "grants", "take_back", "wait"])]
    yes: Vec<String>,

    /// Deny the request of this ID or digest
    #[arg(long, value_name = "ID", conflicts_with_all = ["grants", "take_back", "wait"])]
    deny: Vec<String>,

    /// What the answer holds for: this request, this file, or all that its pattern matches
    #[arg(long = "for", value_name = "SCOPE", value_enum, default_value_t = AnswerScope::Once, requires = "an answer")]
    scope: AnswerScope,

    /// List the answers that hold for more than one request
    #[arg(long, conflicts_with_all = ["take_back", "wait"])]
    grants: bool,

    /// Take back the answer to the question of this ID
    #[arg(long, value_name = "ID", conflicts_with = "wait")]
    take_back: Option<String>,

    /// Record at once in this log that it was taken back; else the next process with a log does
    #[arg(long, value_name = "DIR", requires = "take_back")]
    log: Option<std::ffi::OsString>,

    /// Go on waiting for questions, on a terminal, until it is interrupted; sessions that are made later are not looked at
    #[arg(long)]
    wait: bool,

    /// The session; all of them if it is left out
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AnswerScope {
    /// This request
    Once,
    /// This file, under this path
    File,
    /// All that the same pattern matches, in this session
    Session,
}

impl From<AnswerScope> for GrantScope {
    fn from(scope: AnswerScope) -> Self {
        match scope {
            AnswerScope::Once => Self::Once,
            AnswerScope::File => Self::File,
            AnswerScope::Session => Self::Session,
        }
    }
}

impl ApproveArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        match self.answered(out) {
            Ok(mut said) => answer::print(&mut *said, out),
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn answered(&self, out: &mut Output) -> PrintResult {
        inside::refuse("approve", &self.tried())?;
        let inboxes = self.inboxes()?;
        if !self.yes.is_empty() || !self.deny.is_empty() {
            return self.answer_named(&inboxes);
        }
        if let Some(id) = &self.take_back {
            return self.take_back(&inboxes, id);
        }
        if self.grants {
            return Grants::read(&inboxes);
        }
        if prompt::is_possible(out) {
            return prompt::ask(&inboxes, self.wait, out);
        }
        if self.wait {
            let why =
                "there is no terminal to ask on; list them, and give `--yes ID` or `--deny ID`";
            return Err(crate::session::misused(
                "approve",
                "wait for questions",
                why,
            ));
        }
        Ok(Box::new(Questions(waiting(&inboxes)?)))
    }

    /// What is tried, for the log of a run that this process is in.
    fn tried(&self) -> String {
        let what = [
            ("yes", self.yes.first()),
            ("no", self.deny.first()),
            ("take-back", self.take_back.as_ref()),
        ];
        let given = what.into_iter().find_map(|(what, id)| Some((what, id?)));
        given.map_or_else(|| "look".to_owned(), |(what, id)| format!("{what}-{id}"))
    }

    /// The inboxes that are looked at, with the names of their sessions.
    fn inboxes(&self) -> Result<Vec<(String, Inbox)>, Box<Failure>> {
        let Some(catalogue) = self.state.existing("approve")? else {
            return match &self.name {
                Some(name) => Err(no_session(name)),
                None => Ok(Vec::new()),
            };
        };
        let names = match &self.name {
            Some(name) => vec![name.clone()],
            None => catalogue
                .list()
                .map_err(|error| failed("approve", "list the sessions", "", &error))?,
        };
        let open = |catalogue: &Catalogue, name: String| {
            let inbox = catalogue.inbox(&name);
            let inbox = inbox.map_err(|error| match error.kind() {
                handfast::ErrorKind::NotFound => no_session(&name),
                _ => failed("approve", "open the session", &name, &error),
            })?;
            Ok((name, inbox))
        };
        names
            .into_iter()
            .map(|name| open(&catalogue, name))
            .collect()
    }

    fn answer_named(&self, inboxes: &[(String, Inbox)]) -> PrintResult {
        let wanted = self.yes.iter().map(|id| (id, true));
        let wanted = wanted.chain(self.deny.iter().map(|id| (id, false)));
        let mut lines = Vec::new();
        let mut answered = Vec::new();
        for (id, yes) in wanted {
            let question = give(inboxes, id, yes, self.scope.into())?;
            let word = if yes { "allowed" } else { "denied" };
            lines.push(format!("{word}: {}", question.sentence()));
            answered.push(
                JsonObject::new()
                    .with("id", question.id.as_str())
                    .with("yes", yes)
                    .with("for", GrantScope::from(self.scope).name()),
            );
        }
        let fields = JsonObject::new().with("answered", crate::output::list(answered));
        Done::answer(fields, lines.join("\n"))
    }
}

impl ApproveArgs {
    /// Takes an answer back. With a log it is an event there at once; without one it is an event in the
    /// log of the next process that uses the session with one.
    fn take_back(&self, inboxes: &[(String, Inbox)], id: &str) -> PrintResult {
        for (session, inbox) in inboxes {
            match inbox.take_back(id, &me()) {
                Err(error) if error.kind() == handfast::ErrorKind::NotFound => {}
                Ok(()) => {
                    // It is taken back, whatever becomes of the log.
                    let recorded = self.record_taken_back(session);
                    let fields = JsonObject::new()
                        .with("taken_back", id)
                        .with("recorded", self.log.is_some() && recorded.is_ok());
                    let words = match recorded {
                        Ok(()) => "the next request asks again".to_owned(),
                        Err(failure) => format!(
                            "the next request asks again; this is not in the log yet, and will be once the \
                             session is used with one: {}",
                            failure.detail
                        ),
                    };
                    return Done::answer(fields, words);
                }
                Err(error) => return Err(failed("approve", "take back", id, &error)),
            }
        }
        let why = "no answer to such a question is kept; `handfast approve --grants` lists them";
        let error = handfast::Error::refused(handfast::ErrorKind::NotFound, why);
        Err(failed("approve", "take back", id, &error))
    }

    fn record_taken_back(&self, name: &str) -> Result<(), Box<Failure>> {
        let Some(dir) = &self.log else {
            return Ok(());
        };
        let (opening, recording) = LogChoice::of(dir.clone()).open_session("approve")?;
        let session = self.state.open_with("approve", name, opening)?;
        let recorded = session.record_taken_back();
        drop(session);
        if let Some(recording) = recording {
            recording.finish("approve", &mut Output::new(Form::Words, false));
        }
        recorded.map_err(|error| failed("approve", "record what was taken back in", name, &error))
    }
}

/// Who answers at this terminal.
fn me() -> AnsweredBy {
    let user = std::env::var("USER").unwrap_or_else(|_| "approve".to_owned());
    AnsweredBy::Person(handfast::escape(user.as_bytes()))
}

/// Gives an answer in the session whose question it is.
fn give(
    inboxes: &[(String, Inbox)],
    id: &str,
    yes: bool,
    scope: GrantScope,
) -> Result<Question, Box<Failure>> {
    let given = Answer {
        yes,
        scope,
        by: me(),
    };
    for (_, inbox) in inboxes {
        match inbox.answer(id, &given) {
            Err(error) if error.kind() == handfast::ErrorKind::NotFound => {}
            answered => {
                return answered.map_err(|error| failed("approve", "answer", id, &error));
            }
        }
    }
    let why = "no question with this ID waits; `handfast approve` lists those that do";
    let error = handfast::Error::refused(handfast::ErrorKind::NotFound, why);
    Err(failed("approve", "answer", id, &error))
}

/// All questions, with the names of their sessions.
fn waiting(inboxes: &[(String, Inbox)]) -> Result<Vec<(String, Question)>, Box<Failure>> {
    let mut all = Vec::new();
    for (name, inbox) in inboxes {
        let questions = inbox.questions();
        let questions =
            questions.map_err(|error| failed("approve", "open the session", name, &error))?;
        all.extend(questions.into_iter().map(|one| (name.clone(), one)));
    }
    Ok(all)
}

fn no_session(name: &str) -> Box<Failure> {
    let why = format!(
        "there is no session `{}`",
        handfast::escape(name.as_bytes())
    );
    let error = handfast::Error::refused(handfast::ErrorKind::NotFound, why);
    let mut failure = failed("approve", "open the session", name, &error);
    let hint = "`handfast session list` shows which there are";
    failure.hints.push(hint.to_owned());
    failure
}
