//! Settings that make git run a program: a run may write them anywhere, and a commit of everything takes
//! none of them. Each way is also tried by hand, without a run: there the program has to run.

use std::path::Path;
use std::process::Command;

use super::stage::{Stage, Told, as_each_user};

/// A way to make the next `git status` of a person run a program, and where that person types it.
struct Way {
    name: &'static str,
    script: &'static str,
    dir: &'static str,
}

const WAYS: &[Way] = &[
    Way {
        name: "the settings of a submodule",
        script: "git config -f .git/modules/sub/config core.fsmonitor \"touch $mark;:\"",
        dir: "sub",
    },
    Way {
        name: "a worktree that is led to other settings",
        script: "mkdir .git/evil; cp -r .git/HEAD .git/refs .git/objects .git/config .git/evil; \
                 git config -f .git/evil/config core.fsmonitor \"touch $mark;:\"; \
                 echo ../../evil > .git/worktrees/w/commondir",
        dir: "../w",
    },
    Way {
        name: "a submodule that is led to other settings",
        script: "cp -r .git/modules/sub evil; git config -f evil/config core.worktree ../sub; \
                 git config -f evil/config core.fsmonitor \"touch $mark;:\"; \
                 echo 'gitdir: ../evil' > sub/.git",
        dir: "sub",
    },
    Way {
        name: "a new repository",
        script: "git init -q nest; git config -f nest/.git/config core.fsmonitor \"touch $mark;:\"",
        dir: "nest",
    },
];

fn git(dir: &Path, args: &[&str]) -> Told {
    let settings = [
        "user.name=a",
        "user.email=a@b",
        "safe.directory=*",
        "protocol.file.allow=always",
    ];
    let done = Command::new("git")
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    Told::from(done)
}

/// The project, with a submodule in it and a worktree beside it.
fn prepare(stage: &Stage) {
    let (inside, lib) = (stage.scratch.inside(), stage.scratch.path.join("lib"));
    std::fs::create_dir(&lib).unwrap();
    std::fs::write(lib.join("l"), "l").unwrap();
    for (dir, args) in [
        (&lib, &["init", "-q"][..]),
        (&lib, &["add", "l"]),
        (&lib, &["commit", "-qm", "l"]),
        (&inside, &["add", "a.txt"]),
        (&inside, &["submodule", "--quiet", "add", "../lib", "sub"]),
        (&inside, &["commit", "-qm", "first"]),
        (&inside, &["worktree", "add", "-q", "../w"]),
    ] {
        let told = git(dir, args);
        assert_eq!(told.code, Some(0), "git {args:?}: {told:?}");
    }
    stage.hand_over();
}

#[test]
fn no_commit_of_everything_makes_git_run_a_program() {
    for way in WAYS {
        as_each_user(|stage| {
            prepare(stage);
            let mark = stage.scratch.path.join("ran");
            let script = format!("mark={}; {}", mark.display(), way.script);
            let told = Told::from(
                stage
                    .command(
                        "",
                        &[
                            "run",
                            "--quiet",
                            "--session",
                            "s",
                            "--",
                            "sh",
                            "-c",
                            &script,
                        ],
                    )
                    .output()
                    .unwrap(),
            );
            assert_eq!(told.code, Some(0), "{}: {told:?}", way.name);
            // What came before the commit does not count.
            drop(std::fs::remove_file(&mark));
            let done = stage.handfast(&["session", "commit", "--yes", "s"]);
            assert_eq!(done.code, Some(0), "{}: {done:?}", way.name);
            assert!(done.words.contains("wait"), "{}: {done:?}", way.name);
            let at = stage.scratch.inside().join(way.dir);
            git(&at, &["status", "--short"]);
            assert!(!mark.exists(), "{}: the program ran", way.name);
            // The control: the same script without a run.
            let by_hand = Command::new("sh")
                .args(["-c", &script])
                .current_dir(stage.scratch.inside())
                .output()
                .unwrap();
            assert!(by_hand.status.success(), "{}: {by_hand:?}", way.name);
            drop(std::fs::remove_file(&mark));
            git(&at, &["status", "--short"]);
            assert!(
                mark.exists(),
                "{}: git runs nothing, so nothing is shown",
                way.name
            );
        });
    }
}

#[test]
fn rules_that_an_earlier_run_left_are_told() {
    as_each_user(|stage| {
        let first = stage.handfast(&["run", "--protect", "none", "--", "true"]);
        assert_eq!(first.code, Some(0), "{first:?}");
        assert!(!first.words.contains("weaker: this session"), "{first:?}");
        let second = stage.handfast(&["run", "--", "true"]);
        let said = "weaker: this session was made without rules";
        assert!(second.words.contains(said), "{second:?}");
        let usual = stage.handfast(&["run", "--session", "usual", "--", "true"]);
        let again = stage.handfast(&["run", "--session", "usual", "--", "true"]);
        for told in [usual, again] {
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(!told.words.contains("weaker: this session"), "{told:?}");
        }
    });
}
