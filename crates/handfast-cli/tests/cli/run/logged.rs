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
