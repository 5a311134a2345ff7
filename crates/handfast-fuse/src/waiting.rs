//! Requests that wait for a person, and what must not wait with them.
//!
//! Files may ask a person before they do a verb. The thread of the request waits for the answer, within
//! the verb. What it holds here is given back for that time, so that other requests go on.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

thread_local! {
    /// The process whose request this thread works on.
    static ASKED_BY: Cell<u32> = const { Cell::new(0) };
    /// What this thread holds of a mount, or held before it began to wait.
    static HELD: RefCell<Option<(Arc<Names>, Hold)>> = const { RefCell::new(None) };
}

/// The process whose request this thread works on, by the number that the mount was told. 0 if the
/// kernel asks for itself, or if this thread serves no mount.
#[must_use]
pub fn asking_process() -> u32 {
    ASKED_BY.get()
}

pub(crate) fn set_asking_process(pid: u32) {
    ASKED_BY.set(pid);
}

/// The request of this thread waits for a person from now on, and has changed nothing yet: other
/// requests may move names meanwhile. [`request_goes_on`] has to follow on the same thread.
pub fn request_waits() {
    HELD.with_borrow(|held| {
        if let Some((names, hold)) = held {
            names.give_back(*hold);
        }
    });
}

/// The request of this thread goes on. What it has looked at before may be elsewhere by now.
pub fn request_goes_on() {
    HELD.with_borrow(|held| {
        if let Some((names, hold)) = held {
            names.take(*hold);
        }
    });
}

/// How a thread holds the names of a mount.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Hold {
    /// Nobody moves or removes a name.
    Still,
    /// Nobody else looks at one.
    Alone,
}

/// The names of a mount: many look at them, or one moves them. Between the look at a name and the note
/// of what it led to, no rename may happen. The kernel asks about names that it has cached without its
/// own lock.
///
/// Unlike the standard library's lock, it can be given back from inside of a verb.
#[derive(Debug, Default)]
pub(crate) struct Names {
    state: Mutex<State>,
    given_back: Condvar,
}

#[derive(Debug, Default)]
struct State {
    looking: usize,
    is_moving: bool,
    /// Threads that want to move: who looks waits for them.
    wanted: usize,
}

impl State {
    fn is_free_for(&self, hold: Hold) -> bool {
        match hold {
            Hold::Still => !self.is_moving && self.wanted == 0,
            Hold::Alone => !self.is_moving && self.looking == 0,
        }
    }
}

impl Names {
    /// Nobody moves a name until this is dropped.
    pub(crate) fn still(self: &Arc<Self>) -> Held {
        self.held(Hold::Still)
    }

    /// Nobody else looks at a name until this is dropped.
    pub(crate) fn alone(self: &Arc<Self>) -> Held {
        self.held(Hold::Alone)
    }

    fn held(self: &Arc<Self>, hold: Hold) -> Held {
        self.take(hold);
        let before = HELD.replace(Some((Arc::clone(self), hold)));
        debug_assert!(before.is_none(), "a thread holds names once");
        Held { _own: () }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, hold: Hold) {
        let mut state = self.state();
        let wait = |state| self.given_back.wait(state);
        match hold {
            Hold::Still => {
                while !state.is_free_for(hold) {
                    state = wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.looking += 1;
            }
            Hold::Alone => {
                state.wanted += 1;
                while !state.is_free_for(hold) {
                    state = wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.wanted -= 1;
                state.is_moving = true;
            }
        }
    }

    fn give_back(&self, hold: Hold) {
        let mut state = self.state();
        match hold {
            Hold::Still => state.looking -= 1,
            Hold::Alone => state.is_moving = false,
        }
        let wakes = state.looking == 0;
        drop(state);
        if wakes {
            self.given_back.notify_all();
        }
    }
}

/// Names that are held by this thread.
#[must_use = "the names are held as long as this lives"]
pub(crate) struct Held {
    /// Made here only.
    _own: (),
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((names, hold)) = HELD.take() {
            names.give_back(hold);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether another thread would get the names, and does: a wait for no reason would never end.
    fn others_get(names: &Arc<Names>, hold: Hold) -> bool {
        let is_free = names.state().is_free_for(hold);
        if is_free {
            let names = Arc::clone(names);
            let other = std::thread::spawn(move || drop(names.held(hold)));
            other.join().expect("a thread that takes names");
        }
        is_free
    }

    #[test]
    fn one_moves_or_many_look_and_who_waits_holds_nothing() {
        let names = Arc::new(Names::default());
        let still = names.still();
        assert!(others_get(&names, Hold::Still));
        request_waits();
        assert!(others_get(&names, Hold::Alone));
        request_goes_on();
        assert!(!others_get(&names, Hold::Alone));
        drop(still);
        let alone = names.alone();
        assert!(!others_get(&names, Hold::Still));
        request_waits();
        assert!(others_get(&names, Hold::Still) && others_get(&names, Hold::Alone));
        request_goes_on();
        assert!(!others_get(&names, Hold::Still));
        drop(alone);
        assert!(others_get(&names, Hold::Alone));
        // A thread that holds nothing gives nothing back.
        request_waits();
        request_goes_on();
        assert!(others_get(&names, Hold::Alone));
    }
}
