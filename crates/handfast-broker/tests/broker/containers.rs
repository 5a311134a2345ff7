//! A broker in namespaces of its own, as in a container beside the programs that it serves.

use std::process::{Command, Stdio};

use handfast_broker::{Acquire, Code};

use crate::stage::{Stage, code};

/// Whether namespaces can be made here.
fn can_unshare(args: &[&str]) -> bool {
    let made = Command::new("unshare")
        .args(args)
        .arg("true")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !made {
        println!("skipped: this user cannot make namespaces ({args:?})");
    }
    made
}

#[test]
fn b6_a_peer_of_another_pid_namespace_is_served() {
    const PID: [&str; 3] = ["--pid", "--fork", "--kill-child"];
    if !can_unshare(&PID) {
        return;
    }
    let mut stage = Stage::prepare(&[]);
    stage.start_under(&[&["unshare"], &PID[..]].concat());
    let mut client = stage.client();
    let info = client.info().unwrap();
    // The broker has no number for this process, and knows its user.
    assert_eq!(info["peer"]["pid"], 0, "{info}");
    let id = stage.lease(&mut client).lease_id;
    client.open(&id, "src/a.txt").unwrap();
    client.write(&id, "new.txt", b"new", None).unwrap();
    let shown = client.lookup(&id).unwrap();
    assert_eq!(shown.bind, "user");
    // A lease for this process alone is bound to its pidfd, or refused: never to the number 0.
    let own = client.acquire(&Acquire::new(["**"], ["read"]).bind("process"));
    if let Ok(own) = own {
        client.open(&own.lease_id, "src/a.txt").unwrap();
        let mut other = stage.role("use");
        other.env("HF_LEASE", &own.lease_id).stdout(Stdio::piped());
        let mut other = other.spawn().unwrap();
        let told = crate::roles::told(other.stdout.take().unwrap());
        other.wait().unwrap();
        assert_eq!(told, "Some(NoSuchLease)");
    }
}

#[test]
fn b6_the_number_of_users_without_one_matches_no_rule() {
    const USER: [&str; 2] = ["--user", "--map-root-user"];
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can become other users");
        return;
    }
    if !can_unshare(&USER) {
        return;
    }
    let mut stage = Stage::prepare(&[]);
    stage.policy(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\n\
         mode = \"read-write\"\n[[allow]]\nuid = 65534\n[[allow]]\nuid = 0\n",
    );
    let ask = |stage: &Stage| {
        let mut asking = stage.role("ask");
        asking.env("HF_UID", "60001").stdout(Stdio::piped());
        let mut asking = asking.spawn().unwrap();
        let told = crate::roles::told(asking.stdout.take().unwrap());
        asking.wait().unwrap();
        told
    };
    stage.start_under(&[&["unshare"], &USER[..]].concat());
    // It comes as 65534, like everybody that the broker's namespace does not map.
    assert_eq!(ask(&stage), "Denied");
    let wanted = Acquire::new(["**"], ["read"]).bind("user");
    stage.client().acquire(&wanted).unwrap();
    stage.kill_broker();
    // Where every user has a number, 65534 is a user like others, and 60001 another one.
    stage.start();
    assert_eq!(ask(&stage), "Denied");
    let missing = stage.client().open("u0/t/00", "top.txt");
    assert_eq!(code(missing), Code::NoSuchLease);
}
