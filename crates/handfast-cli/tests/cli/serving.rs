//! `serve` in an operator's hands, and what a confined program reaches.

use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;

use crate::lease::Served;
use crate::support::{Run, Scratch, skip};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_broker_ends_at_sigterm_and_outlives_sighup() {
    let mut served = Served::new();
    let signal = |served: &Served, signal| {
        let pid = rustix::process::Pid::from_child(&served.broker);
        rustix::process::kill_process(pid, signal).unwrap();
    };
    signal(&served, rustix::process::Signal::HUP);
    let id = served.acquire(&["--paths", "**", "--verbs", "read"]);
    assert_eq!(served.lease(&["open", &id, "top.txt"], b"").text(), "top");
    signal(&served, rustix::process::Signal::TERM);
    assert_eq!(served.broker.wait().unwrap().code(), Some(0));
}

#[test]
fn a_policy_is_checked_without_serving() {
    let scratch = Scratch::new();
    let policy = scratch.path.join("policy.toml");
    let serve = |text: &str| {
        std::fs::write(&policy, text).unwrap();
        Run::of(
            &["serve", "--check", "--policy", policy.to_str().unwrap()],
            b"",
            PATIENCE,
        )
    };
    let root = "version = 1\n[[root]]\nname = \"ws\"\npath = \"in\"\nmount = \"/ws\"\nmode = \"read-write\"\n";
    let run = serve(&format!(
        "{root}[[allow]]\nuid = 7\npaths = [\"src/**\"]\nverbs = [\"read\"]\n"
    ));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.text(),
        "root ws at /ws: read-write, links are followed beneath\n\
         rule 1: Uid(7) may read src/** in /ws\n"
    );
    for (wrong, why) in [
        (
            "[[allow]]\nuid = 7\nverbs = [\"fly\"]\n",
            "unknown verb `fly`",
        ),
        ("[limits]\nseats = 7\n", "seats"),
        ("[[allow]\n", "line 7"),
    ] {
        let run = serve(&format!("{root}{wrong}"));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.stderr.contains("policy.toml") && run.stderr.contains(why),
            "{run:?}"
        );
    }
}

#[test]
fn b8_a_confined_program_reaches_no_process_outside() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    if handfast::harden::offered() == handfast::harden::Wall::None {
        skip("a confined program", "this kernel has no Landlock");
        return;
    }
    let served = Served::new();
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    let name = format!("hf-b8-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "kill -9 {} 2>/dev/null && echo KILLED; \
         python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")' 2>/dev/null && echo CONNECTED; \
         echo done",
        victim.id()
    );
    let run = |confine: &[&str]| {
        let args = [
            "--paths", "**", "--verbs", "read", "--", "sh", "-c", &script,
        ];
        served.lease(&[&["run"], confine, &args].concat(), b"")
    };
    let confined = run(&["--confine"]);
    let lives = victim.try_wait().unwrap().is_none();
    // The control: without the wall both are reached.
    let free = run(&[]);
    victim.wait().unwrap();
    drop(listener);
    assert_eq!(free.text(), "KILLED\nCONNECTED\ndone\n", "{free:?}");
    assert_eq!((confined.text(), lives), ("done\n", true), "{confined:?}");
}
