//! Bad input on the wire: malformed, huge, slow, many, with descriptors nobody asked for.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use handfast_broker::{Client, Code, MAX_MESSAGE};
use serde_json::{Value, json};

use crate::stage::{Stage, code, until};

fn connect(stage: &Stage) -> UnixStream {
    let socket = UnixStream::connect(stage.socket()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket
}

/// One message, without its NUL; nothing if the other side closed.
fn reply(socket: &mut UnixStream) -> Option<Value> {
    let mut text = Vec::new();
    let mut byte = [0];
    loop {
        match socket.read(&mut byte) {
            Ok(1) if byte[0] == 0 => return Some(serde_json::from_slice(&text).unwrap()),
            Ok(1) => text.push(byte[0]),
            Ok(_) => return None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("{error}"),
        }
    }
}

fn send(socket: &mut UnixStream, text: &[u8]) {
    // A broker that has seen enough closes; that is an answer too.
    drop(socket.write_all(text));
    drop(socket.write_all(&[0]));
}

/// Descriptors, kilobytes of resident memory, and threads of the broker.
fn costs(stage: &Stage) -> (usize, u64, u64) {
    let pid = stage.broker.as_ref().unwrap().id();
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let number = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (fds, number("VmRSS:"), number("Threads:"))
}

#[test]
fn malformed_messages_get_an_error_and_the_door() {
    let stage = Stage::new();
    for bad in [
        &b""[..],
        b"x",
        b"{",
        b"[]",
        b"null",
        b"{\"method\":1}",
        b"{\"parameters\":{}}",
        b"{\"method\":\"io.handfast.Broker.Info\"",
        b"\xff\xfe",
        "[".repeat(10_000).as_bytes(),
        "{\"a\":".repeat(5_000).as_bytes(),
    ] {
        let mut socket = connect(&stage);
        send(&mut socket, bad);
        let answer = reply(&mut socket).expect("an answer before the door");
        assert_eq!(
            answer["error"], "org.varlink.service.InvalidParameter",
            "{bad:?}"
        );
        assert_eq!(reply(&mut socket), None);
    }
    // Wrong calls are answered, and the connection goes on.
    let mut socket = connect(&stage);
    for (call, error) in [
        (
            json!({ "method": "Info" }),
            "org.varlink.service.MethodNotFound",
        ),
        (
            json!({ "method": "io.handfast.Broker.Fly" }),
            "org.varlink.service.MethodNotFound",
        ),
        (
            json!({ "method": "io.other.Info" }),
            "org.varlink.service.InterfaceNotFound",
        ),
        (
            json!({ "method": "io.handfast.Broker.Open" }),
            "org.varlink.service.InvalidParameter",
        ),
        (
            json!({ "method": "io.handfast.Broker.Info", "upgrade": true }),
            "org.varlink.service.InvalidParameter",
        ),
        (
            json!({ "method": "io.handfast.Broker.Open", "parameters": { "lease": 7, "path": [] } }),
            "org.varlink.service.InvalidParameter",
        ),
    ] {
        send(&mut socket, call.to_string().as_bytes());
        assert_eq!(reply(&mut socket).unwrap()["error"], error, "{call}");
    }
    send(
        &mut socket,
        br#"{"method":"io.handfast.Broker.Info","oneway":true}"#,
    );
    send(&mut socket, br#"{"method":"org.varlink.service.GetInfo"}"#);
    let info = reply(&mut socket).unwrap();
    assert_eq!(
        info["parameters"]["interfaces"][1], "io.handfast.Broker",
        "oneway is not answered"
    );
}

#[test]
fn the_interface_describes_itself() {
    let stage = Stage::new();
    let mut client = stage.client();
    let asked = json!({ "interface": "io.handfast.Broker" });
    let answer: Value = client
        .call("org.varlink.service.GetInterfaceDescription", &asked)
        .unwrap();
    let text = answer["description"].as_str().unwrap();
    assert_eq!(text, handfast_broker::INTERFACE);
    // Every method that is described is there, and none is forgotten.
    let methods: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("method ")?.split('(').next())
        .collect();
    assert_eq!(methods.len(), 25);
    for method in methods {
        let answer = client.call::<_, Value>(method, &json!({ "no such parameter": 1 }));
        let expected = match method {
            // Called without `more`.
            "Walk" => Code::ExpectedMore,
            _ => Code::InvalidParameter,
        };
        let error = answer.expect_err(method);
        assert_eq!(error.code(), Some(expected), "{method}: {error}");
    }
}

#[test]
fn a_huge_message_is_refused_with_bounded_memory() {
    let stage = Stage::new();
    let before = costs(&stage).1;
    for _ in 0..20 {
        let mut socket = connect(&stage);
        let piece = vec![b'x'; 64 * 1024];
        let mut sent = 0;
        while sent < 64 * MAX_MESSAGE && socket.write_all(&piece).is_ok() {
            sent += piece.len();
        }
        assert!(sent < 64 * MAX_MESSAGE, "it took everything");
    }
    let grown = costs(&stage).1.saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB more");
    stage.client().info().unwrap();
}

#[test]
fn descriptors_nobody_asked_for_are_closed() {
    let stage = Stage::new();
    let mut client = stage.client();
    let null = std::fs::File::open("/dev/null").unwrap();
    client.info().unwrap();
    let before = costs(&stage).0;
    for _ in 0..200 {
        let four = [null.as_fd(); 4];
        client
            .call_with::<_, Value>("Info", &json!({}), &four)
            .unwrap();
    }
    until("closing them", || costs(&stage).0 <= before);
    // More than fit close the connection, and are closed with it.
    for _ in 0..50 {
        let socket = connect(&stage);
        send_with_descriptors(
            &socket,
            b"{\"method\":\"io.handfast.Broker.Info\"}\0",
            &null,
            60,
        );
    }
    until("closing them", || costs(&stage).0 <= before);
}

fn send_with_descriptors(socket: &UnixStream, bytes: &[u8], file: &std::fs::File, count: usize) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let fds = vec![file.as_fd(); count];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(60))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let part = [std::io::IoSlice::new(bytes)];
    sendmsg(socket, &part, &mut control, SendFlags::NOSIGNAL).unwrap();
}

#[test]
fn there_is_room_for_so_many_connections_and_others_hear_it() {
    let stage = Stage::with(&[("HF_CONNECTIONS", "8")]);
    // The one that waited for the start may still be counted.
    let mut guests = Vec::new();
    let refused = loop {
        let mut client = stage.client();
        match client.info() {
            Ok(_) => guests.push(client),
            Err(error) => break error,
        }
        assert!(guests.len() <= 8);
    };
    assert_eq!(refused.code(), Some(Code::Limit), "{refused}");
    // A thousand more do no harm.
    for _ in 0..1000 {
        drop(UnixStream::connect(stage.socket()));
    }
    guests[0].info().unwrap();
    drop(guests);
    until("room", || stage.client().info().is_ok());
}

#[test]
fn slow_writers_and_readers_do_not_hold_up_others() {
    let stage = Stage::with(&[("HF_IMPATIENT", "1")]);
    std::fs::create_dir(stage.root("many")).unwrap();
    for number in 0..5_000 {
        std::fs::write(stage.root(&format!("many/{number:0100}")), "").unwrap();
    }
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    // Half a message, and no more.
    let mut half = connect(&stage);
    half.write_all(b"{\"method\":\"io.handfast").unwrap();
    // Asks for much and reads nothing.
    let mut deaf = connect(&stage);
    let call = json!({
        "method": "io.handfast.Broker.Walk",
        "parameters": { "lease": id, "path": "many" },
        "more": true,
    });
    for _ in 0..20 {
        send(&mut deaf, call.to_string().as_bytes());
    }
    client.open(&id, "top.txt").unwrap();
    let answer = reply(&mut half).expect("told why");
    assert_eq!(answer["error"], "io.handfast.Broker.Limit");
    assert_eq!(reply(&mut half), None);
    let threads = |stage: &Stage| costs(stage).2;
    // The deaf one is given up: only the waiting thread of this client stays beside the broker's.
    until("giving up on who does not read", || threads(&stage) <= 6);
    client.open(&id, "top.txt").unwrap();
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

#[test]
fn fuzzed_messages_neither_stop_nor_leak_nor_grow() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let seeds = [
        json!({ "method": "io.handfast.Broker.Open", "parameters": { "lease": id, "path": "src/a.txt" } }),
        json!({ "method": "io.handfast.Broker.Begin", "parameters": { "lease": id, "path": "f", "max_size": "10" } }),
        json!({ "method": "io.handfast.Broker.Acquire", "parameters": { "paths": ["**"], "verbs": ["read"], "ttl": 1, "holder": 0 } }),
        json!({ "method": "io.handfast.Broker.Walk", "parameters": { "lease": id, "path": "/" }, "more": true }),
        json!({ "method": "io.handfast.Broker.Rename", "parameters": { "lease": id, "path": "a", "to_b64": "Yv8=" } }),
        json!({ "method": "io.handfast.Broker.Commit", "parameters": { "lease": id, "draft": "0", "size": "18446744073709551615" } }),
    ]
    .map(|call| call.to_string().into_bytes());
    let null = std::fs::File::open("/dev/null").unwrap();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let before = costs(&stage);
    let rounds = 3_000;
    for _ in 0..rounds {
        let mut text = seeds[dice.next(seeds.len())].clone();
        for _ in 0..dice.next(6) {
            if text.is_empty() {
                break;
            }
            let at = dice.next(text.len());
            match dice.next(5) {
                0 => text[at] = dice.next(256) as u8,
                1 => drop(text.remove(at)),
                2 => text.insert(at, b"{}[]\",:0\\\x00\xff"[dice.next(11)]),
                3 => text.truncate(at.max(1)),
                _ => {
                    let piece = text[at..].to_vec();
                    text.extend(piece);
                }
            }
        }
        let mut socket = connect(&stage);
        if dice.next(4) == 0 {
            send_with_descriptors(&socket, &text, &null, 1 + dice.next(5));
            send(&mut socket, b"");
        } else {
            send(&mut socket, &text);
        }
        if dice.next(3) == 0 {
            // Whatever it answers is JSON.
            drop(reply(&mut socket));
        }
    }
    client.info().expect("the broker lives");
    until("closing what came", || costs(&stage).0 <= before.0 + 2);
    let grown = costs(&stage).1.saturating_sub(before.1);
    assert!(
        grown < 32 * 1024,
        "{grown} KiB more after {rounds} messages"
    );
    assert_eq!(
        std::fs::read_to_string(stage.dir.join("outside.txt")).unwrap(),
        "outside"
    );
    assert_eq!(
        code(Client::connect(stage.socket()).unwrap().open("x", "y")),
        Code::NoSuchLease
    );
}

#[test]
fn a_path_longer_than_an_address_is_refused_to_a_broker_and_found_by_a_client() {
    let stage = Stage::prepare(&[]);
    let short = stage.dir.join("s");
    let _listener = handfast_broker::bind_socket(&short.join("broker.sock"), false).unwrap();
    let long = stage.dir.join("d".repeat(120));
    let refused = handfast_broker::bind_socket(&long.join("broker.sock"), false).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    assert!(refused.to_string().contains("107"), "{refused}");
    std::fs::rename(&short, &long).unwrap();
    handfast_broker::Client::connect(long.join("broker.sock")).unwrap();
}
