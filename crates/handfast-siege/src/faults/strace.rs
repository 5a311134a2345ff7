//! Faults at single system calls, by strace.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::worker::{BEGIN, END};

/// A call of an operation: its name, and its number among the calls of that name in the process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SystemCall {
    pub(super) name: String,
    pub(super) number: usize,
}

/// Calls that are about memory, threads or the process itself, not about files.
const NOT_ABOUT_FILES: [&str; 16] = [
    "mmap",
    "munmap",
    "mremap",
    "brk",
    "mprotect",
    "madvise",
    "sigaltstack",
    "rt_sigprocmask",
    "rt_sigaction",
    "exit_group",
    "exit",
    "futex",
    "sched_yield",
    "clone3",
    "access",
    "faccessat",
];

/// Why strace cannot be used here; nothing if it can.
pub(super) fn missing() -> Option<String> {
    let tried = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "-e", "inject=getpid:error=ENOSYS"])
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => None,
        Ok(_) => Some("strace may not trace here".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some("strace is not installed".to_owned())
        }
        Err(error) => Some(format!("strace cannot be started: {error}")),
    }
}

/// Runs a worker, and says which calls its operation makes.
pub(super) fn calls(worker: &Command, log: &Path) -> io::Result<Vec<SystemCall>> {
    let mut command = under(&["-qq", "-f", "-e", "signal=none", "-o"]);
    command.arg(log);
    let status = with(command, worker).status()?;
    let text = std::fs::read_to_string(log)?;
    std::fs::remove_file(log)?;
    if !status.success() {
        return Err(io::Error::other("the operation fails without any fault"));
    }
    let calls = parse(&text);
    if calls.is_empty() {
        return Err(io::Error::other("the trace shows no operation"));
    }
    Ok(calls)
}

/// The calls between the two marks.
fn parse(text: &str) -> Vec<SystemCall> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut begun = false;
    for line in text.lines() {
        let Some((name, _)) = line
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.split_once('('))
        else {
            continue;
        };
        let number = counts.entry(name).or_default();
        *number += 1;
        if line.contains(END) {
            break;
        }
        if begun && !NOT_ABOUT_FILES.contains(&name) {
            calls.push(SystemCall {
                name: name.to_owned(),
                number: *number,
            });
        }
        begun |= line.contains(BEGIN);
    }
    calls
}

/// Runs a worker with one fault at one call; its exit code, or none if it was killed.
pub(super) fn inject(worker: &Command, call: &SystemCall, fault: &str) -> io::Result<Option<i32>> {
    let mut command = under(&["-qq", "-f", "-o", "/dev/null"]);
    command.arg("-e").arg(format!("trace={}", call.name));
    command
        .arg("-e")
        .arg(format!("inject={}:{fault}:when={}", call.name, call.number));
    Ok(with(command, worker).status()?.code())
}

fn under(arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(arguments);
    command
}

fn with(mut command: Command, worker: &Command) -> Command {
    command
        .arg(worker.get_program())
        .args(worker.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_numbered_from_the_process_s_start_and_told_between_the_marks() {
        let text = format!(
            "7 openat(3, \"a\") = 4\n7 access(\"{BEGIN}\", F_OK) = -1\n7 openat(3, \"b\") = 5\n\
             7 mmap(NULL) = 0\n7 fsync(5) = 0\n7 access(\"{END}\", F_OK) = -1\n7 fsync(6) = 0\n"
        );
        let call = |name: &str, number| SystemCall {
            name: name.to_owned(),
            number,
        };
        assert_eq!(parse(&text), [call("openat", 2), call("fsync", 1)]);
    }
}
