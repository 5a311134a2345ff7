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
    std::fs::create_dir_all(scratch.path.join("in")).unwrap();
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
         rule 1 (line 7): uid 7 may read src/** in /ws\n"
    );
    for (wrong, why) in [
        (
            "[[allow]]\nuid = 7\nverbs = [\"fly\"]\n",
            "line 9: the policy is not valid: [[allow]]: unknown verb `fly`",
        ),
        ("[limits]\nseats = 7\n", "line 8: "),
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

/// What a start would refuse is refused by the check, with the line.
#[test]
fn a_check_refuses_what_a_start_would() {
    let scratch = Scratch::new();
    let policy = scratch.path.join("policy.toml");
    std::fs::create_dir_all(scratch.path.join("in")).unwrap();
    let check = |dir: &str, rest: &str| {
        let root = "version = 1\n[[root]]\nname = \"ws\"\nmount = \"/\"\nmode = \"read-only\"\n";
        std::fs::write(&policy, format!("{root}path = \"{dir}\"\n{rest}")).unwrap();
        // As a new user writes it.
        Run::of(
            &["serve", "--check", policy.to_str().unwrap()],
            b"",
            PATIENCE,
        )
    };
    let good = check("in", "[[allow]]\nuid = 7\n");
    assert_eq!(good.code, 0, "{good:?}");
    assert!(good.text().contains("rule 1 (line 7): uid 7"), "{good:?}");
    let id = "[[allow]]\nuid = 8\n[[allow]]\nspiffe_id = \"spiffe://a.org/b\"\n";
    for (dir, rest, why) in [
        ("nowhere", "", "line 2: the directory"),
        ("in", id, "line 9: [[allow]] `spiffe_id`"),
    ] {
        let run = check(dir, rest);
        assert_eq!(run.code, 2, "{run:?}");
        let named = run.stderr.contains("policy.toml") && run.stderr.contains(why);
        assert!(named, "{why}: {run:?}");
    }
    let none = Run::of(&["serve", "--check"], b"", PATIENCE);
    assert_eq!(none.code, 2, "{none:?}");
}

/// Whether the kernel keeps signals and abstract sockets within the wall.
fn has_scopes() -> bool {
    use landlock::{ABI, Access, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::from_all(ABI::V6))
        .and_then(Ruleset::create)
        .is_ok()
}

#[test]
fn b8_a_confined_program_reaches_no_process_outside() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    if !has_scopes() {
        let why = "this kernel's Landlock has no scopes (ABI 6, Linux 6.12)";
        skip("a confined program", why);
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

#[test]
fn the_policy_is_read_once() {
    use rustix::fs::inotify;
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path.join("in")).unwrap();
    let policy = scratch.path.join("policy.toml");
    let text = "version = 1\n[[root]]\nname = \"ws\"\npath = \"in\"\nmount = \"/ws\"\nmode = \"read-write\"\n";
    std::fs::write(&policy, text).unwrap();
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK);
    let watch = watch.unwrap();
    // The closing too: two equal events in a row are told as one.
    let flags = inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE_NOWRITE;
    inotify::add_watch(&watch, &policy, flags).unwrap();
    let checked = ["serve", "--check", "--policy", policy.to_str().unwrap()];
    assert_eq!(Run::of(&checked, b"", PATIENCE).code, 0);
    let mut space = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut space);
    let mut opened = 0;
    while let Ok(event) = events.next() {
        opened += u32::from(event.events().contains(inotify::ReadFlags::OPEN));
    }
    assert_eq!(
        opened, 1,
        "what is enforced may be another text than what the log names"
    );
}

#[test]
fn a_socket_that_cannot_be_bound_is_told_for_what_it_is() {
    let scratch = Scratch::new();
    scratch.file("file", "");
    let dir = scratch.inside();
    let serve = |more: &[&str]| {
        let args = ["--json", "serve", dir.to_str().unwrap(), "--state"];
        let state = scratch.path.join("state");
        Run::of(
            &[&args[..], &[state.to_str().unwrap()], more].concat(),
            b"",
            PATIENCE,
        )
    };
    let long = scratch.path.join("x".repeat(120));
    for path in [long, dir.join("file/sock"), dir.clone(), dir.join("file")] {
        let run = serve(&["--socket", path.to_str().unwrap()]);
        assert_eq!(run.json()["error"]["kind"], "Invalid", "{run:?}");
        assert_eq!(run.code, 2, "{run:?}");
    }
    assert!(
        dir.join("file").is_file(),
        "it was taken for a socket that was left"
    );
    // One that is taken is another matter.
    let taken = scratch.path.join("taken");
    let listener = UnixListener::bind(&taken).unwrap();
    let run = serve(&["--socket", taken.to_str().unwrap()]);
    assert_eq!(run.json()["error"]["kind"], "Busy", "{run:?}");
    drop(listener);
    let run = serve(&["--spiffe-audience", "somebody"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--spiffe-domain"), "{run:?}");
}

#[test]
fn a_probe_asks_whether_the_broker_is_ready() {
    let mut served = Served::new();
    let socket = served.scratch.path.join("s/b.sock");
    let probe = || {
        let args = [
            "serve",
            "--health-check",
            "--socket",
            socket.to_str().unwrap(),
        ];
        Run::of(&args, b"", PATIENCE)
    };
    assert_eq!(probe().code, 0, "{:?}", probe());
    served.broker.kill().unwrap();
    served.broker.wait().unwrap();
    assert_eq!(probe().code, 1, "{:?}", probe());
    let both = Run::of(&["serve", "--health-check", "."], b"", PATIENCE);
    assert_eq!(both.code, 2, "{both:?}");
}
