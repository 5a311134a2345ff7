//! `SIGHUP`: the policy is read again while the broker runs.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::lease::Served;
use crate::support::{Run, Scratch, handfast};

const PATIENCE: Duration = Duration::from_secs(60);

/// A broker with a policy file, which is written again.
struct Reloading {
    served: Served,
    policy: PathBuf,
    complaints: PathBuf,
}

impl Reloading {
    /// `rest` stands below the root; `deny` in it.
    fn text(deny: &str, rest: &str) -> String {
        format!(
            "version = 1\n[[root]]\nname = \"ws\"\npath = \"inside\"\nmount = \"/ws\"\n\
             mode = \"read-write\"\ndeny = [{deny}]\n{rest}\n[[allow]]\nuid = 60001\n"
        )
    }

    /// A rule for this user.
    fn own(verbs: &str) -> String {
        let uid = rustix::process::geteuid().as_raw();
        format!("[[allow]]\nuid = {uid}\nverbs = [{verbs}]\n")
    }

    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.file("a.txt", "alpha");
        scratch.file("secret", "hidden");
        let policy = scratch.path.join("policy.toml");
        std::fs::write(&policy, Self::text("", &Self::own(r#""read", "write""#))).unwrap();
        let complaints = scratch.path.join("complaints");
        let command = handfast(&[
            "--json".as_ref(),
            "serve".as_ref(),
            "--policy".as_ref(),
            policy.as_os_str(),
            "--socket".as_ref(),
            scratch.path.join("s/b.sock").as_os_str(),
            "--state".as_ref(),
            scratch.path.join("state").as_os_str(),
        ]);
        let stderr = Stdio::from(std::fs::File::create(&complaints).unwrap());
        Self {
            served: Served::complaining_to(scratch, command, stderr),
            policy,
            complaints,
        }
    }

    /// Replaces the policy as an editor does, and asks the broker to read it.
    fn replace(&self, text: &str) {
        let draft = self.policy.with_extension("new");
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(draft, &self.policy).unwrap();
        let pid = rustix::process::Pid::from_child(&self.served.broker);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    fn complaints(&self) -> String {
        std::fs::read_to_string(&self.complaints).unwrap()
    }

    fn open(&self, id: &str, path: &str) -> Run {
        self.served.lease(&["open", id, path, "--json"], b"")
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn another_policy_counts_at_the_next_use_of_a_lease() {
    let broker = Reloading::new();
    let lease = |args: &[&str]| broker.served.lease(args, b"new");
    let id = broker
        .served
        .acquire(&["--paths", "**", "--verbs", "read,write"]);
    assert_eq!(lease(&["write", &id, "/ws/a.txt"]).code, 0);
    assert_eq!(broker.open(&id, "/ws/secret").code, 0);
    broker.replace(&Reloading::text(
        r#""secret""#,
        &Reloading::own(r#""read""#),
    ));
    until("the new policy counts", || {
        broker.open(&id, "/ws/secret").code != 0
    });
    broker.open(&id, "/ws/secret").refused("Denied");
    lease(&["write", &id, "/ws/a.txt", "--json"]).refused("Denied");
    // What it still grants goes on, under the same lease.
    assert_eq!(lease(&["open", &id, "/ws/a.txt"]).text(), "new");
    // And a policy that grants it again is as good as the first.
    let root = "[[allow]]\nuser = \"root\"\n";
    let own = Reloading::own(r#""read", "write""#);
    broker.replace(&Reloading::text("", &format!("{root}{own}")));
    until("the last policy counts", || {
        broker.open(&id, "/ws/secret").code == 0
    });
    assert_eq!(broker.complaints(), "");
}

#[test]
fn a_lease_that_a_new_policy_gives_nothing_ends() {
    let broker = Reloading::new();
    let read = broker.served.acquire(&["--paths", "**", "--verbs", "read"]);
    let write = broker
        .served
        .acquire(&["--paths", "**", "--verbs", "commit"]);
    broker.replace(&Reloading::text("", &Reloading::own(r#""read""#)));
    let count = || {
        let leases = broker.served.lease(&["list", "--json"], b"").ok();
        leases["leases"].as_array().unwrap().len()
    };
    until("the lease for writing ends", || count() == 1);
    let refused = broker.served.lease(&["write", &write, "/ws/a.txt"], b"new");
    assert!(refused.stderr.contains("revoked"), "{refused:?}");
    assert_eq!(broker.open(&read, "/ws/a.txt").code, 0);
    broker.replace(&Reloading::text("", ""));
    until("the last one ends", || count() == 0);
    let refused = broker.open(&read, "/ws/a.txt");
    assert_ne!(refused.code, 0, "{refused:?}");
}

#[test]
fn a_policy_that_is_wrong_leaves_the_one_before_in_force_and_says_so() {
    let broker = Reloading::new();
    let id = broker.served.acquire(&["--paths", "**", "--verbs", "read"]);
    let good = std::fs::read_to_string(&broker.policy).unwrap();
    let elsewhere = good.replace("path = \"inside\"", "path = \"outside\"");
    let seats = format!("{good}[limits]\nconnections = 7\n");
    for (number, (text, why)) in [
        ("version = 1\n[[root]\n", "line 2"),
        ("", "version"),
        (
            elsewhere.as_str(),
            "line 2: the name, path or mount of a [[root]]",
        ),
        (seats.as_str(), "[limits]"),
    ]
    .into_iter()
    .enumerate()
    {
        broker.replace(text);
        until("it is told", || {
            broker.complaints().lines().count() > number
        });
        let told = broker.complaints();
        let last = told.lines().last().unwrap();
        assert!(last.contains("refused") && last.contains(why), "{last}");
        let file = broker.policy.to_str().unwrap();
        assert!(last.contains(file) && last.contains(": line "), "{last}");
        assert_eq!(broker.open(&id, "/ws/a.txt").code, 0, "{why}");
    }
    std::fs::remove_file(&broker.policy).unwrap();
    let pid = rustix::process::Pid::from_child(&broker.served.broker);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    until("a missing file is told", || {
        broker.complaints().lines().count() == 5
    });
    assert_eq!(broker.open(&id, "/ws/a.txt").code, 0);
}
