//! Many connections by HTTP: those that ask are answered, those that only wait are in nobody's way.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use super::http::{Served, request};
use crate::support::Scratch;

/// Every caller that comes at the same time has a connection of its own, as clients do it. More than
/// may be open wait for their turn; nobody is turned away with a request under way.
#[test]
fn many_connections_at_once_are_all_answered() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let server = Served::start(&scratch);
    for callers in [200, 400] {
        let barrier = std::sync::Barrier::new(callers);
        let answered = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for number in 0..callers {
                let (server, barrier, answered) = (&server, &barrier, &answered);
                let read = json!({"name": "read_text_file", "arguments": {"path": "a"}});
                let mut read = request("tools/call", read);
                read["id"] = json!(number);
                let call = move || {
                    barrier.wait();
                    let answer = server.try_post(&read).unwrap_or_default();
                    let ended = answer.contains(r#""content":"text""#)
                        && answer.contains(&format!(r#""id":{number},"#));
                    answered.fetch_add(usize::from(ended), std::sync::atomic::Ordering::Relaxed);
                };
                let spawned = std::thread::Builder::new().stack_size(256 << 10);
                spawned.spawn_scoped(scope, call).unwrap();
            }
        });
        let answered = answered.into_inner();
        println!("{answered} of {callers} connections at once were answered");
        assert_eq!(answered, callers);
    }
}

/// A request that never becomes whole takes no place where calls are made, however many there are. Were such requests
/// counted, this call would be one too many.
#[test]
fn bodies_that_never_come_lock_nobody_out() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let server = Served::start(&scratch);
    let read = json!({"name": "read_text_file", "arguments": {"path": "a"}});
    let read = request("tools/call", read);
    let whole = server.request_text(&read, &[]);
    let part = &whole.as_bytes()[..whole.len() - 1];
    let waiting: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(part).unwrap();
            stream
        })
        .collect();
    for _ in 0..5 {
        let answered = server.post(&read, &[]);
        assert_eq!(answered.status, 200);
        assert!(answered.json().to_string().contains(r#""content":"text""#));
    }
    // They are not closed either, as long as there is room: each is answered when the rest of it comes.
    for mut stream in waiting.into_iter().take(20) {
        stream.write_all(&whole.as_bytes()[part.len()..]).unwrap();
        assert_eq!(Served::receive(&mut stream).status, 200);
    }
}

#[test]
fn m4_idle_sockets_lock_nobody_out() {
    let scratch = Scratch::new();
    let server = Served::start(&scratch);
    let connect = || TcpStream::connect(&server.address).unwrap();
    let mut idle: Vec<TcpStream> = (0..800).map(|_| connect()).collect();
    // Half a head is no better, nor is a whole one with a token and without its body.
    let whole = server.request_text(&request("ping", json!({})), &[]);
    let head = &whole.as_bytes()[..whole.len() - 1];
    for (number, stream) in idle.iter_mut().enumerate() {
        let part = if number % 4 > 0 { head } else { &head[..40] };
        drop(stream.write_all(part));
    }
    let begun = std::time::Instant::now();
    for _ in 0..5 {
        assert_eq!(server.post(&request("ping", json!({})), &[]).status, 200);
    }
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    drop(idle);
}
