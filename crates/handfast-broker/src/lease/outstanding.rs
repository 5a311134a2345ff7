//! Descriptors that were handed out under a lease and cannot be taken back.

use std::collections::BTreeMap;

use crate::identity::ProcessRef;

/// As many different paths are remembered; beyond that they are only counted.
const MOST: usize = 64;

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
    pub(crate) path: Vec<u8>,
    pub(crate) mode: GivenMode,
    pub(crate) object: String,
    pub(crate) count: u64,
    /// Who got the last one. By name and not by descriptor: clients come and go, and a broker that
    /// held on to each of them would run out.
    pub(crate) to: Option<ProcessRef>,
}

/// What is out under one lease. Whether a client has closed its descriptor is not known, so this
/// says what may still be open.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    by_path: BTreeMap<(Vec<u8>, GivenMode), Given>,
    /// Handed out beyond what is remembered.
    others: u64,
}

impl Outstanding {
    pub(crate) fn add(&mut self, given: Given) {
        let key = (given.path.clone(), given.mode);
        if let Some(known) = self.by_path.get_mut(&key) {
            known.count += given.count;
            known.object = given.object;
            known.to = given.to;
        } else if self.by_path.len() < MOST {
            self.by_path.insert(key, given);
        } else {
            self.others += given.count;
        }
    }

    /// How many descriptors.
    pub(crate) fn count(&self) -> u64 {
        self.others + self.by_path.values().map(|given| given.count).sum::<u64>()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Given> {
        self.by_path.values()
    }
}
