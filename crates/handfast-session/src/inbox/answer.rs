//! Answers, and what is kept of them.

use handfast::{Timestamp, Verb};

use super::object::{read_time, write_time};
use super::question::{Question, read_access, read_path, string, write_path};
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::rules::Access;
use crate::vpath::VirtualPath;

/// How far an answer reaches.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum GrantScope {
    /// This request.
    #[default]
    Once,
    /// This object under this path, and the same kind of access, until the session is removed.
    File,
    /// Everything that the same pattern of the same mount asks about, and the same kind of access, until
    /// the session is removed.
    Session,
}

impl GrantScope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Once, Self::File, Self::Session];

    /// The scope as people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::File => "file",
            Self::Session => "session",
        }
    }

    fn from_byte(byte: u8) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|scope| *scope as u8 == byte)
            .ok_or_else(unknown)
    }
}

/// Who answers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AnsweredBy {
    /// A person at a program that is not the one that asks. Where the system shows that it was
    /// started by the one that asks, or is confined, the answer is refused.
    Person(String),
    /// The process that asks, which asked its own client: a server that trusts its client to ask a
    /// person. No other process can answer in its place.
    Face(String),
}

impl AnsweredBy {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Person(name) | Self::Face(name) => name,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// Whether the request may go on.
    pub yes: bool,
    /// How far the answer reaches.
    pub scope: GrantScope,
    /// Who gave it.
    pub by: AnsweredBy,
}

/// An answer as it lies in the inbox.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Given {
    pub(crate) digest: String,
    pub(crate) yes: bool,
    pub(crate) scope: GrantScope,
    pub(crate) by: String,
}

impl Given {
    /// It in a few words, for an event.
    pub(crate) fn words(&self) -> String {
        let yes = if self.yes { "yes" } else { "no" };
        format!("{yes}, {}, by {}", self.scope.name(), self.by)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(1);
        out.text(self.digest.as_bytes());
        out.byte(u8::from(self.yes));
        out.byte(self.scope as u8);
        out.text(self.by.as_bytes());
        out.bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        if input.byte()? != 1 {
            return Err(unknown());
        }
        Ok(Self {
            digest: string(&mut input)?,
            yes: input.byte()? == 1,
            scope: GrantScope::from_byte(input.byte()?)?,
            by: string(&mut input)?,
        })
    }
}

/// An answer that holds for more than one request.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Grant {
    /// The ID of the question that it answered.
    pub id: String,
    /// Whether requests go on without a question, or are denied without one.
    pub yes: bool,
    /// How far it reaches.
    pub scope: GrantScope,
    /// What it is about.
    pub access: Access,
    /// The path of the question.
    pub path: VirtualPath,
    /// The pattern of the question.
    pub pattern: String,
    /// The object of the question, by device and inode number.
    pub identity: Option<(u64, u64)>,
    /// Who gave it.
    pub by: String,
    /// When that object was made: numbers come again.
    pub(crate) born: Option<Timestamp>,
    /// The mount whose pattern it is.
    pub(crate) mount: VirtualPath,
    /// What the request did.
    pub(crate) verb: String,
}

impl Grant {
    pub(super) fn of(question: &Question, given: &Given) -> Self {
        Self {
            id: question.id.clone(),
            yes: given.yes,
            scope: given.scope,
            access: question.access,
            path: question.path.clone(),
            pattern: question.rule.pattern.clone(),
            identity: question.object.as_ref().map(|object| object.identity),
            by: given.by.clone(),
            born: question.object.as_ref().and_then(|object| object.born),
            mount: question.mount.clone(),
            verb: question.verb.clone(),
        }
    }

    /// It as an answer to a question.
    pub(crate) fn given(&self, question: &Question) -> Given {
        Given {
            digest: question.digest.clone(),
            yes: self.yes,
            scope: self.scope,
            by: self.by.clone(),
        }
    }

    /// Whether it answers a question before it is asked.
    pub(super) fn covers(&self, question: &Question) -> bool {
        let is_about = match self.scope {
            GrantScope::Once => false,
            GrantScope::File => {
                let object = question.object.as_ref();
                let known = self.identity.map(|identity| (identity, self.born));
                self.path == question.path
                    && known == object.map(|object| (object.identity, object.born))
            }
            GrantScope::Session => self.mount == question.mount,
        };
        let is_same_kind = self.access == question.access && self.pattern == question.rule.pattern;
        is_about && is_same_kind && !(self.yes && self.is_less_than(question))
    }

    /// Whether a request does more than the change that was agreed to. A name where nobody asks, and a file
    /// that is opened for writing, give the content away as well.
    fn is_less_than(&self, question: &Question) -> bool {
        let verb = question.verb.as_str();
        let names = [Verb::Rename.name(), Verb::HardLink.name()];
        let gives_a_name = self.access == Access::Change && names.contains(&verb);
        gives_a_name || (verb == Verb::OpenWrite.name() && self.verb != verb)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(2);
        out.text(self.id.as_bytes());
        out.byte(u8::from(self.yes));
        out.byte(self.scope as u8);
        out.byte(u8::from(self.access == Access::Change));
        write_path(&mut out, &self.path);
        out.text(self.pattern.as_bytes());
        out.option(self.identity, |out, (device, inode)| {
            out.number(device);
            out.number(inode);
        });
        out.text(self.by.as_bytes());
        out.option(self.born, write_time);
        write_path(&mut out, &self.mount);
        out.text(self.verb.as_bytes());
        out.bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        let form = input.byte()?;
        if !(1..=2).contains(&form) {
            return Err(unknown());
        }
        let mut grant = Self {
            id: string(&mut input)?,
            yes: input.byte()? == 1,
            scope: GrantScope::from_byte(input.byte()?)?,
            access: read_access(&mut input)?,
            path: read_path(&mut input)?,
            pattern: string(&mut input)?,
            identity: input.option(|input| Ok((input.number()?, input.number()?)))?,
            by: string(&mut input)?,
            born: None,
            mount: VirtualPath::root(),
            verb: String::new(),
        };
        // An older one does not say these, and reaches less for it.
        if form == 2 {
            grant.born = input.option(read_time)?;
            grant.mount = read_path(&mut input)?;
            grant.verb = string(&mut input)?;
        }
        Ok(grant)
    }
}
