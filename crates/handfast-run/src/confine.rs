//! A run without namespaces: Landlock alone keeps the program in. The project is the host's own, so
//! nothing waits, and there is no rule that Landlock could not say.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions};

use crate::channel::{Channel, Word};
use crate::init::code_of;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::supervise::{Ended, refuse_directories};
use crate::{privileges, sys};

/// Devices that a program may use.
const DEVICES: [&str; 6] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// Runs a program behind Landlock and waits for its end.
///
/// # Errors
/// What this system cannot give; a program that cannot be started.
///
/// # Security
/// Call it while this process has one thread. When this process is killed, the kernel kills the
/// program, but not what the program has started.
pub fn confine(plan: &Plan) -> Result<Ended, Refusal> {
    refuse_directories()?;
    let failed =
        |what: &str, error: &dyn std::fmt::Display| Refusal::system(format!("{what}: {error}"));
    let (outside, inside) =
        Channel::pair().map_err(|error| failed("no socket can be made", &error))?;
    let own = TemporaryDir::make().map_err(|error| failed("no temporary directory", &error))?;
    let program = sys::fork().map_err(|error| failed("cannot fork", &error))?;
    let Some(program) = program else {
        drop(outside);
        become_program(plan, &own.0, &inside)
    };
    drop(inside);
    // What is typed at the terminal is for the program, which decides whether it ends.
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        sys::ignore_signal(signal, true);
    }
    let code = wait(program);
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        sys::ignore_signal(signal, false);
    }
    match outside.hear() {
        Ok(Some(Word::Refused(why))) => Err(Refusal::system(why)),
        Ok(Some(Word::NotStarted(why))) => Err(Refusal::request(why)),
        _ => Ok(Ended {
            code,
            is_partly_unwatched: false,
        }),
    }
}

fn wait(program: Pid) -> u8 {
    loop {
        match rustix::process::waitpid(Some(program), WaitOptions::empty()) {
            Ok(Some((_, status))) => return code_of(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return u8::MAX,
        }
    }
}

/// In the child: the wall, and the program. The other end of the channel closes when it starts.
fn become_program(plan: &Plan, own: &Path, channel: &Channel) -> ! {
    if let Err(why) = restrict(plan, own, channel) {
        drop(channel.say(&Word::Refused(why)));
        sys::exit_now(1);
    }
    let Some((program, arguments)) = plan.command.split_first() else {
        sys::exit_now(1);
    };
    let error = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(plan.env.iter().map(|(name, value)| (name, value)))
        .env("TMPDIR", own)
        .exec();
    let shown = handfast::escape(program.as_bytes());
    drop(channel.say(&Word::NotStarted(format!(
        "`{shown}` cannot be started: {error}"
    ))));
    sys::exit_now(127);
}

fn restrict(plan: &Plan, own: &Path, channel: &Channel) -> Result<(), String> {
    use std::os::fd::AsFd;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the end of this process cannot be followed: {error}"))?;
    sys::close_others(channel.as_fd()).map_err(|error| format!("descriptors: {error}"))?;
    // As user 0 a program would get them back; a plan for root is refused before.
    privileges::drop_own_capabilities()?;
    let mut readable: Vec<&Path> = vec![Path::new("/proc")];
    let mut writable: Vec<&Path> = vec![own];
    writable.extend(DEVICES.map(Path::new));
    let project = match plan.read_only {
        true => &mut readable,
        false => &mut writable,
    };
    project.extend(plan.project.mounted());
    for grant in &plan.grants {
        match grant.writable {
            true => writable.push(&grant.path),
            false => readable.push(&grant.path),
        }
    }
    privileges::confine(&readable, &writable)?;
    privileges::filter_calls(false)
}

/// A directory for temporary files, which goes with the run.
struct TemporaryDir(PathBuf);

impl TemporaryDir {
    #[allow(
        clippy::disallowed_methods,
        reason = "the user's own directory for temporary files, by its ambient path"
    )]
    fn make() -> std::io::Result<Self> {
        let above = std::env::temp_dir().canonicalize()?;
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700);
        for attempt in 0..16_u32 {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let nanos = since.map_or(0, |since| since.subsec_nanos());
            let name = format!("handfast-run-{}-{nanos:x}-{attempt}", std::process::id());
            let path = above.join(name);
            match builder.create(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(path)),
            }
        }
        Err(std::io::Error::other("every name is taken"))
    }
}

impl Drop for TemporaryDir {
    #[allow(
        clippy::disallowed_methods,
        reason = "a directory that this process made, with what the program left in it"
    )]
    fn drop(&mut self) {
        // What cannot be removed is left to the machine, as every temporary file is.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
