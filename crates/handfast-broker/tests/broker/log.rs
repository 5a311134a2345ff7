//! The log tells the story of a task, and a changed log is found.

use handfast_broker::{Acquire, Code, LeaseId};
use handfast_ledger::event::Record;
use handfast_ledger::{LogReader, VerifyOptions, verify};

use crate::stage::{Stage, code};
use crate::witness::leaves;

/// The events of a lease, in order: type, phase, path, allowed or refused.
pub(crate) fn story(stage: &Stage, handle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for leaf in leaves(stage) {
        let record = Record::parse(&leaf).unwrap();
        if record.lease.as_ref().is_none_or(|lease| lease.id != handle) {
            continue;
        }
        let workload = record.wl.as_ref().expect("every event says who");
        assert_eq!(workload.uid, Some(rustix::process::getuid().as_raw()));
        let path = record.path_bytes().unwrap_or_default();
        let denied = if record.is_denied() { " denied" } else { "" };
        let path = String::from_utf8_lossy(&path).into_owned();
        let phase = format!("{:?}", record.phase).to_lowercase();
        found.push(format!("{} {phase} {path}{denied}", record.kind).replace("  ", " "));
    }
    found
}

const ROOT: &str =
    "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n";

/// Each start's level, as the log tells it.
fn levels(stage: &Stage) -> Vec<String> {
    leaves(stage)
        .iter()
        .filter_map(|leaf| Record::parse(leaf).unwrap().start)
        .map(|start| start.level.into_owned())
        .collect()
}

#[test]
fn the_level_of_the_policy_counts_for_a_log_that_exists() {
    let mut stage = Stage::new();
    // It listens before it has a log; who is answered knows that there is one.
    let serve_and_die = |stage: &mut Stage| {
        let wanted = Acquire::new(["**"], ["read"]);
        stage.client().acquire(&wanted).unwrap();
        stage.kill_broker();
    };
    serve_and_die(&mut stage);
    for level in ["strict", "buffered"] {
        stage.policy(&format!("{ROOT}[log]\nlevel = \"{level}\"\n"));
        stage.start();
        serve_and_die(&mut stage);
    }
    assert_eq!(levels(&stage), ["ordered", "strict", "buffered"]);
    let report = verify(
        &LogReader::open(stage.log_dir()).unwrap(),
        &VerifyOptions::new(),
    );
    assert_eq!(report.unwrap().verdict(), handfast_ledger::Verdict::Good);
}

/// What changes something is in the log before it is answered, at the fastest level too, and so is
/// every read before it.
#[test]
fn a_killed_broker_that_buffers_has_told_every_change() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(&format!("{ROOT}[log]\nlevel = \"buffered\"\n"));
    stage.start();
    let mut client = stage.client();
    let wanted = Acquire::new(["**"], ["read", "commit"]);
    let id = client.acquire(&wanted).unwrap().lease_id;
    let handle = LeaseId::parse(&id).unwrap().handle();
    for round in 0..20 {
        client.open(&id, "src/a.txt").unwrap();
        let name = format!("src/new{round}");
        client.write(&id, &name, b"new", None).unwrap();
    }
    stage.kill_broker();
    let story = story(&stage, handle.as_str());
    let count = |start: &str| story.iter().filter(|told| told.starts_with(start)).count();
    assert_eq!(count("write intent src/new"), 20, "{story:?}");
    assert_eq!(count("write result src/new"), 20, "{story:?}");
    assert_eq!(count("open single src/a.txt"), 20, "{story:?}");
}

#[test]
fn from_acquire_to_revoke_in_order_and_with_identity() {
    let mut stage = Stage::new();
    let mut client = stage.client();
    let wanted = Acquire::new(["src/**"], ["read", "commit"]).purpose("a story");
    let id = client.acquire(&wanted).unwrap().lease_id;
    client.open(&id, "src/a.txt").unwrap();
    assert_eq!(code(client.open(&id, "top.txt")), Code::Denied);
    client.write(&id, "src/new", b"new", None).unwrap();
    client.renew(&id, Some(60)).unwrap();
    let handle = LeaseId::parse(&id).unwrap().handle();
    client.revoke(handle.as_str()).unwrap();
    assert_eq!(code(client.open(&id, "src/a.txt")), Code::LeaseRevoked);
    assert_eq!(code(client.renew(&id, None)), Code::LeaseRevoked);
    stage.kill_broker();
    assert_eq!(
        story(&stage, handle.as_str()),
        [
            "lease.acquire single ",
            "open single src/a.txt",
            "open single top.txt denied",
            "temp-file single src/new",
            "write intent src/new",
            "write result src/new",
            "lease.renew single ",
            "lease.revoke single ",
            "fd.outstanding single ",
            "open single src/a.txt denied",
            "resolve single . denied",
        ]
    );
    // The id itself is nowhere in it.
    let secret = id.rsplit('/').next().unwrap();
    for entry in std::fs::read_dir(stage.dir.join("state")).unwrap() {
        let path = entry.unwrap().path();
        let files: Vec<_> = if path.is_dir() {
            std::fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect()
        } else {
            vec![path]
        };
        for file in files.into_iter().filter(|file| file.is_file()) {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{}", file.display());
        }
    }
}

#[test]
fn tampering_with_the_story_is_found() {
    let mut stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    for _ in 0..10 {
        client.open(&id, "src/a.txt").unwrap();
    }
    client.revoke(&id).unwrap();
    stage.kill_broker();
    // Started and ended once more, so that everything is signed.
    stage.start();
    drop(stage.client());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    stage.kill_broker();
    let check = || verify(&LogReader::open(stage.log_dir())?, &VerifyOptions::new());
    let good = check().unwrap();
    assert!(good.problems.is_empty(), "{good:?}");
    let mut changed = 0;
    for entry in walk(&stage.log_dir()) {
        let mut bytes = std::fs::read(&entry).unwrap();
        let Some(at) = bytes.windows(9).position(|part| part == b"src/a.txt") else {
            continue;
        };
        bytes[at + 4] = b'b';
        std::fs::write(&entry, bytes).unwrap();
        changed += 1;
    }
    assert!(changed > 0);
    let found = check();
    assert!(found.is_err() || !found.unwrap().problems.is_empty());
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}
