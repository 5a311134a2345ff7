//! Which process asks, which one answers, and whether the one may answer the other.

use std::path::Path;
use std::sync::OnceLock;

use handfast::ErrorKind;

use crate::codec::{Reader, Writer};
use crate::error::Error;

/// Ancestors are looked at up to this many.
const MAX_ANCESTORS: usize = 256;

/// A process, told apart from others that had its number before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// When it was started, in ticks since the system was.
    pub(crate) started: u64,
}

/// Where a process stands: what an answer is judged by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Standing {
    pub(crate) process: Process,
    /// Which PID namespace it is in, by the kernel's number.
    namespace: u64,
    /// It, or one of its ancestors, gave up getting more rights. A `run` does; nothing takes it back.
    no_new_privileges: bool,
    /// Its terminal, by the kernel's number; 0 if it has none.
    terminal: u64,
}

/// What /proc said of this process and its parent when a session was opened.
static REMEMBERED: OnceLock<Option<(Standing, Option<Process>)>> = OnceLock::new();

impl Standing {
    /// Learns where this process stands while /proc can still be read. A server that restricts itself with
    /// Landlock after it opened its session cannot read it later.
    pub(crate) fn remember() {
        REMEMBERED.get_or_init(|| {
            let (_, parent, _) = stat_of("self")?;
            let parent = stat_of(&parent.to_string()).map(|(process, ..)| process);
            Some((Self::look()?, parent))
        });
    }

    /// Where this process stands; `None` where /proc does not tell, and did not tell before.
    pub(crate) fn here() -> Option<Self> {
        Self::look().or_else(|| {
            // A child that was forked since is another process. What was remembered is from before the
            // restriction, so it says `no_new_privs` only if the process was started with it: a confined
            // program does not become one that may answer because the server confined itself.
            let (known, _) = REMEMBERED.get()?.clone()?;
            (known.process.pid == std::process::id()).then_some(known)
        })
    }

    fn look() -> Option<Self> {
        let status = read("self/status")?;
        let given_up = status
            .lines()
            .find_map(|line| line.strip_prefix("NoNewPrivs:"))?;
        let (process, _, terminal) = stat_of("self")?;
        Some(Self {
            process,
            namespace: namespace()?,
            no_new_privileges: given_up.trim() != "0",
            terminal,
        })
    }

    /// A process of another number in the namespace of this one.
    pub(crate) fn process(pid: u32) -> Option<Process> {
        let now = stat_of(&pid.to_string()).map(|(process, ..)| process);
        now.or_else(|| {
            let (_, parent) = REMEMBERED.get()?.clone()?;
            parent.filter(|parent| parent.pid == pid)
        })
    }

    /// May this process answer what another one asks? `barred` are processes whose descendants may not.
    ///
    /// # Errors
    /// `Denied` with the reason.
    pub(crate) fn may_answer(&self, asker: &Self, barred: &[Process]) -> Result<(), Error> {
        let refuse = |why: &str| {
            Err(Error::refused(
                ErrorKind::Denied,
                format!("an answer comes from a terminal outside of any run: {why}"),
            ))
        };
        if self.namespace != asker.namespace {
            return refuse("this process is in another PID namespace than the one that asks");
        }
        if self.no_new_privileges && !asker.no_new_privileges {
            return refuse("this process is confined (no_new_privs), and the one that asks is not");
        }
        if self.terminal != 0 && self.terminal == asker.terminal {
            return refuse("this is the terminal of the program that asks; use another one");
        }
        for process in self.line_of_descent() {
            if process == asker.process || barred.contains(&process) {
                return refuse("this process was started by the program that asks");
            }
        }
        Ok(())
    }

    /// This process and its ancestors, as far as /proc shows them.
    fn line_of_descent(&self) -> Vec<Process> {
        let mut line = Vec::new();
        let mut next = self.process.pid;
        while next != 0 && line.len() < MAX_ANCESTORS {
            let Some((process, parent, _)) = stat_of(&next.to_string()) else {
                break;
            };
            line.push(process);
            next = parent;
        }
        line
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        self.process.write(out);
        out.number(self.namespace);
        out.byte(u8::from(self.no_new_privileges));
        out.number(self.terminal);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self {
            process: Process::read(input)?,
            namespace: input.number()?,
            no_new_privileges: input.byte()? != 0,
            terminal: input.number()?,
        })
    }
}

impl Process {
    pub(crate) fn write(self, out: &mut Writer) {
        out.number(u64::from(self.pid));
        out.number(self.started);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self {
            pid: u32::try_from(input.number()?).map_err(|_| crate::codec::unknown())?,
            started: input.number()?,
        })
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "files of the kernel, by the only paths they have"
)]
fn read(name: &str) -> Option<String> {
    let bytes = std::fs::read(Path::new("/proc").join(name)).ok()?;
    // The name of a program is any bytes.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn namespace() -> Option<u64> {
    let status = rustix::fs::stat("/proc/self/ns/pid").ok()?;
    Some(status.st_ino)
}

/// A process, its parent and its terminal.
fn stat_of(name: &str) -> Option<(Process, u32, u64)> {
    parse_stat(&read(&format!("{name}/stat"))?)
}

/// `12 (name) S 1 …`: a name may hold spaces and parentheses, so it ends at the last one.
fn parse_stat(text: &str) -> Option<(Process, u32, u64)> {
    let pid = text.split(' ').next()?.parse().ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let terminal: i64 = fields.get(4)?.parse().ok()?;
    let started = fields.get(19)?.parse().ok()?;
    let process = Process { pid, started };
    Some((process, parent, u64::try_from(terminal).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_taken_apart_behind_the_name() {
        let text = "42 (a) b (c) S 7 42 42 34816 42 4194304 1 0 0 0 1 2 3 4 20 0 1 0 991 0 0";
        let process = Process {
            pid: 42,
            started: 991,
        };
        assert_eq!(parse_stat(text), Some((process, 7, 34816)));
        assert_eq!(parse_stat("42 (a"), None);
    }

    #[test]
    fn the_asker_its_descendants_and_confined_programs_do_not_answer() {
        let here = Standing::here().unwrap();
        let elsewhere = Standing {
            process: Process {
                pid: u32::MAX,
                started: 1,
            },
            terminal: u64::MAX,
            ..here.clone()
        };
        assert!(here.may_answer(&elsewhere, &[]).is_ok());
        // Itself, and any of its ancestors.
        assert!(here.may_answer(&here, &[]).is_err());
        let line = here.line_of_descent();
        assert!(line.len() > 1, "{line:?}");
        for ancestor in line {
            assert!(here.may_answer(&elsewhere, &[ancestor]).is_err());
            // A number that another process had before is not that process.
            let before = Process {
                started: ancestor.started + 1,
                ..ancestor
            };
            assert!(here.may_answer(&elsewhere, &[before]).is_ok());
        }
        let other_namespace = Standing {
            namespace: here.namespace + 1,
            ..elsewhere.clone()
        };
        assert!(here.may_answer(&other_namespace, &[]).is_err());
        let confined = Standing {
            no_new_privileges: true,
            ..here.clone()
        };
        let free = Standing {
            no_new_privileges: false,
            ..elsewhere.clone()
        };
        assert!(confined.may_answer(&free, &[]).is_err());
        let same_terminal = Standing {
            terminal: 34816,
            ..elsewhere
        };
        let there = Standing {
            terminal: 34816,
            ..here
        };
        assert!(there.may_answer(&same_terminal, &[]).is_err());
    }
}
