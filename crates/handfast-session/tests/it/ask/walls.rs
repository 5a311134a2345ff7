//! Walls that a process can be put behind, for tests about who may answer. Shared with the tests of the
//! command line.

use std::process::{Command, Stdio};

/// A PID namespace of its own, as programs in a run have, and no way to get more rights. Each is a command
/// that runs another.
const WALLS: [&[&str]; 2] = [
    &[
        "unshare",
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ],
    &["setpriv", "--no-new-privs"],
];

/// A command that runs another one behind a wall, for every wall that this machine can build and that
/// makes a difference here.
///
/// # Panics
/// If there is none.
pub(crate) fn walls(skip: impl Fn(&str, &str)) -> Vec<Command> {
    let behind = |wall: &[&str]| {
        let mut command = Command::new(wall[0]);
        command.args(&wall[1..]).stdin(Stdio::null());
        command
    };
    let mut found = Vec::new();
    for wall in WALLS {
        let works = behind(wall).arg("true").output();
        let works = works.is_ok_and(|output| output.status.success());
        // Where the one who asks has no more rights, that wall makes no difference.
        let differs = wall[0] != "setpriv" || !has_no_new_privs();
        match works && differs {
            true => found.push(behind(wall)),
            false => skip("an answer from behind a wall", wall[0]),
        }
    }
    assert!(!found.is_empty(), "no wall could be built here");
    found
}

/// Whether this process is behind such a wall itself, as it is where system calls are masked.
fn has_no_new_privs() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line == "NoNewPrivs:\t1")
}
