//! Attacks from inside a run.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use super::stage::as_each_user;
use crate::support::skip;

pub(super) const PYTHON: &str = "/usr/bin/python3";

pub(super) fn has_python(test: &str) -> bool {
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
        s = socket.socket(socket.AF_UNIX)
        s.connect(path.replace("@", "\0", 1)); print("reached", path)
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
        // And one without a path, which no mount hides.
        let unnamed = format!("handfast-test-{}-{}", std::process::id(), stage.user);
        let address = SocketAddr::from_abstract_name(&unnamed).unwrap();
        let _unnamed = UnixListener::bind_addr(&address).unwrap();
        let unnamed = format!("@{unnamed}");
        let [one, two, three] = paths.each_ref().map(|path| path.to_str().unwrap());
        let shown = [one, two, three, &unnamed];
        let naive = Command::new(PYTHON)
            .args(["-c", CONNECT])
            .args(shown)
            .output();
        let naive = String::from_utf8(naive.unwrap().stdout).unwrap();
        assert_eq!(naive.matches("reached").count(), 4, "the control: {naive}");
        let args = [&["run", "--", PYTHON, "-c", CONNECT][..], &shown].concat();
        let told = stage.handfast(&args);
        // An older kernel cannot hide the last one, and a run says so.
        let refused = if told.words.contains("abstract Unix sockets") {
            3
        } else {
            4
        };
        assert_eq!(told.out.matches("refused").count(), refused, "{told:?}");
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
