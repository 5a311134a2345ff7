//! Leases beside other users, a service manager and the witness.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::lease::Served;
use crate::support::{Run, Scratch, binary, handfast, skip};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn against_another_user_a_closed_root_is_a_wall() {
    if !rustix::process::geteuid().is_root() {
        skip(
            "a broker under its own user",
            "only root can start programs as somebody else",
        );
        return;
    }
    const OTHER: u32 = 65_533;
    let scratch = Scratch::new();
    scratch.file("src/a.txt", "alpha");
    std::fs::set_permissions(scratch.inside(), std::fs::Permissions::from_mode(0o700)).unwrap();
    // Where the other user can reach the socket and the program.
    let open = PathBuf::from(format!("{}-open", scratch.path.display()));
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = open.join("handfast");
    std::fs::copy(binary(), &program).unwrap();
    let policy = scratch.path.join("policy.toml");
    let text = format!(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"{}\"\nmount = \"/\"\nmode = \"read-write\"\n\
         [[allow]]\nuid = {OTHER}\nverbs = [\"read\"]\n",
        scratch.inside().display()
    );
    std::fs::write(&policy, text).unwrap();
    let socket = open.join("b.sock");
    let broker = handfast(&[
        "--json".as_ref(),
        "serve".as_ref(),
        "--policy".as_ref(),
        policy.as_os_str(),
        "--socket".as_ref(),
        socket.as_os_str(),
        "--state".as_ref(),
        scratch.path.join("state").as_os_str(),
    ]);
    let served = Served::started(scratch, broker);
    let boundary = served.said["boundary"].to_string();
    assert!(
        boundary.contains("wall: another user reaches"),
        "{boundary}"
    );
    let other = |args: &[&str]| {
        let run = || {
            Command::new(&program)
                .args(["lease", "--socket", socket.to_str().unwrap()])
                .args(args)
                .uid(OTHER)
                .gid(OTHER)
                .current_dir("/")
                .output()
        };
        // A child that another test starts holds the fresh copy open for writing until it has
        // become its own program.
        let out = loop {
            match run() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                out => break out.unwrap(),
            }
        };
        (out.status.code(), String::from_utf8(out.stdout).unwrap())
    };
    let (code, id) = other(&["acquire", "--paths", "**", "--verbs", "read"]);
    assert_eq!(code, Some(0));
    assert!(id.starts_with(&format!("u{OTHER}/")), "{id}");
    assert_eq!(
        other(&["open", id.trim_end(), "src/a.txt"]),
        (Some(0), "alpha".to_owned())
    );
    assert_eq!(
        other(&["acquire", "--paths", "**", "--verbs", "write"]).0,
        Some(1)
    );
    let direct = Command::new("cat")
        .arg(served.scratch.at("src/a.txt"))
        .uid(OTHER)
        .gid(OTHER)
        .output()
        .unwrap();
    assert!(!direct.status.success(), "the file is open to others");
    // Root is not named by the policy: it gets no lease, and its books are kept all the same.
    let run = Run::of(
        &[
            "lease",
            "--socket",
            socket.to_str().unwrap(),
            "acquire",
            "--paths",
            "**",
            "--verbs",
            "read",
        ],
        b"",
        PATIENCE,
    );
    assert_eq!(run.code, 1, "{run:?}");
    std::fs::remove_dir_all(&open).unwrap();
}

#[test]
fn a_service_manager_passes_the_socket_and_hears_that_it_is_ready() {
    let scratch = Scratch::new();
    scratch.file("top.txt", "top");
    std::fs::create_dir(scratch.path.join("s")).unwrap();
    let listener = UnixListener::bind(scratch.path.join("s/b.sock")).unwrap();
    let manager = UnixDatagram::bind(scratch.path.join("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg("exec 3<&0 0</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\"")
        .arg("sh")
        .arg(binary())
        .args(["--json", "serve"])
        .arg(scratch.inside())
        .arg("--state")
        .arg(scratch.path.join("state"))
        .env("NOTIFY_SOCKET", scratch.path.join("notify"))
        .env("WATCHDOG_USEC", "400000")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)));
    let served = Served::started(scratch, command);
    let mut buffer = [0; 256];
    let got = manager.recv(&mut buffer).unwrap();
    assert!(buffer[..got].starts_with(b"READY=1\n"));
    let id = served.acquire(&["--paths", "**", "--verbs", "read"]);
    assert_eq!(served.lease(&["open", &id, "top.txt"], b"").text(), "top");
    // It goes on to say that it is alive.
    for _ in 0..3 {
        let got = manager.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..got], b"WATCHDOG=1\nSTATUS=accepting connections");
    }
}

#[test]
fn the_policy_names_a_program_and_the_witness_tells() {
    let scratch = Scratch::new();
    scratch.file("top.txt", "top");
    let own = std::fs::canonicalize(binary()).unwrap();
    let start = |scratch: Scratch, exe: &str| {
        let policy = scratch.path.join("policy.toml");
        let text = format!(
            "version = 1\n[[root]]\nname = \"ws\"\npath = \"{}\"\nmount = \"/\"\nmode = \"read-only\"\n\
             [[allow]]\nexe = \"{exe}\"\n",
            scratch.inside().display()
        );
        std::fs::write(&policy, text).unwrap();
        let broker = handfast(&[
            "--json".as_ref(),
            "serve".as_ref(),
            "--policy".as_ref(),
            policy.as_os_str(),
            "--socket".as_ref(),
            scratch.path.join("s/b.sock").as_os_str(),
            "--state".as_ref(),
            scratch.path.join("state").as_os_str(),
        ]);
        Served::started(scratch, broker)
    };
    let served = start(scratch, own.to_str().unwrap());
    if !rustix::process::geteuid().is_root() {
        // Which file another user's process runs is root's to know: the rule is refused.
        assert!(served.said["error"].is_object(), "{}", served.said);
        skip(
            "a rule that names a program",
            "only root sees whose program runs",
        );
        return;
    }
    let id = served.acquire(&["--paths", "**", "--verbs", "read"]);
    assert_eq!(served.lease(&["open", &id, "top.txt"], b"").text(), "top");
    drop(served);
    let scratch = Scratch::new();
    let served = start(scratch, "/usr/bin/somebody-else");
    let refused = served.lease(
        &["acquire", "--paths", "**", "--verbs", "read", "--json"],
        b"",
    );
    refused.refused("Denied");
}
