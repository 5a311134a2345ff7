//! Rules that say `ask`: who is asked, about what, and what an answer is worth.

mod answers;
mod attacks;
mod processes;
mod rules;
mod two_names;
mod walls;
mod widening;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handfast_session::{
    Answer, AnsweredBy, Asker, Error, GrantScope, Inbox, Mode, Protect, Question, Session,
    SessionError, SessionSpec,
};

use crate::support::*;

/// Long enough for a test on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn asking_session(scratch: &Scratch, mode: Mode, pattern: &str, timeout: Duration) -> Session {
    let protect = Protect::new().with_ask(pattern);
    let mount = scratch.mount(mode).protect(protect);
    scratch.session_of(&SessionSpec::new().mount(mount).ask_timeout(timeout))
}

/// The first question that waits.
fn next_question(inbox: &Inbox) -> Question {
    waiting(inbox, 1).remove(0)
}

/// The questions, once there are as many.
fn waiting(inbox: &Inbox, count: usize) -> Vec<Question> {
    let deadline = Instant::now() + LONG;
    loop {
        let questions = inbox.questions().unwrap();
        if questions.len() >= count {
            return questions;
        }
        assert!(
            Instant::now() < deadline,
            "{} of {count} questions came",
            questions.len()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn answer(yes: bool, scope: GrantScope) -> Answer {
    Answer {
        yes,
        scope,
        by: AnsweredBy::Face("alice".to_owned()),
    }
}

/// Does something that asks, and answers it.
fn answered<T: Send>(
    session: &Session,
    given: &Answer,
    act: impl FnOnce(&Session) -> Result<T, Error> + Send,
) -> (Result<T, Error>, Question) {
    let inbox = session.inbox().unwrap();
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| act(session));
        let question = next_question(inbox);
        inbox.answer(&question.digest, given).unwrap();
        (asks.join().unwrap(), question)
    })
}

fn is_not_granted<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), handfast::ErrorKind::Denied, "{error}");
    assert_eq!(
        error.reason(),
        Some(handfast_session::Reason::NotGranted),
        "{error}"
    );
    error.detail()
}

/// A face whose request can be given up.
#[derive(Default)]
struct Face {
    gone: AtomicBool,
}

impl Asker for Face {
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    fn observed(&self) -> Option<String> {
        Some("pid 7, /bin/cat".to_owned())
    }
}

fn face() -> Arc<Face> {
    Arc::new(Face::default())
}
