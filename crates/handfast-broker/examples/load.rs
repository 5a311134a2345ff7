//! Holds a broker under load and says what that costs: rates, latencies, memory, descriptors.
//!
//! ```text
//! load [SECONDS [CONNECTIONS [LEASES]]]        60 256 10000 if nothing is said
//! ```
//!
//! The broker runs in a process of its own (this program again). Every connection opens, commits,
//! lists, renews, acquires and revokes; the leases stay live for the whole time. Memory and
//! descriptors of the broker are sampled; growth between the second and the last quarter is told.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement"
)]

#[cfg(supported)]
fn main() {
    load::main();
}

#[cfg(not(supported))]
fn main() {}

#[cfg(supported)]
mod load {
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use handfast_broker::{Acquire, Client, Rulebook, ServeOptions, bind_socket};

    pub(super) fn main() {
        let args: Vec<String> = std::env::args().collect();
        if args.get(1).is_some_and(|arg| arg == "serve") {
            return serve(Path::new(&args[2]));
        }
        let number = |at: usize, or: u64| args.get(at).map_or(or, |text| text.parse().unwrap());
        run(
            number(1, 60),
            number(2, 256) as usize,
            number(3, 10_000) as usize,
        );
    }

    fn serve(dir: &Path) {
        let listener = bind_socket(&dir.join("sock/broker.sock"), false).unwrap();
        let rulebook = Rulebook::of_directory(dir.join("root")).unwrap();
        ServeOptions::new(rulebook, dir.join("state"))
            .start(listener)
            .unwrap()
            .wait();
    }

    struct Stage {
        dir: PathBuf,
        broker: Child,
    }

    impl Drop for Stage {
        fn drop(&mut self) {
            drop(self.broker.kill());
            drop(self.broker.wait());
            drop(std::fs::remove_dir_all(&self.dir));
        }
    }

    fn stage() -> Stage {
        let dir = std::env::temp_dir().join(format!("hf-load-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("root/d")).unwrap();
        for file in 0..64 {
            std::fs::write(dir.join(format!("root/d/{file}")), [b'x'; 4096]).unwrap();
        }
        let broker = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .arg(&dir)
            .spawn()
            .unwrap();
        let stage = Stage { dir, broker };
        while Client::connect(stage.dir.join("sock/broker.sock")).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        stage
    }

    /// Resident KiB, descriptors and threads of the broker.
    fn sample(pid: u32) -> (u64, usize, u64) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count();
        (field("VmRSS:"), fds, field("Threads:"))
    }

    const KINDS: [&str; 6] = ["open", "commit", "list", "renew", "acquire", "revoke"];

    fn run(seconds: u64, connections: usize, leases: usize) {
        let stage = stage();
        let socket = stage.dir.join("sock/broker.sock");
        let pid = stage.broker.id();
        let wanted = || Acquire::new(["**"], ["read", "write"]).ttl(3600);
        let begun = Instant::now();
        let ids: Vec<String> = {
            let mut client = Client::connect(&socket).unwrap();
            (0..leases)
                .map(|_| client.acquire(&wanted()).unwrap().lease_id)
                .collect()
        };
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{leases} leases in {took:.2} s, {:.0} a second",
            leases as f64 / took
        );
        let stop = AtomicBool::new(false);
        let times: Mutex<[Vec<u32>; 6]> = Mutex::new(Default::default());
        let mut samples = Vec::new();
        std::thread::scope(|scope| {
            for number in 0..connections {
                let (socket, ids, stop, times) = (&socket, &ids, &stop, &times);
                scope.spawn(move || {
                    let own = work(number, socket, ids, stop);
                    let mut all = times.lock().unwrap();
                    for (all, own) in all.iter_mut().zip(own) {
                        all.extend(own);
                    }
                });
            }
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(seconds) {
                std::thread::sleep(Duration::from_millis(500.min(seconds * 1000 / 4)));
                samples.push(sample(pid));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut client = Client::connect(&socket).unwrap();
        let live: usize = client.info().unwrap()["leases"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        println!("{connections} connections for {seconds} s, {live} leases live at the end");
        let times = times.into_inner().unwrap();
        for (kind, mut times) in KINDS.iter().zip(times) {
            times.sort_unstable();
            let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
            if times.is_empty() {
                continue;
            }
            println!(
                "{kind:8} {:8.0}/s   p50 {:7} us   p99 {:7} us   max {:7} us",
                times.len() as f64 / seconds as f64,
                at(0.5),
                at(0.99),
                at(1.0)
            );
        }
        // The first quarter fills caches; what grows after that goes on growing.
        let quarter = (samples.len() / 4).max(1);
        let most = |part: &[(u64, usize, u64)]| {
            let memory = part.iter().map(|sample| sample.0).max().unwrap_or(0);
            let fds = part.iter().map(|sample| sample.1).max().unwrap_or(0);
            (memory, fds)
        };
        let early =
            most(&samples[quarter.min(samples.len() - 1)..(2 * quarter).min(samples.len())]);
        let late = most(&samples[samples.len().saturating_sub(quarter)..]);
        println!(
            "memory   second quarter {} KiB, last {} KiB",
            early.0, late.0
        );
        println!("descriptors   second quarter {}, last {}", early.1, late.1);
        assert!(live >= leases, "leases were lost");
    }

    /// One connection's work: how long each call took, in microseconds, by kind.
    fn work(number: usize, socket: &Path, ids: &[String], stop: &AtomicBool) -> [Vec<u32>; 6] {
        let mut client = Client::connect(socket).unwrap();
        let mut times: [Vec<u32>; 6] = Default::default();
        let mut round = number;
        while !stop.load(Ordering::Relaxed) {
            round += 1;
            let id = &ids[round.wrapping_mul(7919) % ids.len()];
            let mut timed = |kind: usize, call: &mut dyn FnMut(&mut Client)| {
                let begun = Instant::now();
                call(&mut client);
                times[kind].push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
            };
            match round % 16 {
                0 => timed(1, &mut |client| {
                    let path = format!("d/{number}");
                    client.write(id, path, &[b'y'; 4096], None).unwrap();
                }),
                1 => timed(2, &mut |client| drop(client.list_dir(id, "d").unwrap())),
                2 => timed(3, &mut |client| drop(client.renew(id, Some(3600)).unwrap())),
                3 => {
                    let mut mine = String::new();
                    timed(4, &mut |client| {
                        let wanted = Acquire::new(["d/**"], ["read"]).ttl(60);
                        mine = client.acquire(&wanted).unwrap().lease_id;
                    });
                    timed(5, &mut |client| drop(client.revoke(&mine).unwrap()));
                }
                _ => timed(0, &mut |client| {
                    drop(client.open(id, format!("d/{}", round % 64)).unwrap());
                }),
            }
        }
        times
    }
}
