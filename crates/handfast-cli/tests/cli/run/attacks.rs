//! Attacks from inside a run, and runs that are killed.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::stage::{Stage, as_each_user};
use crate::support::skip;

const PYTHON: &str = "/usr/bin/python3";

fn has_python(test: &str) -> bool {
    let found = std::path::Path::new(PYTHON).exists();
    if !found {
        skip(test, "there is no python3 in /usr/bin");
    }
    found
}

/// Says `reached` for every socket that can be connected to.
const CONNECT: &str = r#"
import socket, sys
for path in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path); print("reached", path)
    except OSError as error:
        print("refused", error.errno)
"#;

#[test]
fn no_socket_of_the_host_is_reached_by_its_path() {
    if !has_python("sockets of the host") {
        return;
    }
    as_each_user(|stage| {
        // One beside the project, one in it, and one in the shared directory for sockets.
        let granted = stage.scratch.path.join("granted/agent.sock");
        let paths = [
            stage.scratch.outside().join("broker.sock"),
            stage.base("agent.sock"),
            stage.scratch.path.join("home/.ssh/agent.sock"),
        ];
        let listeners = paths
            .each_ref()
            .map(|path| UnixListener::bind(path).unwrap());
        let _granted = UnixListener::bind(&granted).unwrap();
        stage.hand_over();
        let shown = paths.each_ref().map(|path| path.to_str().unwrap());
        let naive = Command::new(PYTHON)
            .args(["-c", CONNECT])
            .args(shown)
            .output();
        let naive = String::from_utf8(naive.unwrap().stdout).unwrap();
        assert_eq!(naive.matches("reached").count(), 3, "the control: {naive}");
        let args = [&["run", "--quiet", "--", PYTHON, "-c", CONNECT][..], &shown].concat();
        let told = stage.handfast(&args);
        assert_eq!(told.out.matches("refused").count(), 3, "{told:?}");
        drop(listeners);
    });
}

/// Opens a file often while a timer interrupts, and counts what was interrupted. The library's own
/// `open` is called: Python would try again by itself.
const OPEN: &str = r#"
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
ticks = [0]
def tick(*_): ticks[0] += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
interrupted = failed = 0
for _ in range(int(sys.argv[1])):
    fd = libc.open(b"a.txt", os.O_RDONLY)
    if fd < 0:
        if ctypes.get_errno() == 4: interrupted += 1
        else: failed += 1
    else: libc.close(fd)
signal.setitimer(signal.ITIMER_REAL, 0)
print(interrupted, failed, "ticks" if ticks[0] > 10 else "starved")
"#;

#[test]
fn no_open_is_interrupted_by_a_timer() {
    if !has_python("interrupted opens") {
        return;
    }
    let count = std::env::var("HANDFAST_RUN_OPENS").unwrap_or_else(|_| "3000".to_owned());
    as_each_user(|stage| {
        let told = stage.handfast(&["run", "--quiet", "--", PYTHON, "-c", OPEN, &count]);
        let [interrupted, failed, ticked] = told.out.split_whitespace().collect::<Vec<_>>()[..]
        else {
            panic!("{told:?}");
        };
        assert_eq!((interrupted, failed), ("0", "0"), "{told:?}");
        if ticked == "starved" {
            println!("starved: the timer hardly ticked in {count} opens");
        }
    });
}

/// Changes names and content without an end, and says where it is.
const BUSY: &str = "n=0; while :; do n=$((n+1)); echo $n > f.$n; mkdir d.$n; ln f.$n d.$n/g; \
     mv f.$n d.$n/h; echo more >> a.txt; rm -r d.$n; mkdir kept.$n; echo done $n; done";

/// Starts it, waits for some rounds and a moment more, and kills the server.
fn killed(stage: &Stage, rounds: u64) {
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
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_that_is_killed_at_any_step_leaves_base_and_session_whole() {
    let kills = std::env::var("HANDFAST_RUN_KILLS").map_or(6, |text| text.parse().unwrap());
    as_each_user(|stage| {
        for rounds in 0..kills {
            killed(stage, rounds);
            let told = stage.run(
                &["--quiet", "--session", "k"],
                "for f in a.txt f.* d.*/*; do test -e $f || continue; cat $f > /dev/null || exit 9; done; \
                 head -1 a.txt; grep -vc -e more -e base a.txt",
            );
            assert_eq!(told.out, "from the base\n0\n", "after {rounds}: {told:?}");
            assert_eq!(told.words, "", "after {rounds}: {told:?}");
            // Every name that is listed has its content: the review reads all of it.
            let diff = stage.handfast(&["session", "diff", "--names", "k"]);
            let quiet = matches!(diff.words.as_str(), "" | "nothing was changed\n");
            assert!(quiet, "after {rounds}: {diff:?}");
            assert_eq!(
                diff.out.contains("kept.1/"),
                rounds > 0,
                "after {rounds}: {diff:?}"
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
