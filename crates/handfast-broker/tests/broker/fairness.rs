//! Strangers who take all they can get, and the keeper and honest users beside them.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use handfast_broker::{Acquire, Client, Code};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::stage::{PATIENCE, Stage, code, until};
use crate::witness::{may_play_others, refusals_of, size_of};

/// A policy for two users that exist on no machine of ours, and for root.
const POLICY: &str = "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/ws\"\n\
     mode = \"read-write\"\n[[allow]]\nuid = 0\n[[allow]]\nuid = 60001\n";

fn served(more: &str) -> Stage {
    let mut stage = Stage::prepare(&[]);
    stage.policy(&format!("{POLICY}{more}"));
    stage.start();
    stage
}

/// Another process of this program, as another user; it has told what is expected.
fn play(stage: &Stage, role: &str, uid: u32, env: &[(&str, &str)], said: &str) -> Child {
    let mut child = stage
        .role(role)
        .env("HF_UID", uid.to_string())
        .envs(env.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = crate::roles::told(child.stdout.take().unwrap());
    assert_eq!(told, said, "{role} of {uid}");
    child
}

fn ended(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The keeper's revoke, over a new connection, as an operator would ask for it.
fn revokes(stage: &Stage, handle: &str) -> Duration {
    let begun = Instant::now();
    stage.client().revoke(handle).unwrap();
    begun.elapsed()
}

#[test]
fn b1_strangers_do_not_lock_out_the_keeper() {
    if !may_play_others() {
        return;
    }
    let stage = served("");
    let mut client = stage.client();
    let handle = stage.lease(&mut client).lease.handle;
    drop(client);
    let many = [("HF_CONNECTIONS", "512")];
    let crowds: Vec<_> = [65_533, 65_534]
        .map(|uid| play(&stage, "crowd", uid, &many, "512 connected"))
        .into();
    let took = revokes(&stage, &handle);
    println!("revoked beside two strangers after {took:?}");
    // An honest user is answered too, on every connection.
    let few = [("HF_CONNECTIONS", "8")];
    let honest = play(&stage, "honest", 60_001, &few, "8 answered");
    stage.client().info().unwrap();
    ended(honest);
    crowds.into_iter().for_each(ended);
}

#[test]
fn b1_the_last_seats_are_the_keepers_even_before_users_with_rules() {
    if !may_play_others() {
        return;
    }
    let stage = served("[limits]\nconnections = 40\nreserved_connections = 4\n");
    let mut client = stage.client();
    let handle = stage.lease(&mut client).lease.handle;
    drop(client);
    let many = [("HF_CONNECTIONS", "64")];
    let crowd = play(&stage, "crowd", 60_001, &many, "64 connected");
    revokes(&stage, &handle);
    ended(crowd);
}

#[test]
fn b1_a_silent_connection_is_closed_and_its_seat_is_free() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/ws\"\n\
         mode = \"read-write\"\n[limits]\nidle = \"1s\"\n",
    );
    stage.start();
    let socket = std::os::unix::net::UnixStream::connect(stage.socket()).unwrap();
    let watched = socket.try_clone().unwrap();
    let mut silent = Client::over(socket).unwrap();
    silent.info().unwrap();
    // The broker has something to say, unasked, and closes.
    let mut wanted = [PollFd::new(&watched, PollFlags::IN)];
    let patience = Timespec::try_from(PATIENCE).unwrap();
    assert_eq!(poll(&mut wanted, Some(&patience)).unwrap(), 1);
    assert_eq!(code(silent.info()), Code::Limit);
    stage.client().info().unwrap();
}

#[test]
fn b2_made_up_ids_neither_fill_the_log_nor_get_lost() {
    if !may_play_others() {
        return;
    }
    // More than the budget of one user holds by far.
    const COUNT: u64 = 6_000;
    let mut stage = served("");
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let before = size_of(&stage.log_dir());
    let count = COUNT.to_string();
    let flood = play(&stage, "flood", 65_534, &[("HF_COUNT", &count)], "flooded");
    drop(flood);
    // Honest clients go on.
    client.open(&id, "/ws/src/a.txt").unwrap();
    let mut last = (0, 0);
    let begun = Instant::now();
    while last.0 + last.1 < COUNT {
        assert!(begun.elapsed() < PATIENCE, "refusals were lost: {last:?}");
        std::thread::sleep(Duration::from_millis(500));
        last = refusals_of(&stage, 65_534);
    }
    assert_eq!(last.0 + last.1, COUNT, "{last:?}");
    let grown = size_of(&stage.log_dir()) - before;
    println!(
        "{COUNT} refusals: {} told, {} counted, the log grew by {grown} bytes",
        last.0, last.1
    );
    assert!(grown < 2 << 20, "the log grew by {grown} bytes");
    drop(client);
    stage.kill_broker();
}

#[test]
fn b5_a_revocation_stops_a_tree_that_is_being_removed() {
    let stage = Stage::new();
    for dir in 0..200 {
        let at = stage.root(&format!("big/{dir}"));
        std::fs::create_dir_all(&at).unwrap();
        for file in 0..100 {
            std::fs::write(at.join(file.to_string()), "").unwrap();
        }
    }
    let mut client = stage.client();
    let lease = stage.lease(&mut client);
    let id = lease.lease_id.clone();
    let socket = stage.socket();
    let removing = std::thread::spawn(move || {
        let mut client = Client::connect(socket).unwrap();
        client.remove(&id, "big", "tree")
    });
    // The first directories go: it has begun to remove.
    let left = || std::fs::read_dir(stage.root("big")).map_or(0, Iterator::count);
    until("the removal has begun", || left() < 200);
    let begun = Instant::now();
    client.revoke(&lease.lease.handle).unwrap();
    let took = begun.elapsed();
    let left = left();
    let stopped = removing.join().unwrap();
    println!("revoked after {took:?} with {left} of 200 directories left");
    assert_eq!(code(stopped), Code::LeaseRevoked);
    assert!(left > 0, "the whole tree was removed first, in {took:?}");
}

#[test]
fn b10_one_users_reservations_leave_room_for_others_and_expire() {
    let mut stage = Stage::prepare(&[]);
    let own = format!("uid = {}", rustix::process::geteuid().as_raw());
    let policy = POLICY.replacen("uid = 0", &own, 1);
    // Longer than the three calls that follow take on a busy machine.
    stage.policy(&format!(
        "{policy}[limits]\ndraft_idle = \"10s\"\n[quota]\nbytes = \"1MiB\"\n"
    ));
    stage.start();
    let mut client = stage.client();
    let wanted = Acquire::new(["**"], ["read", "write"]).bind("user");
    let id = client.acquire(&wanted).unwrap().lease_id;
    let begin =
        |client: &mut Client, name: &str| client.begin(&id, format!("/ws/{name}"), 256 << 10, None);
    let held: Vec<_> = ["a", "b"]
        .map(|name| begin(&mut client, name).unwrap())
        .into();
    // Half of it is for the other users.
    assert_eq!(code(begin(&mut client, "c")), Code::Quota);
    until("idle reservations are dropped", || {
        begin(&mut client, "c").is_ok()
    });
    assert!(client.commit(&held[0], 1).is_err(), "it was dropped");
}
