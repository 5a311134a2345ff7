//! Where a rule says `ask`: a program's request waits for a person, and nothing else of the mount does.

use handfast_run::{Processes, asking_process, request_goes_on, request_waits};
use handfast_session::{Asker, MAX_WAITING, Protect, Question};

/// How many requests may wait, by these rules.
pub(crate) fn room<'a>(rules: impl IntoIterator<Item = &'a Protect>) -> usize {
    let asks = rules.into_iter().any(|rules| !rules.ask.is_empty());
    if asks { MAX_WAITING } else { 0 }
}

/// A mount whose programs ask.
pub(crate) struct ByMount {
    processes: Processes,
}

impl ByMount {
    pub(crate) fn new(processes: Processes) -> Self {
        Self { processes }
    }
}

impl Asker for ByMount {
    fn asked(&self, _: &Question) {
        request_waits();
    }

    fn ended(&self, _: &Question) {
        request_goes_on();
    }

    fn is_gone(&self) -> bool {
        self.processes.is_gone(asking_process())
    }

    fn observed(&self) -> Option<String> {
        let seen = self.processes.look(asking_process())?;
        let exe = seen.exe.as_deref().unwrap_or("unknown program");
        Some(format!("process {}, {exe}", seen.pid))
    }
}
