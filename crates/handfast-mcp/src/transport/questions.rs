//! Requests of ours to a client, and its answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::protocol::Id;

/// How often a call that waits for an answer looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(100);

/// The requests that were sent to one client and are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<Unanswered>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Unanswered {
    next: u64,
    waiting: Vec<(Id, Option<Value>)>,
    /// Nothing will come any more.
    closed: bool,
}

impl Questions {
    fn open(&self) -> MutexGuard<'_, Unanswered> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and waits for its answer. `None` if the client answers with an error, goes away,
    /// or cancels the call for which it was asked, and after the timeout.
    pub(super) fn ask(
        &self,
        (method, params): (&str, &Value),
        timeout: Duration,
        cancelled: &AtomicBool,
        send: &dyn Fn(Vec<u8>),
    ) -> Option<Value> {
        let mut open = self.open();
        if open.closed {
            return None;
        }
        open.next += 1;
        // Clients that see it in their logs know whose question it is.
        let name = format!("handfast-{}", open.next);
        let id = Id::from(name.as_str());
        open.waiting.push((id.clone(), None));
        drop(open);
        let question = json!({"jsonrpc": "2.0", "id": name, "method": method, "params": params});
        send(question.to_string().into_bytes());
        let until = Instant::now() + timeout;
        let mut open = self.open();
        loop {
            let at = open.waiting.iter().position(|(known, _)| *known == id)?;
            let is_over = open.closed || cancelled.load(Ordering::Relaxed);
            if open.waiting[at].1.is_some() || is_over || Instant::now() >= until {
                let (_, answer) = open.waiting.swap_remove(at);
                let gone = open.closed;
                drop(open);
                if answer.is_none() && !gone {
                    let params = json!({"requestId": name});
                    let method = "notifications/cancelled";
                    let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
                    send(message.to_string().into_bytes());
                }
                return answer.filter(|answer| !answer.is_null());
            }
            let waited = self.wake.wait_timeout(open, LOOK);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The client answered; an answer to what nobody asked is dropped.
    pub(super) fn answer(&self, id: &Id, answer: Value) {
        let mut open = self.open();
        let asked = open.waiting.iter_mut().find(|(known, _)| known == id);
        if let Some((_, slot)) = asked {
            slot.get_or_insert(answer);
        }
        self.wake.notify_all();
    }

    /// Nothing will come any more.
    pub(super) fn close(&self) {
        self.open().closed = true;
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use super::*;

    fn ask(
        questions: &Arc<Questions>,
        timeout: Duration,
    ) -> (
        std::thread::JoinHandle<Option<Value>>,
        mpsc::Receiver<Value>,
        Arc<AtomicBool>,
    ) {
        let (sender, receiver) = mpsc::channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let (questions, flag) = (Arc::clone(questions), Arc::clone(&cancelled));
        let asking = std::thread::spawn(move || {
            let send = |bytes: Vec<u8>| drop(sender.send(serde_json::from_slice(&bytes).unwrap()));
            questions.ask(("x", &json!({})), timeout, &flag, &send)
        });
        (asking, receiver, cancelled)
    }

    #[test]
    fn an_answer_reaches_its_own_question_only() {
        let questions = Arc::new(Questions::default());
        let minute = Duration::from_secs(60);
        let (one, first, _) = ask(&questions, minute);
        let id = first.recv().unwrap()["id"].as_str().unwrap().to_owned();
        let (other, second, cancelled) = ask(&questions, minute);
        let second_id = second.recv().unwrap()["id"].as_str().unwrap().to_owned();
        assert_ne!(id, second_id);
        questions.answer(&Id::from("handfast-99"), json!("stray"));
        questions.answer(&Id::from(id.as_str()), json!("own"));
        // The first answer counts.
        questions.answer(&Id::from(id.as_str()), json!("late"));
        assert_eq!(one.join().unwrap(), Some(json!("own")));
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(other.join().unwrap(), None);
        let told = second.recv().unwrap();
        assert_eq!(told["method"], "notifications/cancelled");
        assert_eq!(told["params"]["requestId"], second_id.as_str());
        assert!(questions.open().waiting.is_empty());
    }

    #[test]
    fn nobody_waits_for_a_client_that_is_gone_or_answers_with_an_error() {
        let questions = Arc::new(Questions::default());
        let (slow, sent, _) = ask(&questions, Duration::from_millis(5));
        sent.recv().unwrap();
        assert_eq!(slow.join().unwrap(), None);
        let (failed, sent, _) = ask(&questions, Duration::from_secs(60));
        let id = sent.recv().unwrap()["id"].as_str().unwrap().to_owned();
        questions.answer(&Id::from(id.as_str()), Value::Null);
        assert_eq!(failed.join().unwrap(), None);
        let (left, sent, _) = ask(&questions, Duration::from_secs(60));
        sent.recv().unwrap();
        questions.close();
        assert_eq!(left.join().unwrap(), None);
        let (after, _, _) = ask(&questions, Duration::from_secs(60));
        assert_eq!(after.join().unwrap(), None);
    }
}
