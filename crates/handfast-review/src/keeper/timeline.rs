//! What was done, from the log, and whether the log can be believed.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use handfast_ledger::event::Record;
use handfast_ledger::{LogReader, Verdict, VerifyOptions, describe, verify};

use super::Keeper;
use crate::protocol::{EventLine, KeeperReply, TimelineView};

/// So many events are shown.
const MAX_EVENTS: usize = 300;
/// So many things that do not fit are shown.
const MAX_PROBLEMS: usize = 20;

impl Keeper {
    pub(super) fn timeline(&self) -> KeeperReply {
        let mut view = TimelineView {
            state: "none".to_owned(),
            verdict: "There is no log: start the page with `--log DIR`.".to_owned(),
            problems: Vec::new(),
            total: 0,
            events: Vec::new(),
            // Before the log is read: what comes later is news.
            stamp: self.looking.timeline_stamp(),
        };
        if let Some(dir) = &self.looking.log {
            let mut options = VerifyOptions::new();
            if let Some(key) = &self.key {
                options = options.key(key.clone());
            }
            match LogReader::open(dir) {
                Ok(log) => read(&log, &options, self.key.is_some(), &mut view),
                Err(error) => tampered(&mut view, error.to_string()),
            }
        }
        KeeperReply::Timeline(Box::new(view))
    }
}

fn tampered(view: &mut TimelineView, why: String) {
    view.state = "tampered".to_owned();
    view.verdict = "The log is damaged or was tampered with. Do not rely on it.".to_owned();
    if view.problems.len() < MAX_PROBLEMS {
        view.problems.push(handfast::escape(why.as_bytes()));
    }
}

fn read(log: &LogReader, options: &VerifyOptions, has_key: bool, view: &mut TimelineView) {
    let (state, verdict) = match has_key {
        true => ("good", "The log is whole, and your key signed it."),
        false => (
            "consistent",
            "The log fits together. It is not authenticated: no key was given.",
        ),
    };
    (view.state, view.verdict) = (state.to_owned(), verdict.to_owned());
    match verify(log, options) {
        Ok(report) => {
            view.total = report.events;
            if report.verdict() == Verdict::Tampered {
                for problem in report.problems.iter().take(MAX_PROBLEMS) {
                    let at = problem.index.map(|index| format!("event {index}: "));
                    tampered(view, at.unwrap_or_default() + &problem.what);
                }
            }
        }
        Err(error) => tampered(view, error.to_string()),
    }
    let mut last = VecDeque::new();
    let from = view.total.saturating_sub(MAX_EVENTS as u64);
    let told = log.for_each(from, |index, leaf| {
        if last.len() >= MAX_EVENTS {
            last.pop_front();
        }
        last.push_back(event(index, leaf));
        Ok(ControlFlow::Continue(()))
    });
    if let Err(error) = told {
        tampered(view, error.to_string());
    }
    view.events = last.into_iter().rev().collect();
}

fn event(index: u64, leaf: &[u8]) -> EventLine {
    let Ok(record) = Record::parse(leaf) else {
        return EventLine {
            index,
            time: String::new(),
            who: String::new(),
            kind: "unknown".to_owned(),
            text: handfast::escape(leaf),
            refused: true,
        };
    };
    let safe = |text: &str| handfast::escape(text.as_bytes());
    let failed = record
        .decision
        .as_ref()
        .is_some_and(|decision| decision.kind.is_some());
    EventLine {
        index,
        time: safe(&record.t_wall),
        who: match record.wl.as_ref().map(|wl| (&wl.agent_id, wl.pid)) {
            Some((Some(agent), _)) => safe(agent),
            Some((None, Some(pid))) => format!("pid {pid}"),
            _ => String::new(),
        },
        kind: record.kind.name().to_owned(),
        text: describe(&record).trim().to_owned(),
        refused: failed
            || record
                .result
                .as_ref()
                .is_some_and(|result| result.kind.is_some()),
    }
}
