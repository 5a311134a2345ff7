//! Where a rule says `ask`: the call waits until a person answers.
//!
//! `handfast approve` answers, and the review page. If the operator started the server with `--trust-client-approval`
//! and the client can ask the person in front of it, that person can answer there as well: the answer holds for the one request,
//! never longer, and another answer ends the question in the client. What nobody answers is refused, and the
//! answer names the question.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use handfast_session::{Access, Answer, AnsweredBy, Asker, GrantScope, Question};
use serde_json::{Value, json};

use crate::call::{Line, Person};
use crate::server::Server;
use crate::trouble::Trouble;
use crate::view::ClientView;

/// A question that the client is asked, and whether it is over.
type Asked = (Question, Arc<AtomicBool>);

/// The questions of one call.
pub(crate) struct CallAsker {
    line: Option<Arc<dyn Line>>,
    /// Where questions go that the client is asked.
    client: Mutex<Option<mpsc::Sender<Asked>>>,
    /// The last question, and whether it is over.
    last: Mutex<Option<(String, Arc<AtomicBool>)>>,
}

impl CallAsker {
    pub(crate) fn new(line: Option<Arc<dyn Line>>) -> Self {
        Self {
            line,
            client: Mutex::new(None),
            last: Mutex::new(None),
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<(String, Arc<AtomicBool>)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> MutexGuard<'_, Option<mpsc::Sender<Asked>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the question in the answer to a call that was refused because of it.
    pub(crate) fn name_question(&self, mut trouble: Trouble, session: Option<&str>) -> Trouble {
        if let (Some((id, _)), Some(session)) = (&*self.last(), session)
            && trouble.kind == handfast::ErrorKind::Denied
        {
            trouble.text.push_str(&format!(
                " [A person was asked; this was question {id}. While a call waits, `handfast approve {session}` shows and answers its question.]"
            ));
        }
        trouble
    }
}

impl Asker for CallAsker {
    fn asked(&self, question: &Question) {
        let over = Arc::<AtomicBool>::default();
        *self.last() = Some((question.id.clone(), Arc::clone(&over)));
        if let Some(line) = &self.line {
            line.pause();
        }
        if let Some(client) = &*self.client() {
            // Nobody listens once the call is over.
            drop(client.send((question.clone(), over)));
        }
    }

    fn ended(&self, _question: &Question) {
        if let Some((_, over)) = &*self.last() {
            over.store(true, Ordering::Relaxed);
        }
        if let Some(line) = &self.line {
            line.resume();
        }
    }

    fn is_gone(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.is_gone())
    }

    fn barred(&self) -> Vec<u32> {
        let process = self.line.as_ref().and_then(|line| line.client_process());
        process.into_iter().collect()
    }
}

/// Runs a call, whose questions the person in front of the client can answer meanwhile.
pub(crate) fn with_client<T>(
    asker: &CallAsker,
    (server, person): (&Server, &dyn Person),
    (client, view): (&str, &ClientView),
    act: impl FnOnce() -> T,
) -> T {
    /// The call is done, or panicked: nothing is asked any more.
    struct Close<'a>(&'a CallAsker);
    impl Drop for Close<'_> {
        fn drop(&mut self) {
            *self.0.client() = None;
        }
    }
    let (sender, questions) = mpsc::channel::<Asked>();
    std::thread::scope(|scope| {
        // Without another thread the question waits for `handfast approve`.
        let spawned = std::thread::Builder::new()
            .name("ask".to_owned())
            .stack_size(1 << 20)
            .spawn_scoped(scope, move || {
                for (question, over) in questions {
                    ask_client(server, person, (client, view), (&question, &over));
                }
            });
        if spawned.is_ok() {
            *asker.client() = Some(sender);
        }
        let _close = Close(asker);
        act()
    })
}

/// Asks the person in front of the client, and hands the answer on.
fn ask_client(
    server: &Server,
    person: &dyn Person,
    (client, view): (&str, &ClientView),
    (question, over): (&Question, &AtomicBool),
) {
    let params = form(question, client, view);
    let said = person.ask_until("elicitation/create", &params, over);
    let Some(yes) = said.and_then(|said| decision(&said)) else {
        return;
    };
    let answer = Answer {
        yes,
        scope: GrantScope::Once,
        by: AnsweredBy::Face(format!("the person at {client}")),
    };
    if let Some(inbox) = server.session().inbox() {
        // Somebody else answered first, or nobody waits any more: the session decides that.
        drop(inbox.answer(&question.digest, &answer));
    }
}

/// The question, and the form for its answer.
fn form(question: &Question, client: &str, view: &ClientView) -> Value {
    let name = view.name_of(&question.path);
    let what = match question.access {
        Access::Read => "read".to_owned(),
        Access::Change => format!("change ({})", question.verb),
    };
    let other = match &question.other {
        Some(other) => format!(", with {}", view.name_of(other)),
        None => String::new(),
    };
    let object = match &question.object {
        Some(object) => format!("a {} of {} bytes", object.kind, object.size),
        None => "not there yet".to_owned(),
    };
    let client = handfast::escape(client.as_bytes());
    json!({
        "message": format!(
            "{client} wants to {what} {name}{other} ({object}). The rule {} wants a person to decide. Allow it this once?",
            question.rule
        ),
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": {
                "type": "string",
                "title": "Decision",
                "description": "allow: this one request goes on. deny: it is refused.",
                "enum": ["allow", "deny"],
            }},
            "required": ["decision"],
        },
    })
}

/// What the person decided: nothing if the question was only closed.
fn decision(said: &Value) -> Option<bool> {
    let decision = said
        .get("content")
        .and_then(|content| content.get("decision"));
    match (
        said.get("action")?.as_str()?,
        decision.and_then(Value::as_str),
    ) {
        ("accept", Some("allow")) => Some(true),
        ("accept", Some("deny")) | ("decline", _) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_is_an_answer() {
        let say = |action: &str, word: Value| {
            decision(&json!({"action": action, "content": {"decision": word}}))
        };
        assert_eq!(say("accept", json!("allow")), Some(true));
        assert_eq!(say("accept", json!("deny")), Some(false));
        assert_eq!(say("decline", json!("allow")), Some(false));
        assert_eq!(say("cancel", json!("allow")), None);
        assert_eq!(say("accept", json!("yes")), None);
        assert_eq!(say("accept", json!(true)), None);
        assert_eq!(decision(&json!({"action": "decline"})), Some(false));
        assert_eq!(decision(&json!({"content": {"decision": "allow"}})), None);
    }
}
