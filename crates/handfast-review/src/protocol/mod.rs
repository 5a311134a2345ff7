//! What the page's process may ask of the keeper, and what the keeper answers.
//!
//! The keeper refuses what it does not know; the page's process believes the keeper.

mod framing;
mod inbox;
mod leases;
mod timeline;
mod turned_away;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use framing::{checked_length, frame, receive, send};
pub use inbox::{GrantLine, InboxView, QuestionLine};
pub use leases::{LeaseLine, LeasesView};
pub use timeline::{EventLine, TimelineView};
pub use turned_away::{TurnedAway, is_told};

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
/// So many topics are watched at a time.
pub const MAX_TOPICS: usize = 32;

/// One path that was marked, with the seal under which it was shown.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// The path, in hexadecimal.
    pub path: String,
    /// The seal.
    pub seal: String,
}

/// What a page is about, and what the keeper watches while a browser shows such a page.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Topic {
    /// The list of sessions.
    Sessions,
    /// One page of the changes of a session.
    Changes {
        /// The session.
        session: String,
        /// So many are left out.
        skip: usize,
    },
    /// One change.
    Change {
        /// The session.
        session: String,
        /// The path, in hexadecimal.
        path: String,
    },
    /// The log.
    Timeline,
    /// The leases of the broker.
    Leases,
    /// The questions of all sessions.
    Inbox,
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
    /// From now on, news about exactly these is wanted.
    Watch {
        /// At most [`MAX_TOPICS`].
        topics: Vec<Topic>,
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
    /// Keeps the state of a session under a label.
    Snapshot {
        /// The session.
        session: String,
        /// The label.
        label: String,
    },
    /// Goes back to a snapshot.
    GoBack {
        /// The session.
        session: String,
        /// The label.
        label: String,
        /// So many changes were left out on the page that showed it.
        skip: usize,
        /// The seal under which the snapshot was shown, beside what the session held.
        seal: String,
    },
    /// A request that did not come from the reviewer's browser was turned away.
    TurnedAway {
        /// Why.
        why: TurnedAway,
        /// How many there were, with this one.
        count: u64,
    },
    /// What was done, from the log.
    Timeline,
    /// What waits for an answer, in all sessions.
    Inbox,
    /// Answers a question.
    Answer {
        /// The session.
        session: String,
        /// The ID of the question.
        id: String,
        /// The digest of the question, which holds the object's identity and content.
        digest: String,
        /// Whether the request may go on.
        yes: bool,
        /// `once`, `file` or `session`.
        scope: String,
    },
    /// Takes an answer back that holds for more than one request.
    TakeBack {
        /// The session.
        session: String,
        /// The ID of the question that it answered.
        id: String,
    },
    /// The leases that the broker shows to this user.
    Leases,
    /// Ends a lease, and all below it.
    Revoke {
        /// The seal under which the lease was shown.
        seal: String,
    },
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
    /// How many requests wait for an answer, or why that is not known.
    pub questions: Result<usize, String>,
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
    /// The snapshots, by their labels.
    pub snapshots: Vec<SnapshotLine>,
    /// The newest commits first.
    pub past: Vec<PastLine>,
    /// What news about this page is compared with.
    pub stamp: String,
    /// Whether there is a log to look at.
    pub has_log: bool,
}

/// A snapshot of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SnapshotLine {
    /// Its label.
    pub label: String,
    /// The seal of the label and of what the session holds beside it.
    pub seal: String,
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
    /// What news about this change is compared with.
    pub stamp: String,
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
    /// Paths that stay in the session because a rule protects them and they are not marked, and the rule.
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

/// What the keeper answers.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum KeeperReply {
    /// To `Sessions`, with what news about the list is compared with.
    Sessions(Vec<SessionLine>, String),
    /// To `Changes`.
    Changes(Box<Listing>),
    /// To `Watch`.
    Watching,
    /// To `TurnedAway`.
    Noted,
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
    /// To `Inbox`.
    Inbox(Box<InboxView>),
    /// To `Leases`.
    Leases(Box<LeasesView>),
    /// Nothing was done.
    Refused {
        /// The reason, as a kind of error.
        kind: String,
        /// In words.
        why: String,
    },
}

/// What the keeper sends.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum KeeperMessage {
    /// An answer; they come in the order of the requests.
    Reply(KeeperReply),
    /// A topic that is watched has this stamp now. It comes between answers.
    News(Topic, String),
}

/// How long and how many: what a program that connects may take.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Limits {
    /// A connection is for one request, and has this long for all of it: a program that does not read its
    /// answer must not keep a seat. Programs of every user of this machine can connect.
    pub connection: Duration,
    /// So many connections are served at a time.
    pub connections: usize,
    /// A browser that was let in may keep a connection for news this long; it comes again by itself.
    pub stream: Duration,
    /// So many of these there are; one more ends the oldest.
    pub streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connection: Duration::from_secs(30),
            connections: 256,
            stream: Duration::from_secs(600),
            streams: 16,
        }
    }
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
    /// What connections may take.
    pub limits: Limits,
}

/// The second message, from the page's process: how it is confined, in words.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Ready {
    /// What is missing of the wall; nothing if it is whole.
    pub weaker: Vec<String>,
}
