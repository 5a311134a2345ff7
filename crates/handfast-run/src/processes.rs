//! Which process of a run asks, as seen from outside of it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::sys;

/// A process, and its program at the moment of the look.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Observed {
    /// Its number on this side of the wall.
    pub pid: u32,
    /// The path of its program, as it is called where the program runs. Nothing if the kernel does not
    /// say: a process that has ended, or of the kernel.
    pub exe: Option<String>,
}

/// The processes of a run, or those that use a mount.
#[derive(Clone, Debug)]
pub struct Processes {
    whose: Arc<Whose>,
    has_ended: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Whose {
    /// They are in this pid namespace. Nothing if it could not be opened.
    Inside(Option<OwnedFd>),
    /// The numbers are those of this process's own namespace.
    Here,
}

impl Processes {
    /// Those in the namespace of a first process, which is still one of ours.
    pub(crate) fn of(first: Pid) -> Self {
        let path = format!("/proc/{}/ns/pid", first.as_raw_nonzero());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let namespace = rustix::fs::open(path, flags, Mode::empty()).ok();
        Self::new(Whose::Inside(namespace))
    }

    /// Those of this process's own namespace, which use a mount that [`show`](crate::show) makes.
    #[must_use]
    pub fn here() -> Self {
        Self::new(Whose::Here)
    }

    fn new(whose: Whose) -> Self {
        Self {
            whose: Arc::new(whose),
            has_ended: Arc::new(AtomicBool::new(false)),
        }
    }

    /// The process that a mount of the run was asked by, while it waits for the answer. Nothing if it
    /// is gone, or if this kernel does not translate numbers of processes (before Linux 6.11).
    #[must_use]
    pub fn look(&self, inside: u32) -> Option<Observed> {
        let pid = match &*self.whose {
            Whose::Inside(namespace) => sys::pid_from(namespace.as_ref()?, inside).ok()?,
            Whose::Here => process_of(inside)?,
        };
        let exe = rustix::fs::readlink(format!("/proc/{pid}/exe"), Vec::new()).ok();
        Some(Observed {
            pid,
            exe: exe.map(|path| handfast::escape(path.as_bytes())),
        })
    }

    /// Whether a thread that waits for a mount is to be killed, or the run is at its end: nobody wants
    /// the answer. The kernel lets no such thread go before it has one. No if this kernel does not
    /// translate numbers.
    #[must_use]
    pub fn is_gone(&self, inside: u32) -> bool {
        if self.has_ended.load(Ordering::SeqCst) {
            return true;
        }
        // The kernel asks for itself, or for a process of another namespace.
        if inside == 0 {
            return false;
        }
        let thread = match &*self.whose {
            Whose::Inside(None) => return false,
            Whose::Inside(Some(namespace)) => match sys::thread_from(namespace, inside) {
                Ok(thread) => thread,
                Err(error) => return error.raw_os_error() == Some(libc::ESRCH),
            },
            Whose::Here => inside,
        };
        status_of(thread).is_none_or(|status| is_dying(&status))
    }

    /// The run is at its end: nobody waits for anything any more.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "procfs tells about a thread by the only path it has"
)]
fn status_of(thread: u32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{thread}/status")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    let text = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(text.trim())
}

/// The process of a thread.
fn process_of(thread: u32) -> Option<u32> {
    field(&status_of(thread)?, "Tgid")?.parse().ok()
}

/// A signal that ends a process is sent to each of its threads as the one that kills.
fn is_dying(status: &str) -> bool {
    const KILL: u64 = 1 << (libc::SIGKILL - 1);
    let pending = |name| field(status, name).and_then(|set| u64::from_str_radix(set, 16).ok());
    let has_kill = |name| pending(name).is_some_and(|set| set & KILL != 0);
    let state = field(status, "State").unwrap_or_default();
    has_kill("SigPnd") || has_kill("ShdPnd") || state.starts_with(['Z', 'X'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_to_be_killed_is_gone() {
        let status = "Name:\tState: Z\nState:\tD (disk sleep)\nTgid:\t7\n\
            SigPnd:\t0000000000000000\nShdPnd:\t0000000000000002\n";
        assert!(!is_dying(status));
        assert_eq!(field(status, "Tgid"), Some("7"));
        assert!(is_dying(&status.replace(
            "SigPnd:\t0000000000000000",
            "SigPnd:\t0000000000000100"
        )));
        assert!(is_dying(
            &status.replace("0000000000000002", "0000000000004102")
        ));
        assert!(is_dying(&status.replace("State:\tD", "State:\tZ")));
    }

    #[test]
    fn a_process_of_this_namespace_is_gone_when_it_has_ended() {
        let here = Processes::here();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert!(!here.is_gone(child.id()) && !here.is_gone(0));
        assert_eq!(here.look(child.id()).map(|seen| seen.pid), Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(here.is_gone(child.id()));
        assert!(!here.is_gone(std::process::id()));
        here.end();
        assert!(here.is_gone(std::process::id()));
    }
}
