//! The first process inside: it builds the wall, starts the program and reaps what is left over.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};

use crate::channel::{Channel, Word};
use crate::plan::{Net, Plan, Wall};
use crate::{fast, privileges, root, sys};

/// The life of the first process inside. It never returns to its caller: the caller's own life goes
/// on in the process that it was forked from.
pub(crate) fn live(plan: &Plan, channel: &Channel) -> ! {
    let word = match prepare(plan, channel) {
        Ok(()) => match start(plan, channel) {
            Ok(program) => reap(program, channel),
            Err(why) => Word::Refused(why),
        },
        Err(why) => Word::Refused(why),
    };
    // If nobody listens any more, nobody waits for this either.
    drop(channel.say(&word));
    sys::exit_now(0);
}

/// Builds the wall as far as the first process shares it.
fn prepare(plan: &Plan, channel: &Channel) -> Result<(), String> {
    let said = |what: &str| {
        let what = what.to_owned();
        move |error: rustix::io::Errno| format!("{what}: {error}")
    };
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(said("the end of the server cannot be followed"))?;
    expect(channel, |word| matches!(word, Word::Mapped))?;
    let layers = match plan.fast {
        true => fast::hear_layers(plan, channel)?,
        false => Vec::new(),
    };
    let device = |_| {
        handfast_fuse::open_device().map_err(|error| {
            format!(
                "the kernel's device /dev/fuse cannot be opened: {error} (`modprobe fuse`, and \
                 `chmod 666 /dev/fuse` where it belongs to root)"
            )
        })
    };
    let served = plan.project.mounted().filter(|_| !plan.fast);
    let devices = served.map(device).collect::<Result<Vec<_>, _>>()?;
    if plan.net == Net::None {
        sys::loopback_up()
            .map_err(|error| format!("the loopback cannot be switched on: {error}"))?;
    }
    // The host's own umask is the program's, later.
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    root::build(plan, devices, &layers, |device| {
        channel
            .say(&Word::Device(device))
            .map_err(|error| error.to_string())?;
        expect(channel, |word| matches!(word, Word::Served))
    })?;
    rustix::process::umask(umask);
    drop(layers);
    sys::close_others(channel.as_fd()).map_err(|error| format!("descriptors: {error}"))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(said("the first process cannot be kept from debuggers"))?;
    privileges::drop_capabilities()?;
    privileges::filter_calls(plan.wall == Wall::Nested)
}

fn expect(channel: &Channel, is_it: impl Fn(&Word) -> bool) -> Result<(), String> {
    match channel.hear() {
        Ok(Some(word)) if is_it(&word) => Ok(()),
        // The process that was to say it ended, and has said why to its own caller.
        _ => sys::exit_now(0),
    }
}

fn start(plan: &Plan, channel: &Channel) -> Result<Pid, String> {
    match sys::fork() {
        Ok(Some(program)) => Ok(program),
        Ok(None) => become_program(plan, channel),
        Err(error) => Err(format!("cannot fork: {error}")),
    }
}

/// In the second process: the part of the wall that the first one stands outside of, and the
/// program.
fn become_program(plan: &Plan, channel: &Channel) -> ! {
    let mut writable = vec![
        plan.home.as_path(),
        Path::new("/dev"),
        Path::new("/run"),
        Path::new("/tmp"),
        Path::new("/var/tmp"),
    ];
    writable.extend(plan.project.mounted());
    let granted = plan.grants.iter().filter(|grant| grant.writable);
    writable.extend(granted.map(|grant| grant.path.as_path()));
    writable.extend(plan.caches.iter().map(PathBuf::as_path));
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        // User 0 owns files of procfs that speak of the whole machine.
        writable.push(Path::new("/proc"));
    }
    // Inside of Landlock nobody changes mounts, and a program with a sandbox of its own has to.
    let restricted = match plan.wall {
        Wall::Nested => Ok(()),
        _ => privileges::restrict(&writable, is_root),
    };
    if let Err(why) = restricted.and_then(|()| privileges::limit_processes()) {
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
        .exec();
    let shown = handfast::escape(program.as_bytes());
    let why = format!("`{shown}` cannot be started: {error}");
    drop(channel.say(&Word::NotStarted(why)));
    sys::exit_now(127);
}

/// Waits for the program, and for whatever its children leave behind. When this process ends, the
/// kernel ends every other one in the namespace.
fn reap(program: Pid, channel: &Channel) -> Word {
    loop {
        match rustix::process::wait(WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if pid == program => {
                if status.stopped() {
                    drop(channel.say(&Word::Stopped));
                    continue;
                }
                return Word::Ended(code_of(status));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Word::Ended(u8::MAX),
        }
    }
}

/// A code as shells tell it: 128 and the signal, if one ended the program.
pub(crate) fn code_of(status: WaitStatus) -> u8 {
    let code = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 255,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}
