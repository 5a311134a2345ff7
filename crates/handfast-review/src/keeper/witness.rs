//! What was done, said where the keeper was started. A page's process that was taken over can press its
//! own buttons; it cannot do so unseen by a person who looks at that terminal.

use std::fmt;

use handfast::ErrorKind;

use crate::protocol::{DoneView, KeeperReply, Request};

/// So many paths are named; the rest are counted.
const MAX_NAMED: usize = 5;
/// So many refusals are said: a page that was taken over must not push the rest out of sight.
const MAX_REFUSALS: usize = 20;

/// Says a line.
type Tell = Box<dyn FnMut(&str) + Send>;

/// Where it is said.
#[derive(Default)]
pub(super) struct Witness {
    tell: Option<Tell>,
    refusals: usize,
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Witness")
    }
}

impl Witness {
    pub(super) fn new(tell: impl FnMut(&str) + Send + 'static) -> Self {
        Self {
            tell: Some(Box::new(tell)),
            refusals: 0,
        }
    }

    /// Says a line that the keeper made itself.
    pub(super) fn say(&mut self, line: &str) {
        if let Some(tell) = &mut self.tell {
            tell(line);
        }
    }

    /// Says what became of a request, if it was one to change something.
    pub(super) fn saw(&mut self, request: &Request, reply: &KeeperReply) {
        let Some(tell) = self.tell.as_mut().filter(|_| is_deed(request)) else {
            return;
        };
        let line = match reply {
            KeeperReply::Done(done) => words(done),
            KeeperReply::Refused { kind, why } if *kind == ErrorKind::Denied.name() => {
                self.refusals += 1;
                if self.refusals > MAX_REFUSALS {
                    return;
                }
                format!("refused: {why}")
            }
            _ => return,
        };
        let plain = |letter: char| match handfast::is_hidden(letter) {
            true => '\u{fffd}',
            false => letter,
        };
        tell(&line.chars().map(plain).collect::<String>());
    }
}

fn is_deed(request: &Request) -> bool {
    matches!(
        request,
        Request::Commit { .. }
            | Request::Undo { .. }
            | Request::Snapshot { .. }
            | Request::GoBack { .. }
            | Request::Reject { .. }
            | Request::Answer { .. }
            | Request::TakeBack { .. }
            | Request::Revoke { .. }
    )
}

fn words(done: &DoneView) -> String {
    let mut line = match done.session.as_str() {
        "" => done.sentence.clone(),
        session => format!("{session}: {}", done.sentence),
    };
    for path in done.paths.iter().take(MAX_NAMED) {
        line.push_str(&format!(" {path}"));
    }
    let more = done.paths.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        line.push_str(&format!(" and {more} more"));
    }
    line
}
