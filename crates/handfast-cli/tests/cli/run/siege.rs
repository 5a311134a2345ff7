//! A siege: two processes inside of a run and one outside of it work on the same project. No secret is
//! read, nothing happens outside, and nothing that a rule protects is committed unnamed.
//!
//! The control is a sandbox as others build it: its denials are mounts that were made at the start.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::attacks::{PYTHON, has_python};
use super::stage::{Stage, Told, as_each_user};

const SIEGE: &str = include_str!("siege.py");

/// A sandbox whose denials are mounts that are made at its start, over what is there then.
pub(super) const NAIVE: &str = "mount --make-rprivate /; for file in .env .env.*; do \
     test ! -f \"$file\" || mount --bind /dev/null \"$file\"; done;";

/// A command in that sandbox, in the project.
pub(super) fn naive(stage: &Stage, args: &[&str]) -> Command {
    let prelude = format!(
        "shift; exec unshare --user --map-root-user --mount sh -c '{NAIVE} exec \"$@\"' sh \"$@\";"
    );
    stage.command(&prelude, args)
}

/// What somebody does outside to the base, until told to end. The secret never has a name that no rule
/// speaks of: a program may read such a name in the moment in which it is taken away (docs/run.md).
fn outside(inside: &Path, ends: &AtomicBool) -> usize {
    let at = |name: &str| inside.join(name);
    let mut rounds = 0;
    while !ends.load(Ordering::SeqCst) {
        rounds += 1;
        drop(std::fs::write(at(".env.local"), "SECRET=2\n"));
        drop(std::fs::rename(at(".env.local"), at(".env.swap")));
        drop(std::fs::hard_link(at(".env"), at(".env.hard")));
        drop(symlink(".env", at("names")));
        drop(std::fs::create_dir(at("outer")));
        drop(std::fs::write(at("outer/.env"), "SECRET=3\n"));
        drop(std::fs::rename(at("outer"), at("inner")));
        std::thread::sleep(Duration::from_millis(1));
        drop(std::fs::rename(at("inner"), at("outer")));
        drop(std::fs::rename(at("names"), at("renamed")));
        for name in [".env.hard", "names", "renamed", ".env.swap"] {
            drop(std::fs::remove_file(at(name)));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    rounds
}

/// Runs a command while somebody works on the base. What it said, and how often that was.
fn besiege(stage: &Stage, mut command: Command) -> (Told, usize) {
    let ends = AtomicBool::new(false);
    let inside = stage.scratch.inside();
    std::thread::scope(|scope| {
        let outer = scope.spawn(|| outside(&inside, &ends));
        let told = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output();
        ends.store(true, Ordering::SeqCst);
        (Told::from(told.unwrap()), outer.join().unwrap())
    })
}

/// The numbers that the program tells: secrets, reads, rounds; and which.
fn numbers(told: &Told) -> ([usize; 3], String) {
    let mut words = told.out.split_whitespace();
    let mut number = || words.next().and_then(|word| word.parse().ok());
    let all = [number(), number(), number()];
    let [Some(secrets), Some(reads), Some(rounds)] = all else {
        panic!("{told:?}");
    };
    (
        [secrets, reads, rounds],
        words.next().unwrap_or_default().to_owned(),
    )
}

#[test]
fn a_siege_from_inside_and_outside_reads_no_secret_and_has_no_effect_outside() {
    if !has_python("a siege of a run") {
        return;
    }
    let seconds = std::env::var("HANDFAST_RUN_SIEGE").unwrap_or_else(|_| "2".to_owned());
    as_each_user(|stage| {
        for dir in ["conf", "other", ".ssh"] {
            stage.scratch.file(&format!("{dir}/.env"), "SECRET=4\n");
            stage.scratch.file(&format!("{dir}/plain"), "plain\n");
        }
        stage.scratch.file(".ssh/id", "SECRET=5\n");
        stage.hand_over();
        let beyond = stage.scratch.outside();
        let away = beyond.to_str().unwrap();
        let program = [PYTHON, "-c", SIEGE, &seconds, away];
        let run = [
            &["run", "--quiet", "--session", "siege", "--"][..],
            &program,
            &["run"],
        ]
        .concat();
        let (told, outer) = besiege(stage, stage.command("", &run));
        let ([secrets, reads, rounds], which) = numbers(&told);
        println!(
            "as {}: {reads} reads, {rounds} rounds inside, {outer} outside",
            stage.user
        );
        assert_eq!((secrets, which.as_str()), (0, "-"), "{told:?}");
        assert!(reads > 0 && rounds > 0 && outer > 0, "{told:?}");
        if reads < 200 || rounds < 10 || outer < 10 {
            println!("starved: too few turns for a siege");
        }
        untouched(stage, &beyond);
        // Everything is committed that may be without being named.
        let done = stage.handfast(&["session", "commit", "--yes", "--skip-conflicts", "siege"]);
        assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
        let text = |name: &str| std::fs::read_to_string(stage.base(name)).unwrap_or_default();
        assert!(!stage.base(".git/hooks/post-commit").exists(), "{done:?}");
        assert!(!text(".git/config").contains("PLANTED"), "{done:?}");
        assert_eq!(text(".env"), "SECRET=1\n", "{done:?}");
        untouched(stage, &beyond);
        // The control: the same program behind mounts that were made at the start.
        let (told, _) = besiege(stage, naive(stage, &[&program[..], &["control"]].concat()));
        let ([secrets, ..], which) = numbers(&told);
        println!("the control read {secrets} secrets, such as {which}");
        assert!(secrets > 0, "the control reads nothing: {told:?}");
    });
}

/// Nothing happened outside of the project.
fn untouched(stage: &Stage, beyond: &Path) {
    let secret = std::fs::read(beyond.join("secret")).unwrap();
    assert_eq!(secret, b"SECRET=outside\n");
    assert_eq!(std::fs::read_dir(beyond).unwrap().count(), 1);
    let home = std::fs::read(stage.scratch.path.join("home/.ssh/id")).unwrap();
    assert_eq!(home, b"SECRET=home\n");
    for path in ["/made", "/usr/made", "/etc/made"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
}
