//! The last refusals, for who looks on. The log has all of them; this is what a live view shows.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use handfast_session::VirtualPath;

use crate::clock;
use crate::identity::Peer;

/// As many are remembered.
const MOST: usize = 32;
/// As much of a reason.
const MOST_TEXT: usize = 256;

/// Something that was refused, and how often in a row.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// When last.
    pub(crate) wall_ns: i64,
    pub(crate) uid: u32,
    pub(crate) pid: u32,
    pub(crate) lease: Option<String>,
    pub(crate) verb: &'static str,
    pub(crate) path: VirtualPath,
    pub(crate) why: String,
    pub(crate) count: u64,
}

/// The last ones, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    last: Mutex<VecDeque<Refusal>>,
}

impl Refusals {
    fn hold(&self) -> MutexGuard<'_, VecDeque<Refusal>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(
        &self,
        peer: &Peer,
        lease: Option<&str>,
        verb: &'static str,
        path: &VirtualPath,
        why: &str,
    ) {
        let why = &why[..why.floor_char_boundary(MOST_TEXT)];
        let wall_ns = clock::wall_ns();
        let mut last = self.hold();
        if let Some(same) = last.back_mut()
            && (same.uid, same.pid, same.verb) == (peer.uid, peer.pid, verb)
            && same.lease.as_deref() == lease
            && same.path == *path
            && same.why == why
        {
            same.count += 1;
            same.wall_ns = wall_ns;
            return;
        }
        if last.len() == MOST {
            last.pop_front();
        }
        last.push_back(Refusal {
            wall_ns,
            uid: peer.uid,
            pid: peer.pid,
            lease: lease.map(str::to_owned),
            verb,
            path: path.clone(),
            why: why.to_owned(),
            count: 1,
        });
    }

    /// The last ones, newest first.
    pub(crate) fn last(&self) -> Vec<Refusal> {
        self.hold().iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept_and_who_repeats_is_counted() {
        let peer = Peer {
            uid: 1,
            gid: 1,
            groups: Vec::new(),
            pid: 7,
            process: None,
            pidfd: None,
            cgroup: None,
            exe: None,
            spiffe: None,
        };
        let refusals = Refusals::default();
        for number in 0..100 {
            for _ in 0..3 {
                let path = VirtualPath::parse(format!("/{number}")).unwrap();
                let why = format!("{number}{}", "é".repeat(400));
                refusals.note(&peer, Some("x"), "open", &path, &why);
            }
        }
        let last = refusals.last();
        assert_eq!(last.len(), MOST);
        assert_eq!((last[0].count, last[0].pid), (3, 7));
        assert_eq!(last[0].path.to_string(), "/99");
        assert!(last[0].why.starts_with("99é") && last[31].why.starts_with("68é"));
        assert!(last[0].why.len() <= MOST_TEXT);
    }
}
