//! Every verb of the library, on both backends, into a real log.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]

mod support;

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use handfast::{
    BackendChoice, Error, ErrorKind, LockKind, OpenOptions, RelPath, RenameMode, Root, RootOptions,
    Timestamp, Verb,
};
use handfast_ledger::event::{EventKind, PhaseField, Record};
use handfast_ledger::{Context, Ledger, LedgerRecorder, Level, LogReader};
use support::*;

fn rel(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::parse(path).unwrap()
}

fn skip(why: &str) {
    let line = format!("skipped: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

type Call = (Verb, fn(&Root) -> Result<(), Error>);

/// Each verb that a root has, once, where it succeeds.
const CALLS: &[Call] = &[
    (Verb::Resolve, |r| {
        let name = handfast::Name::parse("f")?;
        handfast::Files::lookup(r, &handfast::Files::top(r)?, name.as_ref()).map(drop)
    }),
    (Verb::Open, |r| r.open(&rel("f")).map(drop)),
    (Verb::OpenWrite, |r| {
        r.open_with(&rel("f"), OpenOptions::new().write(true))
            .map(drop)
    }),
    (Verb::OpenDir, |r| r.open_dir(&rel("d")).map(drop)),
    (Verb::Read, |r| r.read(&rel("f")).map(drop)),
    (Verb::Write, |r| r.write(&rel("f"), "w").map(drop)),
    (Verb::WriteNew, |r| r.write_new(&rel("new"), "w").map(drop)),
    (Verb::WriteIf, |r| {
        let version = r.version(&rel("f"))?;
        r.write_if(&rel("f"), &version, "w").map(drop)
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
        r.rename(&rel("f"), &rel("g"), RenameMode::NoReplace)
    }),
    (Verb::RemoveFile, |r| r.remove_file(&rel("f"))),
    (Verb::RemoveDir, |r| r.remove_dir(&rel("d"))),
    (Verb::RemoveTree, |r| r.remove_tree(&rel("t"))),
    (Verb::RemoveIf, |r| {
        let version = r.version(&rel("f"))?;
        r.remove_if(&rel("f"), &version)
    }),
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
        r.get_xattr(&rel("x"), "user.x").map(drop)
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
    (Verb::Version, |r| r.version(&rel("f")).map(drop)),
    (Verb::Recover, |r| r.recover(&RelPath::root()).map(drop)),
];

#[test]
fn no_verb_is_forgotten() {
    let listed: BTreeSet<_> = CALLS.iter().map(|(verb, _)| *verb).collect();
    // These make a root, or happen without one.
    let mut elsewhere = vec![Verb::Parse, Verb::OpenRoot, Verb::Harden];
    elsewhere.extend(Verb::OF_SESSIONS);
    for verb in Verb::ALL {
        assert_eq!(listed.contains(verb), !elsewhere.contains(verb), "{verb}");
        assert_eq!(
            EventKind::from_name(verb.name()),
            Some(EventKind::Verb(*verb))
        );
    }
    for kind in EventKind::OTHERS {
        assert_eq!(
            EventKind::from_name(kind.name()),
            Some(*kind),
            "no name twice"
        );
    }
}

fn scene(scratch: &Scratch) -> bool {
    let root = scratch.path.join("root");
    std::fs::create_dir(&root).unwrap();
    for file in ["f", "x"] {
        std::fs::write(root.join(file), file).unwrap();
    }
    std::fs::create_dir(root.join("d")).unwrap();
    std::os::unix::fs::symlink("f", root.join("link")).unwrap();
    std::fs::create_dir_all(root.join("t/a")).unwrap();
    for number in 0..300 {
        std::fs::write(root.join(format!("t/a/{number}")), "").unwrap();
    }
    let root = Root::open_ambient(&root).unwrap();
    root.set_xattr(&rel("x"), "user.x", b"1").is_ok()
}

fn backends(scratch: &Scratch) -> Vec<BackendChoice> {
    let options = RootOptions::new().backend(BackendChoice::Kernel);
    match Root::open_ambient_with(&scratch.path, options) {
        Ok(_) => vec![BackendChoice::Kernel, BackendChoice::Walk],
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            skip("openat2 is absent or filtered");
            vec![BackendChoice::Walk]
        }
    }
}

fn recorded(scratch: &Scratch, backend: BackendChoice) -> (Root, Arc<Ledger>) {
    let ledger = Arc::new(open(&scratch.log()));
    let recorder = LedgerRecorder::new(Arc::clone(&ledger), Context::new().root_id("box")).unwrap();
    let options = RootOptions::new()
        .backend(backend)
        .actor("agent-7")
        .recorder(Arc::new(recorder));
    let root = Root::open_ambient_with(scratch.path.join("root"), options).unwrap();
    (root, ledger)
}

/// All events but those about the log itself.
fn told(scratch: &Scratch) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    LogReader::open(scratch.log())
        .unwrap()
        .for_each(0, |_, leaf| {
            let record = Record::parse(leaf).unwrap();
            if matches!(record.kind, EventKind::Verb(_)) {
                found.push(leaf.to_vec());
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    found
}

#[test]
fn every_verb_is_one_decision_and_every_change_two_events() {
    for (verb, call) in CALLS {
        let probe = Scratch::new();
        for backend in backends(&probe) {
            let scratch = Scratch::new();
            if !scene(&scratch) && verb.name().ends_with("xattr") {
                skip("this filesystem has no extended attributes");
                continue;
            }
            create(&scratch.log(), Level::Ordered);
            let (root, ledger) = recorded(&scratch, backend);
            call(&root).unwrap_or_else(|error| panic!("{verb}: {error}"));
            drop((root, ledger));
            let leaves = told(&scratch);
            let records: Vec<_> = leaves
                .iter()
                .map(|leaf| Record::parse(leaf).unwrap())
                .filter(|record| record.kind == EventKind::Verb(*verb))
                .collect();
            let phases: Vec<_> = records.iter().map(|record| record.phase).collect();
            let lists = phases
                .iter()
                .filter(|phase| **phase == PhaseField::Entries)
                .count();
            let is_tree = [Verb::CopyTree, Verb::RemoveTree].contains(verb);
            assert_eq!(lists > 0, is_tree, "{verb}");
            let rest: Vec<_> = phases
                .iter()
                .filter(|phase| **phase != PhaseField::Entries)
                .collect();
            if verb.changes() {
                assert_eq!(rest, [&PhaseField::Intent, &PhaseField::Result], "{verb}");
                assert!(records.last().unwrap().result.as_ref().unwrap().ok);
            } else {
                assert_eq!(rest, [&PhaseField::Single], "{verb}");
            }
            assert!(records[0].decision.as_ref().unwrap().allow, "{verb}");
            let ids: BTreeSet<_> = records.iter().map(|record| record.op_id.clone()).collect();
            assert_eq!(ids.len(), 1, "{verb}");
            for record in &records {
                let workload = record.wl.as_ref().unwrap();
                assert_eq!(workload.agent_id.as_deref(), Some("agent-7"));
                assert_eq!(workload.pid, Some(std::process::id()));
                let assured = record.assure.as_ref().unwrap();
                let backend = match backend {
                    BackendChoice::Walk => "walk",
                    _ => "kernel",
                };
                assert_eq!(assured.resolve.as_deref(), Some(backend));
                assert_eq!(record.root.as_ref().unwrap().id.as_deref(), Some("box"));
            }
            let entries: usize = records.iter().map(|record| record.entries.len()).sum();
            assert_eq!(entries, if is_tree { 301 } else { 0 }, "{verb}");
        }
    }
}

#[test]
fn refusals_are_there_and_names_come_back_byte_for_byte() {
    let scratch = Scratch::new();
    scene(&scratch);
    create(&scratch.log(), Level::Ordered);
    let (root, ledger) = recorded(&scratch, BackendChoice::Auto);
    let long = [vec![b'n'; 255], vec![b'/'], vec![b'\xff'; 255]].concat();
    let deep = vec!["d".repeat(250); 16].join("/");
    let names: Vec<Vec<u8>> = vec![
        b"a\nb".to_vec(),
        b"\x1b[2J".to_vec(),
        "\u{202e}gpj.exe".as_bytes().to_vec(),
        b"not \xff utf-8".to_vec(),
        "caf\u{e9}".as_bytes().to_vec(),
        b"\"quoted\\\"".to_vec(),
        long,
        deep.into_bytes(),
    ];
    for name in &names {
        assert!(root.read(&rel(name)).is_err());
    }
    assert!(root.read(&rel("link")).is_err());
    drop((root, ledger));
    let leaves = told(&scratch);
    assert_eq!(leaves.len(), names.len() + 1);
    for (leaf, name) in leaves.iter().zip(&names) {
        let record = Record::parse(leaf).unwrap();
        assert_eq!(record.path_bytes().as_ref(), Some(name));
        assert!(record.is_denied());
        assert!(
            !leaf.iter().any(|byte| *byte < b' '),
            "one line, no control characters"
        );
    }
    let record = Record::parse(leaves.last().unwrap()).unwrap();
    assert_eq!(record.decision.unwrap().kind.as_deref(), Some("Link"));
}

/// Names of 255 quotes: escaped they are twice as long, and a list of them passes 65,535 bytes.
#[test]
fn lists_that_escape_badly_are_split() {
    let scratch = Scratch::new();
    let tree = scratch.path.join("root/t");
    std::fs::create_dir_all(&tree).unwrap();
    for number in 0..200_u8 {
        let mut name = vec![b'"'; 250];
        name.extend(format!("{number:03}").bytes());
        std::fs::write(tree.join(std::ffi::OsStr::from_bytes(&name)), "").unwrap();
    }
    create(&scratch.log(), Level::Ordered);
    let (root, ledger) = recorded(&scratch, BackendChoice::Auto);
    root.remove_tree(&rel("t")).unwrap();
    drop((root, ledger));
    let leaves = told(&scratch);
    let entries: usize = leaves
        .iter()
        .map(|leaf| Record::parse(leaf).unwrap().entries.len())
        .sum();
    assert_eq!(entries, 200);
}

#[test]
fn identical_refusals_are_counted_beyond_a_hundred_a_second() {
    let scratch = Scratch::new();
    scene(&scratch);
    create(&scratch.log(), Level::Ordered);
    let (root, ledger) = recorded(&scratch, BackendChoice::Auto);
    for _ in 0..5000 {
        assert!(root.read(&rel("none")).is_err());
    }
    // What is allowed is never folded, for any caller.
    for _ in 0..300 {
        root.read(&rel("f")).unwrap();
    }
    drop((root, ledger));
    let leaves = told(&scratch);
    let (mut denied, mut counted, mut allowed) = (0, 0, 0);
    for leaf in &leaves {
        let record = Record::parse(leaf).unwrap();
        match (record.is_denied(), record.fold) {
            (true, Some(fold)) => counted += fold.count.0,
            (true, None) => denied += 1,
            (false, _) => allowed += 1,
        }
    }
    assert_eq!(denied + counted, 5000, "nothing is lost");
    assert_eq!(allowed, 300);
    if counted == 0 {
        skip("this machine does not manage a hundred refusals a second");
    }
}

#[test]
fn ever_other_paths_do_not_fill_the_disk_either() {
    let scratch = Scratch::new();
    scene(&scratch);
    create(&scratch.log(), Level::Ordered);
    let (root, ledger) = recorded(&scratch, BackendChoice::Auto);
    for number in 0..8000 {
        assert!(root.read(&rel(format!("none{number}"))).is_err());
    }
    drop((root, ledger));
    let mut total = 0;
    let mut written = 0;
    for leaf in told(&scratch) {
        let record = Record::parse(&leaf).unwrap();
        total += record.fold.as_ref().map_or(1, |fold| fold.count.0);
        written += 1;
        if let Some(fold) = record.fold {
            assert_eq!(fold.paths, "various");
        }
    }
    assert_eq!(total, 8000);
    if written == 8000 {
        skip("this machine does not manage a thousand refusals a second");
    }
}

#[test]
fn without_a_log_nothing_is_done() {
    let scratch = Scratch::new();
    scene(&scratch);
    create(&scratch.log(), Level::Strict);
    let (root, ledger) = recorded(&scratch, BackendChoice::Auto);
    root.write(&rel("f"), "one").unwrap();
    ledger.poison_for_tests();
    for error in [
        root.write(&rel("f"), "two").unwrap_err(),
        root.read(&rel("f")).unwrap_err(),
        root.remove_file(&rel("f")).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert_eq!(error.effect(), handfast::Effect::None);
    }
    assert_eq!(std::fs::read(scratch.path.join("root/f")).unwrap(), b"one");
}
