//! A page's process that was taken over: behind the wall it reads nothing, and the keeper commits nothing
//! that it did not send.

use std::io::Write;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};

use handfast_review::protocol::{
    self, Hello, KeeperMessage, KeeperReply, MAX_REPLY, Pick, Ready, Request,
};

use super::support::{Place, hex, own};

/// What the process tries once the wall stands, each with whether it came through. Before the wall each of
/// them works.
fn tries(parent: rustix::process::Pid) -> Vec<(&'static str, bool)> {
    let secret = std::fs::read("/etc/passwd").is_ok();
    let listing = std::fs::read_dir("/").is_ok();
    let own = std::fs::read_link("/proc/self/exe").is_ok();
    let file = std::env::temp_dir().join(format!("handfast-broken-{}", std::process::id()));
    let written = std::fs::write(&file, "x").is_ok();
    drop(std::fs::remove_file(&file));
    let connected = match TcpStream::connect(("127.0.0.1", 1)) {
        Ok(_) => true,
        // Asked and refused by the other side is through the wall.
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
    };
    let pair = UnixStream::pair().is_ok();
    let started = Command::new("true").status().is_ok();
    let signalled = rustix::process::test_kill_process(parent).is_ok();
    let thread = std::thread::Builder::new().spawn(|| {});
    // It has ended before the wall is raised, which is for one thread.
    let thread = thread.is_ok_and(|thread| thread.join().is_ok());
    vec![
        ("a file was read", secret),
        ("a directory was listed", listing),
        ("its own link was read", own),
        ("a file was written", written),
        ("a connection was asked for", connected),
        ("a socket was made", pair),
        ("a program was started", started),
        ("another process was signalled", signalled),
        ("a thread was started", thread),
    ]
}

/// The process: it tells on its standard input, which is a socket, what came through.
pub(crate) fn be_broken() -> ExitCode {
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let mut socket = UnixStream::from(socket);
    let parent = rustix::process::getppid().unwrap();
    let before = tries(parent);
    handfast_review::page::confine(&[socket.as_fd()]).unwrap();
    let after = tries(parent);
    for (words, is_through) in &before {
        writeln!(socket, "before {is_through} {words}").unwrap();
    }
    for (words, is_through) in &after {
        writeln!(socket, "after {is_through} {words}").unwrap();
    }
    ExitCode::SUCCESS
}

pub(crate) fn a_broken_page_reads_nothing() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let ended = own("broken-process")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .status()
        .unwrap();
    assert!(ended.success(), "{ended}");
    let mut told = String::new();
    std::io::Read::read_to_string(&mut ours, &mut told).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 18, "{told}");
    for line in lines {
        match line.split_once(' ').unwrap() {
            ("before", rest) => assert!(rest.starts_with("true"), "the control: {line}"),
            (_, rest) => assert!(rest.starts_with("false"), "came through: {line}"),
        }
    }
}

/// Asks a keeper whatever it likes.
struct Broken(UnixStream);

impl Broken {
    fn ask(&mut self, request: &Request) -> KeeperReply {
        protocol::send(&mut self.0, request).unwrap();
        match protocol::receive(&mut self.0, MAX_REPLY).unwrap().unwrap() {
            KeeperMessage::Reply(reply) => reply,
            news => panic!("nobody asked for news: {news:?}"),
        }
    }

    fn refused(&mut self, request: &Request) -> String {
        match self.ask(request) {
            KeeperReply::Refused { kind, .. } => kind,
            other => panic!("{request:?} was answered: {other:?}"),
        }
    }
}

pub(crate) fn a_broken_page_commits_nothing_else() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "shown\n").unwrap();
    session.write("/other.txt", "other\n").unwrap();
    let (mut keeper, page) = UnixStream::pair().unwrap();
    let (tell, seen) = std::sync::mpsc::channel();
    let mut served = place
        .keeper()
        .only("s")
        .telling(move |line| drop(tell.send(line.to_owned())));
    let thread = std::thread::spawn(move || served.serve(&mut keeper));
    let mut broken = Broken(page);
    let commit = |plan: &str| Request::Commit {
        plan: plan.to_owned(),
        message: String::new(),
    };
    // A plan that was never made, even by the right digest of one that another keeper made.
    let mut other = place.keeper();
    let wanted = Request::Plan {
        session: "s".to_owned(),
        paths: Vec::new(),
        hunks: Vec::new(),
        all: true,
    };
    let KeeperReply::Plan(foreign) = other.answer(&wanted) else {
        panic!("no plan");
    };
    assert_eq!(broken.refused(&commit(&foreign.plan)), "Denied");
    assert_eq!(broken.refused(&commit("")), "Denied");
    // Seals and hunks that were made up, or sent by another keeper.
    let pick = |path: &str, seal: &str| Request::Plan {
        session: "s".to_owned(),
        paths: vec![Pick {
            path: hex(path),
            seal: seal.to_owned(),
        }],
        hunks: Vec::new(),
        all: false,
    };
    assert_eq!(broken.refused(&pick("/short.txt", "0")), "Stale");
    let hunk = Request::Plan {
        session: "s".to_owned(),
        paths: Vec::new(),
        hunks: vec!["00".repeat(10)],
        all: false,
    };
    assert_eq!(broken.refused(&hunk), "Stale");
    let seal = foreign.items[0].seal.clone().unwrap();
    assert_eq!(broken.refused(&pick("/nothing", &seal)), "Stale");
    let undo = Request::Undo {
        session: "s".to_owned(),
        seal: seal.clone(),
    };
    assert_eq!(broken.refused(&undo), "Denied");
    let back = Request::GoBack {
        session: "s".to_owned(),
        label: "one".to_owned(),
        skip: 0,
        seal: seal.clone(),
    };
    assert_eq!(broken.refused(&back), "Denied");
    let reject = Request::Reject {
        session: "s".to_owned(),
        pick: Pick {
            path: hex("/short.txt"),
            seal,
        },
        hunk: None,
        text: "x".to_owned(),
    };
    assert_eq!(broken.refused(&reject), "Denied");
    // Another session than the one that the page is for.
    let elsewhere = Request::Changes {
        session: "t".to_owned(),
        skip: 0,
    };
    assert_eq!(broken.refused(&elsewhere), "Denied");
    // Numbers that are too large are no reason to end.
    for skip in [usize::MAX, usize::MAX - 1] {
        let (session, path) = ("s".to_owned(), hex("/short.txt"));
        let full = false;
        broken.ask(&Request::Changes {
            session: session.clone(),
            skip,
        });
        broken.ask(&Request::Change {
            session,
            path,
            full,
            skip,
        });
    }
    // What was shown, after it changed.
    let KeeperReply::Plan(plan) = broken.ask(&wanted) else {
        panic!("no plan");
    };
    session.write("/other.txt", "unseen\n").unwrap();
    assert_eq!(broken.refused(&commit(&plan.plan)), "Stale");
    assert_eq!(place.base("short.txt").unwrap(), "old\n");
    assert_eq!(place.base("other.txt"), None);
    // What is no request ends the keeper.
    broken.0.write_all(b"\x09\0\0\0\"Destroy\"").unwrap();
    assert!(thread.join().unwrap().is_err());
    // The terminal saw what it tried: two plans, an undo, a way back and a comment that it was never sent.
    let seen: Vec<String> = seen.iter().collect();
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen.iter().all(|line| line.starts_with("refused: ")));
}

/// So many connections are made to it.
const CONNECTIONS: usize = 64;

/// The page's process itself, started as the command starts it and taken over once its wall stands: it
/// writes to the test, over a connection, what it could do.
pub(crate) fn be_taken_over() -> ExitCode {
    let keeper = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let listener = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    let mut keeper = UnixStream::from(keeper);
    let listener = std::net::TcpListener::from(listener);
    let parent = rustix::process::getppid().unwrap();
    let environment = std::env::vars_os().count();
    let kept = [keeper.as_fd(), listener.as_fd()];
    let weaker = handfast_review::page::confine(&kept).unwrap();
    let hello: Hello = protocol::receive(&mut keeper, MAX_REPLY).unwrap().unwrap();
    protocol::send(&mut keeper, &Ready { weaker }).unwrap();
    let mut told = format!("environment {environment}\nhello {}\n", hello.host);
    for (words, is_through) in tries(parent) {
        told.push_str(&format!("{is_through} {words}\n"));
    }
    let mut broken = Broken(keeper);
    let plan = |path: &str| Request::Plan {
        session: "s".to_owned(),
        paths: vec![Pick {
            path: hex(path),
            seal: "0".repeat(40),
        }],
        hunks: Vec::new(),
        all: false,
    };
    let made_up = Request::Commit {
        plan: "0".repeat(40),
        message: String::new(),
    };
    let outside = Request::Change {
        session: "s".to_owned(),
        path: hex("/../../../etc/passwd"),
        full: true,
        skip: 0,
    };
    // A file of the base that nobody changed is no change: its content is not for the page.
    let unchanged = Request::Change {
        session: "s".to_owned(),
        path: hex("/long.txt"),
        full: true,
        skip: 0,
    };
    let revoke = Request::Revoke {
        seal: "0".repeat(40),
    };
    let requests = [
        plan("/short.txt"),
        plan("/long.txt"),
        made_up,
        outside,
        unchanged,
        revoke,
    ];
    for request in &requests {
        let kind = match broken.ask(request) {
            KeeperReply::Refused { kind, .. } => kind,
            other => format!("answered {other:?}"),
        };
        told.push_str(&format!("asked {kind}\n"));
    }
    // A new descriptor gets the lowest number that is free.
    let many = (0..CONNECTIONS).map(|_| listener.accept().unwrap().0);
    let mut many: Vec<TcpStream> = many.collect();
    for stream in &many {
        told.push_str(&format!("number {}\n", stream.as_raw_fd()));
    }
    many[0].write_all(told.as_bytes()).unwrap();
    ExitCode::SUCCESS
}

pub(crate) fn a_page_that_was_taken_over_gets_nowhere() {
    let place = Place::new();
    place.session().write("/short.txt", "shown\n").unwrap();
    // As a shell does with `3<secret`.
    let leaked = std::fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let started = handfast_review::start(own("taken-over"), 0, Some("s".to_owned())).unwrap();
    let host = started.url.strip_prefix("http://").unwrap();
    let host = host.split('/').next().unwrap().to_owned();
    let mut keeper = place.keeper().only("s");
    let thread = std::thread::spawn(move || started.serve(&mut keeper));
    let mut told = String::new();
    let streams = (0..CONNECTIONS).map(|_| TcpStream::connect(&host).unwrap());
    let mut streams: Vec<TcpStream> = streams.collect();
    std::io::Read::read_to_string(&mut streams[0], &mut told).unwrap();
    thread.join().unwrap().unwrap();
    assert!(told.contains("environment 0\n"), "{told}");
    // What was left open to it is closed: its number is free.
    let number = format!("number {}", leaked.as_raw_fd());
    assert!(told.lines().any(|line| line == number), "{number}: {told}");
    assert!(told.contains(&format!("hello {host}\n")), "{told}");
    let through = told.lines().filter(|line| line.starts_with("true "));
    assert_eq!(through.collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(
        told.lines()
            .filter(|line| line.starts_with("false "))
            .count(),
        9,
        "{told}"
    );
    let asked: Vec<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("asked "))
        .collect();
    assert_eq!(
        asked,
        ["Stale", "Stale", "Denied", "NotFound", "NotFound", "Denied"],
        "{told}"
    );
    assert_eq!(place.base("short.txt").unwrap(), "old\n");
}
