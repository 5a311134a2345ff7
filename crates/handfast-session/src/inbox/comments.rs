//! Comments of a reviewer about changes: one file each, written once.

use std::time::{SystemTime, UNIX_EPOCH};

use handfast::{ErrorKind, RelPath, Root, WriteOptions};

use crate::codec::{Reader, Writer};
use crate::error::Error;
use crate::session::Session;
use crate::vpath::VirtualPath;

const DIRECTORY: &str = "comments";
/// So many comments are kept for a session.
const MAX_COMMENTS: usize = 1000;
/// The longest comment, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// What a reviewer said about a change. The change stays in the session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Comment {
    /// When, in nanoseconds since the epoch. [`Session::add_comment`] sets it.
    pub made: u64,
    /// Who said it.
    pub by: String,
    /// The path that it is about.
    pub path: VirtualPath,
    /// The ID of the hunk that it is about; the whole path if there is none.
    pub hunk: Option<String>,
    /// The SHA-256 of the content that the reviewer saw, where there was content.
    pub digest: Option<String>,
    /// What was said.
    pub text: String,
}

impl Comment {
    /// A comment about a path as a whole.
    #[must_use]
    pub fn new(by: impl Into<String>, path: VirtualPath, text: impl Into<String>) -> Self {
        Self {
            made: 0,
            by: by.into(),
            path,
            hunk: None,
            digest: None,
            text: text.into(),
        }
    }

    /// It on one line, escaped.
    #[must_use]
    pub fn line(&self) -> String {
        let part = match &self.hunk {
            Some(hunk) => format!(" (hunk {})", handfast::escape(hunk.as_bytes())),
            None => String::new(),
        };
        let text = handfast::escape(self.text.as_bytes());
        format!("{}{part}: {text}", self.path)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(self.made);
        out.text(self.by.as_bytes());
        out.text(self.path.as_rel().as_bytes());
        for optional in [&self.hunk, &self.digest] {
            out.option(optional.as_ref(), |out, text| out.text(text.as_bytes()));
        }
        out.text(self.text.as_bytes());
        out.bytes
    }

    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let made = input.number()?;
        let by = string(input.text()?);
        let mut path = vec![b'/'];
        path.extend_from_slice(input.text()?);
        Ok(Self {
            made,
            by,
            path: VirtualPath::parse(path)?,
            hunk: input.option(|input| Ok(string(input.text()?)))?,
            digest: input.option(|input| Ok(string(input.text()?)))?,
            text: string(input.text()?),
        })
    }
}

impl Session {
    /// Keeps a comment about a change, for the one who works in the session. The caller's recorder is told
    /// first: a commit of this path was refused, by whom and with which words.
    ///
    /// # Errors
    /// `Invalid` for an empty comment, or a session that does not last; `Limit` for one that is too long,
    /// or one too many; what the recorder or the disk says.
    pub fn add_comment(&self, comment: &Comment) -> Result<(), Error> {
        if comment.text.trim().is_empty() {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "the comment says nothing",
            ));
        }
        if comment.text.len() > MAX_LENGTH {
            return Err(Error::refused(
                ErrorKind::Limit,
                format!("a comment has at most {MAX_LENGTH} bytes"),
            ));
        }
        let home = self.home().ok_or_else(|| {
            Error::refused(
                ErrorKind::Invalid,
                "a session that does not last keeps no comments",
            )
        })?;
        let dir = match home.create_dir_with(&directory()?, 0o700) {
            Ok(dir) => dir.into_root(),
            Err(error) if error.kind() == ErrorKind::Exists => open(home)?,
            Err(error) => return Err(error),
        };
        if names(&dir)?.len() >= MAX_COMMENTS {
            return Err(Error::refused(
                ErrorKind::Limit,
                format!("a session keeps at most {MAX_COMMENTS} comments"),
            ));
        }
        self.tell_rejected(&comment.path, &comment.text)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut comment = comment.clone();
        comment.made = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        loop {
            // The time is the name; two reviewers at the same nanosecond take turns.
            let name = RelPath::parse(format!("{:020}", comment.made))?;
            let private = WriteOptions::new().mode(0o600);
            match dir.write_new_with(&name, comment.to_bytes(), private) {
                Err(error) if error.kind() == ErrorKind::Exists => comment.made += 1,
                written => return written.map(drop),
            }
        }
    }

    /// The comments about what is still changed, the oldest first.
    ///
    /// # Errors
    /// `Unsupported` for a comment of a newer version; what the disk says.
    pub fn comments(&self) -> Result<Vec<Comment>, Error> {
        let Some(home) = self.home() else {
            return Ok(Vec::new());
        };
        let dir = match open(home) {
            Ok(dir) => dir,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for name in names(&dir)? {
            found.push(Comment::parse(&dir.read(&RelPath::parse(name)?)?)?);
        }
        if found.is_empty() {
            return Ok(found);
        }
        let changed = self.diff()?;
        let is_open = |comment: &Comment| changed.iter().any(|change| change.path == comment.path);
        found.retain(is_open);
        Ok(found)
    }
}

fn directory() -> Result<RelPath, Error> {
    RelPath::parse(DIRECTORY)
}

fn open(home: &Root) -> Result<Root, Error> {
    Ok(home.open_dir(&directory()?)?.into_root())
}

/// The names of comments in the order in which they were made; what is not yet written in full has
/// another name.
fn names(dir: &Root) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let mut listing = dir.read_dir(&RelPath::root())?;
    while let Some(entry) = listing.next_entry()? {
        let name = entry.name().as_bytes();
        if name.iter().all(u8::is_ascii_digit) {
            found.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    found.sort();
    Ok(found)
}
