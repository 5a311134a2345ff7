//! Counts for who watches, and refusals for who looks on.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use handfast_broker::{
    Acquire, Client, Code, Fence, MetricsListener, Rulebook, ServeOptions, bind_socket,
};

use crate::stage::{Stage, code, until};

fn ask<S: Read + Write>(mut stream: S, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn value(text: &str, name: &str) -> u64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("handfast_broker_{name} ")));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    line.parse().unwrap()
}

#[test]
fn counts_are_told_in_the_text_format_and_name_nobody() {
    let stage = Stage::prepare(&[]);
    let place = stage.dir.join("sock/metrics.sock");
    let listener = bind_socket(&stage.socket(), false).unwrap();
    let unix = MetricsListener::Unix(bind_socket(&place, false).unwrap());
    let rulebook = Rulebook::of_directory(stage.root("")).unwrap();
    let options = ServeOptions::new(rulebook, stage.dir.join("state"))
        .fence(Fence::Thread)
        .metrics(unix);
    let running = std::thread::spawn(move || options.start(listener))
        .join()
        .unwrap()
        .unwrap();
    let get = || {
        let stream = UnixStream::connect(&place).unwrap();
        ask(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    };
    let mut client = Client::connect(stage.socket()).unwrap();
    let wanted = Acquire::new(["src/**"], ["read", "write"]).purpose("secret-purpose");
    let id = client.acquire(&wanted).unwrap().lease_id;
    client.open(&id, "src/a.txt").unwrap();
    assert_eq!(code(client.open(&id, "top.txt")), Code::Denied);
    let draft = client.begin(&id, "src/new.txt", 77, None).unwrap();
    for (path, word) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        let text = ask(UnixStream::connect(&place).unwrap(), &request);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.ends_with(&format!("\r\n\r\n{word}")), "{text}");
    }
    let text = get();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("text/plain; version=0.0.4"));
    for (name, expected) in [
        ("calls_total", 4),
        ("denied_total", 1),
        ("opened_total", 1),
        ("leases_acquired_total", 1),
        ("leases_ended_total", 0),
        ("leases", 1),
        ("connections", 1),
        ("drafts", 1),
        ("draft_bytes", 77),
        ("unkept_ends", 0),
    ] {
        assert_eq!(value(&text, name), expected, "{name}");
    }
    // Every sample has its kind said before, once.
    let body = text.split_once("\r\n\r\n").unwrap().1;
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split([' ', '{']).next().unwrap();
        assert_eq!(
            body.matches(&format!("# TYPE {name} ")).count(),
            1,
            "{name}"
        );
    }
    for secret in ["src", "top.txt", "secret-purpose", "task", &id] {
        assert!(!body.contains(secret), "{secret}");
    }
    client.commit(&draft, 0).unwrap();
    client.revoke(&id).unwrap();
    drop(client);
    until("the connection's end", || value(&get(), "connections") == 0);
    let text = get();
    assert_eq!(value(&text, "committed_total"), 1);
    assert_eq!((value(&text, "leases"), value(&text, "drafts")), (0, 0));

    // Clients that ask for something else, for nothing, or for too much.
    let of = |request: &str| ask(UnixStream::connect(&place).unwrap(), request);
    assert!(of("GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(of("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(of("\r\n\r\n").starts_with("HTTP/1.1 405"));
    drop(UnixStream::connect(&place).unwrap());
    let mut long = UnixStream::connect(&place).unwrap();
    while long.write_all(&[b'x'; 4096]).is_ok() {}
    assert!(get().starts_with("HTTP/1.1 200"));
    running.stop();
}

#[test]
fn counts_are_not_told_to_the_network() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = MetricsListener::on_loopback(address.parse().unwrap());
        let kind = refused.unwrap_err().kind();
        assert_eq!(kind, std::io::ErrorKind::InvalidInput, "{address}");
    }
    let listener = MetricsListener::on_loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    assert!(listener.address().unwrap().ip().is_loopback());
}

#[test]
fn the_last_refusals_are_shown_and_repetitions_counted() {
    let stage = Stage::new();
    let mut client = stage.client();
    let wanted = Acquire::new(["src/**", ".env"], ["read"]);
    let lease = client.acquire(&wanted).unwrap();
    for _ in 0..3 {
        assert_eq!(code(client.open(&lease.lease_id, "top.txt")), Code::Denied);
    }
    // Refused by the patterns of the root, not by the lease.
    assert_eq!(code(client.open(&lease.lease_id, ".env")), Code::Denied);
    assert_eq!(code(client.lookup("u0/x/nonsense")), Code::NoSuchLease);
    let denials = client.denials().unwrap();
    let shown: Vec<_> = denials
        .iter()
        .map(|denial| (denial.verb.as_str(), denial.path(), denial.count()))
        .collect();
    assert_eq!(
        shown,
        [
            ("resolve", Vec::new(), 1),
            ("open", b".env".to_vec(), 1),
            ("open", b"top.txt".to_vec(), 3)
        ]
    );
    assert_eq!(denials[1].lease.as_deref(), Some(&*lease.lease.handle));
    assert_eq!(denials[1].pid, std::process::id());
    assert!(denials[1].why.contains("protected"), "{}", denials[1].why);
    assert!(!format!("{denials:?}").contains(&lease.lease_id));
}
