//! `session list`: which sessions there are.

use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

use clap::Args;
use handfast::{Timestamp, escape};
use handfast_session::{Caller, Catalogue, VirtualPath};

use super::failures;
use super::place::StateArgs;
use crate::failure::Failure;
use crate::fs::answer::{PrintResult, Printable};
use crate::json::{Json, JsonObject};
use crate::output::{self, Output};
use crate::width::{aligned, duration};
use handfast_ledger::time::rfc3339;

/// List the sessions: the number of changes, the age, the processes that use it and the directories of each
///
/// A session that cannot be opened has `?` for its changes; `session show` says why.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session list"
))]
pub(super) struct ListArgs {}

impl ListArgs {
    pub(super) fn run(&self, state: &StateArgs) -> PrintResult {
        let Some(catalogue) = state.existing("list")? else {
            return Ok(Box::new(Sessions(Vec::new())));
        };
        let names = catalogue
            .list()
            .map_err(|error| failures::failed("list", "list the sessions", "", &error))?;
        let rows = names
            .into_iter()
            .map(|name| Row::new(state, &catalogue, name));
        Ok(Box::new(Sessions(rows.collect())))
    }
}

struct Row {
    name: String,
    /// The directory, and where it is mounted.
    mounts: Vec<(Vec<u8>, VirtualPath)>,
    /// Nothing if the session cannot be opened.
    changes: Option<usize>,
    made: Option<Timestamp>,
    /// The processes that have it open, where that is known.
    users: Option<Vec<u32>>,
}

impl Row {
    fn new(state: &StateArgs, catalogue: &Catalogue, name: String) -> Self {
        let opened = catalogue.open(&name, Caller::new("handfast"));
        let changes = opened.and_then(|session| session.diff());
        let spec = catalogue.spec(&name).unwrap_or_default();
        let mounts = spec.mounts().iter().map(|mount| {
            let host = mount.host().as_os_str().as_bytes().to_vec();
            (host, mount.at().clone())
        });
        Self {
            mounts: mounts.collect(),
            changes: changes.ok().map(|changes| changes.len()),
            made: state.made(&name),
            users: catalogue.users(&name).unwrap_or_default(),
            name,
        }
    }

    fn age(&self) -> String {
        let made = self.made.map(Timestamp::to_system_time);
        let age = made.and_then(|made| SystemTime::now().duration_since(made).ok());
        age.map_or_else(|| "?".to_owned(), |age| duration(age.as_secs()))
    }

    fn columns(&self) -> [String; 5] {
        let changes = self.changes.map(|count| count.to_string());
        let bases: Vec<_> = self.mounts.iter().map(|(base, _)| escape(base)).collect();
        [
            self.name.clone(),
            changes.unwrap_or_else(|| "?".to_owned()),
            self.age(),
            self.users
                .as_ref()
                .map_or_else(|| "?".to_owned(), |used| used.len().to_string()),
            bases.join(", "),
        ]
    }
}

/// Processes, for programs.
pub(super) fn pids(used: &[u32]) -> Json {
    used.iter().map(|pid| u64::from(*pid)).collect()
}

/// Processes, for people.
pub(super) fn users(used: &[u32]) -> String {
    let all: Vec<String> = used.iter().map(|pid| format!("process {pid}")).collect();
    all.join(", ")
}

struct Sessions(Vec<Row>);

impl Printable for Sessions {
    fn fields(&self) -> JsonObject {
        let sessions = self.0.iter().map(|row| {
            let mounts = row.mounts.iter().map(|(base, at)| {
                JsonObject::new()
                    .with_bytes("base", base)
                    .with_bytes("path", &failures::bytes(at))
            });
            JsonObject::new()
                .with("session", row.name.as_str())
                .with("mounts", output::list(mounts))
                .with("changes", row.changes.map(|count| count as u64))
                .with("made", row.made.map(|time| rfc3339(time.as_nanoseconds())))
                .with("users", row.users.as_ref().map(|used| pids(used)))
        });
        JsonObject::new().with("sessions", output::list(sessions))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.0.is_empty() {
            out.note(
                "note: there are no sessions; `handfast session new NAME --base DIR` makes one",
            );
            return Ok(());
        }
        let head = ["SESSION", "CHANGES", "AGE", "USERS", "BASE"].map(str::to_owned);
        let rows = self.0.iter().map(Row::columns);
        let table: Vec<_> = std::iter::once(head).chain(rows).collect();
        for line in aligned(&table) {
            out.line(&line);
        }
        Ok(())
    }
}
