//! Leases: acquire, use, renew, cap, expire, children, prefix, revoke.

use std::io::Read;
use std::time::Duration;

use handfast_broker::{Acquire, Code, LeaseHandle};

use crate::stage::{Stage, code};

#[test]
fn lease_open_revoke_refused() {
    let stage = Stage::new();
    let mut client = stage.client();
    let wanted = Acquire::new(["src/**"], ["read"])
        .purpose("reading")
        .task("demo");
    let lease = client.acquire(&wanted).unwrap();
    let id = lease.lease_id.as_str();
    assert_eq!(lease.lease.bind, "process");
    assert!(lease.lease.handle.contains("/demo/~") && !lease.lease.handle.contains(id));
    let mut opened = client.open(id, "src/a.txt").unwrap();
    let mut text = String::new();
    opened.file.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), opened.size), ("alpha", 5));
    // Outside of its paths and verbs it is worth nothing.
    assert_eq!(code(client.open(id, "top.txt")), Code::Denied);
    assert_eq!(
        code(client.write(id, "src/a.txt", b"x", None)),
        Code::Denied
    );
    assert_eq!(code(client.remove(id, "src/a.txt", "file")), Code::Denied);
    assert_eq!(code(client.mkdir(id, "src/new", false)), Code::Denied);
    let revoked = client.revoke(&lease.lease.handle).unwrap();
    assert_eq!((revoked.ended, revoked.outstanding.len()), (1, 1));
    assert_eq!(revoked.outstanding[0].path(), b"src/a.txt");
    assert_eq!(code(client.open(id, "src/a.txt")), Code::LeaseRevoked);
    assert_eq!(
        code(client.begin(id, "src/a.txt", 1, None)),
        Code::LeaseRevoked
    );
    assert_eq!(code(client.renew(id, None)), Code::LeaseRevoked);
    assert_eq!(code(client.revoke(id)), Code::LeaseRevoked);
}

#[test]
fn a_lease_is_renewed_from_now_and_never_beyond_its_cap() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n\
         [lease]\nttl = \"60s\"\nmax_ttl = \"100s\"\n",
    );
    stage.start();
    let mut client = stage.client();
    let lease = client.acquire(&Acquire::new(["**"], ["read"])).unwrap();
    assert!((59..=60).contains(&lease.lease_duration) && lease.renewable);
    let shorter = client.renew(&lease.lease_id, Some(20)).unwrap();
    assert!(shorter.ttl <= 20, "it counts from now: {}", shorter.ttl);
    assert!(shorter.last_renewal.is_some());
    let capped = client.renew(&lease.lease_id, Some(10_000)).unwrap();
    assert!(
        (90..=100).contains(&capped.ttl) && !capped.renewable,
        "{}",
        capped.ttl
    );
    let long = client
        .acquire(&Acquire::new(["**"], ["read"]).ttl(1 << 60))
        .unwrap();
    assert!(long.lease_duration <= 100);
}

#[test]
fn an_expired_lease_opens_nothing_and_is_not_renewed() {
    let stage = Stage::new();
    let mut client = stage.client();
    let lease = client
        .acquire(&Acquire::new(["**"], ["read"]).ttl(1))
        .unwrap();
    client.open(&lease.lease_id, "src/a.txt").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(
        code(client.open(&lease.lease_id, "src/a.txt")),
        Code::LeaseExpired
    );
    assert_eq!(
        code(client.renew(&lease.lease_id, Some(60))),
        Code::LeaseExpired
    );
    assert_eq!(code(client.lookup(&lease.lease_id)), Code::LeaseExpired);
    assert!(client.list("").unwrap().is_empty());
}

#[test]
fn children_are_narrower_and_end_with_their_parent() {
    let stage = Stage::new();
    let mut client = stage.client();
    let parent = client
        .acquire(&Acquire::new(["src/**"], ["read"]).bind("user"))
        .unwrap();
    let child = |paths: &str, verbs: &str| {
        Acquire::new([paths], [verbs])
            .bind("user")
            .parent(&parent.lease_id)
    };
    // No verb and no path beyond the parent's.
    assert_eq!(
        code(client.acquire(&child("src/**", "write"))),
        Code::Denied
    );
    assert_eq!(
        code(client.acquire(&child("/top/x.txt", "read"))),
        Code::Denied
    );
    let narrow = client.acquire(&child("src/a.txt", "read")).unwrap();
    let wide = client.acquire(&child("**", "read")).unwrap();
    assert_eq!(
        wide.lease.parent.as_deref(),
        Some(parent.lease.handle.as_str())
    );
    client.open(&narrow.lease_id, "src/a.txt").unwrap();
    assert_eq!(
        code(client.open(&narrow.lease_id, "src/b.txt")),
        Code::Denied
    );
    // It asked for everything and has what the parent has.
    client.open(&wide.lease_id, "src/b.txt").unwrap();
    assert_eq!(code(client.open(&wide.lease_id, "top.txt")), Code::Denied);
    let grandchild = Acquire::new(["**"], ["read"])
        .bind("user")
        .parent(&narrow.lease_id);
    let grandchild = client.acquire(&grandchild).unwrap();
    assert_eq!(
        code(client.open(&grandchild.lease_id, "src/b.txt")),
        Code::Denied
    );
    assert_eq!(client.revoke(&parent.lease_id).unwrap().ended, 4);
    for id in [&narrow.lease_id, &wide.lease_id, &grandchild.lease_id] {
        assert_eq!(code(client.open(id, "src/a.txt")), Code::LeaseRevoked);
    }
}

#[test]
fn a_prefix_ends_what_lies_below_it_on_component_borders() {
    let stage = Stage::new();
    let mut client = stage.client();
    let mut acquire = |task: &str| {
        let wanted = Acquire::new(["**"], ["read"]).bind("user").task(task);
        client.acquire(&wanted).unwrap()
    };
    let (one, two, other) = (acquire("build"), acquire("build"), acquire("builder"));
    let mut client = stage.client();
    let uid = one.lease.uid;
    assert_eq!(client.list(&format!("u{uid}/build")).unwrap().len(), 2);
    let done = client.revoke_prefix(&format!("u{uid}/build")).unwrap();
    assert_eq!(done.ended, 2);
    for id in [&one.lease_id, &two.lease_id] {
        assert_eq!(code(client.open(id, "top.txt")), Code::LeaseRevoked);
    }
    client.open(&other.lease_id, "top.txt").unwrap();
    assert_eq!(client.revoke_prefix("u9999999").unwrap().ended, 0);
}

#[test]
fn leases_with_many_and_long_paths_are_listed_and_revoked() {
    let mut stage = Stage::new();
    let deep = format!("deep/{}", vec!["d".repeat(200); 15].join("/"));
    std::fs::create_dir_all(stage.root(&deep)).unwrap();
    let mut client = stage.client();
    let long: Vec<String> = (0..55)
        .map(|number| format!("/{number:03}{}", "x".repeat(1000)))
        .chain(["**".to_owned()])
        .collect();
    let mut last = String::new();
    for _ in 0..8 {
        let wanted = Acquire::new(&long, ["read"]).bind("user").task("long");
        last = client.acquire(&wanted).unwrap().lease_id;
    }
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(client.list(&format!("u{uid}/long")).unwrap().len(), 8);
    for number in 0..64 {
        let path = format!("{deep}/{number:03}");
        std::fs::write(stage.root(&path), "").unwrap();
        client.open(&last, &path).unwrap();
    }
    let done = client.revoke_prefix(&format!("u{uid}/long")).unwrap();
    assert_eq!(done.ended, 8);
    assert!(!done.outstanding.is_empty());
    // The log names all of them, in as many events as it takes.
    stage.kill_broker();
    let mut named = 0;
    for leaf in crate::witness::leaves(&stage) {
        let record = handfast_ledger::event::Record::parse(&leaf).unwrap();
        if record.kind == handfast_ledger::event::EventKind::FdOutstanding {
            named += record.entries.len();
        }
    }
    assert_eq!(named, 64);
}

#[test]
fn opens_are_counted_where_they_are_limited() {
    let stage = Stage::new();
    let mut client = stage.client();
    let lease = client
        .acquire(&Acquire::new(["**"], ["read"]).max_opens(2))
        .unwrap();
    let id = lease.lease_id.as_str();
    // A miss costs nothing.
    assert_eq!(code(client.open(id, "missing")), Code::Failed);
    client.open(id, "top.txt").unwrap();
    client.open(id, "top.txt").unwrap();
    assert_eq!(code(client.open(id, "top.txt")), Code::Limit);
    assert_eq!(client.lookup(id).unwrap().opens(), 2);
}

#[test]
fn what_cannot_be_meant_is_refused_and_nothing_is_given() {
    let stage = Stage::new();
    let mut client = stage.client();
    for wanted in [
        Acquire::new(Vec::<String>::new(), ["read"]),
        Acquire::new(["**"], Vec::<String>::new()),
        Acquire::new(["**"], ["fly"]),
        Acquire::new(["!x"], ["read"]),
        Acquire::new(["**"], ["read"]).ttl(0),
        Acquire::new(["**"], ["read"]).max_opens(0),
        Acquire::new(["**"], ["read"]).bind("world"),
        Acquire::new(["**"], ["read"]).task("a/b"),
        Acquire::new(["**"], ["read"]).purpose("two\nlines"),
        Acquire::new(vec!["x".repeat(2000)], ["read"]),
    ] {
        assert_eq!(
            code(client.acquire(&wanted)),
            Code::InvalidParameter,
            "{wanted:?}"
        );
    }
    assert!(client.list("").unwrap().is_empty());
    let odd = serde_json::json!({ "paths": ["**"], "verbs": ["read"], "max_open": 1 });
    let answer = client.call::<_, serde_json::Value>("Acquire", &odd);
    assert_eq!(code(answer), Code::InvalidParameter);
}

#[test]
fn an_id_is_needed_to_use_a_lease_and_a_handle_is_not_enough() {
    let stage = Stage::new();
    let mut client = stage.client();
    let lease = stage.lease(&mut client);
    let handle = LeaseHandle::parse(&lease.lease.handle).unwrap();
    assert_eq!(
        code(client.open(handle.as_str(), "top.txt")),
        Code::NoSuchLease
    );
    let mut guess = lease.lease_id.clone();
    let last = guess.pop().unwrap();
    guess.push(if last == '0' { '1' } else { '0' });
    for id in [guess.as_str(), "", "u0/task/", "../../x", "\u{0}"] {
        assert_eq!(
            code(client.open(id, "top.txt")),
            Code::NoSuchLease,
            "{id:?}"
        );
    }
    assert_eq!(
        client.lookup(handle.as_str()).unwrap().handle,
        handle.as_str()
    );
}
