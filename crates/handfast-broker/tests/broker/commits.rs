//! Writes count when they are committed, and only then.

use std::os::unix::fs::FileExt;
use std::time::Duration;

use handfast::ErrorKind;
use handfast_broker::{Acquire, ClientError, Code};

use crate::stage::{Stage, code, text};

#[test]
fn nothing_is_visible_before_the_commit_and_everything_after() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let draft = client.begin(&id, "src/a.txt", 100, None).unwrap();
    draft.file.write_all_at(b"new content", 0).unwrap();
    assert_eq!(text(&stage.root("src/a.txt")), "alpha");
    assert_eq!(std::fs::read_dir(stage.root("src")).unwrap().count(), 2);
    let version = client.commit(&draft, 11).unwrap().unwrap();
    assert_eq!(text(&stage.root("src/a.txt")), "new content");
    assert_eq!(
        client.stat(&id, "src/a.txt").unwrap().version.unwrap(),
        version
    );
    // Once: the draft is gone.
    assert_eq!(code(client.commit(&draft, 11)), Code::Failed);
}

#[test]
fn a_late_write_does_not_reach_the_committed_file() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let draft = client.begin(&id, "src/a.txt", 64, None).unwrap();
    draft.file.write_all_at(b"committed", 0).unwrap();
    client.commit(&draft, 9).unwrap();
    draft.file.write_all_at(b"too late!", 0).unwrap();
    assert_eq!(text(&stage.root("src/a.txt")), "committed");
    // What the client holds is not the file, and cannot become larger.
    assert!(draft.file.write_all_at(&[0; 65], 0).is_err());
    assert!(draft.file.set_len(1 << 30).is_err());
}

#[test]
fn a_commit_after_expiry_or_revocation_is_refused_and_leaves_nothing() {
    let stage = Stage::new();
    let mut client = stage.client();
    let short = client
        .acquire(&Acquire::new(["**"], ["write"]).ttl(1))
        .unwrap()
        .lease_id;
    let draft = client.begin(&short, "late.txt", 10, None).unwrap();
    draft.file.write_all_at(b"late", 0).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(code(client.commit(&draft, 4)), Code::LeaseExpired);
    let other = stage.lease(&mut client).lease_id;
    let draft = client.begin(&other, "late.txt", 10, None).unwrap();
    draft.file.write_all_at(b"late", 0).unwrap();
    client.revoke(&other).unwrap();
    assert_eq!(code(client.commit(&draft, 4)), Code::LeaseRevoked);
    assert!(!stage.root("late.txt").exists());
    let left: Vec<_> = std::fs::read_dir(stage.root("")).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
    let info = client.info().unwrap();
    assert_eq!(info["drafts"], "0");
}

#[test]
fn of_two_writers_on_one_version_exactly_one_wins() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    for round in 0..20 {
        let version = client.stat(&id, "src/a.txt").unwrap().version.unwrap();
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|who| {
                    let (stage, id, version) = (&stage, &id, &version);
                    scope.spawn(move || {
                        let data = format!("round {round} by {who}");
                        let mut client = stage.client();
                        let done = client.write(id, "src/a.txt", data.as_bytes(), Some(version));
                        (data, done)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let won: Vec<_> = results.iter().filter(|(_, done)| done.is_ok()).collect();
        assert_eq!(won.len(), 1, "{results:?}");
        assert_eq!(text(&stage.root("src/a.txt")), won[0].0);
        for (_, done) in results {
            if done.is_err() {
                assert_eq!(code(done), Code::Stale);
            }
        }
    }
}

#[test]
fn a_new_file_needs_a_free_name_and_an_abort_frees_the_draft() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let draft = client.begin_new(&id, "fresh", 4).unwrap();
    client.commit(&draft, 0).unwrap();
    assert_eq!(text(&stage.root("fresh")), "");
    let second = client.begin_new(&id, "fresh", 4).unwrap();
    assert_eq!(code(client.commit(&second, 0)), Code::Failed);
    let third = client.begin(&id, "fresh", 4, None).unwrap();
    assert_eq!(code(client.commit(&third, 5)), Code::InvalidParameter);
    let fourth = client.begin(&id, "fresh", 4, None).unwrap();
    client.abort(&fourth).unwrap();
    assert_eq!(code(client.commit(&fourth, 0)), Code::Failed);
    // Another connection has no part in it.
    let fifth = client.begin(&id, "fresh", 4, None).unwrap();
    assert_eq!(code(stage.client().commit(&fifth, 0)), Code::Failed);
    assert_eq!(client.info().unwrap()["drafts"], "1");
    drop(client);
    crate::stage::until("forgetting the draft", || {
        stage.client().info().unwrap()["drafts"] == "0"
    });
}

#[test]
fn who_begins_without_end_is_stopped() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    assert_eq!(code(client.begin(&id, "huge", 1 << 40, None)), Code::Limit);
    let mut drafts = Vec::new();
    let refused = loop {
        match client.begin(&id, "x", 1, None) {
            Ok(draft) => drafts.push(draft),
            Err(error) => break error.code(),
        }
    };
    assert_eq!((drafts.len(), refused), (64, Some(Code::Limit)));
    // Others are not held up.
    stage.client().write(&id, "x", b"1", None).unwrap();
}

#[test]
fn reservations_and_files_stay_within_the_quota() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n\
         [root.quota]\nbytes = 10000\nfile_bytes = 8000\n",
    );
    stage.start();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    assert_eq!(code(client.begin(&id, "f", 8001, None)), Code::Quota);
    let first = client.begin(&id, "f", 6000, None).unwrap();
    assert_eq!(code(client.begin(&id, "g", 6000, None)), Code::Quota);
    client.abort(&first).unwrap();
    client.write(&id, "f", &[b'x'; 6000], None).unwrap();
    assert_eq!(
        code(client.write(&id, "g", &[b'x'; 6000], None)),
        Code::Quota
    );
    assert!(!stage.root("g").exists());
    client.write(&id, "g", &[b'x'; 3000], None).unwrap();
    assert_eq!(code(client.append(&id, "g", &[b'x'; 2000])), Code::Quota);
}

/// Writers that commit as fast as they can, and somebody who takes their lease away: what stands
/// there when that is answered is there for good.
#[test]
fn when_a_revocation_is_answered_no_commit_is_on_its_way() {
    let stage = Stage::new();
    let mut keeper = stage.client();
    let mut committed = 0;
    for round in 0..8 {
        let lease = stage.lease(&mut keeper);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let answered = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let (id, stage) = (&lease.lease_id, &stage);
                let (stop, answered) = (&stop, &answered);
                scope.spawn(move || {
                    let mut client = stage.client();
                    let mut number = 0_u64;
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        number += 1;
                        let text = format!("{round} {writer} {number}");
                        match client.write(id, "raced.txt", text.as_bytes(), None) {
                            Ok(_) => {
                                answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            }
                            Err(ClientError::Fault(fault))
                                // Another writer's file is there already, or it is over.
                                if fault.kind() == Some(ErrorKind::Raced)
                                    || fault.code() == Code::LeaseRevoked => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            crate::stage::until("commits", || {
                answered.load(std::sync::atomic::Ordering::Relaxed) > 3
            });
            keeper.revoke(&lease.lease.handle).unwrap();
            let then = text(&stage.root("raced.txt"));
            std::thread::sleep(std::time::Duration::from_millis(20));
            let now = text(&stage.root("raced.txt"));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(then, now, "changed after the revocation was answered");
        });
        committed += answered.load(std::sync::atomic::Ordering::Relaxed);
    }
    assert!(committed > 8, "{committed}");
}
