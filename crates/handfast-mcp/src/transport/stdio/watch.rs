//! A call that is under way, as its client sees it: progress, and whether it was cancelled.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::questions::Questions;
use super::Output;
use crate::call::Watcher;
use crate::protocol::Request;

/// Progress is printed no more often than this.
const EVERY: Duration = Duration::from_millis(200);

/// How long a person may take to answer.
const PERSON_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) struct Watch<'a, W> {
    output: &'a Output<'a, W>,
    /// What the client calls the progress, if it wants to know.
    token: Option<&'a Value>,
    cancelled: &'a AtomicBool,
    told: Mutex<Instant>,
    /// Where the client can be asked something.
    questions: Option<&'a Questions>,
}

impl<'a, W> Watch<'a, W> {
    pub(super) fn new(
        output: &'a Output<'a, W>,
        request: &'a Request,
        cancelled: &'a AtomicBool,
        questions: Option<&'a Questions>,
    ) -> Self {
        let meta = request.params.get("_meta");
        let token = meta.and_then(|meta| meta.get("progressToken"));
        Self {
            output,
            token: token.filter(|token| token.is_string() || token.is_number()),
            cancelled,
            told: Mutex::new(Instant::now()),
            questions,
        }
    }
}

impl<W: Write + Send> Watcher for Watch<'_, W> {
    fn is_cancelled(&self, done: usize) -> bool {
        if let Some(token) = self.token {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.elapsed() >= EVERY {
                *told = Instant::now();
                let message = json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": done,
                        "message": format!("{done} entries")},
                });
                self.output.send(message.to_string().into_bytes());
            }
        }
        self.cancelled.load(Ordering::Relaxed)
    }

    fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let send = |message| self.output.send(message);
        let questions = self.questions?;
        questions.ask((method, params), PERSON_TIMEOUT, self.cancelled, &send)
    }
}
