//! Resources that a client wants to hear of when they change.
//!
//! They are looked at twice a second, through the session and with the client's rights of that moment. So changes
//! in an overlay count as well as those that other programs make, and a file that is replaced, removed or made
//! counts like one that is written to.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use handfast::{Identity, Metadata, Timestamp};
use handfast_session::VirtualPath;

/// How often they are looked at.
const EVERY: Duration = Duration::from_millis(500);

/// How many one client has at most.
const MOST: usize = 256;

/// What tells one state of a resource from another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Mark {
    object: Identity,
    len: u64,
    modified: Timestamp,
    changed: Timestamp,
}

impl Mark {
    pub(crate) fn new(status: &Metadata) -> Self {
        Self {
            object: status.identity,
            len: status.len,
            modified: status.modified,
            changed: status.changed,
        }
    }
}

#[derive(Clone, Debug)]
struct Subscribed {
    uri: String,
    path: VirtualPath,
    /// How it was when it was looked at last; nothing if it was not there, or may not be seen.
    mark: Option<Mark>,
}

#[derive(Debug, Default)]
struct State {
    all: Vec<Subscribed>,
    /// Somebody looks at them.
    is_watched: bool,
    closed: bool,
}

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    state: Mutex<State>,
    wake: Condvar,
}

impl Subscriptions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; again is once. Whether there was room.
    pub(crate) fn add(&self, uri: &str, path: VirtualPath, mark: Option<Mark>) -> bool {
        let mut state = self.state();
        if state.all.iter().any(|known| known.uri == uri) {
            return true;
        }
        if state.all.len() >= MOST {
            return false;
        }
        state.all.push(Subscribed {
            uri: uri.to_owned(),
            path,
            mark,
        });
        true
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.state().all.retain(|known| known.uri != uri);
    }

    /// Whether somebody has to begin to look: said once.
    pub(crate) fn wants_watching(&self) -> bool {
        let mut state = self.state();
        let wants = !state.all.is_empty() && !state.is_watched && !state.closed;
        state.is_watched |= wants;
        wants
    }

    /// Waits until it is time to look again; false if nobody wants to hear of anything any more.
    pub(crate) fn wait(&self) -> bool {
        let state = self.state();
        let is_open = |state: &mut State| !state.closed;
        let waited = self.wake.wait_timeout_while(state, EVERY, is_open);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    /// The URIs of what changed since the last look.
    pub(crate) fn changed(
        &self,
        look: &mut dyn FnMut(&VirtualPath) -> Option<Mark>,
    ) -> Vec<String> {
        // The lock is not held while files are looked at.
        let all = self.state().all.clone();
        let mut changed = Vec::new();
        for one in all {
            let now = look(&one.path);
            if now == one.mark {
                continue;
            }
            let mut state = self.state();
            if let Some(known) = state.all.iter_mut().find(|known| known.uri == one.uri) {
                known.mark = now;
                changed.push(one.uri);
            }
        }
        changed
    }

    /// Nobody wants to hear of anything any more.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use handfast::FileKind;

    use super::*;

    fn mark(inode: u64) -> Mark {
        let identity = Identity {
            device: 1,
            inode,
            mount: None,
            born: None,
        };
        Mark::new(&Metadata::told(identity, FileKind::File))
    }

    fn path(text: &str) -> VirtualPath {
        VirtualPath::parse(text).unwrap()
    }

    #[test]
    fn every_change_is_told_once_and_only_to_those_who_asked() {
        let all = Subscriptions::default();
        assert!(!all.wants_watching());
        assert!(all.add("u:a", path("/a"), Some(mark(1))));
        assert!(all.add("u:b", path("/b"), None));
        assert!(all.add("u:b", path("/b"), None));
        assert!(all.wants_watching());
        assert!(!all.wants_watching());
        let mut same = |seen: &VirtualPath| (*seen == path("/a")).then(|| mark(1));
        assert_eq!(all.changed(&mut same), Vec::<String>::new());
        // Another object in its place; one that is there now.
        let mut other = |seen: &VirtualPath| Some(mark(if *seen == path("/a") { 2 } else { 3 }));
        assert_eq!(all.changed(&mut other), ["u:a", "u:b"]);
        assert_eq!(all.changed(&mut other), Vec::<String>::new());
        all.remove("u:b");
        assert_eq!(all.changed(&mut |_| None), ["u:a"]);
    }

    #[test]
    fn there_are_only_so_many() {
        let all = Subscriptions::default();
        for number in 0..MOST {
            assert!(all.add(&number.to_string(), path("/x"), None));
        }
        assert!(!all.add("one more", path("/x"), None));
        assert!(all.add("0", path("/x"), None));
    }

    #[test]
    fn waiting_ends_when_the_client_goes() {
        let all = Subscriptions::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| while all.wait() {});
            all.close();
            waiting.join().unwrap();
        });
        assert!(!all.wants_watching());
    }
}
