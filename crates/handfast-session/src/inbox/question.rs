//! A question: what a request wants to do, and to which object.

use sha2::{Digest, Sha256};

use super::object::AskedObject;
use super::process::{Process, Standing};
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::judge::asking;
use crate::rules::{Access, Rule};
use crate::vpath::VirtualPath;

/// Hexadecimal digits of a digest that are enough to name a question.
const ID_LENGTH: usize = 16;

/// A request that waits for a person.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// The beginning of [`Question::digest`], for people.
    pub id: String,
    /// The SHA-256 of all that follows: an answer names it.
    pub digest: String,
    /// When it was asked, in nanoseconds since the epoch.
    pub asked: u64,
    /// How long it waits, in milliseconds. Then the request is denied.
    pub waits: u64,
    /// What the request does, as events call it: `open`, `write`, `rename`.
    pub verb: String,
    /// Whether it reads the object, or changes it.
    pub access: Access,
    /// The path that was walked to the object, without links.
    pub path: VirtualPath,
    /// The other path of a rename, a link or a copy.
    pub other: Option<VirtualPath>,
    /// The object; nothing where the request would make one.
    pub object: Option<AskedObject>,
    /// The rule that asks.
    pub rule: Rule,
    /// The mount that has this rule.
    pub mount: VirtualPath,
    /// On whose behalf: the caller's name, and the process as it was observed, where that is known.
    pub caller: String,
    pub(crate) asker: Standing,
    pub(crate) barred: Vec<Process>,
}

/// What a new question says, before it has a time and a digest.
pub(crate) struct NewQuestion<'a> {
    pub(crate) verb: &'a str,
    pub(crate) access: Access,
    pub(crate) path: VirtualPath,
    pub(crate) other: Option<VirtualPath>,
    pub(crate) object: Option<AskedObject>,
    pub(crate) rule: Rule,
    pub(crate) mount: VirtualPath,
    pub(crate) caller: String,
    pub(crate) waits: u64,
    pub(crate) asked: u64,
    pub(crate) asker: Standing,
    pub(crate) barred: Vec<Process>,
}

impl NewQuestion<'_> {
    pub(crate) fn finish(self) -> Question {
        let mut question = Question {
            id: String::new(),
            digest: String::new(),
            asked: self.asked,
            waits: self.waits,
            verb: self.verb.to_owned(),
            access: self.access,
            path: self.path,
            other: self.other,
            object: self.object,
            rule: self.rule,
            mount: self.mount,
            caller: self.caller,
            asker: self.asker,
            barred: self.barred,
        };
        question.name();
        question
    }
}

impl Question {
    /// What a yes allows, in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let what = match (self.access, &self.object) {
            (Access::Read, _) => "read".to_owned(),
            (Access::Change, None) => format!("make ({})", self.verb),
            (Access::Change, Some(_)) if self.verb == "open-write" => {
                "open for writing, and read".to_owned()
            }
            (Access::Change, Some(_)) => format!("change ({})", self.verb),
        };
        let other = match &self.other {
            Some(other) => format!(" (with {other})"),
            None => String::new(),
        };
        format!("{what} {}{other}", self.path)
    }

    fn name(&mut self) {
        let digest = Sha256::digest(self.to_bytes());
        self.digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.id = self.digest[..ID_LENGTH].to_owned();
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(2);
        out.number(self.asked);
        out.number(self.waits);
        out.text(self.verb.as_bytes());
        out.byte(u8::from(self.access == Access::Change));
        write_path(&mut out, &self.path);
        out.option(self.other.as_ref(), write_path);
        out.option(self.object.as_ref(), |out, object| object.write(out));
        out.text(self.rule.pattern.as_bytes());
        write_path(&mut out, &self.mount);
        out.text(self.caller.as_bytes());
        self.asker.write(&mut out);
        out.number(self.barred.len() as u64);
        for process in &self.barred {
            process.write(&mut out);
        }
        out.bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        if input.byte()? != 2 {
            return Err(unknown());
        }
        let mut question = Self {
            id: String::new(),
            digest: String::new(),
            asked: input.number()?,
            waits: input.number()?,
            verb: string(&mut input)?,
            access: read_access(&mut input)?,
            path: read_path(&mut input)?,
            other: input.option(read_path)?,
            object: input.option(AskedObject::read)?,
            rule: asking(string(&mut input)?),
            mount: read_path(&mut input)?,
            caller: string(&mut input)?,
            asker: Standing::read(&mut input)?,
            barred: Vec::new(),
        };
        for _ in 0..input.number()? {
            question.barred.push(Process::read(&mut input)?);
        }
        question.name();
        Ok(question)
    }
}

pub(super) fn string(input: &mut Reader<'_>) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(input.text()?).into_owned())
}

pub(super) fn write_path(out: &mut Writer, path: &VirtualPath) {
    out.text(path.as_rel().as_bytes());
}

pub(super) fn read_path(input: &mut Reader<'_>) -> Result<VirtualPath, Error> {
    let mut path = vec![b'/'];
    path.extend_from_slice(input.text()?);
    VirtualPath::parse(path)
}

pub(super) fn read_access(input: &mut Reader<'_>) -> Result<Access, Error> {
    match input.byte()? {
        0 => Ok(Access::Read),
        1 => Ok(Access::Change),
        _ => Err(unknown()),
    }
}

/// A face of a session that knows more about a request than the session: who sent it, whether it was
/// given up, and how else a person can be reached.
///
/// All methods are called on the thread that does the verb, so a face may keep what it knows of the
/// request with that thread. None of them is called with a lock of the session held.
///
/// * A FUSE server answers [`Asker::is_gone`] with yes when the kernel says that the request was
///   interrupted. At most [`MAX_WAITING`](super::MAX_WAITING) requests of a session wait, so a server
///   with that many threads more than it needs always has one that is free.
/// * An MCP server begins an elicitation in [`Asker::asked`], and gives the answer to
///   [`Inbox::answer`](super::Inbox::answer) as [`AnsweredBy::Face`](super::AnsweredBy::Face).
pub trait Asker: Send + Sync {
    /// A question waits from now on. Must not wait itself.
    fn asked(&self, question: &Question) {
        let _ = question;
    }

    /// The request does not wait any more: it was answered, given up, or waited for too long.
    fn ended(&self, question: &Question) {
        let _ = question;
    }

    /// Whether nobody waits for the result of the request any more. Asked several times a second.
    fn is_gone(&self) -> bool {
        false
    }

    /// The process that sent the request, as it was observed, for people.
    fn observed(&self) -> Option<String> {
        None
    }

    /// Processes whose descendants may not answer, besides the one that asks: the program that sent
    /// the request, or the one that started this server.
    fn barred(&self) -> Vec<u32> {
        Vec::new()
    }
}
