//! The wall: the broker can reach its roots and its state, and the kernel refuses the rest.

use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn an_injected_open_inside_the_broker_is_refused_by_the_kernel() {
    let stage = Stage::new();
    let mut client = stage.client();
    let info = client.info().unwrap();
    if info["wall"] == "none" {
        println!("skipped: this kernel has no Landlock");
        return;
    }
    let mut open = |path: &str| {
        let answer: Value = client.call("Probe", &json!(path)).unwrap();
        answer["said"].as_str().unwrap().to_owned()
    };
    let denied = format!("{:?}", Some(rustix::io::Errno::ACCESS.raw_os_error()));
    assert_eq!(open("/etc/passwd"), denied);
    assert_eq!(open("/proc/self/environ"), denied);
    let outside = stage.dir.join("outside.txt");
    assert_eq!(open(outside.to_str().unwrap()), denied);
    // The control: the same call reaches what it may.
    assert_eq!(open(stage.root("top.txt").to_str().unwrap()), "opened");
    let state = stage.dir.join("state/leases.db");
    assert_eq!(open(state.to_str().unwrap()), "opened");
}

#[test]
fn it_says_against_whom_it_is_a_wall() {
    let stage = Stage::new();
    let info = stage.client().info().unwrap();
    let boundary = info["boundary"].as_str().unwrap();
    assert!(boundary.starts_with("bookkeeping"), "{boundary}");
    // And that is true: this process opens the file without asking.
    std::fs::File::open(stage.root("top.txt")).unwrap();
}

#[test]
fn its_own_state_is_not_served() {
    let mut stage = Stage::prepare(&[]);
    // The root holds the state directory, the log, the keys and the socket.
    let dir = stage.dir.to_str().unwrap().to_owned();
    stage.policy(&format!(
        "version = 1\n[[root]]\nname = \"all\"\npath = \"{dir}\"\nmount = \"/\"\nmode = \"read-write\"\n"
    ));
    stage.start();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    client.open(&id, "outside.txt").unwrap();
    for path in [
        "state/leases.db",
        "state/log/checkpoint",
        "state/log.keys",
        "sock/broker.sock",
    ] {
        let refused = client.open(&id, path).unwrap_err();
        let kind = refused.fault().unwrap().kind();
        assert_eq!(kind, Some(handfast::ErrorKind::Denied), "{path}: {refused}");
    }
}
