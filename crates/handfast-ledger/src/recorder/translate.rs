//! From the library's event to the log's.

use std::borrow::Cow;

use handfast::{
    Decision, Event, Identity, Metadata, Phase, Process, RelPath, Timestamp, TouchedEntry,
};

use super::context::Context;
use crate::event::{
    Assurance, Bytes, DecisionField, Destination, Entry, EventKind, Lease, Moment, Object, Parent,
    PhaseField, Record, Request, ResultField, RootField, U64, Workload, rfc3339,
};
use crate::level::Level;

/// What the log itself says already: no event repeats it.
#[derive(Clone, Copy)]
pub(super) struct OfLog<'a> {
    pub(super) level: Level,
    /// The policy that the last `policy.load` names.
    pub(super) policy: Option<&'a str>,
}

/// The level of an event, where it is not the usual one.
pub(super) fn level_of(level: Level) -> Option<Cow<'static, str>> {
    (level != Level::Ordered).then_some(Cow::Borrowed(level.name()))
}

pub(super) fn record<'a>(
    event: &'a Event<'a>,
    op_id: &'a str,
    now: Moment,
    entries: &'a [TouchedEntry],
    context: &'a Context,
    log: OfLog<'_>,
) -> Record<'a> {
    let phase = match event.phase {
        Phase::Single => PhaseField::Single,
        Phase::Intent => PhaseField::Intent,
        Phase::Entries => PhaseField::Entries,
        Phase::Result => PhaseField::Result,
    };
    let mut record = Record::new(EventKind::Verb(event.verb), phase, now);
    record.op_id = Some(Cow::Borrowed(op_id));
    record.req = Some(Request::of(asked(event)));
    record.root = Some(RootField {
        dev: U64(event.root.device),
        ino: U64(event.root.inode),
        mnt: event.root.mount.map(U64),
        id: context.root_id.as_deref().map(Cow::Borrowed),
    });
    record.parent = event.parent.map(|parent| parent_of(parent, event.path));
    record.obj = event
        .object
        .map(|object| object_of(object, event.root.mount));
    record.dst = event.destination.map(|path| Destination::of(path_of(path)));
    record.wl = Some(asking(workload_of(context, event.actor), event.process));
    record.lease = context.lease.as_ref().map(Lease::lend);
    match event.phase {
        Phase::Single | Phase::Intent => {
            record.decision = Some(decision_of(&event.decision, context, log.policy));
        }
        Phase::Result => record.result = Some(result_of(&event.decision)),
        Phase::Entries => {}
    }
    record.assure = Some(Assurance {
        resolve: Some(Cow::Borrowed(event.backend.name())),
        visibility: None,
        level: level_of(log.level),
    });
    record.entries = entries.iter().map(entry_of).collect();
    record
}

/// What was asked for: the path, or the text that became none.
pub(super) fn asked<'a>(event: &Event<'a>) -> &'a [u8] {
    event.text.unwrap_or_else(|| path_of(event.path))
}

/// The root itself is a path too.
fn path_of(path: &RelPath) -> &[u8] {
    if path.is_root() {
        b"."
    } else {
        path.as_bytes()
    }
}

fn born(time: Option<Timestamp>) -> Option<Cow<'static, str>> {
    time.map(|time| Cow::Owned(rfc3339(time.as_nanoseconds())))
}

fn parent_of<'a>(parent: Identity, path: &'a RelPath) -> Parent<'a> {
    let Bytes { text, base64 } = path
        .name()
        .map_or_else(Bytes::default, |name| Bytes::new(name.as_bytes()));
    Parent {
        dev: U64(parent.device),
        ino: U64(parent.inode),
        btime: born(parent.born),
        name: text,
        name_b64: base64,
    }
}

/// An object without a mount was reached through the root's.
fn object_of(object: &Metadata, root_mount: Option<u64>) -> Object<'_> {
    Object {
        dev: U64(object.identity.device),
        ino: U64(object.identity.inode),
        mnt: object
            .identity
            .mount
            .filter(|mount| Some(*mount) != root_mount)
            .map(U64),
        btime: born(object.identity.born),
        kind: Cow::Borrowed(object.kind.name()),
        mode: Cow::Owned(format!("{:04o}", object.mode)),
        uid: object.uid,
        gid: object.gid,
        nlink: U64(object.nlink),
        size: U64(object.len),
    }
}

pub(super) fn workload_of<'a>(context: &'a Context, actor: Option<&'a str>) -> Workload<'a> {
    let mut workload = context.workload.lend();
    if workload.agent_id.is_none() {
        workload.agent_id = actor.map(Cow::Borrowed);
    }
    workload
}

/// The process that asked, where it is not the one that writes the log. Both are of one user: a mount
/// serves no other's processes.
fn asking<'a>(workload: Workload<'a>, process: Option<Process<'a>>) -> Workload<'a> {
    match process {
        None => workload,
        Some(process) => Workload {
            pid: Some(process.pid),
            exe: process.exe.map(Cow::Borrowed),
            auth: Some(Cow::Borrowed("observed")),
            ..workload
        },
    }
}

fn decision_of<'a>(
    decision: &'a Decision,
    context: &'a Context,
    in_force: Option<&str>,
) -> DecisionField<'a> {
    let policy = context.policy_sha256.as_deref();
    let mut field = DecisionField {
        allow: true,
        policy_sha256: policy
            .filter(|policy| Some(*policy) != in_force)
            .map(Cow::Borrowed),
        ..DecisionField::default()
    };
    if let Decision::Refused { kind, why } = decision {
        field.allow = false;
        field.kind = Some(Cow::Borrowed(kind.name()));
        field.why = Some(Cow::Borrowed(why));
    }
    field
}

fn result_of(decision: &Decision) -> ResultField<'_> {
    match decision {
        Decision::Allowed => ResultField {
            ok: true,
            ..ResultField::default()
        },
        Decision::Refused { kind, why } => ResultField {
            ok: false,
            kind: Some(Cow::Borrowed(kind.name())),
            why: Some(Cow::Borrowed(why)),
            ..ResultField::default()
        },
    }
}

fn entry_of(entry: &TouchedEntry) -> Entry<'_> {
    let Bytes { text, base64 } = Bytes::new(&entry.path);
    Entry {
        path: text,
        path_b64: base64,
        kind: Cow::Borrowed(entry.kind.name()),
    }
}
