//! Runs that are killed, at any step and whichever process is: the base is untouched, and the session is
//! whole.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use super::stage::{Stage, as_each_user};

/// Changes names and content without an end, and says where it is.
const BUSY: &str = "n=0; while :; do n=$((n+1)); echo $n > f.$n; mkdir d.$n; ln f.$n d.$n/g; \
     mv f.$n d.$n/h; echo more >> a.txt; rm -r d.$n; mkdir kept.$n; echo done $n; done";

/// Which process of a run is killed. There is no other: nothing outlives these three.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Victim {
    Server,
    /// The first process inside, which reaps the others.
    First,
    Program,
}

/// A child of a process, if it has one.
fn child_of(parent: u32) -> Option<u32> {
    let all = std::fs::read_dir("/proc").unwrap();
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut children = pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    });
    children.next()
}

/// Starts it, waits for some rounds and a moment more, and kills a process of the run. Before the first
/// round it is killed somewhere in its start.
fn killed(stage: &Stage, rounds: u64, victim: Victim) {
    let args = ["run", "--quiet", "--session", "k", "--", "sh", "-c", BUSY];
    let mut child = stage
        .command("", &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..rounds {
        line.clear();
        out.read_line(&mut line).unwrap();
    }
    // Every round ends at another step of the script.
    std::thread::sleep(Duration::from_micros(rounds * 1_700));
    let victim = match victim {
        Victim::Server => Some(child.id()),
        Victim::First => child_of(child.id()),
        Victim::Program => child_of(child.id()).and_then(child_of),
    };
    match victim.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
        // Gone already, or not there yet: then the server is killed.
        None => child.kill().unwrap(),
        Some(pid) => {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    // Whichever it was, the run ends, and no process of it goes on.
    let ended = child.wait().unwrap();
    assert!(
        ended.signal() == Some(9) || ended.code() == Some(137),
        "{ended:?}"
    );
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
}

/// A moment of the start, killed at its server.
fn killed_at_start(stage: &Stage, moment: u64) {
    let args = ["run", "--quiet", "--session", "k", "--", "sh", "-c", BUSY];
    let mut command = stage.command("", &args);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(3 * moment));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_that_is_killed_at_any_step_leaves_base_and_session_whole() {
    let kills = std::env::var("HANDFAST_RUN_KILLS").map_or(6, |text| text.parse().unwrap());
    as_each_user(|stage| {
        let victims = [Victim::Server, Victim::First, Victim::Program];
        for (rounds, victim) in (0..kills).flat_map(|step| victims.map(|victim| (step, victim))) {
            match (rounds, victim) {
                (0, Victim::Server) => (0..kills).for_each(|moment| killed_at_start(stage, moment)),
                (0, _) => continue,
                _ => killed(stage, rounds, victim),
            }
            let told = stage.run(
                &["--quiet", "--session", "k"],
                "for f in a.txt f.* d.*/*; do test -e $f || continue; cat $f > /dev/null || exit 9; done; \
                 head -1 a.txt; grep -vc -e more -e base a.txt",
            );
            assert_eq!(
                told.out, "from the base\n0\n",
                "after {rounds}, {victim:?}: {told:?}"
            );
            assert_eq!(told.words, "", "after {rounds}, {victim:?}: {told:?}");
            // Every name that is listed has its content: the review reads all of it.
            let diff = stage.handfast(&["session", "diff", "--names", "k"]);
            let quiet = matches!(diff.words.as_str(), "" | "nothing was changed\n");
            assert!(quiet, "after {rounds}, {victim:?}: {diff:?}");
            let has_work = diff.out.contains("kept.1/");
            assert!(
                has_work || rounds == 0,
                "after {rounds}, {victim:?}: {diff:?}"
            );
            assert!(super::is_unmounted(&stage.scratch.inside()));
        }
        let base = std::fs::read(stage.base("a.txt")).unwrap();
        assert_eq!(base, b"from the base\n");
        let names = std::fs::read_dir(stage.scratch.inside()).unwrap();
        let stray = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains('.') && name.contains("handfast"))
            .count();
        assert_eq!(stray, 0);
        assert!(!stage.base("kept.1").exists());
    });
}
