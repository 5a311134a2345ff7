//! This side of a run: it maps users, serves the files and waits.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use handfast::files::{Files, Node};
use handfast_fuse::{Face, Served};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};

use crate::channel::{Channel, Word};
use crate::fast::Layers;
use crate::init::{self, code_of};
use crate::plan::{Net, Plan};
use crate::processes::Processes;
use crate::refusal::Refusal;
use crate::terminal::Terminal;
use crate::{ids, sys};

/// The files that a program works on, and the directory that is its project.
pub struct ProjectView {
    /// The files.
    pub files: Arc<dyn Files>,
    /// The project's directory in them.
    pub top: Node,
    /// The directory of the project's repository in them, if the plan says that it lies elsewhere.
    pub repository: Option<Node>,
    /// So many requests may wait for a person. The files have to call [`request_waits`] and
    /// [`request_goes_on`] around each wait.
    ///
    /// [`request_waits`]: crate::request_waits
    /// [`request_goes_on`]: crate::request_goes_on
    pub waiting: usize,
    /// Whether programs may make FIFOs and sockets, which go with the mount.
    pub fifos_and_sockets: bool,
}

impl fmt::Debug for ProjectView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("top", &self.top).finish()
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "the program's own answer is in it"]
pub struct Ended {
    /// Its exit code; 128 and the signal if one ended it.
    pub code: u8,
    /// Whether some directory could not be watched: a change that somebody made past the session was
    /// seen after a second, and looking at many names took longer.
    pub is_partly_unwatched: bool,
}

/// Runs a program and waits for its end. `open` is called once, after this process has forked: what
/// it opens is never in the memory of a process inside. It is told whose requests it will serve.
///
/// # Errors
/// What the plan asks for and this system cannot give; a program that cannot be started; what `open`
/// says.
///
/// # Security
/// Call it while this process has one thread, and start none before. When this process is killed,
/// the kernel kills every process of the run, and the mount is gone with them.
pub fn run<E: From<Refusal>>(
    plan: &Plan,
    open: impl FnOnce(Processes) -> Result<ProjectView, E>,
) -> Result<Ended, E> {
    let run = Run::start(plan)?;
    let view = open(run.processes.clone())?;
    Ok(run.supervise(view)?)
}

/// As [`run`], over the kernel's own overlay: `open` makes room for it and says where. There is one for
/// the project, and one for its repository if that lies elsewhere.
///
/// # Errors
/// As [`run`].
///
/// # Security
/// As [`run`]. When this returns, no process of the run is left.
pub fn run_fast<E: From<Refusal>>(
    plan: &Plan,
    open: impl FnOnce() -> Result<Vec<Layers>, E>,
) -> Result<Ended, E> {
    let run = Run::start(plan)?;
    let layers = open()?;
    Ok(run.supervise_fast(layers)?)
}

/// A standard descriptor that is a directory would lead past the session.
pub(crate) fn refuse_directories() -> Result<(), Refusal> {
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    for status in [
        rustix::fs::fstat(&input),
        rustix::fs::fstat(&output),
        rustix::fs::fstat(&errors),
    ] {
        let Ok(status) = status else {
            continue;
        };
        if rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
            return Err(Refusal::request(
                "standard input, output or error is a directory, which would lead past the session",
            ));
        }
    }
    Ok(())
}

/// A run under way. Dropping it ends it.
struct Run {
    first: Pid,
    processes: Processes,
    channel: Channel,
    terminal: Option<Terminal>,
}

impl Run {
    /// Forks the first process inside, which waits for its users.
    fn start(plan: &Plan) -> Result<Self, Refusal> {
        refuse_directories()?;
        let failed =
            |what: &str, error: &dyn fmt::Display| Refusal::system(format!("{what}: {error}"));
        let (outside, inside) =
            Channel::pair().map_err(|error| failed("no socket can be made", &error))?;
        let mut namespaces = sys::NAMESPACES;
        if plan.net == Net::None {
            namespaces |= libc::CLONE_NEWNET;
        }
        let first = match sys::fork_into(namespaces) {
            Ok(Some(first)) => first,
            Ok(None) => {
                drop(outside);
                init::live(plan, &inside)
            }
            Err(error) => {
                let what = "no user namespace can be made (barred by the system, a container or AppArmor, or this is a run already)";
                return Err(failed(what, &error));
            }
        };
        drop(inside);
        let run = Self {
            first,
            processes: Processes::of(first),
            channel: outside,
            terminal: Terminal::find(),
        };
        ids::write_maps(first)
            .map_err(|error| failed("the users of the namespace cannot be mapped", &error))?;
        Ok(run)
    }

    fn supervise_fast(self, layers: Vec<Layers>) -> Result<Ended, Refusal> {
        let failed = |error: std::io::Error| Refusal::system(format!("the run broke off: {error}"));
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        self.lead();
        self.channel.say(&Word::Mapped).map_err(failed)?;
        for Layers { base, changes } in layers {
            for dir in [base, changes] {
                self.channel.say(&Word::Layer(dir)).map_err(failed)?;
            }
        }
        let code = self.follow(|_| Err(Refusal::system("a device came that nobody asked for")));
        drop(self);
        Ok(Ended {
            code: code?,
            is_partly_unwatched: false,
        })
    }

    /// The first process leads a group of its own: what is typed goes to the program, and what the
    /// program signals to its group does not reach this process.
    fn lead(&self) {
        let _ = rustix::process::setpgid(Some(self.first), Some(self.first));
        if let Some(terminal) = &self.terminal {
            terminal.give(self.first);
        }
    }

    fn supervise(self, view: ProjectView) -> Result<Ended, Refusal> {
        let failed = |error: std::io::Error| Refusal::system(format!("the run broke off: {error}"));
        // Nobody of this user looks into the memory of the server, or takes its descriptors.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        self.channel.say(&Word::Mapped).map_err(failed)?;
        let mut served = Vec::new();
        // In the order in which the first process mounts them.
        let mut tops = std::iter::once(&view.top).chain(&view.repository);
        let code = self.follow(|device| {
            let top = tops
                .next()
                .ok_or_else(|| Refusal::system("a device came too often"))?;
            served.push(self.serve(&view, top.clone(), device)?);
            Ok(())
        });
        drop(self);
        // Once the last process is gone, so are the mounts, and every file is closed.
        let mut is_partly_unwatched = false;
        for served in served {
            is_partly_unwatched |= served.is_partly_unwatched();
            drop(served.join());
        }
        Ok(Ended {
            code: code?,
            is_partly_unwatched,
        })
    }

    /// Hears what the first process says, until the program has ended.
    fn follow(&self, mut serve: impl FnMut(OwnedFd) -> Result<(), Refusal>) -> Result<u8, Refusal> {
        let failed = |error: std::io::Error| Refusal::system(format!("the run broke off: {error}"));
        loop {
            match self.channel.hear().map_err(failed)? {
                Some(Word::Device(device)) => serve(device)?,
                Some(Word::Stopped) => self.stop(),
                Some(Word::Refused(why)) => return Err(Refusal::system(why)),
                Some(Word::NotStarted(why)) => return Err(Refusal::request(why)),
                Some(Word::Ended(code)) => return Ok(code),
                Some(Word::Mapped | Word::Served | Word::Layer(_)) => {
                    return Err(Refusal::system("the first process inside said nonsense"));
                }
                None => {
                    let ended = rustix::process::waitpid(Some(self.first), WaitOptions::empty());
                    let status = ended.ok().flatten();
                    return Ok(status.map_or(u8::MAX, |(_, status)| code_of(status)));
                }
            }
        }
    }

    fn serve(&self, view: &ProjectView, top: Node, device: OwnedFd) -> Result<Served, Refusal> {
        let failed = |error: &dyn fmt::Display| {
            Refusal::system(format!("the session cannot be mounted: {error}"))
        };
        // Modes are decided by the program's own umask, which the kernel knows.
        rustix::process::umask(rustix::fs::Mode::empty());
        let face = Face::new(Arc::clone(&view.files), top).map_err(|error| failed(&error))?;
        let face = face.watching().with_room_for_waiting(view.waiting);
        let face = match view.fifos_and_sockets {
            true => face.with_fifos_and_sockets(),
            false => face,
        };
        let served = handfast_fuse::serve(face, device).map_err(|error| failed(&error))?;
        self.lead();
        let said = self.channel.say(&Word::Served);
        said.map_err(|error| failed(&error))?;
        Ok(served)
    }

    /// The program was stopped from the terminal: so are we, until somebody goes on.
    fn stop(&self) {
        let Some(terminal) = &self.terminal else {
            return;
        };
        terminal.take_back();
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        terminal.give(self.first);
        let _ = rustix::process::kill_process_group(self.first, Signal::CONT);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A process that waits for a person ends only when its request has.
        self.processes.end();
        // The kernel ends every process of the namespace with its first one.
        let _ = rustix::process::kill_process(self.first, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.first), WaitOptions::empty());
        if let Some(terminal) = &self.terminal {
            terminal.take_back();
        }
    }
}
