//! What a run leaves in its log.

use serde_json::Value;

use super::stage::{Stage, as_each_user};

/// A log on a stage.
struct Log<'a> {
    stage: &'a Stage,
    dir: String,
}

impl<'a> Log<'a> {
    fn new(stage: &'a Stage) -> Self {
        let dir = stage.scratch.path.join("log").display().to_string();
        let made = stage.handfast(&["log", "init", &dir]);
        assert_eq!(made.code, Some(0), "{made:?}");
        Self { stage, dir }
    }

    /// The events of a verb, in the order of the log.
    fn events(&self, verb: &str) -> Vec<Value> {
        let args = ["--json", "log", "grep", &self.dir, "--verb", verb];
        let told = self.stage.handfast(&args);
        let answer: Value = serde_json::from_str(&told.out).expect(&told.out);
        let found = answer["events"].as_array().expect(&told.out);
        found.iter().map(|found| found["event"].clone()).collect()
    }
}

#[test]
fn a_program_that_tries_a_denied_file_leaves_one_event() {
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
        assert_eq!(paths, [".env", "src/.env.local"], "{refused:?}");
        let decision = &refused[0]["decision"];
        assert_eq!(decision["allow"], false, "{decision}");
        assert_eq!(decision["kind"], "Denied", "{decision}");
        assert_eq!(decision["why"], "protected by deny `.env`", "{decision}");
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
