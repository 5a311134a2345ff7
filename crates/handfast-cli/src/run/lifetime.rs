//! What the log says of a run as a whole: that a program was put behind the wall, and how it ended.
//!
//! Both are events of the type `harden`, joined by their `op_id`. A beginning without an end means that
//! the server was killed. Arguments of the program may hold secrets and are in neither.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use handfast::{Backend, Decision, Event, Identity, Phase, RecordError, RelPath, Verb};
use handfast_run::{Ended, Plan};
use handfast_session::Mode;

use crate::failure::Failure;
use crate::log::Recording;
use crate::session::misused;

/// A run that has begun.
pub(super) struct Lifetime {
    op_id: u64,
    project: Identity,
    program: String,
}

impl Lifetime {
    /// Says that a program is about to be run. If that cannot be said, it is not run.
    pub(super) fn begin(
        plan: &Plan,
        (session, mode): (&str, Mode),
        project: Identity,
        recording: &Recording,
    ) -> Result<Self, Box<Failure>> {
        let top = RelPath::root();
        let mut event = Event::begin(Verb::Harden, &top, project, Backend::Kernel);
        let program = program(plan);
        let path = handfast::escape(plan.project.path.as_os_str().as_bytes());
        let text =
            format!("run of {program}: session {session}, {mode}, engine fuse, project {path}");
        event.text = Some(text.as_bytes());
        record(recording, &mut event)
            .map_err(|error| misused("run", "run the program", &error.to_string()))?;
        Ok(Self {
            op_id: event.op_id,
            project,
            program,
        })
    }

    /// Says how it ended.
    pub(super) fn end(
        self,
        ended: &Result<Ended, Box<Failure>>,
        recording: &Recording,
    ) -> Result<(), RecordError> {
        let top = RelPath::root();
        let mut event = Event::begin(Verb::Harden, &top, self.project, Backend::Kernel);
        event.op_id = self.op_id;
        event.phase = Phase::Result;
        let how = match ended {
            Ok(ended) => format!("exit code {}", ended.code),
            Err(_) => "not run".to_owned(),
        };
        if let Err(failure) = ended {
            let (kind, why) = (failure.kind, failure.detail.clone());
            event.decision = Decision::Refused { kind, why };
        }
        let text = format!("end of {}: {how}", self.program);
        event.text = Some(text.as_bytes());
        record(recording, &mut event)
    }
}

fn record<'a>(recording: &'a Recording, event: &mut Event<'a>) -> Result<(), RecordError> {
    let telling = recording.telling();
    event.actor = telling.actor;
    telling.recorder.record(event)
}

/// The file name of the program, without its arguments.
fn program(plan: &Plan) -> String {
    let program = plan.command.first().map(Path::new);
    let name = program.and_then(Path::file_name).map(OsStr::as_bytes);
    handfast::escape(name.unwrap_or_default())
}
