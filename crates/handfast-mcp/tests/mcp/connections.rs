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

#[test]
fn m4_idle_sockets_lock_nobody_out() {
    let scratch = Scratch::new();
    let server = Served::start(&scratch);
    let connect = || TcpStream::connect(&server.address).unwrap();
    let mut idle: Vec<TcpStream> = (0..400).map(|_| connect()).collect();
    // Half a head is no better.
    for stream in &mut idle {
        drop(stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: local"));
    }
    let begun = std::time::Instant::now();
    for _ in 0..5 {
        assert_eq!(server.post(&request("ping", json!({})), &[]).status, 200);
    }
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    drop(idle);
}
