//! The processes that ask, each with the files in its own name.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use handfast::files::Files;

/// So many processes are kept in mind; then all are asked for again.
const MAX_PROCESSES: usize = 4096;

/// The files in the names of processes.
#[derive(Default)]
pub(crate) struct Askers {
    /// By the number that the kernel says. The number of a process that ended may be another's later:
    /// files in its name hold nothing but the number.
    by_pid: RwLock<HashMap<u32, Arc<dyn Files>>>,
}

impl Askers {
    /// The files for a process. The kernel says 0 where it asks for itself.
    pub(crate) fn files(&self, files: &Arc<dyn Files>, pid: u32) -> Arc<dyn Files> {
        if pid == 0 {
            return Arc::clone(files);
        }
        let known = self.by_pid.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = known.get(&pid) {
            return Arc::clone(own);
        }
        drop(known);
        let own = files.asked_by(pid).unwrap_or_else(|| Arc::clone(files));
        let mut known = self.by_pid.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_PROCESSES {
            known.clear();
        }
        known.insert(pid, Arc::clone(&own));
        own
    }
}
