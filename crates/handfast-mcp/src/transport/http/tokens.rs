//! The tokens that callers show, each with the caller's name.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::fs::{Mode, OFlags};

/// A shorter token could be guessed.
const SHORTEST: usize = 24;

/// The tokens of a server.
#[derive(Clone)]
pub struct Tokens {
    known: Vec<KnownToken>,
    /// Only this run knows the token, so it has to be told.
    pub(super) is_new: bool,
}

#[derive(Clone)]
struct KnownToken {
    caller: String,
    token: String,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let callers: Vec<&str> = self.known.iter().map(|one| &*one.caller).collect();
        f.debug_struct("Tokens").field("callers", &callers).finish()
    }
}

impl Tokens {
    /// One token for this run.
    ///
    /// # Errors
    /// What the system says where there is no randomness.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            known: vec![KnownToken {
                caller: String::new(),
                token: random()?,
            }],
            is_new: true,
        })
    }

    /// The tokens of a file: a line `NAME TOKEN` for each caller. A missing file is made, with one
    /// token. Call it before the server starts: behind its wall the file is out of reach.
    ///
    /// # Errors
    /// `InvalidInput` if the file is not ours alone (mode 0600), or a line is no name and token of
    /// at least 24 letters, digits, `-` and `_`; what the system says.
    pub fn read_ambient(path: &Path) -> io::Result<Self> {
        let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let bytes = path.as_os_str().as_bytes();
        let opened = rustix::fs::open(bytes, flags | OFlags::RDONLY, Mode::empty());
        let text = match opened {
            Ok(file) => {
                let status = rustix::fs::fstat(&file)?;
                let is_file = status.st_mode & 0o170_000 == 0o100_000;
                let is_ours = status.st_uid == rustix::process::geteuid().as_raw();
                if !is_file || !is_ours || status.st_mode & 0o077 != 0 {
                    return Err(invalid(
                        "the token file must be yours alone, with the mode 0600",
                    ));
                }
                let mut text = String::new();
                let file = std::fs::File::from(file);
                io::Read::read_to_string(&mut io::Read::take(file, 1 << 20), &mut text)?;
                text
            }
            Err(rustix::io::Errno::NOENT) => {
                let text = format!("client {}\n", random()?);
                let flags = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                let file = rustix::fs::open(bytes, flags, Mode::RUSR | Mode::WUSR)?;
                io::Write::write_all(&mut std::fs::File::from(file), text.as_bytes())?;
                text
            }
            Err(error) => return Err(error.into()),
        };
        Self::parse(&text)
    }

    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let mut known = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (caller, token) = line.split_once(' ').unwrap_or((line, ""));
            let token = token.trim();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if token.len() < SHORTEST || !token.chars().all(plain) {
                // The line itself may hold a secret.
                return Err(invalid(
                    "a line of the token file is no name and token; a token has at least 24 letters, digits, `-` and `_`",
                ));
            }
            known.push(KnownToken {
                caller: caller.to_owned(),
                token: token.to_owned(),
            });
        }
        if known.is_empty() {
            return Err(invalid("the token file holds no token"));
        }
        Ok(Self {
            known,
            is_new: false,
        })
    }

    /// How many callers there are.
    pub(super) fn callers(&self) -> usize {
        let names: BTreeSet<&str> = self.known.iter().map(|one| one.caller.as_str()).collect();
        names.len()
    }

    /// The first token.
    pub(super) fn first(&self) -> &str {
        self.known.first().map_or("", |one| &one.token)
    }

    /// Whose token this is.
    pub(super) fn caller(&self, given: &str) -> Option<&str> {
        // Every one is compared, so that the time does not tell which.
        let mut found = None;
        for one in &self.known {
            if same(given.as_bytes(), one.token.as_bytes()) {
                found = Some(one.caller.as_str());
            }
        }
        found
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// 32 random bytes as text.
pub(super) fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares in a time that does not tell how much is right.
fn same(one: &[u8], other: &[u8]) -> bool {
    let differing = one
        .iter()
        .zip(other)
        .fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caller_has_a_token_of_its_own() {
        let (one, two) = (random().unwrap(), random().unwrap());
        let tokens = Tokens::parse(&format!("# callers\nana {one}\n\nben {two}\n")).unwrap();
        assert_eq!(tokens.caller(&one), Some("ana"));
        assert_eq!(tokens.caller(&two), Some("ben"));
        assert_eq!(tokens.callers(), 2);
        for wrong in ["", "ana", &one[1..], &format!("{one}x")] {
            assert_eq!(tokens.caller(wrong), None, "{wrong}");
        }
        assert!(!format!("{tokens:?}").contains(&one));
        for bad in ["", "#", "ana", "ana short", "ana with blanks in the token"] {
            assert!(Tokens::parse(bad).is_err(), "{bad}");
        }
        assert_ne!(one, two);
    }
}
