//! Honest agents beside users who take all they can get, all in one run.
//!
//! Two strangers hold 512 connections each, one of them presents 16,000 lease ids that it made up
//! (`HANDFAST_MADE_UP_IDS=100000` for the long form, which takes a minute more), a third user writes
//! until its quota is used up and goes on trying. Twenty agents of another user work meanwhile, and
//! the keeper revokes. Times are compared with those of the same broker in the quiet moments before,
//! between and after.

//!
//! A program of its own: nothing else runs beside it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    dead_code,
    reason = "attackers and witnesses look at the tree from outside; other tests use the rest"
)]

#[path = "../broker/roles.rs"]
mod roles;
#[path = "../broker/stage.rs"]
mod stage;
#[path = "../../../handfast/tests/support/turns.rs"]
mod turns;
#[path = "../broker/witness.rs"]
mod witness;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use handfast_broker::{Acquire, Client, Code};
use handfast_ledger::{LogReader, VerifyOptions, verify};

use crate::roles::{become_user, tell};
use crate::stage::{PATIENCE, Stage, code, until};
use crate::turns::Turns;
use crate::witness::{Small, may_play_others, refusals_of, size_of};

const AGENTS: usize = 20;
const PHASE: Duration = Duration::from_secs(3);

const HONEST: u32 = 60_001;
const GREEDY: u32 = 60_002;
const STRANGERS: [u32; 2] = [65_532, 65_533];

const POLICY: &str = r#"version = 1
[[root]]
name = "ws"
path = "ROOT"
mount = "/ws"
mode = "read-write"
[[root]]
name = "scratch"
path = "SCRATCH"
mount = "/scratch"
mode = "read-write"
[root.quota]
bytes = "2MiB"
[[allow]]
uid = 0
[[allow]]
uid = 60001
roots = ["ws"]
[[allow]]
uid = 60002
roots = ["scratch"]
"#;

/// Roles of this program's own.
fn more_role(role: &str, dir: &Path) {
    match role {
        "agents" => agents(dir),
        "mob" => mob(dir),
        "filler" => filler(dir),
        other => panic!("no such role: {other}"),
    }
}

/// Another process of this program that is told what to do, a line at a time.
struct Actor {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Actor {
    fn play(stage: &Stage, role: &str, uid: u32) -> Self {
        let mut command = stage.role(role);
        command
            .env("HF_UID", uid.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut actor = Self { child, answers };
        assert_eq!(actor.answer(), "here", "{role} of {uid}");
        actor
    }

    fn say(&mut self, word: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{word}").unwrap();
    }

    fn answer(&mut self) -> String {
        let mut lines = self.answers.by_ref().lines().map_while(Result::ok);
        let told = lines.find_map(|line| line.strip_prefix("TELL ").map(str::to_owned));
        told.expect("the other process told nothing")
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a role is told next; nothing when the test has ended.
fn next_word() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).unwrap();
    (read > 0).then(|| line.trim().to_owned())
}

/// How many lease ids a stranger makes up. They are answered at 2,000 a second.
fn made_up_ids() -> u64 {
    let text = std::env::var("HANDFAST_MADE_UP_IDS");
    text.map_or(16_000, |text| text.parse().unwrap())
}

fn socket(dir: &Path) -> std::path::PathBuf {
    dir.join("sock/broker.sock")
}

/// Twenty agents, each with a connection and a lease: `MS` makes them work for this long and tell how
/// long each call took, in microseconds, and how many failed.
fn agents(dir: &Path) {
    become_user();
    let wanted = Acquire::new(["/ws/**"], ["read", "write"])
        .bind("user")
        .ttl(600);
    let mut all: Vec<_> = (0..AGENTS)
        .map(|_| {
            let mut client = Client::connect(socket(dir)).unwrap();
            let id = client.acquire(&wanted).unwrap().lease_id;
            (client, id)
        })
        .collect();
    tell("here");
    while let Some(word) = next_word() {
        let time = Duration::from_millis(word.parse().unwrap());
        let failed = AtomicU64::new(0);
        let first_failure = std::sync::Mutex::new(String::new());
        let mut times: Vec<u32> = std::thread::scope(|scope| {
            let working: Vec<_> = all
                .iter_mut()
                .enumerate()
                .map(|(number, (client, id))| {
                    let (failed, why) = (&failed, &first_failure);
                    scope.spawn(move || {
                        work(client, id, number, time, &|error| {
                            failed.fetch_add(1, Ordering::Relaxed);
                            *why.lock().unwrap() = error;
                        })
                    })
                })
                .collect();
            let done = working.into_iter().map(|thread| thread.join().unwrap());
            done.flatten().collect()
        });
        times.sort_unstable();
        let failed = failed.into_inner();
        let why = first_failure.into_inner().unwrap().replace(' ', "_");
        let (p50, p99) = (at(&times, 50), at(&times, 99));
        tell(&format!("{} {failed} {p50} {p99} {why}", times.len()));
    }
}

fn at(sorted: &[u32], percent: usize) -> u32 {
    sorted[(sorted.len() - 1) * percent / 100]
}

fn work(
    client: &mut Client,
    id: &str,
    number: usize,
    time: Duration,
    fails: &dyn Fn(String),
) -> Vec<u32> {
    let begun = Instant::now();
    let mut times = Vec::new();
    let mut round = number;
    while begun.elapsed() < time {
        round += 1;
        let call = Instant::now();
        let done = match round % 4 {
            0 => client
                .write(id, format!("/ws/own-{number}"), b"some text", None)
                .map(drop),
            1 => client.list_dir(id, "/ws/src").map(drop),
            _ => client.open(id, "/ws/src/a.txt").map(drop),
        };
        times.push(u32::try_from(call.elapsed().as_micros()).unwrap());
        if let Err(error) = done {
            fails(error.to_string());
        }
        // Agents think between calls.
        std::thread::sleep(Duration::from_millis(20));
    }
    times
}

/// A stranger: 512 connections, of which those that are taken present ids that nobody was given.
/// `COUNT` makes it begin, the next word is about when it has presented that many.
fn mob(dir: &Path) {
    become_user();
    let connect = |_| UnixStream::connect(socket(dir)).ok();
    tell("here");
    while let Some(word) = next_word() {
        let count: u64 = word.parse().unwrap();
        let crowd: Vec<UnixStream> = (0..512).filter_map(connect).collect();
        assert_eq!(crowd.len(), 512);
        if count == 0 {
            tell("sits");
            next_word();
            tell("left");
            continue;
        }
        tell("floods");
        let presented = AtomicU64::new(0);
        let refused = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for socket in crowd {
                let (presented, refused) = (&presented, &refused);
                let mut client = Client::over(socket).unwrap();
                // Those that were turned away are told so at the first call.
                if client.info().is_err() {
                    continue;
                }
                scope.spawn(move || {
                    loop {
                        let number = presented.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            break;
                        }
                        let id = format!("u1/t/{number:032x}");
                        let answer = client.open(&id, format!("/ws/{number}"));
                        assert_eq!(code(answer), Code::NoSuchLease);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        tell(&format!("{}", refused.into_inner()));
    }
}

/// A user with a lease who writes until nothing is taken any more, and goes on until it is told to
/// stop.
fn filler(dir: &Path) {
    become_user();
    let mut client = Client::connect(socket(dir)).unwrap();
    let wanted = Acquire::new(["**"], ["read", "write"])
        .bind("user")
        .ttl(600);
    let id = client.acquire(&wanted).unwrap().lease_id;
    tell("here");
    let mut stored = 0_u64;
    while let Some(word) = next_word() {
        let time = Duration::from_millis(word.parse().unwrap());
        let begun = Instant::now();
        let (mut refused, mut number) = (0_u64, 0_u64);
        while begun.elapsed() < time {
            number += 1;
            let bytes = vec![b'x'; 64 << 10];
            match client.write(&id, format!("/scratch/{number}"), &bytes, None) {
                Ok(_) => stored += bytes.len() as u64,
                Err(error) => {
                    assert_eq!(error.code(), Some(Code::Quota), "{error}");
                    refused += 1;
                }
            }
            // What is not its own stays closed.
            assert_eq!(code(client.write(&id, "/ws/x", b"x", None)), Code::Denied);
        }
        tell(&format!("{stored} {refused}"));
    }
}

/// What a phase showed.
#[derive(Default)]
struct Seen {
    calls: u64,
    p99: Vec<u32>,
    revokes: Vec<u32>,
}

impl Seen {
    fn revoke_p99(&mut self) -> u32 {
        self.revokes.sort_unstable();
        at(&self.revokes, 99)
    }

    /// That of the phase in the middle.
    fn p99(&self) -> u32 {
        let mut all = self.p99.clone();
        all.sort_unstable();
        all[all.len() / 2]
    }
}

/// The agents work for a while, and the keeper revokes; no call may fail.
fn phase(stage: &Stage, agents: &mut Actor, seen: &mut Seen) {
    agents.say(&PHASE.as_millis().to_string());
    let begun = Instant::now();
    let mut client = stage.client();
    while begun.elapsed() < PHASE - Duration::from_millis(200) {
        let handle = stage.lease(&mut client).lease.handle;
        let asked = Instant::now();
        // Over a new connection, as an operator would ask for it.
        stage.client().revoke(&handle).unwrap();
        let took = u32::try_from(asked.elapsed().as_micros()).unwrap();
        seen.revokes.push(took);
        std::thread::sleep(Duration::from_millis(10));
    }
    let told = agents.answer();
    let words: Vec<&str> = told.split(' ').collect();
    assert_eq!(words[1], "0", "an honest call failed: {told}");
    seen.calls += words[0].parse::<u64>().unwrap();
    seen.p99.push(words[3].parse().unwrap());
    println!("agents: {told}");
}

#[test]
fn b1_b2_b10_honest_agents_work_on_beside_hostile_users() {
    if !may_play_others() {
        return;
    }
    let made_up = made_up_ids();
    let mut stage = Stage::prepare(&[]);
    let Some(disk) = Small::mount(stage.dir.join("state"), "160m") else {
        return;
    };
    // In memory: what is compared is not how fast the disk is meanwhile.
    std::fs::remove_dir_all(stage.root("")).unwrap();
    let Some(_tree) = Small::mount(stage.root(""), "16m") else {
        return;
    };
    std::fs::create_dir(stage.root("src")).unwrap();
    std::fs::write(stage.root("src/a.txt"), "alpha").unwrap();
    let scratch = stage.dir.join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    stage.policy(&POLICY.replace("SCRATCH", scratch.to_str().unwrap()));
    stage.start();
    let turns = Turns::start();
    let mut agents = Actor::play(&stage, "agents", HONEST);
    let [mut sitting, mut flooding] = STRANGERS.map(|uid| Actor::play(&stage, "mob", uid));
    let mut filler = Actor::play(&stage, "filler", GREEDY);
    let (mut quiet, mut hostile) = (Seen::default(), Seen::default());
    phase(&stage, &mut agents, &mut quiet);
    phase(&stage, &mut agents, &mut quiet);
    let before = size_of(&stage.log_dir());
    sitting.say("0");
    flooding.say(&made_up.to_string());
    assert_eq!(sitting.answer(), "sits");
    assert_eq!(flooding.answer(), "floods");
    let begun = Instant::now();
    let flood = std::thread::spawn(move || flooding.answer());
    while !flood.is_finished() {
        filler.say(&PHASE.as_millis().to_string());
        phase(&stage, &mut agents, &mut hostile);
        let words = filler.answer();
        println!("filler, bytes stored and writes refused: {words}");
    }
    let refused: u64 = flood.join().unwrap().parse().unwrap();
    println!("{refused} made-up ids in {:?}", begun.elapsed());
    sitting.say("leave");
    assert_eq!(sitting.answer(), "left");
    phase(&stage, &mut agents, &mut quiet);
    phase(&stage, &mut agents, &mut quiet);
    assert_eq!(refused, made_up);
    drop((sitting, filler));
    let grown = size_of(&stage.log_dir()) - before;
    let events = quiet.calls * 3 / 2 + hostile.calls * 3;
    println!("the log grew by {grown} bytes for some {events} events of honest users");
    // What the strangers may take of it: a budget each, and what comes back in a minute.
    assert!(
        grown < events * 1000 + (4 << 20),
        "the log grew by {grown} bytes"
    );
    let mut told = (0, 0);
    let begun = Instant::now();
    while told.0 + told.1 < made_up {
        assert!(begun.elapsed() < PATIENCE, "refusals were lost: {told:?}");
        std::thread::sleep(Duration::from_millis(500));
        told = refusals_of(&stage, STRANGERS[1]);
    }
    assert_eq!(told.0 + told.1, made_up, "{told:?}");

    full_and_free_again(&stage, &disk, &mut agents);
    let log = LogReader::open(stage.log_dir()).unwrap();
    let found = verify(&log, &VerifyOptions::new()).unwrap();
    assert!(found.problems.is_empty(), "{found:?}");

    let (quiet_p99, hostile_p99) = (quiet.p99(), hostile.p99());
    let (quiet_revoke, hostile_revoke) = (quiet.revoke_p99(), hostile.revoke_p99());
    let told = format!(
        "p99 of {AGENTS} agents {quiet_p99} us quiet, {hostile_p99} us among hostile users; \
         of a revocation {quiet_revoke} us and {hostile_revoke} us"
    );
    println!("{told}");
    if hostile_p99 > 2 * quiet_p99 || hostile_revoke > 2 * quiet_revoke {
        turns.settle("honest agents among hostile users", &told);
    }
    agents.child.kill().unwrap();
    stage.kill_broker();
}

/// The disk fills up for real: nothing is done without its event, a revocation counts all the same,
/// and with room again everything works without a restart.
fn full_and_free_again(stage: &Stage, disk: &Small, agents: &mut Actor) {
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let spare = stage.lease(&mut client).lease_id;
    disk.fill();
    until("the log is full", || {
        (0..100).any(|_| client.open(&id, "/ws/src/a.txt").is_err())
    });
    assert_eq!(code(client.open(&id, "/ws/src/a.txt")), Code::Unavailable);
    assert_eq!(stage.client().revoke(&spare).unwrap().ended, 1);
    disk.free();
    until("the log is taken up again", || {
        client.open(&id, "/ws/src/a.txt").is_ok()
    });
    assert_eq!(
        code(client.open(&spare, "/ws/src/a.txt")),
        Code::LeaseRevoked
    );
    phase(stage, agents, &mut Seen::default());
    assert_eq!(client.info().unwrap()["troubles"].get(0), None);
}
