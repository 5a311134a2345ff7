//! What the page's process may ask of the keeper, and what the keeper answers.
//!
//! A message is its length in four bytes, little-endian, and JSON. The keeper refuses what it does not
//! know; the page's process believes the keeper.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The longest request.
pub const MAX_REQUEST: usize = 4 << 20;
/// The longest reply.
pub const MAX_REPLY: usize = 192 << 20;
/// So many changes are on a page.
pub const PAGE: usize = 200;
/// So many lines of a file are on a page.
pub const LINES: usize = 3000;
/// So many bytes of a line are shown, unless all are asked for.
pub const LINE: usize = 4000;
/// So many changes are committed at once.
pub const MAX_PLAN: usize = 5000;

/// One path that was marked, with the seal under which it was shown.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// The path, in hexadecimal.
    pub path: String,
    /// The seal.
    pub seal: String,
}

/// Which side of a change.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Which {
    /// What the base has.
    Before,
    /// What a commit puts there.
    After,
}

/// Everything that the page's process may ask.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Request {
    /// The sessions, and how many changes wait in each.
    Sessions,
    /// One page of the changes of a session.
    Changes {
        /// The session.
        session: String,
        /// So many are left out.
        skip: usize,
    },
    /// Something that differs once a page of changes does.
    Stamp {
        /// The session.
        session: String,
        /// As in `Changes`.
        skip: usize,
    },
    /// One change with its content.
    Change {
        /// The session.
        session: String,
        /// The path, in hexadecimal.
        path: String,
        /// Whether long files and long lines are wanted too.
        full: bool,
        /// So many lines are left out.
        skip: usize,
    },
    /// The content of an image.
    Image {
        /// The session.
        session: String,
        /// The path, in hexadecimal.
        path: String,
        /// Which content.
        side: Which,
        /// The SHA-256 that it must have.
        digest: String,
    },
    /// What a commit of these would be about.
    Plan {
        /// The session.
        session: String,
        /// Paths as a whole.
        paths: Vec<Pick>,
        /// IDs of hunks.
        hunks: Vec<String>,
        /// Every change but the ignored ones, instead.
        all: bool,
    },
    /// Commits exactly what a plan showed.
    Commit {
        /// The digest of the plan.
        plan: String,
        /// Why, for the log.
        message: String,
    },
    /// Takes the last commit back.
    Undo {
        /// The session.
        session: String,
        /// The seal under which the commit was shown.
        seal: String,
    },
    /// Rejects a change, or a hunk of it, with a comment for the one who made it.
    Reject {
        /// The session.
        session: String,
        /// The path and its seal.
        pick: Pick,
        /// The hunk, if it is about one.
        hunk: Option<String>,
        /// What is said.
        text: String,
    },
    /// What was done, from the log.
    Timeline,
}

/// A session in the list.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SessionLine {
    /// Its name.
    pub name: String,
    /// Its directories.
    pub bases: Vec<String>,
    /// How many changes wait, or why that is not known.
    pub changes: Result<usize, String>,
    /// How many comments a reviewer made that are still open.
    pub comments: usize,
}

/// What a reviewer said.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CommentLine {
    /// When, in RFC 3339.
    pub made: String,
    /// Who.
    pub by: String,
    /// The hunk, if it is about one.
    pub hunk: Option<String>,
    /// What.
    pub text: String,
    /// Whether the content is another one by now.
    pub outdated: bool,
}

/// A change in a list.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Item {
    /// The path, in hexadecimal.
    pub key: String,
    /// The path, for people.
    pub path: String,
    /// The directory that it is in, for people.
    pub parent: String,
    /// How it was changed.
    pub kind: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Where it was.
    pub from: Option<String>,
    /// Kinds, modes, sizes, targets.
    pub facts: String,
    /// What to look at twice.
    pub flags: Vec<String>,
    /// What others changed meanwhile.
    pub meanwhile: Option<String>,
    /// Whether the base's ignore files name it.
    pub ignored: bool,
    /// Lines that are added and removed.
    pub lines: Option<(usize, usize)>,
    /// A digest of everything that is known of the change. Nothing where the content may not be shown.
    pub seal: Option<String>,
    /// What a reviewer said of it.
    pub comments: Vec<CommentLine>,
}

/// A commit that was made.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PastLine {
    /// The seal, if it can be taken back.
    pub seal: Option<String>,
    /// When, in RFC 3339.
    pub made: String,
    /// Why it was made.
    pub message: Option<String>,
    /// Why it cannot be taken back.
    pub why_not: Option<String>,
    /// What taking it back does: the kind of each change, and the path.
    pub changes: Vec<(String, String)>,
    /// So many changes are not listed.
    pub more: usize,
}

/// One page of the changes of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Listing {
    /// The session.
    pub session: String,
    /// How many changes there are.
    pub total: usize,
    /// So many were left out at the beginning.
    pub skip: usize,
    /// The changes.
    pub items: Vec<Item>,
    /// Labels of snapshots.
    pub snapshots: Vec<String>,
    /// The newest commits first.
    pub past: Vec<PastLine>,
    /// As `Stamp` answers.
    pub stamp: String,
    /// Whether there is a log to look at.
    pub has_log: bool,
}

/// One side of a change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SideLines {
    /// Name and value of each fact.
    pub facts: Vec<(String, String)>,
    /// The SHA-256, if it is an image that a browser shows.
    pub image: Option<String>,
}

/// Text, and whether it spells out something hidden.
pub type TextPiece = (bool, String);

/// A line of a hunk.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LineView {
    /// ` `, `-` or `+`.
    pub sign: char,
    /// Its text.
    pub pieces: Vec<TextPiece>,
    /// So many bytes of it are not shown.
    pub cut: usize,
    /// Whether it has an end; only the last line of a file has none.
    pub ended: bool,
}

/// Changed lines that lie together.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HunkView {
    /// Its ID.
    pub id: String,
    /// The ranges.
    pub header: String,
    /// The number of the first line that is shown, on both sides, counted from 1.
    pub starts: (usize, usize),
    /// The lines.
    pub lines: Vec<LineView>,
    /// So many of its lines come before these.
    pub before: usize,
    /// So many of its lines come after these.
    pub after: usize,
}

/// One change with its content.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FileView {
    /// The session.
    pub session: String,
    /// The change.
    pub item: Item,
    /// What the base has.
    pub before: Option<SideLines>,
    /// What a commit puts there.
    pub after: Option<SideLines>,
    /// The changed lines.
    pub hunks: Vec<HunkView>,
    /// Whether hunks can be committed one by one.
    pub by_hunk: bool,
    /// How many lines there are in all hunks.
    pub lines: usize,
    /// So many lines were left out at the beginning.
    pub skip: usize,
    /// What is not shown, and why.
    pub not_shown: Option<String>,
    /// Whether asking for everything shows more.
    pub more_with_full: bool,
    /// Whether everything was asked for.
    pub full: bool,
    /// The changes before and after it, by key.
    pub neighbours: (Option<String>, Option<String>),
}

/// What a commit would be about.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PlanView {
    /// The session.
    pub session: String,
    /// The digest that `Commit` names.
    pub plan: String,
    /// Paths that were marked.
    pub items: Vec<Item>,
    /// Paths that go with them.
    pub needed: Vec<Item>,
    /// Paths that stay in the session because a rule speaks of them and they are not marked, and the rule.
    pub waits: Vec<(String, String)>,
    /// Hunks, each with its path and the key of that.
    pub hunks: Vec<(String, String, HunkView)>,
}

/// What was done.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DoneView {
    /// The session.
    pub session: String,
    /// In one sentence.
    pub sentence: String,
    /// Paths that it is about.
    pub paths: Vec<String>,
    /// Paths that were left alone, and why.
    pub conflicts: Vec<(String, String)>,
    /// What to know besides.
    pub notes: Vec<String>,
}

/// An event of the log.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EventLine {
    /// Its number.
    pub index: u64,
    /// When.
    pub time: String,
    /// Who.
    pub who: String,
    /// What kind of event.
    pub kind: String,
    /// What it is about.
    pub text: String,
    /// Whether it was refused.
    pub refused: bool,
}

/// What the log says, and whether it can be believed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TimelineView {
    /// `good`, `consistent`, `tampered` or `none`.
    pub state: String,
    /// The verdict, in words.
    pub verdict: String,
    /// What does not fit.
    pub problems: Vec<String>,
    /// How many events there are.
    pub total: u64,
    /// The newest events first.
    pub events: Vec<EventLine>,
}

/// What the keeper answers.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum KeeperReply {
    /// To `Sessions`.
    Sessions(Vec<SessionLine>),
    /// To `Changes`.
    Changes(Box<Listing>),
    /// To `Stamp`.
    Stamp(String),
    /// To `Change`.
    Change(Box<FileView>),
    /// To `Image`: the media type, and the content in base64.
    Image(String, String),
    /// To `Plan`.
    Plan(Box<PlanView>),
    /// To what changes something.
    Done(DoneView),
    /// To `Timeline`.
    Timeline(Box<TimelineView>),
    /// Nothing was done.
    Refused {
        /// What stands in the way, as a kind of error.
        kind: String,
        /// In words.
        why: String,
    },
}

/// The first message, from the keeper.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Hello {
    /// What the browser shows once.
    pub token: String,
    /// What it shows from then on.
    pub cookie: String,
    /// The first part of every path but the entrance. Cookies know no ports: another server on this
    /// machine would get ours, were it not for a path that it cannot guess.
    pub path: String,
    /// The address that the page is served at, as in `Host`.
    pub host: String,
    /// The one session that is shown, if it is one.
    pub only: Option<String>,
}

/// The second message, from the page's process: the wall that stands around it, in words.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Ready {
    /// What is missing of the wall; nothing if it is whole.
    pub weaker: Vec<String>,
}

/// Writes a message.
///
/// # Errors
/// What the socket says; `InvalidData` for a message that is too long.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(message)?)?;
    to.flush()
}

/// A message with its length.
///
/// # Errors
/// `InvalidData` for a message that is too long.
pub fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > MAX_REPLY {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "too long a message",
        ));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads a message of at most so many bytes; nothing at the end.
///
/// # Errors
/// What the socket says; `InvalidData` for what is no message.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read, most: usize) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = checked_length(length, most)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// The length of a message.
///
/// # Errors
/// `InvalidData` if it is more than that.
pub fn checked_length(bytes: [u8; 4], most: usize) -> io::Result<usize> {
    let length = u32::from_le_bytes(bytes) as usize;
    match length <= most {
        true => Ok(length),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "too long a message",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_requests_are_taken() {
        let good = Request::Commit {
            plan: "a".to_owned(),
            message: String::new(),
        };
        let bytes = frame(&good).unwrap();
        let read: Option<Request> = receive(&mut bytes.as_slice(), MAX_REQUEST).unwrap();
        assert_eq!(read, Some(good));
        for bad in [
            r#"{"Commit":{"plan":"a","message":"","paths":["/x"]}}"#,
            r#"{"Write":{"path":"/x"}}"#,
            r#"{"Commit":{"plan":"a"}}"#,
            r#""Commit""#,
            "",
        ] {
            let mut bytes = u32::try_from(bad.len()).unwrap().to_le_bytes().to_vec();
            bytes.extend_from_slice(bad.as_bytes());
            let read = receive::<Request>(&mut bytes.as_slice(), MAX_REQUEST);
            assert!(read.is_err(), "{bad}");
        }
        let long = [0xff_u8; 8];
        assert!(receive::<Request>(&mut long.as_slice(), MAX_REQUEST).is_err());
        assert!(
            receive::<Request>(&mut [].as_slice(), MAX_REQUEST)
                .unwrap()
                .is_none()
        );
    }
}
