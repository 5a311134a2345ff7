//! Many connections and many leases for a little while; `examples/load.rs` does it for a minute.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use handfast_broker::{Acquire, Client};

use crate::stage::{Stage, until};

#[test]
fn nothing_grows_under_load() {
    let stage = Stage::new();
    let pid = stage.broker.as_ref().unwrap().id();
    let fds = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count()
    };
    let mut client = stage.client();
    let ids: Vec<String> = (0..500)
        .map(|_| {
            client
                .acquire(&Acquire::new(["**"], ["read", "write"]))
                .unwrap()
                .lease_id
        })
        .collect();
    let before = fds();
    let stop = AtomicBool::new(false);
    let calls = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..48_usize {
            let (stage, ids, stop, calls) = (&stage, &ids, &stop, &calls);
            scope.spawn(move || {
                let mut client = Client::connect(stage.socket()).unwrap();
                let mut round = number;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let id = &ids[round % ids.len()];
                    match round % 8 {
                        0 => drop(client.write(id, format!("w{number}"), b"x", None).unwrap()),
                        1 => {
                            let short = Acquire::new(["src/**"], ["read"]);
                            let short = client.acquire(&short).unwrap().lease_id;
                            client.revoke(&short).unwrap();
                        }
                        // A connection that ends with something begun.
                        2 if round % 64 == 2 => {
                            drop(client.begin(id, "never", 4096, None).unwrap());
                            client = Client::connect(stage.socket()).unwrap();
                        }
                        3 => drop(client.renew(id, Some(300)).unwrap()),
                        _ => drop(client.open(id, "src/a.txt").unwrap()),
                    }
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        until("some work", || calls.load(Ordering::Relaxed) > 3_000);
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    let info = client.info().unwrap();
    assert_eq!(info["leases"], "500", "no lease was lost and none was left");
    until("closing connections and drafts", || {
        fds() <= before && client.info().unwrap()["drafts"] == "0"
    });
    assert!(!stage.root("never").exists());
}
