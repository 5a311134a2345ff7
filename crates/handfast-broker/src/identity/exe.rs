//! Which program a process runs.
//!
//! The kernel tells the program of another process only to who might trace it, and Landlock takes
//! that away from the broker together with the files. So a small process that was started before
//! the wall went up, the witness, reads `/proc/PID/exe` when it is handed a pidfd, and answers
//! only if the process still runs after it was read. For a broker that has a policy file it also opens
//! that one file again, and those that name users and groups. It does nothing else and reaches no
//! client.
//!
//! A program is a fact of the moment it was read: `execve` keeps the process. It is known by the
//! file that runs and not by its path: in a mount namespace of its own, a process has any program it
//! likes under any path.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::names::{MAX_NAMES, Names};
use super::process::{Process, is_alive};
use crate::sys;
use crate::wire::Channel;

/// How long the witness may take. Connections are accepted one after the other, and wait for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The largest policy that is read, as at the start.
const MAX_POLICY: u64 = 1 << 20;

/// The program that a process runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Program {
    /// As the kernel tells it, escaped; for people.
    pub(crate) path: String,
    device: u64,
    inode: u64,
}

impl Program {
    /// Whether it is the file at a path of the broker's. Looking at it opens nothing, so the wall
    /// does not mind.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        rustix::fs::stat(path)
            .is_ok_and(|found| (found.st_dev, found.st_ino) == (self.device, self.inode))
    }

    /// `DEVICE:INODE PATH`.
    fn parse(text: &[u8]) -> Option<Self> {
        let space = text.iter().position(|byte| *byte == b' ')?;
        let (file, path) = (str::from_utf8(&text[..space]).ok()?, &text[space + 1..]);
        let (device, inode) = file.split_once(':')?;
        Some(Self {
            path: handfast::escape(path),
            device: device.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    }
}

/// Reads the program of a process.
#[derive(Debug, Default)]
pub struct ExeReader {
    witness: Option<Mutex<Questions>>,
}

/// The way to a process outside the wall. Questions have numbers and answers repeat them: one that came
/// too late is about something else.
#[derive(Debug)]
pub(crate) struct Questions {
    channel: Channel,
    asked: u64,
}

impl ExeReader {
    /// Nobody reads programs: policies that name one match nobody.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks a witness over a socket; the other end runs [`serve_witness`].
    ///
    /// # Errors
    /// What the system says.
    pub fn witness(socket: UnixStream) -> io::Result<Self> {
        Self::patient(socket, PATIENCE)
    }

    fn patient(socket: UnixStream, patience: Duration) -> io::Result<Self> {
        let channel = Channel::new(socket, patience)?.waits_at_most(patience);
        Ok(Self {
            witness: Some(Mutex::new(Questions::new(channel))),
        })
    }

    /// Whether programs are known at all.
    #[must_use]
    pub fn knows(&self) -> bool {
        self.witness.is_some()
    }

    /// The program of a process, if the witness says so in time.
    pub(crate) fn read(&self, process: &Process) -> Option<Program> {
        let witness = self.witness.as_ref()?;
        let mut witness = witness.lock().unwrap_or_else(PoisonError::into_inner);
        witness.program(process.as_fd())
    }

    /// The policy file as it is now, and the names of users and groups.
    ///
    /// # Errors
    /// If there is no witness, it says nothing in time, or the file cannot be read.
    pub(crate) fn policy(&self) -> io::Result<(Vec<u8>, Names)> {
        let nobody = || io::Error::other("there is no witness that could read the policy again");
        let witness = self.witness.as_ref().ok_or_else(nobody)?;
        let mut witness = witness.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = || io::Error::other("the witness does not answer");
        let (words, files) = witness.ask(&[]).ok_or_else(silent)?;
        let Ok([policy, users, groups]) = <[OwnedFd; 3]>::try_from(files) else {
            return Err(io::Error::other(handfast::escape(&words)));
        };
        let names = Names {
            users: read_all(users, MAX_NAMES)?,
            groups: read_all(groups, MAX_NAMES)?,
        };
        Ok((read_all(policy, MAX_POLICY)?, names))
    }
}

/// A regular file as it is, up to a size.
pub(crate) fn read_all(file: OwnedFd, most: u64) -> io::Result<Vec<u8>> {
    let file = std::fs::File::from(file);
    // Nothing where there is no such file: see `policy_files`.
    if !file.metadata()?.is_file() {
        return Ok(Vec::new());
    }
    let mut text = Vec::new();
    file.take(most + 1).read_to_end(&mut text)?;
    match text.len() as u64 > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(text),
    }
}

impl Questions {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel, asked: 0 }
    }

    fn program(&mut self, pidfd: BorrowedFd<'_>) -> Option<Program> {
        let (words, _) = self.ask(&[pidfd])?;
        Program::parse(&words)
    }

    /// Asks about a process, or without one for the files that are read again; gives the answer's words
    /// and files.
    pub(crate) fn ask(&mut self, about: &[BorrowedFd<'_>]) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
        self.asked += 1;
        let number = self.asked.to_string();
        let mut question = number.clone().into_bytes();
        self.channel.send(&mut question, about).ok()?;
        loop {
            let answer = self.channel.receive().ok()?;
            let space = answer.json.iter().position(|byte| *byte == b' ')?;
            if answer.json[..space] == *number.as_bytes() {
                return Some((answer.json[space + 1..].to_vec(), answer.fds));
            }
        }
    }
}

/// Answers for the other end of the socket until it closes: about programs, and for this policy file.
///
/// # Errors
/// What the system says.
pub fn serve_witness(socket: UnixStream, policy: Option<&Path>) -> io::Result<()> {
    let mut channel = Channel::new(socket, PATIENCE)?;
    loop {
        let frame = match channel.receive() {
            Ok(frame) => frame,
            Err(crate::wire::Trouble::Closed) => return Ok(()),
            Err(trouble) => return Err(trouble.into()),
        };
        let mut answer = frame.json;
        answer.push(b' ');
        let mut files = Vec::new();
        match (frame.fds.first(), policy) {
            (Some(pidfd), _) => answer.extend(program(pidfd.as_fd()).unwrap_or_default()),
            (None, None) => answer.extend(b"the broker has no policy file"),
            (None, Some(policy)) => match policy_files(policy) {
                Ok(opened) => files.extend(opened),
                Err(error) => answer.extend(error.to_string().bytes()),
            },
        }
        let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        channel.send(&mut answer, &files).map_err(io::Error::from)?;
    }
}

/// The policy file, and those with the names of users and groups.
fn policy_files(policy: &Path) -> io::Result<[OwnedFd; 3]> {
    use rustix::fs::{Mode, OFlags};
    // Something else than a file is not waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
    let names = |path: &str| open(Path::new(path)).or_else(|_| open(Path::new("/dev/null")));
    Ok([open(policy)?, names("/etc/passwd")?, names("/etc/group")?])
}

fn program(pidfd: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let pid = sys::pidfd_info(pidfd).ok()?.pid;
    let path = PathBuf::from(format!("/proc/{pid}/exe"));
    let target = rustix::fs::readlink(&path, Vec::new()).ok()?;
    // Through the link of procfs: the file that runs, whatever has its path.
    let file = rustix::fs::stat(&path).ok()?;
    let mut answer = format!("{}:{} ", file.st_dev, file.st_ino).into_bytes();
    answer.extend(target.into_bytes());
    // Read first, then ask whether it was still this process's number.
    is_alive(pidfd).then_some(answer)
}

/// The socket that a witness process was started with, as its standard input.
///
/// # Errors
/// What the system says.
pub fn witness_socket_from_stdin() -> io::Result<UnixStream> {
    let fd = std::io::stdin().as_fd().try_clone_to_owned()?;
    let socket = UnixStream::from(fd);
    // Whatever is not a socket fails here and not later.
    socket.peer_addr()?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{PidfdFlags, getpid, pidfd_open};

    fn own_pidfd() -> std::os::fd::OwnedFd {
        pidfd_open(getpid(), PidfdFlags::empty()).unwrap()
    }

    fn ask(reader: &ExeReader) -> Option<Program> {
        let mut witness = reader.witness.as_ref().unwrap().lock().unwrap();
        witness.program(own_pidfd().as_fd())
    }

    #[test]
    fn a_witness_that_says_nothing_is_not_waited_for() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let reader = ExeReader::patient(ours, Duration::from_millis(20)).unwrap();
        assert_eq!(ask(&reader), None);
    }

    #[test]
    fn an_answer_that_comes_late_is_not_taken_for_the_next_one() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let late = Channel::new(theirs.try_clone().unwrap(), PATIENCE).unwrap();
        late.send(&mut b"0 1:2 /usr/bin/another".to_vec(), &[])
            .unwrap();
        let witness = std::thread::spawn(move || serve_witness(theirs, None));
        let reader = ExeReader::patient(ours, Duration::from_secs(60)).unwrap();
        // Where the kernel tells nothing about a pidfd, nothing is said.
        let own = std::env::current_exe().unwrap();
        let known = sys::pidfd_info(own_pidfd().as_fd()).is_ok();
        for _ in 0..2 {
            let found = ask(&reader);
            assert_eq!(found.is_some(), known);
            let own = own.to_str().unwrap();
            assert!(found.is_none_or(|found| found.is_at(own) && !found.is_at("/bin/sh")));
        }
        drop((reader, late));
        witness.join().unwrap().unwrap();
    }
}
