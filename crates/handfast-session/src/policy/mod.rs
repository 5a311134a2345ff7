//! The policy file: roots, modes, patterns, limits and leases in one TOML format.
//!
//! Unknown keys are errors: tolerance here would fail open. Relative paths count from the
//! directory of the file. What a reader of the policy does not use itself (leases, log, who may ask)
//! is checked all the same, so that one file serves a session, a server and a broker.

mod lease;
mod limits;
mod root;
mod size;
mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use handfast::{ErrorKind, Root};

use crate::error::Error;
use crate::quota::Quota;
use crate::session::SessionSpec;
pub use lease::{Allow, Bind, LeaseRules, LogLevel, LogRules, OnRevoke, Who, WideReads, Writes};
pub use limits::Limits;
pub use root::PolicyRoot;
use table::Keys;

/// A policy file, read and checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Policy {
    /// The directories, in the order of the file.
    pub roots: Vec<PolicyRoot>,
    /// Limits of the session as a whole.
    pub quota: Quota,
    /// How long a request waits where a rule says `ask`.
    pub ask_timeout: Option<Duration>,
    /// How leases are given.
    pub lease: LeaseRules,
    /// How durable the log is, and how much of it is kept.
    pub log: LogRules,
    /// How much the users of a broker may cost.
    pub limits: Limits,
    /// Who may ask for what; nobody is named if it is empty.
    pub allow: Vec<Allow>,
}

/// A policy file is small; beyond this it is something else.
const MAX_POLICY: u64 = 1 << 20;

impl Policy {
    /// Reads a policy file at an ambient path.
    ///
    /// # Errors
    /// `Invalid` with what is wrong and where; as [`Root::open_ambient`] for the directory.
    pub fn read_ambient(path: impl AsRef<Path>) -> Result<Self, Error> {
        use std::os::unix::ffi::OsStrExt;
        let path = std::path::absolute(path)?;
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(invalid("the policy's path names no file"));
        };
        let name = handfast::RelPath::parse(name.as_bytes())?;
        let text = Root::open_ambient(dir)?.read_to_limit(&name, MAX_POLICY)?;
        let text = String::from_utf8(text).map_err(|_| invalid("it is not UTF-8"))?;
        Self::parse(&text, dir)
    }

    /// Reads a policy from text; relative paths in it count from a directory.
    ///
    /// # Errors
    /// `Invalid` with what is wrong and where.
    pub fn parse(text: &str, dir: &Path) -> Result<Self, Error> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let message = error.message().to_owned();
            match error.span() {
                Some(span) => invalid(format!("line {}: {message}", line_of(text, span.start))),
                None => invalid(message),
            }
        })?;
        let mut keys = Keys::new("", table);
        match keys.integer("version")? {
            Some(1) => {}
            Some(other) => {
                return Err(invalid(format!(
                    "version {other} is not known; write `version = 1`"
                )));
            }
            None => return Err(invalid("`version = 1` is missing")),
        }
        let mut policy = Self {
            roots: Vec::new(),
            quota: root::quota(&mut keys)?,
            ask_timeout: None,
            lease: LeaseRules::default(),
            log: LogRules::default(),
            limits: Limits::default(),
            allow: Vec::new(),
        };
        for table in keys.tables("root")? {
            policy.roots.push(PolicyRoot::read(table, dir)?);
        }
        if let Some(mut table) = keys.table("ask")? {
            let time = "a time, such as \"30s\" or \"5m\"";
            let timeout = table.measured("timeout", size::seconds, time)?;
            if timeout == Some(0) {
                return Err(invalid("[ask]: a `timeout` of 0 would deny everything"));
            }
            policy.ask_timeout = timeout.map(Duration::from_secs);
            table.finish(&["timeout"])?;
        }
        if let Some(table) = keys.table("lease")? {
            policy.lease = LeaseRules::read(table)?;
        }
        if let Some(table) = keys.table("log")? {
            policy.log = LogRules::read(table)?;
        }
        if let Some(table) = keys.table("limits")? {
            policy.limits = Limits::read(table)?;
        }
        for table in keys.tables("allow")? {
            policy.allow.push(Allow::read(table)?);
        }
        // The auditor's own part; it reads and checks it.
        keys.skip("audit");
        keys.finish(&[
            "version", "root", "quota", "ask", "lease", "log", "limits", "allow", "audit",
        ])?;
        policy.check()?;
        Ok(policy)
    }

    /// What contradicts itself.
    fn check(&self) -> Result<(), Error> {
        if self.roots.is_empty() {
            return Err(invalid("there is no `[[root]]`"));
        }
        let mut names = BTreeSet::new();
        for root in &self.roots {
            if !names.insert(root.name.as_str()) {
                return Err(invalid(format!("two roots have the name `{}`", root.name)));
            }
        }
        for allow in &self.allow {
            for name in &allow.roots {
                if !names.contains(name.as_str()) {
                    let close = table::suggest(name, names.iter().copied());
                    return Err(invalid(format!(
                        "[[allow]] names an unknown root `{name}`{close}"
                    )));
                }
            }
        }
        if self.lease.ttl > self.lease.max_ttl {
            return Err(invalid("[lease]: `ttl` is longer than `max_ttl`"));
        }
        Ok(())
    }

    /// The session that the policy describes.
    #[must_use]
    pub fn session(&self) -> SessionSpec {
        let mut spec = SessionSpec::new().quota(self.quota);
        spec.ask_timeout = self.ask_timeout;
        self.roots
            .iter()
            .fold(spec, |spec, root| spec.mount(root.mount.clone()))
    }
}

/// A time as policies and options say it: `30s`, `10m`, `1h`, `2d`.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    size::seconds(text).map(Duration::from_secs)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

pub(crate) fn invalid(why: impl Into<String>) -> Error {
    Error::refused(
        ErrorKind::Invalid,
        format!("the policy is not valid: {}", why.into()),
    )
}

#[cfg(test)]
mod tests;
