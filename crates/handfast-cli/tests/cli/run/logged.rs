//! What a run leaves in its log.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::stage::{Stage, as_each_user};

/// A log on a stage.
pub(super) struct Log<'a> {
    stage: &'a Stage,
    pub(super) dir: String,
}

impl<'a> Log<'a> {
    pub(super) fn new(stage: &'a Stage) -> Self {
        let dir = stage.scratch.path.join("log").display().to_string();
        let made = stage.handfast(&["log", "init", &dir]);
        assert_eq!(made.code, Some(0), "{made:?}");
        Self { stage, dir }
    }

    /// The events of a verb, in the order of the log.
    pub(super) fn events(&self, verb: &str) -> Vec<Value> {
        let args = ["--json", "log", "grep", &self.dir, "--verb", verb];
        let told = self.stage.handfast(&args);
        let answer: Value = serde_json::from_str(&told.out).expect(&told.out);
        let found = answer["events"].as_array().expect(&told.out);
        found.iter().map(|found| found["event"].clone()).collect()
    }
}

#[test]
fn each_program_that_tries_a_denied_file_leaves_one_event() {
    as_each_user(|stage| {
        let log = Log::new(stage);
        let script = "for n in 1 2 3 4 5; do cat .env; stat .env; done 2>/dev/null; \
             cat missing a.txt; ls -a > /dev/null; cat src/.env.local; true";
        stage.scratch.file("src/.env.local", "SECRET=2\n");
        let told = stage.run(&["--log", &log.dir], script);
        assert_eq!((told.code, told.out.as_str()), (Some(0), "from the base\n"));
        let refused = log.events("resolve");
        let paths: Vec<_> = refused
            .iter()
            .map(|event| event["req"]["path"].as_str().unwrap())
            .collect();
        // Two programs looked at the first.
        assert_eq!(paths, [".env", ".env", "src/.env.local"], "{refused:?}");
        let programs = [0, 1, 2].map(|at| refused[at]["wl"]["exe"].as_str().unwrap_or_default());
        let names = programs.map(|path| path.rsplit('/').next().unwrap_or_default());
        assert_eq!(names, ["cat", "stat", "cat"], "{refused:?}");
        let decision = &refused[0]["decision"];
        assert_eq!(decision["allow"], false, "{decision}");
        assert_eq!(decision["kind"], "Denied", "{decision}");
        assert_eq!(decision["why"], "protected by deny `.env`", "{decision}");
    });
}

/// The first event of a verb on a path, as soon as the log has it.
fn wait_for(log: &Log<'_>, verb: &str, path: &str) -> Value {
    let begun = Instant::now();
    loop {
        let mut events = log.events(verb).into_iter();
        if let Some(event) = events.find(|event| event["req"]["path"] == path) {
            return event;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{verb} {path}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_event_names_the_process_that_asked() {
    as_each_user(|stage| {
        let log = Log::new(stage);
        // The shell itself opens the file, and waits; then a program of it opens another.
        let script = "exec 3< a.txt; echo $$; read word; cat src/main.rs > new";
        let args = ["run", "--log", &log.dir, "--", "sh", "-c", script];
        let mut running = stage.command("", &args);
        let running = running
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut running = running.spawn().unwrap();
        let mut inside = String::new();
        let output = running.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut inside).unwrap();
        let workload = wait_for(&log, "open", "a.txt")["wl"].clone();
        assert_eq!(workload["auth"], "observed", "{workload}");
        let pid = workload["pid"].as_u64().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let numbers = status.lines().find(|line| line.starts_with("NSpid:"));
        let last = numbers.and_then(|line| line.split_whitespace().last());
        assert_eq!(last, Some(inside.trim()), "{status}");
        let shell = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        assert_eq!(workload["exe"].as_str(), shell.to_str(), "{workload}");
        running.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(running.wait().unwrap().success());
        let read = &wait_for(&log, "open", "src/main.rs")["wl"];
        assert!(read["exe"].as_str().unwrap().ends_with("/cat"), "{read}");
        assert_ne!(read["pid"].as_u64(), Some(pid));
        let made = &wait_for(&log, "open-write", "new")["wl"];
        assert_eq!(made["exe"].as_str(), shell.to_str(), "{made}");
    });
}

#[test]
fn the_log_tells_when_a_program_began_and_how_it_ended() {
    as_each_user(|stage| {
        let log = Log::new(stage);
        let told = stage.run(&["--log", &log.dir], "echo SECRET-ARGUMENT; exit 7");
        assert_eq!(told.code, Some(7), "{told:?}");
        let events = log.events("harden");
        let [begun, ended] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(begun["op_id"], ended["op_id"]);
        assert_eq!(
            (&begun["phase"], &ended["phase"]),
            (&"intent".into(), &"result".into())
        );
        let project = stage.scratch.inside().display().to_string();
        let text = begun["req"]["path"].as_str().unwrap();
        for part in ["run of sh", "overlay", "engine fuse", &project] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(ended["req"]["path"], "end of sh: exit code 7");
        let all = stage.handfast(&["--json", "log", "show", &log.dir]);
        assert!(all.out.contains("end of sh"), "{all:?}");
        assert!(!all.out.contains("SECRET-ARGUMENT"), "{all:?}");
        let verified = stage.handfast(&["log", "verify", &log.dir]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    });
}
