//! Whether this process is inside of a run, where no answer is accepted.
//!
//! The wall of a run hides every question from the programs in it, so an answer from there reaches
//! nothing. This says so, and notifies the run, which records the attempt. A program that hides that it is in a
//! run only fails without these words.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use handfast::ErrorKind;

use crate::failure::Failure;
use crate::session::failed;

/// The file at the top of a run's project in which a program reads what reviewers said.
pub(crate) const COMMENTS: &str = ".handfast-comments";

/// How names begin by which a run learns that a process in it tried to answer.
pub(crate) const ANSWER: &str = ".handfast-answer-";

/// How much of an ID is passed on.
const MAX_TOLD: usize = 64;

/// Refuses what a person does outside of a run, where this process is inside of one.
pub(crate) fn refuse(verb: &'static str, tried: &str) -> Result<(), Box<Failure>> {
    let Some(project) = project() else {
        return Ok(());
    };
    let heard = tell(&project, tried);
    let why = match heard {
        true => {
            "this is inside of a run: answers come from a terminal outside of any run. The run \
             knows of the attempt, and its log has it"
        }
        false => "this is inside of a run: answers come from a terminal outside of any run",
    };
    let error = handfast::Error::refused(ErrorKind::Denied, why);
    Err(failed(verb, "answer from here", "", &error))
}

/// The project of the run that this process is in.
#[allow(
    clippy::disallowed_methods,
    reason = "procfs tells about this process's own mounts"
)]
fn project() -> Option<PathBuf> {
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    let is_run = |place: &PathBuf| place.join(COMMENTS).symlink_metadata().is_ok();
    places(&mounts).into_iter().find(is_run)
}

/// Where sessions are mounted, by a run or by `handfast mount`.
fn places(mountinfo: &[u8]) -> Vec<PathBuf> {
    let place = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let place = fields.nth(4)?;
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        (kind == b"fuse.handfast").then(|| unescaped(place))
    };
    let lines = mountinfo.split(|byte| *byte == b'\n');
    lines.filter_map(place).collect()
}

/// The kernel writes a space, a tab, a newline and a backslash as three octal digits.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let code = (after.get(..3))
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(out))
}

/// Tells the run. It refuses the name, and that is how it hears of it.
#[allow(
    clippy::disallowed_methods,
    reason = "the run's own mount, by the only path it has"
)]
fn tell(project: &Path, tried: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let tried = tried.chars().filter(|letter| plain(*letter));
    let name = format!("{ANSWER}{}", tried.take(MAX_TOLD).collect::<String>());
    let made = std::fs::File::create_new(project.join(name));
    made.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_sessions_are_found_by_their_kind() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/sda rw\n\
            2 1 0:5 / /home/me/my\\040project rw,nosuid shared:1 - fuse.handfast handfast rw\n\
            3 1 0:6 / /mnt rw - fuse.sshfs x rw\n";
        assert_eq!(places(text), [PathBuf::from("/home/me/my project")]);
        assert!(places(b"").is_empty());
    }
}
