//! Connections on which browsers get an event when the data that they show has changed (server-sent events).
//!
//! Only a browser that was let in gets one. Each gets the newest stamp and no older one, so a browser
//! that reads slowly does not delay others and costs no memory; one that does not read at all is disconnected.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use http_body_util::channel::{Channel, Sender};
use hyper::body::Bytes;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use super::link::Link;
use crate::protocol::{Limits, MAX_TOPICS, Request, Topic};

/// How often an idle stream gets a ping. The ping also shows that a browser has gone away.
const PING: Duration = Duration::from_secs(10);
/// A browser has this long to take a line.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The open event streams, and what each of them shows.
pub(super) struct News {
    topics: RefCell<HashMap<Topic, watch::Sender<String>>>,
    /// The connections, the oldest first. Dropping one ends it.
    open: RefCell<VecDeque<(u64, oneshot::Sender<()>)>>,
    number: Cell<u64>,
    limits: Limits,
}

/// The body of an answer that does not end by itself, and what ends with it.
pub(super) struct Subscription {
    pub(super) body: Channel<Bytes>,
    pub(super) ended: oneshot::Receiver<()>,
}

impl News {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            topics: RefCell::default(),
            open: RefCell::default(),
            number: Cell::new(0),
            limits,
        }
    }

    /// The keeper says that a topic has this stamp now.
    pub(super) fn publish(&self, topic: &Topic, stamp: String) {
        if let Some(sender) = self.topics.borrow().get(topic) {
            sender.send_replace(stamp);
        }
    }

    /// A new connection. The oldest one ends if there are too many: its browser comes again if somebody
    /// still looks at it.
    pub(super) fn subscribe(self: &Rc<Self>, link: &Rc<Link>, topic: &Topic) -> Subscription {
        let (told, body) = Channel::new(1);
        let (end, over) = oneshot::channel();
        let (alive, ended) = oneshot::channel();
        let number = self.number.get();
        self.number.set(number + 1);
        let mut open = self.open.borrow_mut();
        while open.len() >= self.limits.streams.clamp(1, MAX_TOPICS) {
            open.pop_front();
        }
        open.push_back((number, end));
        drop(open);
        let stamps = self.receiver(topic);
        let (news, link) = (Rc::clone(self), Rc::clone(link));
        tokio::task::spawn_local(async move {
            news.tell_keeper(&link).await;
            let lifetime = news.limits.stream;
            // How it ended makes no difference: the browser comes again.
            drop(timeout(lifetime, tell(told, stamps, over)).await);
            drop(alive);
            news.open.borrow_mut().retain(|(known, _)| *known != number);
            news.tell_keeper(&link).await;
        });
        Subscription { body, ended }
    }

    fn receiver(&self, topic: &Topic) -> watch::Receiver<String> {
        let mut topics = self.topics.borrow_mut();
        let sender = topics.entry(topic.clone());
        let sender = sender.or_insert_with(|| watch::Sender::new(String::new()));
        let mut receiver = sender.subscribe();
        // A known stamp is sent at once; a new topic has none yet.
        if !sender.borrow().is_empty() {
            receiver.mark_changed();
        }
        receiver
    }

    /// Topics that no browser shows any more are dropped; the keeper watches the others.
    async fn tell_keeper(&self, link: &Rc<Link>) {
        let before = self.topics.borrow().len();
        self.topics
            .borrow_mut()
            .retain(|_, sender| sender.receiver_count() > 0);
        let topics: Vec<Topic> = self.topics.borrow().keys().cloned().collect();
        if topics.is_empty() && before == 0 {
            return;
        }
        // A keeper that is gone ends this process.
        drop(Rc::clone(link).ask(Request::Watch { topics }).await);
    }
}

/// Sends events to one browser, until it is gone, does not read, or its stream is closed.
async fn tell(
    mut to: Sender<Bytes>,
    mut stamps: watch::Receiver<String>,
    mut over: oneshot::Receiver<()>,
) {
    let mut line = Bytes::from_static(b"retry: 1000\n\n");
    loop {
        let sent = timeout(SEND_TIMEOUT, to.send_data(line));
        match sent.await {
            Ok(Ok(())) => {}
            _ => return,
        }
        let ping = Instant::now() + PING;
        line = tokio::select! {
            _ = &mut over => return,
            changed = stamps.changed() => match changed {
                Ok(()) => event(&stamps.borrow_and_update()),
                Err(_) => return,
            },
            () = tokio::time::sleep_until(ping) => Bytes::from_static(b":\n\n"),
        };
    }
}

/// A stamp is hexadecimal, or the words of an error, which stay on one line.
fn event(stamp: &str) -> Bytes {
    let line: String = stamp
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    Bytes::from(format!("data: {line}\n\n"))
}
