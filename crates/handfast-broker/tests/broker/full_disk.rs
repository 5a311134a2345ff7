//! A disk that fills up in the middle of things. Needs a small filesystem, and so the right to
//! mount one.

use std::os::unix::fs::FileExt;
use std::path::Path;

use handfast::Verb;
use handfast_broker::{Acquire, Code, Fence, Rulebook, Running, ServeOptions, bind_socket};
use handfast_ledger::event::{EventKind, Record};
use handfast_ledger::{LogReader, VerifyOptions, verify};

use crate::stage::{Stage, code, text, until};
use crate::witness::{Small, leaves};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "ballast")
        .collect();
    names.sort();
    names
}

#[test]
fn a_full_tree_keeps_what_it_has_and_takes_more_when_there_is_room() {
    let mut stage = Stage::prepare(&[]);
    std::fs::remove_dir_all(stage.root("")).unwrap();
    let Some(disk) = Small::mount(stage.root(""), "1m") else {
        return;
    };
    std::fs::write(stage.root("old.txt"), "old").unwrap();
    stage.start();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let long = vec![b'n'; 64 * 1024];
    // Begun while there is room, which is reserved in memory and nowhere else.
    let draft = client
        .begin(&id, "old.txt", long.len() as u64, None)
        .unwrap();
    draft.file.write_all_at(&long, 0).unwrap();
    disk.fill();
    assert_eq!(code(client.commit(&draft, long.len() as u64)), Code::Quota);
    assert_eq!(text(&stage.root("old.txt")), "old");
    assert_eq!(code(client.write(&id, "new.txt", &long, None)), Code::Quota);
    assert_eq!(code(client.append(&id, "old.txt", &long)), Code::Quota);
    assert_eq!(text(&stage.root("old.txt")), "old");
    // Nothing half-made is left, and reading goes on.
    assert_eq!(names(&stage.root("")), ["old.txt"]);
    client.open(&id, "old.txt").unwrap();
    disk.free();
    client.write(&id, "old.txt", &long, None).unwrap();
    assert_eq!(std::fs::read(stage.root("old.txt")).unwrap(), long);
    assert_eq!(names(&stage.root("")), ["old.txt"]);
    drop(client);
    stage.kill_broker();
}

#[test]
fn b2_without_room_nothing_is_done_and_with_room_again_all_works() {
    let mut stage = Stage::prepare(&[]);
    let Some(disk) = Small::mount(stage.dir.join("state"), "8m") else {
        return;
    };
    stage.start();
    let mut client = stage.client();
    let kept = stage.lease(&mut client).lease_id;
    let spare = stage.lease(&mut client).lease_id;
    client.write(&kept, "done.txt", b"done", None).unwrap();
    let draft = client.begin(&kept, "top.txt", 16, None).unwrap();
    draft.file.write_all_at(b"changed", 0).unwrap();
    disk.fill();
    // The log has some room that it took before; when that is used up, it is over.
    let mut opened = 0;
    let refused = loop {
        match client.open(&kept, "top.txt") {
            Ok(_) => opened += 1,
            Err(error) => break error,
        }
        assert!(opened < 1_000_000, "the log takes everything");
    };
    assert_eq!(refused.code(), Some(Code::Unavailable), "{refused}");
    assert_eq!(code(client.commit(&draft, 7)), Code::Unavailable);
    assert_eq!(text(&stage.root("top.txt")), "top");
    let refused = client.write(&kept, "new.txt", b"new", None);
    assert_eq!(code(refused), Code::Unavailable);
    assert!(!stage.root("new.txt").exists());
    assert_eq!(
        code(client.remove(&kept, "src/b.txt", "file")),
        Code::Unavailable
    );
    assert!(stage.root("src/b.txt").exists());
    let wanted = Acquire::new(["**"], ["read"]).bind("user");
    assert_eq!(code(client.acquire(&wanted)), Code::Unavailable);
    // A revocation stops its lease all the same, and says that it is not kept.
    let revoked = client.revoke(&spare).unwrap();
    assert_eq!(revoked.ended, 1);
    assert!(revoked.unkept.is_some());
    assert!(client.open(&spare, "top.txt").is_err());
    assert!(client.info().unwrap()["troubles"].get(0).is_some());
    drop(client);

    // With room again everything works, without a restart: the log is taken up by itself.
    disk.free();
    let mut client = stage.client();
    until("the log is taken up again", || {
        client.open(&kept, "top.txt").is_ok()
    });
    assert_eq!(code(client.open(&spare, "top.txt")), Code::LeaseRevoked);
    client.write(&kept, "again.txt", b"again", None).unwrap();
    client.acquire(&wanted).unwrap();
    let log = LogReader::open(stage.log_dir()).unwrap();
    let found = verify(&log, &VerifyOptions::new()).unwrap();
    assert!(found.problems.is_empty(), "{found:?}");
    disk.fill();
    while client.open(&kept, "top.txt").is_ok() {}
    drop(client);

    // Killed and started with room again: what was answered is there, what was not is not.
    stage.kill_broker();
    disk.free();
    stage.start();
    let mut client = stage.client();
    until("the lease is of use again", || {
        client.open(&kept, "top.txt").is_ok()
    });
    assert_eq!(client.list("").unwrap().len(), 2);
    client.write(&kept, "new.txt", b"new", None).unwrap();
    assert_eq!(text(&stage.root("done.txt")), "done");
    drop(client);
    stage.kill_broker();
    let log = LogReader::open(stage.log_dir()).unwrap();
    let found = verify(&log, &VerifyOptions::new()).unwrap();
    assert!(found.problems.is_empty(), "{found:?}");
}

/// A broker of this process, which can be ended in order.
fn serve_buffered(stage: &Stage) -> Running {
    let text = format!(
        "version = 1\n[[root]]\nname = \"ws\"\npath = {:?}\nmount = \"/\"\nmode = \"read-write\"\n\
         [log]\nlevel = \"buffered\"\n",
        stage.root("")
    );
    let rulebook = Rulebook::parse(text.as_bytes(), &stage.dir, false).unwrap();
    let listener = bind_socket(&stage.socket(), false).unwrap();
    let options = ServeOptions::new(rulebook, stage.dir.join("state")).fence(Fence::Thread);
    // A thread of its own: the wall stays around the thread that raises it.
    let started = std::thread::spawn(move || options.start(listener));
    started.join().unwrap().unwrap()
}

/// How many opens the log tells of, and how many events it says are missing.
fn opens_and_gaps(stage: &Stage) -> (u64, u64) {
    let (mut opens, mut missing) = (0, 0);
    for leaf in leaves(stage) {
        let record = Record::parse(&leaf).unwrap();
        if record.kind == EventKind::Verb(Verb::Open) {
            opens += record.fold.map_or(1, |fold| fold.count.0);
        }
        let gap = record.gap.and_then(|gap| gap.events);
        missing += gap.map_or(0, |events| events.0);
    }
    (opens, missing)
}

/// Reads that were answered and could not be written any more are told: when the broker is ended in order, and
/// in the log by the next start.
#[test]
fn reads_that_no_log_has_are_told_at_the_end_and_by_the_next_start() {
    let stage = Stage::prepare(&[]);
    let Some(disk) = Small::mount(stage.dir.join("state"), "8m") else {
        return;
    };
    let running = serve_buffered(&stage);
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    disk.fill();
    let mut answered = 0;
    while client.open(&id, "top.txt").is_ok() {
        answered += 1;
        assert!(answered < 1_000_000, "the log takes everything");
    }
    let lost = running.stop();
    drop(client);
    let (told, missing) = opens_and_gaps(&stage);
    assert!(lost > 0, "{answered} answered, {told} told");
    assert_eq!((told + lost, missing), (answered, 0));
    // With room again the next one says it, once.
    disk.free();
    for _ in 0..2 {
        assert_eq!(serve_buffered(&stage).stop(), 0);
        assert_eq!(opens_and_gaps(&stage), (told, lost));
    }
}
