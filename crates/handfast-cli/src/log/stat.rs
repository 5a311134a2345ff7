//! `log stat DIR`: counts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;

use clap::Args;
use handfast::escape;
use handfast_ledger::LogReader;
use handfast_ledger::event::Record;

use super::LogExit;
use super::damage::Damage;
use super::outcome::EventOutcome;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::{Json, JsonObject};
use crate::output::{Output, list};
use crate::width::{self, counted};

/// Count events by type, decision and agent
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log stat log"
))]
pub(super) struct StatArgs {
    /// The log
    dir: OsString,
}

#[derive(Default)]
struct Counts {
    events: u64,
    bytes: u64,
    verbs: BTreeMap<String, u64>,
    decisions: BTreeMap<&'static str, u64>,
    agents: BTreeMap<String, u64>,
}

impl StatArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let failed = |error| trouble("log stat", &self.dir, &error);
        let logs = LogReader::open_all(&self.dir).map_err(failed)?;
        let mut counts = Counts::default();
        let mut damage = Damage::default();
        for log in &logs {
            let read = log.for_each(0, |_, leaf| {
                counts.take(leaf);
                Ok(ControlFlow::Continue(()))
            });
            damage.take(log, read).map_err(failed)?;
        }
        counts.print(logs.len() as u64, &damage, out);
        damage.say(out);
        Ok(damage.exit(Exit::Yes))
    }
}

impl Counts {
    fn take(&mut self, leaf: &[u8]) {
        self.events += 1;
        self.bytes += leaf.len() as u64;
        let Ok(record) = Record::parse(leaf) else {
            *self.verbs.entry("not an event".to_owned()).or_default() += 1;
            return;
        };
        // A folded event stands for as many refusals as it counts.
        let weight = record.fold.as_ref().map_or(1, |fold| fold.count.0);
        *self.verbs.entry(record.kind.name().to_owned()).or_default() += 1;
        let decision = match EventOutcome::of(&record) {
            EventOutcome::Allowed => Some("allowed"),
            EventOutcome::Denied => Some("denied"),
            EventOutcome::Failed => Some("failed"),
            // Counted when it was allowed.
            EventOutcome::Done | EventOutcome::None => None,
        };
        if let Some(decision) = decision {
            *self.decisions.entry(decision).or_default() += weight;
        }
        let agent = record.wl.and_then(|wl| wl.agent_id);
        let agent = agent.map_or_else(|| "-".to_owned(), |name| escape(name.as_bytes()));
        *self.agents.entry(agent).or_default() += 1;
    }

    fn print(&self, logs: u64, damage: &Damage, out: &mut Output) {
        if out.is_json() {
            let rows =
                |map: Vec<(&str, u64)>| -> Json {
                    let objects = map.into_iter();
                    list(objects.map(|(name, count)| {
                        JsonObject::new().with("name", name).with("count", count)
                    }))
                };
            let fields = JsonObject::new()
                .with("logs", logs)
                .with("events", self.events)
                .with("bytes", self.bytes)
                .with(
                    "types",
                    rows(self.verbs.iter().map(|(k, v)| (&**k, *v)).collect()),
                )
                .with(
                    "decisions",
                    rows(self.decisions.iter().map(|(k, v)| (*k, *v)).collect()),
                )
                .with(
                    "agents",
                    rows(self.agents.iter().map(|(k, v)| (&**k, *v)).collect()),
                );
            let fields = match damage.is_empty() {
                true => fields,
                false => fields.with("damage", damage.to_json()),
            };
            out.object(damage.is_empty(), fields);
            return;
        }
        out.line(&format!(
            "{} in {}, {}",
            counted(self.events, "event"),
            counted(logs, "log"),
            width::size(self.bytes)
        ));
        for (title, rows) in [
            (
                "decisions",
                self.decisions
                    .iter()
                    .map(|(k, v)| ((*k).to_owned(), *v))
                    .collect::<Vec<_>>(),
            ),
            (
                "types",
                self.verbs.iter().map(|(k, v)| (k.clone(), *v)).collect(),
            ),
            (
                "agents",
                self.agents.iter().map(|(k, v)| (k.clone(), *v)).collect(),
            ),
        ] {
            out.line(&format!("{title}:"));
            for (name, count) in rows {
                out.line(&format!("  {count:>8}  {name}"));
            }
        }
    }
}
