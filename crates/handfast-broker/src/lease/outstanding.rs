//! Descriptors that were handed out under a lease and cannot be taken back.

use std::collections::{BTreeMap, BTreeSet};

use handfast_session::VirtualPath;

use crate::identity::{Process, ProcessRef};

/// As many different paths are remembered; beyond that they are only counted.
const MOST: usize = 4096;

/// As many processes are remembered for one path; beyond that some process counts as living.
const MOST_OF_PATH: usize = 64;

/// As many processes are remembered as holders of something.
const MOST_HOLDERS: usize = 1024;

/// What a descriptor can do.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) enum GivenMode {
    /// Read.
    Read,
    /// Write in place: the policy allows that.
    Write,
}

impl GivenMode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Descriptors of one path.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) path: VirtualPath,
    pub(crate) mode: GivenMode,
    pub(crate) object: String,
    pub(crate) count: u64,
    /// Who got the last one.
    pub(crate) to: Option<ProcessRef>,
    /// Everybody who got one.
    holders: BTreeSet<ProcessRef>,
    /// Some holder is not known.
    unknown: bool,
}

impl Given {
    fn note(&mut self, to: Option<ProcessRef>) {
        self.to = to;
        match to {
            Some(process) if self.holders.len() < MOST_OF_PATH => {
                self.holders.insert(process);
            }
            Some(process) => self.unknown |= !self.holders.contains(&process),
            None => self.unknown = true,
        }
    }

    /// Whether a process that got one may still have it. What was passed on to another process is
    /// not known.
    pub(crate) fn may_be_open(&self) -> bool {
        self.unknown || self.holders.iter().any(|id| Process::find(*id).is_ok())
    }
}

/// What is out under one lease. Whether a client has closed its descriptor is not known, so this
/// says what may still be open.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    read: BTreeMap<VirtualPath, Given>,
    written: BTreeMap<VirtualPath, Given>,
    /// Handed out beyond what is remembered.
    others: u64,
    /// Everybody who got one. By name and not by descriptor: clients come and go, and a broker
    /// that held on to each of them would run out.
    holders: BTreeSet<ProcessRef>,
}

impl Outstanding {
    /// Notes one more.
    pub(crate) fn add(
        &mut self,
        path: &VirtualPath,
        mode: GivenMode,
        object: &str,
        to: Option<ProcessRef>,
    ) {
        if let Some(process) = to
            && self.holders.len() < MOST_HOLDERS
        {
            self.holders.insert(process);
        }
        let full = self.read.len() + self.written.len() >= MOST;
        let by_path = match mode {
            GivenMode::Read => &mut self.read,
            GivenMode::Write => &mut self.written,
        };
        if let Some(known) = by_path.get_mut(path) {
            known.count += 1;
            object.clone_into(&mut known.object);
            known.note(to);
        } else if full {
            self.others += 1;
        } else {
            let mut given = Given {
                path: path.clone(),
                mode,
                object: object.to_owned(),
                count: 1,
                to: None,
                holders: BTreeSet::new(),
                unknown: false,
            };
            given.note(to);
            by_path.insert(path.clone(), given);
        }
    }

    /// How many were handed out beyond what is remembered.
    pub(crate) fn others(&self) -> u64 {
        self.others
    }

    /// How many descriptors.
    pub(crate) fn count(&self) -> u64 {
        self.others + self.iter().map(|given| given.count).sum::<u64>()
    }

    /// Who got them, as far as is remembered.
    pub(crate) fn holders(&self) -> impl Iterator<Item = ProcessRef> {
        self.holders.iter().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Given> {
        self.read.values().chain(self.written.values())
    }
}
