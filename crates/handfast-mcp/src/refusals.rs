//! What callers were refused since the server started, so that they can ask for it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use handfast::ErrorKind;

use crate::callers;
use crate::trouble::Trouble;

/// How many refusals are remembered in all. For the next one, the oldest of the caller with the most is forgotten.
const MOST: usize = 256;

/// How much of one is remembered, in characters.
const LONGEST: usize = 500;

/// The last refusals of every caller.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<VecDeque<Refused>>);

#[derive(Debug)]
struct Refused {
    caller: String,
    /// The tool and what it was told.
    line: String,
}

impl Refusals {
    /// Remembers a refusal. A file that is missing, or a call with wrong arguments, is none.
    pub(crate) fn add(&self, caller: &str, tool: &str, trouble: &Trouble) {
        let is_refusal = matches!(
            trouble.kind,
            ErrorKind::Denied
                | ErrorKind::Escape
                | ErrorKind::Link
                | ErrorKind::HardLink
                | ErrorKind::Kind
                | ErrorKind::Mount
                | ErrorKind::Quota
        );
        if !is_refusal {
            return;
        }
        let text: String = trouble.text.chars().take(LONGEST).collect();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == MOST {
            let kept = all.iter();
            let kept = kept.map(|refused| (callers::caller_of(&refused.caller), 1));
            let first = callers::first_of_the_largest(kept, (callers::caller_of(caller), 1));
            first.and_then(|first| all.remove(first));
        }
        all.push_back(Refused {
            caller: caller.to_owned(),
            line: format!("{tool}: {text}"),
        });
    }

    /// What a caller was refused, in order. Nobody is told about others.
    pub(crate) fn of(&self, caller: &str) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.iter().filter(|refused| refused.caller == caller);
        own.map(|refused| refused.line.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_everybody_sees_their_own() {
        let refusals = Refusals::default();
        for number in 0..MOST + 10 {
            let trouble = Trouble::new(ErrorKind::Denied, format!("no {number}"));
            refusals.add(["one", "other"][number % 2], "read_file", &trouble);
        }
        let missing = Trouble::new(ErrorKind::NotFound, "ENOENT");
        refusals.add("one", "read_file", &missing);
        let (one, other) = (refusals.of("one"), refusals.of("other"));
        assert_eq!(one.len() + other.len(), MOST);
        assert_eq!(one.first().unwrap(), "read_file: no 10");
        assert_eq!(
            other.last().unwrap(),
            &format!("read_file: no {}", MOST + 9)
        );
        assert!(refusals.of("nobody").is_empty());
    }
}
