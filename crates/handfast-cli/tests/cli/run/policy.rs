//! A run by a policy file.

use super::stage::{Stage, as_each_user};

const HEAD: &str = "version = 1\n";

fn put(stage: &Stage, text: &str) {
    stage.scratch.file("policy.toml", format!("{HEAD}{text}"));
    stage.hand_over();
}

#[test]
fn a_policy_gives_mode_rules_and_limits() {
    as_each_user(|stage| {
        let root = "[[root]]\nname = \"p\"\npath = \".\"\ndeny = [\"a.txt\"]\n";
        put(stage, &format!("{root}[root.quota]\nbytes = \"64KiB\"\n"));
        // The policy has no preset: `.env` is a file like any other.
        let script = "cat .env a.txt; echo new > new.txt; head -c 200000 /dev/zero > large";
        let told = stage.run(&["--policy", "policy.toml"], script);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert_eq!(told.out, "SECRET=1\n");
        assert!(told.words.contains("a.txt: Permission denied"), "{told:?}");
        assert!(told.words.contains("No space left"), "{told:?}");
        assert!(!stage.base("new.txt").exists());
        // The same policy finds its session again; another one, and none, do not fit it.
        let again = stage.run(&["--policy", "policy.toml"], "cat new.txt");
        assert_eq!((again.code, again.out.as_str()), (Some(0), "new\n"));
        put(stage, &format!("{root}[root.quota]\nbytes = \"65KiB\"\n"));
        let other = stage.run(&["--policy", "policy.toml"], "true");
        assert_eq!(other.code, Some(2), "{other:?}");
        assert!(other.words.contains("by another policy"), "{other:?}");
        let rules = stage.run(&["--protect", "workspace"], "true");
        assert_eq!(rules.code, Some(2), "{rules:?}");
    });
}

#[test]
fn a_read_only_policy_lets_nothing_be_changed() {
    as_each_user(|stage| {
        put(
            stage,
            "[[root]]\nname = \"p\"\npath = \".\"\nmode = \"read-only\"\n",
        );
        let told = stage.run(&["--policy", "policy.toml"], "cat a.txt; echo x > new.txt");
        assert_ne!(told.code, Some(0), "{told:?}");
        assert_eq!(told.out, "from the base\n");
        assert!(!stage.base("new.txt").exists());
    });
}

#[test]
fn a_policy_that_a_run_cannot_keep_is_refused() {
    as_each_user(|stage| {
        let one = |more: &str| format!("[[root]]\nname = \"p\"\npath = \".\"\n{more}");
        let cases = [
            (
                format!("{}[[root]]\nname = \"q\"\npath = \"src\"\n", one("")),
                "several roots",
            ),
            (
                "[[root]]\nname = \"p\"\npath = \"src\"\n".to_owned(),
                "not the project",
            ),
            (
                "[[root]]\nname = \"p\"\npath = \"nowhere\"\n".to_owned(),
                "not the project",
            ),
            (one("mode = \"memory\"\n"), "left to review"),
            (one("dney = [\"a\"]\n"), "dney"),
            (one("links = \"refuse\"\n"), "follows links"),
        ];
        for (text, why) in cases {
            put(stage, &text);
            let told = stage.run(&["--policy", "policy.toml"], "true");
            assert_eq!(told.code, Some(2), "{text}: {told:?}");
            assert!(told.words.contains(why), "{text}: {told:?}");
        }
        let missing = stage.run(&["--policy", "missing.toml"], "true");
        assert_eq!(missing.code, Some(2), "{missing:?}");
        let both = stage.run(&["--policy", "policy.toml", "--deny", "x"], "true");
        assert_eq!(both.code, Some(2), "{both:?}");
    });
}
