//! What was acknowledged is there after a restart, and what was not is not.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use handfast_broker::{Acquire, Code};

use crate::roles::told;
use crate::stage::{Stage, code, text};

#[test]
fn leases_survive_the_death_of_the_broker() {
    let mut stage = Stage::new();
    let mut holder = stage.role("hold").stdout(Stdio::piped()).spawn().unwrap();
    let held = told(holder.stdout.take().unwrap());
    let mut gone = stage.role("hold").stdout(Stdio::piped()).spawn().unwrap();
    let orphaned = told(gone.stdout.take().unwrap());
    let mut client = stage.client();
    let user = stage.lease(&mut client).lease_id;
    let own = client
        .acquire(&Acquire::new(["**"], ["read"]).max_opens(2))
        .unwrap()
        .lease_id;
    client.open(&own, "top.txt").unwrap();
    let child = client
        .acquire(
            &Acquire::new(["src/**"], ["read"])
                .bind("user")
                .parent(&user),
        )
        .unwrap()
        .lease_id;
    let short = client
        .acquire(&Acquire::new(["**"], ["read"]).ttl(1))
        .unwrap()
        .lease_id;
    let revoked = stage.lease(&mut client).lease_id;
    client.revoke(&revoked).unwrap();
    let draft = client.begin(&user, "draft.txt", 10, None).unwrap();
    draft.file.write_all_at(b"draft", 0).unwrap();
    client.write(&user, "done.txt", b"done", None).unwrap();

    stage.kill_broker();
    gone.kill().unwrap();
    gone.wait().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    stage.start();

    let mut client = stage.client();
    client.open(&user, "top.txt").unwrap();
    client.open(&child, "src/a.txt").unwrap();
    assert_eq!(code(client.open(&child, "top.txt")), Code::Denied);
    // The count goes on where it was.
    client.open(&own, "top.txt").unwrap();
    assert_eq!(code(client.open(&own, "top.txt")), Code::Limit);
    assert_eq!(client.lookup(&held).unwrap().pid, Some(holder.id()));
    assert_eq!(code(client.open(&short, "top.txt")), Code::LeaseExpired);
    assert_eq!(code(client.lookup(&orphaned)), Code::LeaseRevoked);
    assert!(client.open(&revoked, "top.txt").is_err());
    assert_eq!(text(&stage.root("done.txt")), "done");
    assert!(!stage.root("draft.txt").exists());
    holder.kill().unwrap();
    holder.wait().unwrap();
    crate::stage::until("the end of the held lease", || {
        client.lookup(&held).is_err()
    });
    client.revoke(&user).unwrap();
    assert_eq!(code(client.open(&child, "src/a.txt")), Code::LeaseRevoked);
}

#[test]
fn what_is_answered_survives_kill_9_at_any_moment() {
    let mut stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    for round in 0..5_u32 {
        let written = AtomicU32::new(0);
        let acknowledged = std::thread::scope(|scope| {
            let written = &written;
            let (writer_stage, id) = (&stage, &id);
            let socket = writer_stage.socket();
            let writer = scope.spawn(move || {
                let mut client = handfast_broker::Client::connect(socket).unwrap();
                let mut last = None;
                for number in 0_u32.. {
                    let text = format!("{round}.{number}");
                    match client.write(id, "counter", text.as_bytes(), None) {
                        Ok(_) => {
                            last = Some(number);
                            written.store(number, Ordering::Relaxed);
                        }
                        Err(_) => break,
                    }
                }
                last
            });
            // In the middle of its work, however fast the machine is.
            crate::stage::until("writing", || written.load(Ordering::Relaxed) > 3 * round);
            std::thread::sleep(Duration::from_micros(u64::from(round) * 777));
            let pid = rustix::process::Pid::from_child(writer_stage.broker.as_ref().unwrap());
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            writer.join().unwrap()
        });
        let found = text(&stage.root("counter"));
        let (of, number) = found.split_once('.').unwrap();
        assert_eq!(of.parse::<u32>().unwrap(), round);
        let number: u32 = number.parse().unwrap();
        let acknowledged = acknowledged.expect("something was written");
        // What was answered last, or the one that was on its way.
        assert!(
            number == acknowledged || number == acknowledged + 1,
            "{number} {acknowledged}"
        );
        stage.kill_broker();
        stage.start();
    }
}

#[test]
fn a_second_broker_does_not_take_over_and_a_damaged_store_is_not_used() {
    let mut stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let second = stage
        .role("serve")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(!second.unwrap().success());
    client.open(&id, "top.txt").unwrap();
    stage.kill_broker();
    let store = stage.dir.join("state/leases.db");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(&store)
        .unwrap();
    file.write_all(&[0xAA; 8192]).unwrap();
    drop(file);
    drop(std::fs::remove_file(stage.dir.join("state/leases.db-wal")));
    let out = stage.role("serve").output().unwrap();
    assert!(!out.status.success());
    let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    assert!(
        said.contains("damaged") || said.contains("Corrupt"),
        "{said}"
    );
}

/// A file on its way to a name, as a writer that is killed leaves it: the name holds the file's own
/// inode and birth, and nobody has it locked.
fn leave_behind(stage: &Stage, path: &str) -> std::path::PathBuf {
    let at = stage.root(path);
    std::fs::write(&at, "half of it").unwrap();
    let (flags, mask) = (rustix::fs::AtFlags::empty(), rustix::fs::StatxFlags::ALL);
    let status = rustix::fs::statx(rustix::fs::CWD, &at, flags, mask).unwrap();
    let born =
        i128::from(status.stx_btime.tv_sec) * 1_000_000_000 + i128::from(status.stx_btime.tv_nsec);
    let name = format!(".handfast-s-{:x}-{born:x}-123456789abcdef0", status.stx_ino);
    let left = at.with_file_name(name);
    std::fs::rename(at, &left).unwrap();
    left
}

#[test]
fn b11_what_a_killed_broker_left_is_removed_at_the_next_start() {
    let mut stage = Stage::prepare(&[]);
    let left = leave_behind(&stage, "src/draft");
    let foreign = stage.root(".handfast-s-1-1-0000000000000001");
    std::fs::write(&foreign, "somebody's").unwrap();
    stage.start();
    crate::stage::until("the leftover is removed", || !left.exists());
    assert_eq!(text(&foreign), "somebody's");
    assert_eq!(text(&stage.root("src/a.txt")), "alpha");
}
