//! What a run tells its log: every change, every open and change that is refused, and once a minute each
//! file that is read and each name that may not be looked at.
//!
//! Programs open the same files again and again, look at every name and list every directory on their
//! way. The log says which files were read, in which version, and which were denied; it would say little
//! more with each repetition, and fill.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use handfast::{Decision, Event, Phase, Process, RecordError, Recorder, Verb};
use handfast_run::Processes;

/// A file that is opened again in this time, and has not changed, is not told again; nor is a name that
/// is looked at again and denied for the same reason.
const WINDOW: Duration = Duration::from_secs(60);

/// So many files and names are kept in mind; then all are told again.
const MAX_FILES: usize = 100_000;

/// A recorder before the log's.
pub(super) struct FoldedReads {
    to: Arc<dyn Recorder>,
    processes: Option<Processes>,
    hasher: RandomState,
    /// By path and program: the version that was told, and when.
    told: Mutex<HashMap<u64, (u64, Instant)>>,
}

impl FoldedReads {
    pub(super) fn new(to: Arc<dyn Recorder>, processes: Option<Processes>) -> Self {
        Self {
            to,
            processes,
            hasher: RandomState::new(),
            told: Mutex::new(HashMap::new()),
        }
    }

    /// Path and reason of a look that was refused.
    fn look(&self, event: &Event<'_>) -> Option<(u64, u64)> {
        let Decision::Refused { kind, why } = &event.decision else {
            return None;
        };
        let look =
            (event.verb == Verb::Resolve).then_some((asker(event), event.path.as_bytes()))?;
        let path = self.hasher.hash_one(("look", look));
        Some((path, self.hasher.hash_one((kind, why))))
    }

    /// Path and version of a file that may be read.
    fn read(&self, event: &Event<'_>) -> Option<(u64, u64)> {
        let object = event.object.filter(|_| event.verb == Verb::Open)?;
        let path = self.hasher.hash_one((asker(event), event.path.as_bytes()));
        let identity = (object.identity.device, object.identity.inode);
        let times = [object.modified, object.changed].map(|time| time.to_system_time());
        let version = self.hasher.hash_one((identity, object.len, times));
        Some((path, version))
    }

    fn is_told(&self, path: u64, version: u64) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told.get(&path);
        before.is_some_and(|(known, since)| *known == version && since.elapsed() < WINDOW)
    }

    fn keep(&self, path: u64, version: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MAX_FILES {
            told.clear();
        }
        told.insert(path, (version, Instant::now()));
    }
}

/// On whose behalf, and with which program.
fn asker<'a>(event: &Event<'a>) -> (Option<&'a str>, Option<&'a str>) {
    (event.actor, event.process.and_then(|process| process.exe))
}

impl Recorder for FoldedReads {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        let is_single = event.phase == Phase::Single;
        let is_allowed = matches!(event.decision, Decision::Allowed);
        if is_single && is_allowed && event.verb == Verb::ReadDir {
            return Ok(());
        }
        // The number that the mount was told is the one inside of the run.
        let processes = event.process.zip(self.processes.as_ref());
        let seen = processes.and_then(|(process, all)| all.look(process.pid));
        let mut event = event.clone();
        event.process = seen.as_ref().map(|seen| Process {
            pid: seen.pid,
            exe: seen.exe.as_deref(),
        });
        self.record_folded(&event)
    }
}

impl FoldedReads {
    fn record_folded(&self, event: &Event<'_>) -> Result<(), RecordError> {
        if event.phase != Phase::Single {
            return self.to.record(event);
        }
        let folded = match &event.decision {
            Decision::Allowed => self.read(event),
            Decision::Refused { .. } => self.look(event),
        };
        let Some((path, version)) = folded else {
            return self.to.record(event);
        };
        if self.is_told(path, version) {
            return Ok(());
        }
        self.to.record(event)?;
        self.keep(path, version);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use handfast::{Backend, ErrorKind, RelPath, Root};

    use super::*;

    #[derive(Default)]
    struct Counts(Mutex<Vec<Verb>>);

    impl Recorder for Counts {
        fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
            self.0.lock().unwrap().push(event.verb);
            Ok(())
        }
    }

    #[test]
    fn a_file_is_told_again_only_if_it_changed_and_a_refused_open_always() {
        let root = Root::open_ambient(std::env::temp_dir()).unwrap();
        let mut object = root.metadata(&RelPath::root()).unwrap();
        let counts = Arc::new(Counts::default());
        let folded = FoldedReads::new(Arc::clone(&counts) as Arc<dyn Recorder>, None);
        let path = RelPath::parse("a").unwrap();
        let tell = |verb, object: &handfast::Metadata, refused: bool| {
            let mut event = Event::begin(verb, &path, root.identity(), Backend::Kernel);
            event.object = Some(object);
            if refused {
                let (kind, why) = (ErrorKind::Denied, String::new());
                event.decision = Decision::Refused { kind, why };
            }
            folded.record(&event).unwrap();
            counts.0.lock().unwrap().len()
        };
        assert_eq!(tell(Verb::Open, &object, false), 1);
        assert_eq!(tell(Verb::Open, &object, false), 1);
        object.len += 1;
        assert_eq!(tell(Verb::Open, &object, false), 2);
        assert_eq!(tell(Verb::ReadDir, &object, false), 2);
        assert_eq!(tell(Verb::ReadDir, &object, true), 3);
        assert_eq!(tell(Verb::Open, &object, true), 4);
        assert_eq!(tell(Verb::Open, &object, true), 5);
        assert_eq!(tell(Verb::OpenWrite, &object, false), 6);
        assert_eq!(tell(Verb::OpenWrite, &object, false), 7);
        // A name that may not be looked at, once; what opens it is told by itself.
        assert_eq!(tell(Verb::Resolve, &object, true), 8);
        assert_eq!(tell(Verb::Resolve, &object, true), 8);
        assert_eq!(tell(Verb::Open, &object, true), 9);
    }
}
