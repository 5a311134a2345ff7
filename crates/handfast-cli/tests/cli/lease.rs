//! `serve` and `lease`: a broker and its commands, as processes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Run, Scratch, binary, handfast, skip};

const PATIENCE: Duration = Duration::from_secs(60);

/// A broker that serves the inside of a scratch directory.
pub(crate) struct Served {
    pub(crate) scratch: Scratch,
    pub(crate) broker: Child,
    pub(crate) said: Value,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(more: &[&str]) -> Self {
        let scratch = Scratch::new();
        scratch.file("src/a.txt", "alpha");
        scratch.file("top.txt", "top");
        Self::serving(scratch, more)
    }

    /// With nothing in it.
    pub(crate) fn empty() -> Self {
        Self::serving(Scratch::new(), &[])
    }

    fn serving(scratch: Scratch, more: &[&str]) -> Self {
        let mut broker = handfast(&[
            "--json".as_ref(),
            "serve".as_ref(),
            scratch.inside().as_os_str(),
            "--socket".as_ref(),
            scratch.path.join("s/b.sock").as_os_str(),
            "--state".as_ref(),
            scratch.path.join("state").as_os_str(),
        ]);
        broker.args(more).current_dir(&scratch.path);
        Self::started(scratch, broker)
    }

    pub(crate) fn started(scratch: Scratch, command: Command) -> Self {
        Self::complaining_to(scratch, command, Stdio::inherit())
    }

    pub(crate) fn complaining_to(scratch: Scratch, mut command: Command, stderr: Stdio) -> Self {
        let mut broker = command
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = broker.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self {
            scratch,
            broker,
            said,
        }
    }

    pub(crate) fn lease(&self, args: &[&str], input: &[u8]) -> Run {
        let socket = self.scratch.path.join("s/b.sock");
        let mut all = vec!["lease", "--socket", socket.to_str().unwrap()];
        all.extend(args);
        Run::of(&all, input, PATIENCE)
    }

    pub(crate) fn acquire(&self, args: &[&str]) -> String {
        let run = self.lease(&[&["acquire"], args].concat(), b"");
        assert_eq!(run.code, 0, "{run:?}");
        run.text().trim_end().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.broker.kill());
        drop(self.broker.wait());
    }
}

#[test]
fn a_lease_is_exported_narrowed_and_used() {
    let served = Served::new();
    let id = served.acquire(&["--paths", "**", "--verbs", "read"]);
    let exported = served.lease(&["export", &id, "--ttl", "1m"], b"");
    let token = exported.text().trim_end().to_owned();
    let narrowed = served.lease(&["narrow", &token, "--path", "src", "--read-only"], b"");
    assert_eq!(narrowed.code, 0, "{narrowed:?}");
    let narrowed = narrowed.text().trim_end().to_owned();
    assert_eq!(
        served.lease(&["open", &narrowed, "src/a.txt"], b"").text(),
        "alpha"
    );
    assert_eq!(served.lease(&["open", &narrowed, "top.txt"], b"").code, 1);
    assert_eq!(
        served.lease(&["open", &token, "top.txt"], b"").text(),
        "top"
    );
    assert_eq!(served.lease(&["narrow", &token], b"").code, 2);
    assert_eq!(
        served
            .lease(&["narrow", "nonsense", "--read-only"], b"")
            .code,
        2
    );
}

#[test]
fn the_words_of_a_lease_and_the_story_in_the_log() {
    let served = Served::new();
    assert_eq!(served.said["version"], 1);
    let id = served.acquire(&[
        "--paths",
        "src/**",
        "*.md",
        "--verbs",
        "read,commit",
        "--ttl",
        "10m",
        "--purpose",
        "words",
    ]);
    let read = served.lease(&["open", &id, "src/a.txt"], b"");
    assert_eq!((read.code, read.text()), (0, "alpha"));
    let version = served
        .lease(&["open", &id, "src/a.txt", "--json"], b"")
        .ok();
    let version = version["object_version"].as_str().unwrap().to_owned();
    assert_eq!(served.lease(&["write", &id, "src/a.txt"], b"new").code, 0);
    assert_eq!(
        std::fs::read(served.scratch.at("src/a.txt")).unwrap(),
        b"new"
    );
    let stale = [
        "write",
        &id,
        "src/a.txt",
        "--if-version",
        &version,
        "--json",
    ];
    served.lease(&stale, b"x").refused("Stale");
    let denied = served.lease(&["open", &id, "top.txt"], b"");
    assert_eq!(denied.code, 1);
    assert!(
        denied.stderr.contains("the lease does not cover this path"),
        "{denied:?}"
    );
    let renewed = served
        .lease(&["renew", &id, "--increment", "1h", "--json"], b"")
        .ok();
    assert!(renewed["lease"]["ttl"].as_u64().unwrap() > 3000);
    let shown = served.lease(&["lookup", &id], b"");
    assert!(shown.text().contains("purpose      words"), "{shown:?}");
    let listed = served.lease(&["list"], b"");
    assert_eq!(listed.text().lines().count(), 1);
    assert!(!listed.text().contains(&id), "an id in a list");
    let handle = listed.text().split_whitespace().next().unwrap().to_owned();
    let revoked = served.lease(&["revoke", &handle, "--json"], b"").ok();
    assert_eq!(revoked["ended"], 1);
    assert_eq!(served.lease(&["open", &id, "src/a.txt"], b"").code, 1);
    served
        .lease(&["lookup", &id, "--json"], b"")
        .refused("Denied");
    // By id and by handle, the log tells the same story, in order.
    let log = served.said["log"].as_str().unwrap();
    for name in [&id, &handle] {
        let found = Run::of(&["log", "grep", log, "--lease", name], b"", PATIENCE);
        assert_eq!(found.code, 0, "{found:?}");
        let words = [
            "lease.acquire",
            "open",
            "write",
            "DENIED",
            "lease.renew",
            "lease.revoke",
        ];
        // The commands that opened files have ended.
        assert!(!found.text().contains("fd.outstanding"), "{found:?}");
        let mut rest = found.text();
        for word in words {
            let at = rest
                .find(word)
                .unwrap_or_else(|| panic!("{word}: {found:?}"));
            rest = &rest[at..];
        }
        assert!(!found.text().contains(id.rsplit('/').next().unwrap()));
    }
    let verified = Run::of(&["log", "verify", log], b"", PATIENCE);
    assert_ne!(verified.code, 1, "{verified:?}");
}

#[test]
fn a_program_runs_under_a_lease_that_ends_with_it() {
    let served = Served::new();
    let own = binary();
    let own = own.to_str().unwrap();
    let script =
        format!("echo $HANDFAST_LEASE; sh -c '{own} lease open $HANDFAST_LEASE src/a.txt'; exit 7");
    let args = [
        "run", "--paths", "**", "--verbs", "read", "--ttl", "1m", "--", "sh", "-c", &script,
    ];
    let run = served.lease(&args, b"");
    assert_eq!(run.code, 7, "{run:?}");
    let (id, content) = run.text().split_once('\n').unwrap();
    assert_eq!(content, "alpha");
    assert_eq!(served.lease(&["open", id, "src/a.txt"], b"").code, 1);
    assert!(served.lease(&["list"], b"").text().is_empty());
    let missing = [
        "run",
        "--paths",
        "**",
        "--verbs",
        "read",
        "--",
        "/no/such/program",
    ];
    assert_eq!(served.lease(&missing, b"").code, 2);
}

#[test]
fn a_confined_program_reaches_the_root_through_the_broker_only() {
    if handfast::harden::offered() == handfast::harden::Wall::None {
        skip("a confined program", "this kernel has no Landlock");
        return;
    }
    let served = Served::new();
    let own = binary();
    let own = own.to_str().unwrap();
    let file = served.scratch.at("top.txt");
    let script = format!(
        "cat {0} 2>/dev/null && echo REACHED; echo x 2>/dev/null >{0} && echo REACHED; \
         ls {1} 2>/dev/null && echo REACHED; echo free >$TMPDIR/x && cat $TMPDIR/x; \
         {own} lease open $HANDFAST_LEASE top.txt",
        file.display(),
        served.scratch.inside().display()
    );
    let args = ["run", "--paths", "**", "--verbs", "read", "--"];
    let free = served.lease(
        &[&args[..], &["sh", "-c", &format!("cat {}", file.display())]].concat(),
        b"",
    );
    // The control: without the wall, the lease is bookkeeping.
    assert_eq!(free.text(), "top");
    let confine = [
        "run",
        "--confine",
        "--paths",
        "**",
        "--verbs",
        "read",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let run = served.lease(&confine, b"");
    assert_eq!((run.code, run.text()), (0, "free\ntop"), "{run:?}");
}

#[test]
fn a_system_directory_that_holds_a_root_cannot_be_granted() {
    if !Path::new("/usr/share").is_dir() {
        skip("a root in a system directory", "there is no /usr/share");
        return;
    }
    let scratch = Scratch::new();
    let broker = handfast(&[
        "--json".as_ref(),
        "serve".as_ref(),
        "/usr/share".as_ref(),
        "--socket".as_ref(),
        scratch.path.join("s/b.sock").as_os_str(),
        "--state".as_ref(),
        scratch.path.join("state").as_os_str(),
    ]);
    let served = Served::started(scratch, broker);
    let run = served.lease(
        &[
            "run",
            "--confine",
            "--paths",
            "**",
            "--verbs",
            "read",
            "--",
            "true",
        ],
        b"",
    );
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("/usr"), "{run:?}");
}

#[test]
fn what_is_typed_wrong_is_told() {
    let scratch = Scratch::new();
    let nobody = scratch.path.join("nobody.sock");
    let socket = nobody.to_str().unwrap();
    let run = |args: &[&str]| {
        Run::of(
            &[&["lease", "--socket", socket], args].concat(),
            b"",
            PATIENCE,
        )
    };
    let alone = run(&["list"]);
    assert_eq!(alone.code, 3);
    assert!(
        alone
            .stderr
            .contains("hint: `handfast serve DIR` starts one"),
        "{alone:?}"
    );
    for args in [
        &["acquire"][..],
        &["acquire", "--paths", "**"],
        &[
            "acquire", "--paths", "**", "--verbs", "read", "--ttl", "soon",
        ],
        &[
            "acquire", "--paths", "**", "--verbs", "read", "--bind", "world",
        ],
        &["run", "--paths", "**", "--verbs", "read"],
    ] {
        assert_eq!(run(args).code, 2, "{args:?}");
    }
    let served = Served::new();
    let wrong = served.lease(&["acquire", "--paths", "!x", "--verbs", "read"], b"");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let second = Run::of(
        &[
            "serve",
            served.scratch.inside().to_str().unwrap(),
            "--socket",
            served.scratch.path.join("s/b.sock").to_str().unwrap(),
            "--state",
            served.scratch.path.join("other").to_str().unwrap(),
        ],
        b"",
        PATIENCE,
    );
    assert_eq!(second.code, 2, "{second:?}");
    assert!(
        second.stderr.contains("listens there already"),
        "{second:?}"
    );
    let locked = Run::of(
        &[
            "serve",
            served.scratch.inside().to_str().unwrap(),
            "--socket",
            served.scratch.path.join("s/c.sock").to_str().unwrap(),
            "--state",
            served.scratch.path.join("state").to_str().unwrap(),
        ],
        b"",
        PATIENCE,
    );
    assert_eq!(locked.code, 2, "{locked:?}");
    assert!(locked.stderr.contains("another broker"), "{locked:?}");
}
