//! `handfast mount`: a session under a directory, for editors and people.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use handfast::files::Files;
use handfast_run::{Processes, ProjectView};
use handfast_session::MountSpec;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::log::LogChoice;
use crate::output::Output;
use crate::run::asking::{ByMount, room};
use crate::session::{StateArgs, failed, misused};

const HELP: &str = crate::exit::help!(
    "  handfast mount review /mnt/review
  umount /mnt/review"
);

/// Show a session under an empty directory, until it is unmounted
///
/// The mount is read-only unless `--write` is given. It ends with `umount DIR`, or when this command is
/// interrupted. Only root may mount; `handfast run` needs no root.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MountArgs {
    /// Let programs change the session through the mount
    #[arg(long)]
    write: bool,

    #[command(flatten)]
    state: StateArgs,

    #[command(flatten)]
    log: LogChoice,

    /// The session
    name: String,

    /// An empty directory outside of the session's bases
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl MountArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        match self.try_run(out) {
            Ok(()) => Exit::Yes,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn try_run(&self, out: &mut Output) -> Result<(), Box<Failure>> {
        if out.is_json() {
            let why = "a mount answers nothing; `--json` is for commands that do";
            return Err(misused("mount", "mount the session", why));
        }
        let (mut opening, recording) = self.log.open_session("mount")?;
        let asker = ByMount::new(Processes::here());
        opening.caller = opening.caller.asker(Arc::new(asker));
        let session = self.state.open_with("mount", &self.name, opening)?;
        let told = |error| failed("mount", "open the session", &self.name, &error);
        let spec = self
            .state
            .catalogue("mount")?
            .spec(&self.name)
            .map_err(told)?;
        let bases = spec.mounts().iter().map(|mount| mount.host().to_owned());
        let apart: Vec<_> = bases.chain(self.state.dir()).collect();
        let files: Arc<dyn Files> = Arc::new(session);
        let top = files
            .top()
            .map_err(|error| failed("mount", "open the session", &self.name, &error))?;
        let view = ProjectView {
            files,
            top,
            repository: None,
            waiting: room(spec.mounts().iter().map(MountSpec::protection)),
            fifos_and_sockets: false,
        };
        let shown = handfast_run::show(&self.dir, &apart, !self.write, view);
        if let Some(recording) = recording {
            recording.finish("mount", out);
        }
        shown.map_err(|refusal| {
            let mut failure: Box<Failure> = refusal.into();
            failure.verb = "mount";
            failure.sentence = "cannot mount the session".to_owned();
            failure
        })
    }
}
