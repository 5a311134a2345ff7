//! `lease run --mount`: a program's view of its lease, served by the broker, until the lease ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::lease::Served;
use crate::support::{Run, binary, skip};

const PATIENCE: Duration = Duration::from_secs(60);

/// A program that opens, maps and waits; after a line on its standard input it tries everything again.
const PROGRAM: &str = r#"
import errno, mmap, os, sys, time
top = sys.argv[1]
def tried(what, act):
    try:
        act()
        print(what, "done", flush=True)
    except OSError as error:
        print(what, errno.errorcode[error.errno], flush=True)
print("listed", " ".join(sorted(os.listdir(top))), " ".join(sorted(os.listdir(top + "/src"))), flush=True)
tried("covered", lambda: open(top + "/src/a.txt").read())
tried("not covered", lambda: open(top + "/top.txt").read())
reading = os.open(top + "/src/a.txt", os.O_RDONLY)
writing = os.open(top + "/src/new.txt", os.O_RDWR | os.O_CREAT, 0o600)
os.write(writing, b"first")
mapped = mmap.mmap(reading, 5, prot=mmap.PROT_READ)
print("holds", os.pread(reading, 5, 0).decode(), mapped[:5].decode(), flush=True)
sys.stdin.readline()
tried("read", lambda: os.pread(reading, 5, 0))
tried("write", lambda: os.pwrite(writing, b"later", 0))
tried("truncate", lambda: os.ftruncate(writing, 1))
tried("open", lambda: open(top + "/src/a.txt").read())
tried("make", lambda: os.mkdir(top + "/src/d"))
for _ in range(1000):
    child = os.fork()
    if child == 0:
        mapped[0]
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print("mapping signal", os.WTERMSIG(status), flush=True)
        break
    time.sleep(0.01)
else:
    print("mapping stays", flush=True)
"#;

/// A program under a lease, and what it says.
struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    fn start(served: &Served, more: &[&str], at: &str) -> Self {
        let socket = served.scratch.path.join("s/b.sock");
        let mut child = Command::new(binary())
            .args(["lease", "--socket"])
            .arg(&socket)
            .args(["run", "--mount", at, "--ttl", "5m"])
            .args(more)
            .args(["--paths", "src/**", "--verbs", "read,write", "--"])
            .args(["python3", "-c", PROGRAM, at])
            .current_dir(&served.scratch.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Served {
    /// The handle of the one lease that is in force.
    fn handle(&self) -> String {
        let listed = self.lease(&["list"], b"");
        listed.text().split_whitespace().next().unwrap().to_owned()
    }
}

/// Whether this system lets a program mount, and has the interpreter that plays it.
fn can_mount() -> bool {
    let device = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    if let Err(error) = device {
        skip("a mounted lease", &format!("/dev/fuse: {error}"));
        return false;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-current-user", "python3", "-c", ""]);
    let done = unshare.stderr(Stdio::null()).status();
    if !done.is_ok_and(|status| status.success()) {
        skip(
            "a mounted lease",
            "no mount namespaces for this user, or no python3",
        );
        return false;
    }
    true
}

fn ends_for_open_files(more: &[&str]) {
    let served = Served::new();
    let at = served.scratch.path.join("view");
    std::fs::create_dir(&at).unwrap();
    let mut program = Program::start(&served, more, at.to_str().unwrap());
    // The lease shows what it covers, and the way there.
    assert_eq!(program.line(), "listed src a.txt");
    assert_eq!(program.line(), "covered done");
    assert_eq!(program.line(), "not covered EACCES");
    assert_eq!(program.line(), "holds alpha alpha");
    // Nobody else sees the mount.
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0);
    let new = served.scratch.inside().join("src/new.txt");
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "first");
    let handle = served.handle();
    assert_eq!(served.lease(&["revoke", &handle], b"").code, 0);
    writeln!(program.child.stdin.as_mut().unwrap()).unwrap();
    for what in ["read", "write", "truncate", "open", "make"] {
        assert_eq!(program.line(), format!("{what} EACCES"));
    }
    // SIGBUS: the kernel asked for the page again.
    assert_eq!(program.line(), "mapping signal 7");
    program.child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "first");
    let log = served.scratch.path.join("state/log");
    let log = log.to_str().unwrap();
    let story = Run::of(&["log", "grep", log, "--lease", &handle], b"", PATIENCE);
    for word in ["open", "`src/a.txt`", "DENIED", "the lease was"] {
        assert!(story.text().contains(word), "{word}: {story:?}");
    }
}

#[test]
fn a_mounted_lease_ends_for_files_that_are_open() {
    if can_mount() {
        ends_for_open_files(&[]);
    }
}

#[test]
fn a_confined_program_has_its_mount_and_nothing_beside_it() {
    if !can_mount() {
        return;
    }
    ends_for_open_files(&["--confine"]);
    let served = Served::new();
    let project = served.scratch.inside();
    let project = project.to_str().unwrap();
    // Over the project itself: the same paths, as far as the lease covers them.
    let script = format!("cat {project}/src/a.txt; cat {project}/top.txt; ls {project}/..");
    let run = served.lease(
        &[
            "run",
            "--confine",
            "--mount",
            project,
            "--paths",
            "src/**",
            "--verbs",
            "read",
            "--",
            "sh",
            "-c",
            &script,
        ],
        b"",
    );
    assert_eq!(run.text(), "alpha", "{run:?}");
    assert_ne!(run.code, 0, "{run:?}");
}

#[test]
fn a_mount_that_cannot_be_made_starts_nothing() {
    let served = Served::new();
    let args = |at: &'static str| {
        [
            "run", "--mount", at, "--paths", "**", "--verbs", "read", "--", "echo", "started",
        ]
    };
    for at in ["/nosuch-directory", "/etc/hostname"] {
        let run = served.lease(&args(at), b"");
        assert_ne!(run.code, 0, "{run:?}");
        assert_eq!(run.text(), "", "{run:?}");
        assert!(run.stderr.contains("mount"), "{run:?}");
    }
}

#[test]
fn opens_through_a_mount_are_counted() {
    if !can_mount() {
        return;
    }
    let served = Served::new();
    let at = served.scratch.path.join("view");
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap();
    let script = format!("cat {at}/src/a.txt; cat {at}/src/a.txt");
    let run = served.lease(
        &[
            "run",
            "--mount",
            at,
            "--max-opens",
            "1",
            "--paths",
            "**",
            "--verbs",
            "read",
            "--",
            "sh",
            "-c",
            &script,
        ],
        b"",
    );
    assert_eq!(run.text(), "alpha", "{run:?}");
    assert_ne!(run.code, 0, "{run:?}");
}

/// The files whose pages the kernel has when the lease ends. A run for a figure takes more.
fn count_of_files() -> usize {
    let asked = std::env::var("HANDFAST_MOUNTED_FILES").ok();
    asked.map_or(1000, |count| count.parse().unwrap())
}

#[test]
fn pages_of_many_files_are_taken_back() {
    if !can_mount() {
        return;
    }
    let count = count_of_files();
    let scratch = crate::support::Scratch::new();
    for number in 0..count {
        scratch.file(&format!("d{}/{number}", number / 1000), "content");
    }
    let complaints = scratch.path.join("complaints");
    let mut broker = crate::support::handfast(&["--json", "serve"]);
    broker
        .arg(scratch.inside())
        .arg("--socket")
        .arg(scratch.path.join("s/b.sock"))
        .arg("--state")
        .arg(scratch.path.join("state"));
    let stderr = std::fs::File::create(&complaints).unwrap();
    let served = Served::complaining_to(scratch, broker, Stdio::from(stderr));
    let at = served.scratch.path.join("view");
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap();
    let script = format!("find {at} -type f -exec cat {{}} + | wc -c; read line");
    let socket = served.scratch.path.join("s/b.sock");
    let mut child = Command::new(binary())
        .args(["lease", "--socket"])
        .arg(&socket)
        .args(["run", "--mount", at, "--paths", "**", "--verbs", "read"])
        .args(["--", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), (7 * count).to_string());
    let handle = served.handle();
    assert_eq!(served.lease(&["revoke", &handle], b"").code, 0);
    let told = || std::fs::read_to_string(&complaints).unwrap();
    let begun = std::time::Instant::now();
    while !told().contains("were taken back in") {
        assert!(begun.elapsed() < PATIENCE, "{}", told());
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("{}", told());
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// What a process has in memory, in MiB.
fn resident(process: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() / 1024
}

/// Each mount has buffers of 16 MiB. An allocator that keeps what was freed for later would keep some.
#[test]
fn the_memory_of_ended_mounts_is_given_back() {
    if !can_mount() {
        return;
    }
    let served = Served::new();
    let at = served.scratch.path.join("view");
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap();
    let file = format!("{at}/src/a.txt");
    let mount = || {
        let args = ["run", "--mount", at, "--paths", "**", "--verbs", "read"];
        let run = served.lease(&[&args[..], &["--", "cat", &file]].concat(), b"");
        assert_eq!(run.text(), "alpha", "{run:?}");
    };
    mount();
    let first = resident(&served.broker);
    for _ in 0..12 {
        mount();
    }
    let last = resident(&served.broker);
    println!("{first} MiB after the first mount, {last} MiB after 13");
    assert!(last < first + 30, "{first} MiB, then {last} MiB");
}
