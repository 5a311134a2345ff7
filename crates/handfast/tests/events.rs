//! Every verb tells a recorder exactly what it decided, before it takes effect.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use handfast::{
    Decision, Effect, Error, ErrorKind, Event, LockKind, OpenOptions, Phase, RecordError, Recorder,
    RelPath, RenameMode, Root, Timestamp, Verb, WriteOptions,
};
use support::*;

#[derive(Clone, Debug, PartialEq)]
struct Told {
    op_id: u64,
    phase: Phase,
    verb: Verb,
    path: String,
    allowed: bool,
    has_object: bool,
    entries: usize,
    actor: Option<String>,
}

#[derive(Default)]
struct Log {
    told: Mutex<Vec<Told>>,
    refuse: Option<Phase>,
    fail: Option<Phase>,
}

impl Recorder for Log {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        self.told.lock().unwrap().push(Told {
            op_id: event.op_id,
            phase: event.phase,
            verb: event.verb,
            path: event.path.to_string(),
            allowed: event.decision == Decision::Allowed,
            has_object: event.object.is_some(),
            entries: event.entries.len(),
            actor: event.actor.map(str::to_owned),
        });
        if self.refuse == Some(event.phase) {
            return Err(RecordError::Refused("not today".into()));
        }
        if self.fail == Some(event.phase) {
            return Err(RecordError::Failed(std::io::Error::other("disk full")));
        }
        Ok(())
    }
}

impl Log {
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

type Call = (Verb, fn(&Root) -> Result<(), Error>);

/// Each verb once, where it succeeds. The list is compared with the library's own.
const CALLS: &[Call] = &[
    (Verb::Resolve, |r| {
        let name = handfast::Name::parse("f")?;
        handfast::Files::lookup(r, &handfast::Files::top(r)?, name.as_ref()).map(drop)
    }),
    (Verb::Open, |r| r.open(&rel("f")).map(drop)),
    (Verb::OpenWrite, |r| {
        r.open_with(&rel("new0"), OpenOptions::new().write(true).create(true))
            .map(drop)
    }),
    (Verb::OpenWrite, |r| {
        r.open_with(&rel("f"), OpenOptions::new().write(true))
            .map(drop)
    }),
    (Verb::OpenDir, |r| r.open_dir(&rel("d")).map(drop)),
    (Verb::Read, |r| r.read(&rel("f")).map(drop)),
    (Verb::Read, |r| r.read_versioned(&rel("f")).map(drop)),
    (Verb::Write, |r| r.write(&rel("f"), "w").map(drop)),
    (Verb::Write, |r| {
        r.stage(&rel("f"), WriteOptions::new())?.commit().map(drop)
    }),
    (Verb::WriteNew, |r| r.write_new(&rel("new1"), "w").map(drop)),
    (Verb::WriteNew, |r| {
        r.stage(&rel("new2"), WriteOptions::new())?
            .commit_new()
            .map(drop)
    }),
    (Verb::Append, |r| r.append(&rel("f"), "a").map(drop)),
    (Verb::CreateDir, |r| r.create_dir(&rel("d2")).map(drop)),
    (Verb::CreateDirAll, |r| {
        r.create_dir_all(&rel("d3/a/b")).map(drop)
    }),
    (Verb::ReadDir, |r| r.read_dir(&rel("d")).map(drop)),
    (Verb::Walk, |r| r.walk(&rel("d")).map(drop)),
    (Verb::Copy, |r| r.copy(&rel("f"), &rel("copy")).map(drop)),
    (Verb::CopyTree, |r| r.copy_tree(&rel("t"), &rel("t2"))),
    (Verb::Rename, |r| {
        r.rename(&rel("f"), &rel("moved"), RenameMode::NoReplace)
    }),
    (Verb::RemoveFile, |r| r.remove_file(&rel("f"))),
    (Verb::RemoveDir, |r| r.remove_dir(&rel("d"))),
    (Verb::RemoveTree, |r| r.remove_tree(&rel("t"))),
    (Verb::Metadata, |r| r.metadata(&rel("f")).map(drop)),
    (Verb::ReadLink, |r| r.read_link(&rel("link")).map(drop)),
    (Verb::Symlink, |r| r.symlink("f", &rel("link2"))),
    (Verb::HardLink, |r| r.hard_link(&rel("f"), &rel("f2"))),
    (Verb::Chmod, |r| r.chmod(&rel("f"), 0o600)),
    (Verb::Chown, |r| r.chown(&rel("f"), None, None)),
    (Verb::SetTimes, |r| {
        r.set_times(&rel("f"), None, Some(Timestamp::default()))
    }),
    (Verb::GetXattr, |r| {
        r.get_xattr(&rel("f"), "user.x").map(drop)
    }),
    (Verb::ListXattr, |r| r.list_xattrs(&rel("f")).map(drop)),
    (Verb::SetXattr, |r| r.set_xattr(&rel("f"), "user.x", b"1")),
    (Verb::RemoveXattr, |r| r.remove_xattr(&rel("x"), "user.x")),
    (Verb::TempFile, |r| r.temp_file(&rel("d")).map(drop)),
    (Verb::TempDir, |r| r.temp_dir(&rel("d")).map(drop)),
    (Verb::Lock, |r| {
        r.lock(&rel("lock"), LockKind::Exclusive, Duration::ZERO)
            .map(drop)
    }),
    (Verb::Lock, |r| {
        r.lock_dir(&rel("d"), LockKind::Exclusive, Duration::ZERO)
            .map(drop)
    }),
    (Verb::Version, |r| r.version(&rel("f")).map(drop)),
    (Verb::Recover, |r| r.recover(&RelPath::root()).map(drop)),
];

/// Verbs that need a version first, and so make two calls.
const CONDITIONAL: &[Call] = &[
    (Verb::WriteIf, |r| {
        let version = r.version(&rel("f"))?;
        r.write_if(&rel("f"), &version, "w").map(drop)
    }),
    (Verb::RemoveIf, |r| {
        let version = r.version(&rel("f"))?;
        r.remove_if(&rel("f"), &version)
    }),
];

fn scene() -> Scratch {
    let scratch = Scratch::in_memory();
    scratch
        .file("f", "f")
        .dir("d")
        .link("f", "link")
        .file("x", "x");
    for number in 0..300 {
        scratch.file(&format!("t/a/f{number}"), "");
    }
    scratch
}

fn has_xattrs(scratch: &Scratch) -> bool {
    let root = Root::open_ambient(scratch.root_path()).unwrap();
    root.set_xattr(&rel("x"), "user.x", b"1").is_ok()
}

#[test]
fn the_list_of_verbs_is_complete() {
    let listed: BTreeSet<_> = CALLS
        .iter()
        .chain(CONDITIONAL)
        .map(|(verb, _)| *verb)
        .collect();
    for verb in Verb::ALL {
        // These happen without a root, or make one.
        let elsewhere = [Verb::Parse, Verb::OpenRoot, Verb::Harden].contains(verb)
            || Verb::OF_SESSIONS.contains(verb);
        assert_eq!(!elsewhere, listed.contains(verb), "{verb}");
    }
}

#[test]
fn every_verb_records_one_decision_and_changes_record_a_result() {
    each_backend(|backend| {
        for (verb, call) in CALLS.iter().chain(CONDITIONAL) {
            let scratch = scene();
            if !has_xattrs(&scratch) && verb.name().ends_with("xattr") {
                skip("this filesystem has no extended attributes");
                continue;
            }
            let log = Arc::new(Log::default());
            let root = scratch
                .open(options(backend).actor("agent-7"))
                .with_recorder(Arc::clone(&log) as Arc<dyn Recorder>);
            call(&root).unwrap_or_else(|error| panic!("{verb}: {error}"));
            let told: Vec<_> = log
                .take()
                .into_iter()
                .filter(|told| told.verb == *verb)
                .collect();
            let count = |phase| told.iter().filter(|told| told.phase == phase).count();
            assert!(told.iter().all(|told| told.allowed), "{verb} {told:?}");
            assert!(
                told.iter()
                    .all(|told| told.op_id == told.op_id && told.op_id > 0)
            );
            assert!(
                told.windows(2).all(|pair| pair[0].op_id == pair[1].op_id),
                "{verb}"
            );
            assert_eq!(told[0].actor.as_deref(), Some("agent-7"));
            if verb.changes() {
                assert_eq!(
                    (
                        count(Phase::Single),
                        count(Phase::Intent),
                        count(Phase::Result)
                    ),
                    (0, 1, 1),
                    "{verb} {told:?}"
                );
                assert_eq!(told.last().unwrap().phase, Phase::Result);
            } else {
                assert_eq!(
                    (told.len(), count(Phase::Single)),
                    (1, 1),
                    "{verb} {told:?}"
                );
            }
            let entries: usize = told.iter().map(|told| told.entries).sum();
            match verb {
                Verb::RemoveTree | Verb::CopyTree => assert_eq!(entries, 301, "{verb}"),
                _ => assert_eq!(entries, 0, "{verb}"),
            }
        }
    });
}

#[test]
fn refusals_are_recorded_once() {
    each_backend(|backend| {
        let scratch = scene();
        scratch.link(scratch.path("outside"), "out");
        let log = Arc::new(Log::default());
        let root = scratch
            .open(options(backend))
            .with_recorder(Arc::clone(&log) as Arc<dyn Recorder>);
        assert_kind(root.read(&rel("out/secret")), ErrorKind::Link);
        assert_kind(root.write(&rel("out/secret"), ""), ErrorKind::Link);
        assert_kind(root.remove_tree(&rel("none")), ErrorKind::NotFound);
        let told = log.take();
        let shape: Vec<_> = told
            .iter()
            .map(|told| (told.verb, told.phase, told.allowed))
            .collect();
        assert_eq!(
            shape,
            [
                (Verb::Read, Phase::Single, false),
                (Verb::Write, Phase::Intent, false),
                (Verb::RemoveTree, Phase::Intent, true),
                (Verb::RemoveTree, Phase::Result, false),
            ]
        );
    });
}

#[test]
fn what_cannot_be_recorded_is_not_done() {
    each_backend(|backend| {
        for (verb, call) in CALLS.iter().chain(CONDITIONAL) {
            let scratch = scene();
            if !has_xattrs(&scratch) && verb.name().ends_with("xattr") {
                skip("this filesystem has no extended attributes");
                continue;
            }
            let before = scratch.snapshot("root");
            for (log, kind) in [
                (
                    Log {
                        refuse: Some(Phase::Intent),
                        ..Log::default()
                    },
                    ErrorKind::Denied,
                ),
                (
                    Log {
                        fail: Some(Phase::Intent),
                        ..Log::default()
                    },
                    ErrorKind::Io,
                ),
                (
                    Log {
                        refuse: Some(Phase::Single),
                        ..Log::default()
                    },
                    ErrorKind::Denied,
                ),
            ] {
                let phase = log.refuse.or(log.fail).unwrap();
                let single = !verb.changes()
                    || CONDITIONAL
                        .iter()
                        .any(|(conditional, _)| conditional == verb);
                if (phase == Phase::Single) != single && phase == Phase::Single
                    || (phase == Phase::Intent && !verb.changes())
                {
                    continue;
                }
                let root = scratch.open(options(backend)).with_recorder(Arc::new(log));
                let error = assert_kind(call(&root), kind);
                assert_eq!(error.effect(), Effect::None, "{verb}");
                assert_eq!(scratch.snapshot("root"), before, "{verb}");
            }
        }
    });
}

#[test]
fn a_result_that_cannot_be_recorded_is_told_to_the_caller() {
    each_backend(|backend| {
        let scratch = scene();
        let log = Log {
            fail: Some(Phase::Result),
            ..Log::default()
        };
        let root = scratch.open(options(backend)).with_recorder(Arc::new(log));
        let error = assert_kind(root.write(&rel("f"), "new"), ErrorKind::Io);
        assert_eq!(error.effect(), Effect::Visible);
        assert_eq!(scratch.read("root/f"), "new");
    });
}

/// The object is named, by the intent where it was there before, by the result where it was made.
#[test]
fn every_change_names_its_object() {
    each_backend(|backend| {
        for (verb, call) in CALLS.iter().chain(CONDITIONAL) {
            // These are about a directory's content, or about nothing that is there afterwards.
            let without = [
                Verb::TempFile,
                Verb::TempDir,
                Verb::Recover,
                Verb::Symlink,
                Verb::WriteNew,
            ];
            if !verb.changes() || without.contains(verb) {
                continue;
            }
            let scratch = scene();
            if !has_xattrs(&scratch) && verb.name().ends_with("xattr") {
                skip("this filesystem has no extended attributes");
                continue;
            }
            let log = Arc::new(Log::default());
            let root = scratch
                .open(options(backend))
                .with_recorder(Arc::clone(&log) as Arc<dyn Recorder>);
            call(&root).unwrap();
            let told = log.take();
            let named = told
                .iter()
                .any(|told| told.verb == *verb && told.has_object);
            assert!(named, "{verb}: {told:?}");
        }
    });
}

/// A rename between two roots is decided by both, and both learn how it ended.
#[test]
fn a_rename_between_roots_is_told_to_both() {
    each_backend(|backend| {
        let scratch = scene();
        let (from, to) = (Arc::new(Log::default()), Arc::new(Log::default()));
        let one = scratch
            .open(options(backend))
            .with_recorder(Arc::clone(&from) as Arc<dyn Recorder>);
        let other = scratch
            .open(options(backend))
            .with_recorder(Arc::clone(&to) as Arc<dyn Recorder>);
        assert_kind(
            one.rename_to(&rel("f"), &other, &rel("x"), RenameMode::NoReplace),
            ErrorKind::Exists,
        );
        for log in [&from, &to] {
            let told: Vec<_> = log
                .take()
                .iter()
                .map(|told| (told.phase, told.allowed))
                .collect();
            assert_eq!(told, [(Phase::Intent, true), (Phase::Result, false)]);
        }
        let refusing = Arc::new(Log {
            refuse: Some(Phase::Intent),
            ..Log::default()
        });
        for (source, destination) in [
            (
                scratch.open(options(backend)),
                other.with_recorder(Arc::clone(&refusing) as Arc<dyn Recorder>),
            ),
            (
                one.with_recorder(refusing.clone()),
                scratch.open(options(backend)),
            ),
        ] {
            assert_kind(
                source.rename_to(&rel("f"), &destination, &rel("y"), RenameMode::NoReplace),
                ErrorKind::Denied,
            );
            assert_eq!(scratch.read("root/f"), "f");
        }
    });
}
