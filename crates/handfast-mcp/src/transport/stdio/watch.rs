//! A call that is under way, as its client sees it: progress, and whether it was cancelled.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::questions::Questions;
use super::Output;
use super::turns::JobLine;
use crate::call::{Line, Person, Watcher};
use crate::protocol::{self, Request};
use crate::subscriptions::Subscriptions;

/// Progress is printed no more often than this.
const EVERY: Duration = Duration::from_millis(200);

/// How long a person may take to answer.
const PERSON_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) struct Watch<'a, W> {
    output: &'a Output<'a, W>,
    /// What the client calls the progress, if it wants to know.
    token: Option<&'a Value>,
    cancelled: &'a AtomicBool,
    line: Arc<JobLine>,
    told: Mutex<Instant>,
    /// Where the client can be asked something.
    questions: Option<&'a Questions>,
    subscriptions: &'a Subscriptions,
}

impl<'a, W> Watch<'a, W> {
    pub(super) fn new(
        output: &'a Output<'a, W>,
        request: &'a Request,
        (cancelled, line): (&'a AtomicBool, Arc<JobLine>),
        questions: Option<&'a Questions>,
        subscriptions: &'a Subscriptions,
    ) -> Self {
        Self {
            output,
            token: protocol::progress_token(request),
            cancelled,
            line,
            told: Mutex::new(Instant::now()),
            questions,
            subscriptions,
        }
    }
}

impl<W: Write + Send> Watcher for Watch<'_, W> {
    fn is_cancelled(&self, done: usize) -> bool {
        if self.cancelled.load(Ordering::Relaxed) {
            // The client does not expect to hear of it any more.
            return true;
        }
        if let Some(token) = self.token {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.elapsed() >= EVERY {
                *told = Instant::now();
                self.output.send(protocol::progress(token, done));
            }
        }
        self.cancelled.load(Ordering::Relaxed)
    }

    fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let send = |message| self.output.send(message);
        let questions = self.questions?;
        questions.ask((method, params), PERSON_TIMEOUT, self.cancelled, &send)
    }

    fn person(&self) -> Option<&dyn Person> {
        self.questions.map(|_| self as &dyn Person)
    }

    fn line(&self) -> Option<Arc<dyn Line>> {
        Some(Arc::clone(&self.line) as Arc<dyn Line>)
    }

    fn subscriptions(&self) -> Option<&Subscriptions> {
        Some(self.subscriptions)
    }
}

impl<W: Write + Send> Person for Watch<'_, W> {
    fn ask_until(&self, method: &str, params: &Value, over: &AtomicBool) -> Option<Value> {
        let send = |message| self.output.send(message);
        let questions = self.questions?;
        questions.ask((method, params), PERSON_TIMEOUT, over, &send)
    }
}
