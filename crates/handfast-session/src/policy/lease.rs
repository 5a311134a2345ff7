//! `[lease]`, `[log]` and `[[allow]]`: what the broker makes of a policy.

use std::time::Duration;

use handfast::Verb;

use super::size;
use super::table::Keys;
use super::{invalid, table};
use crate::error::Error;

/// To whom a lease is bound.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Bind {
    /// One process.
    #[default]
    Process,
    /// A control group.
    Cgroup,
    /// A user.
    User,
}

/// When writes count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Writes {
    /// When they are committed.
    #[default]
    Commit,
    /// At once.
    Direct,
}

/// What becomes of a holder whose lease ends early.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnRevoke {
    /// It gets nothing new.
    #[default]
    Deny,
    /// It is ended.
    Kill,
}

/// What a reader gets of a file that it may write by its own rights.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WideReads {
    /// A copy that nobody can write.
    #[default]
    Copy,
    /// Nothing.
    Refuse,
}

/// How leases are given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LeaseRules {
    /// To whom they are bound.
    pub bind: Bind,
    /// How long they last unless asked otherwise.
    pub ttl: Duration,
    /// How long they last at most.
    pub max_ttl: Duration,
    /// When writes count.
    pub writes: Writes,
    /// What becomes of a holder whose lease ends early.
    pub on_revoke: OnRevoke,
    /// What a reader gets of a file that it may write by its own rights.
    pub wide_reads: WideReads,
}

impl Default for LeaseRules {
    fn default() -> Self {
        Self {
            bind: Bind::default(),
            ttl: Duration::from_secs(600),
            max_ttl: Duration::from_secs(3600),
            writes: Writes::default(),
            on_revoke: OnRevoke::default(),
            wide_reads: WideReads::default(),
        }
    }
}

impl LeaseRules {
    pub(super) fn read(mut keys: Keys) -> Result<Self, Error> {
        let mut lease = Self::default();
        if let Some(text) = keys.string("bind")? {
            lease.bind = match text.as_str() {
                "process" => Bind::Process,
                "cgroup" => Bind::Cgroup,
                "user" => Bind::User,
                _ => return Err(keys.refuse("bind", &text, &["process", "cgroup", "user"])),
            };
        }
        let time = "a time, such as \"30s\", \"10m\" or \"1h\"";
        let ttl = keys.measured("ttl", size::seconds, time)?;
        lease.ttl = size::duration(ttl, lease.ttl.as_secs());
        let max = keys.measured("max_ttl", size::seconds, time)?;
        lease.max_ttl = size::duration(max, lease.max_ttl.as_secs().max(lease.ttl.as_secs()));
        if let Some(text) = keys.string("writes")? {
            lease.writes = match text.as_str() {
                "commit" => Writes::Commit,
                "direct" => Writes::Direct,
                _ => return Err(keys.refuse("writes", &text, &["commit", "direct"])),
            };
        }
        if let Some(text) = keys.string("on_revoke")? {
            lease.on_revoke = match text.as_str() {
                "deny" => OnRevoke::Deny,
                "kill" => OnRevoke::Kill,
                _ => return Err(keys.refuse("on_revoke", &text, &["deny", "kill"])),
            };
        }
        if let Some(text) = keys.string("wide_reads")? {
            lease.wide_reads = match text.as_str() {
                "copy" => WideReads::Copy,
                "refuse" => WideReads::Refuse,
                _ => return Err(keys.refuse("wide_reads", &text, &["copy", "refuse"])),
            };
        }
        keys.finish(&[
            "bind",
            "ttl",
            "max_ttl",
            "writes",
            "on_revoke",
            "wide_reads",
        ])?;
        Ok(lease)
    }
}

/// How durable the log is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogLevel {
    /// Events are written in order, and synced soon.
    #[default]
    Ordered,
    /// An event is on the disk before what it tells of happens.
    Strict,
    /// As `Ordered` for changes; reads are answered before they are written.
    Buffered,
}

/// The log of a broker.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LogRules {
    /// Its level; as the log was made, where nothing is said.
    pub level: Option<LogLevel>,
    /// At most so many bytes are kept.
    pub keep_bytes: Option<u64>,
    /// Events of at most this age are kept.
    pub keep_for: Option<Duration>,
}

/// A log cannot do with less.
const MIN_KEPT_BYTES: u64 = 1 << 20;

impl LogRules {
    pub(super) fn read(mut keys: Keys) -> Result<Self, Error> {
        let level = keys.string("level")?;
        let level = level.map(|text| LogLevel::read(&keys, &text)).transpose()?;
        let least = "a size of at least 1 MiB, such as \"200MiB\"";
        let enough = |text: &str| size::bytes(text).filter(|bytes| *bytes >= MIN_KEPT_BYTES);
        let keep_bytes = keys.measured("keep_bytes", enough, least)?;
        if keep_bytes.is_some_and(|bytes| bytes < MIN_KEPT_BYTES) {
            return Err(keys.wrong("keep_bytes", least));
        }
        let time = "a time, such as \"30d\"";
        let keep_for = keys.measured("keep_for", size::seconds, time)?;
        if keep_for == Some(0) {
            return Err(keys.wrong("keep_for", time));
        }
        keys.finish(&["level", "keep_bytes", "keep_for"])?;
        Ok(Self {
            level,
            keep_bytes,
            keep_for: keep_for.map(Duration::from_secs),
        })
    }
}

impl LogLevel {
    fn read(keys: &Keys, text: &str) -> Result<Self, Error> {
        match text {
            "ordered" => Ok(Self::Ordered),
            "strict" => Ok(Self::Strict),
            "buffered" => Ok(Self::Buffered),
            _ => Err(keys.refuse("level", text, &["ordered", "strict", "buffered"])),
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Who {
    /// A user by name.
    User(String),
    /// A user by number.
    Uid(u32),
    /// A group by name.
    Group(String),
    /// A control group.
    Cgroup(String),
    /// A program.
    Exe(String),
    /// A workload's identity.
    SpiffeId(String),
}

/// Who may ask for what.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Allow {
    /// Who; all of these must hold.
    pub who: Vec<Who>,
    /// In which roots.
    pub roots: Vec<String>,
    /// Which paths below them, as patterns; all if there are none.
    pub paths: Vec<String>,
    /// What: `read`, `write`, or verbs by name; all if there are none.
    pub verbs: Vec<String>,
}

const KEYS: &[&str] = &[
    "user",
    "uid",
    "group",
    "cgroup",
    "exe",
    "spiffe_id",
    "roots",
    "paths",
    "verbs",
];

impl Allow {
    pub(super) fn read(mut keys: Keys) -> Result<Self, Error> {
        let mut who = Vec::new();
        who.extend(keys.string("user")?.map(Who::User));
        if let Some(uid) = keys.integer("uid")? {
            let uid = u32::try_from(uid).map_err(|_| invalid("[[allow]]: `uid` is no user"))?;
            who.push(Who::Uid(uid));
        }
        who.extend(keys.string("group")?.map(Who::Group));
        who.extend(keys.string("cgroup")?.map(Who::Cgroup));
        who.extend(keys.string("exe")?.map(Who::Exe));
        who.extend(keys.string("spiffe_id")?.map(Who::SpiffeId));
        if who.is_empty() {
            return Err(invalid(
                "[[allow]] says nobody: give `user`, `uid`, `group`, `cgroup`, `exe` or `spiffe_id`",
            ));
        }
        let allow = Self {
            who,
            roots: keys.narrowing("roots")?,
            paths: keys.narrowing("paths")?,
            verbs: keys.narrowing("verbs")?,
        };
        let on_files = || {
            Verb::ALL
                .iter()
                .filter(|verb| !Verb::OF_SESSIONS.contains(verb))
        };
        let known = || {
            ["read", "write"]
                .into_iter()
                .chain(on_files().map(|verb| verb.name()))
        };
        for verb in &allow.verbs {
            if !known().any(|name| name == verb) {
                let close = table::suggest(verb, known());
                return Err(invalid(format!("[[allow]]: unknown verb `{verb}`{close}")));
            }
        }
        keys.finish(KEYS)?;
        Ok(allow)
    }
}
