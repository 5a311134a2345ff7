//! Commit under faults: every system call fails once, and the process dies once at every one.
//!
//! Whatever happens: what the session shows is what it showed before, the base has every path old or
//! new and never a mixture, and the next that comes finishes the work.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use handfast_session::{Catalogue, CommitOptions, MountSpec, Session, SessionSpec, VirtualPath};

use crate::support::{Scratch, binary, skip};

/// Calls about memory, threads, signals or the end of the process.
const NOT_OURS: &[&str] = &[
    "mmap",
    "munmap",
    "mremap",
    "brk",
    "mprotect",
    "madvise",
    "sigaltstack",
    "rt_sigprocmask",
    "rt_sigaction",
    "exit_group",
    "exit",
    "futex",
    "sched_yield",
    "clone3",
    "access",
    "execve",
    "arch_prctl",
    "set_tid_address",
    "set_robust_list",
    "rseq",
    "prlimit64",
    "poll",
    "getrandom",
    "sched_getaffinity",
    "gettid",
    "getpid",
];

/// Calls that leave every file as it was. A process that is killed at one of these leaves what it would
/// leave at the next call that changes something.
const LOOKING: &[&str] = &[
    "close",
    "faccessat2",
    "fcntl",
    "flock",
    "fstat",
    "fstatfs",
    "getdents64",
    "geteuid",
    "getuid",
    "lseek",
    "newfstatat",
    "pread64",
    "read",
    "readlink",
    "readlinkat",
    "statfs",
    "statx",
    "umask",
];

/// A system call of a traced command.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    name: String,
    /// Among the calls of that name.
    number: usize,
    changes: bool,
}

impl Call {
    fn new(name: &str, number: usize, line: &str) -> Self {
        let opens = name.starts_with("openat");
        let makes = ["O_CREAT", "O_TRUNC", "O_TMPFILE"];
        let only_looks =
            LOOKING.contains(&name) || (opens && !makes.iter().any(|flag| line.contains(flag)));
        Self {
            name: name.to_owned(),
            number,
            changes: !only_looks,
        }
    }
}

/// The calls at which a kill makes a difference: those that change something, and the last.
pub(crate) fn kill_points(calls: &[Call]) -> Vec<Call> {
    let last = calls.len().saturating_sub(1);
    let differs = |(index, call): &(usize, &Call)| call.changes || *index == last;
    let points = calls.iter().enumerate().filter(differs);
    points.map(|(_, call)| call.clone()).collect()
}

pub(crate) fn strace_is_there() -> bool {
    let there = Command::new("strace").args(["-f", "true"]).output();
    let there = there.is_ok_and(|output| output.status.success());
    if !there {
        skip(
            "faults in a commit",
            "strace is not there, or may not trace",
        );
    }
    there
}

pub fn v(path: &str) -> VirtualPath {
    VirtualPath::parse(path).unwrap()
}

/// A base, and a session with every kind of change.
pub fn scene() -> (Scratch, BTreeMap<String, String>) {
    let scratch = Scratch::in_memory();
    scratch.file("changed", "old");
    scratch.file("deleted", "old");
    scratch.file("moved", "moved");
    scratch.file("dir/f", "f");
    scratch.file("x", "x");
    scratch.file("y", "y");
    let session = open(&scratch, true);
    session.write("/changed", "new").unwrap();
    session.remove_file("/deleted").unwrap();
    session.create_dir("/fresh").unwrap();
    session.write("/fresh/added", "added").unwrap();
    let how = handfast::RenameMode::Replace;
    session.rename("/moved", "/fresh/moved", how).unwrap();
    session.rename("/dir", "/renamed", how).unwrap();
    session
        .rename("/x", "/y", handfast::RenameMode::Exchange)
        .unwrap();
    let shown = shown(&session);
    (scratch, shown)
}

pub fn open(scratch: &Scratch, create: bool) -> Session {
    let catalogue = Catalogue::open_ambient(scratch.path.join("state")).unwrap();
    if create {
        let mount = MountSpec::new(scratch.inside(), v("/"));
        catalogue
            .create("s", &SessionSpec::new().mount(mount))
            .unwrap();
    }
    catalogue
        .open("s", handfast_session::Caller::new("test"))
        .unwrap()
}

pub fn shown(session: &Session) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut walk = session.walk("/", handfast::TreeLimits::new()).unwrap();
    while let Some(entry) = walk.next_entry().unwrap() {
        let path = entry.path.to_string();
        // Where a commit puts what is between two places, and what it reserves.
        if path.contains(".handfast-") {
            continue;
        }
        let content = match entry.kind {
            handfast::FileKind::Dir => "/".to_owned(),
            _ => String::from_utf8(session.read(&path).unwrap()).unwrap(),
        };
        found.insert(path, content);
    }
    found
}

pub fn base(scratch: &Scratch) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![scratch.inside()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(scratch.inside()).unwrap();
            let name = format!("/{}", name.display());
            if path.is_dir() {
                found.insert(name, "/".to_owned());
                pending.push(path);
            } else {
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// Forty lines, some of them changed.
pub fn numbered(changed: &[usize]) -> String {
    let line = |n| match changed.contains(&n) {
        true => format!("new {n}\n"),
        false => format!("{n}\n"),
    };
    (0..40).map(line).collect()
}

/// A session that changed two places of a file, and the arguments that commit the second.
pub fn hunk_scene() -> (Scratch, Vec<String>) {
    let scratch = Scratch::in_memory();
    scratch.file("f", numbered(&[]));
    let session = open(&scratch, true);
    session.write("/f", numbered(&[3, 30])).unwrap();
    let mut ids = Vec::new();
    let mut take = |change: handfast_session::Change| {
        ids.extend(change.hunks().iter().map(|hunk| hunk.id.clone()));
        Ok(())
    };
    let options = handfast_session::ReviewOptions::default();
    session.review(&options, &mut take).unwrap();
    assert_eq!(ids.len(), 2);
    let mut args = commit_args(&scratch);
    args.extend(["--hunks".to_owned(), ids.remove(1)]);
    (scratch, args)
}

#[test]
fn a_commit_of_a_hunk_that_dies_anywhere_is_finished_or_never_began() {
    if !strace_is_there() {
        return;
    }
    let (mut never, mut finished) = (0, 0);
    let (scratch, args) = hunk_scene();
    let calls = kill_points(&calls_of(&scratch, &args, 40));
    for call in &calls {
        let (scratch, args) = hunk_scene();
        let (_, said) = inject_into(&args, call, "signal=SIGKILL");
        let what = format!("killed at {call:?}");
        assert!(said.is_empty(), "the kill was felt: {what} {said}");
        let session = open(&scratch, false);
        session
            .mend()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let now = std::fs::read_to_string(scratch.at("f")).unwrap();
        match now == numbered(&[]) {
            true => never += 1,
            false => {
                assert_eq!(now, numbered(&[30]), "{what}");
                finished += 1;
            }
        }
        let shown = session.read("/f").unwrap();
        assert_eq!(shown, numbered(&[3, 30]).as_bytes(), "{what}: the view");
        let report = session.commit(&CommitOptions::default(), &mut |_, _| {});
        assert_eq!(report.unwrap().conflicts, [], "{what}");
        let now = std::fs::read_to_string(scratch.at("f")).unwrap();
        assert_eq!(now, numbered(&[3, 30]), "{what}");
        let left = std::fs::read_dir(scratch.inside()).unwrap().count();
        assert_eq!(left, 1, "{what}: nothing is left behind");
    }
    println!(
        "{} calls: {never} never began, {finished} finished",
        calls.len()
    );
    assert!(never > 5 && finished > 5, "{never} {finished}");
}

fn commit_args(scratch: &Scratch) -> Vec<String> {
    let state = scratch.path.join("state").display().to_string();
    [
        "session", "--json", "--state", &state, "commit", "--yes", "s",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The calls of a commit, from the opening of the state on.
fn calls() -> Vec<Call> {
    let (scratch, _) = scene();
    calls_of(&scratch, &commit_args(&scratch), 100)
}

/// The same of any arguments; there are more than so many.
fn calls_of(scratch: &Scratch, args: &[String], least: usize) -> Vec<Call> {
    calls_between(scratch, args, ("journal", "committed"), least)
}

/// The calls from the first that tells the one word to the answer with the other.
pub(crate) fn calls_between(
    scratch: &Scratch,
    args: &[String],
    (from, to): (&str, &str),
    least: usize,
) -> Vec<Call> {
    let log = scratch.path.join("trace");
    let output = Command::new("strace")
        .args(["-f", "-e", "signal=none", "-o"])
        .arg(&log)
        .arg(binary())
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut found, mut begun) = (Vec::new(), false);
    for line in text.lines() {
        let call = line
            .split_whitespace()
            .nth(1)
            .and_then(|rest| rest.split_once('('));
        let Some((name, _)) = call else { continue };
        let number = counts.entry(name.to_owned()).or_default();
        *number += 1;
        begun |= line.contains(from);
        if line.contains(to) && name == "write" {
            break;
        }
        if begun && !NOT_OURS.contains(&name) {
            found.push(Call::new(name, *number, line));
        }
    }
    assert!(
        found.len() > least,
        "the trace shows the work: {}",
        found.len()
    );
    found
}

fn inject(scratch: &Scratch, call: &Call, fault: &str) -> (Option<i32>, String) {
    inject_into(&commit_args(scratch), call, fault)
}

pub(crate) fn inject_into(args: &[String], call: &Call, fault: &str) -> (Option<i32>, String) {
    let Call { name, number, .. } = call;
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e"])
        .arg(format!("trace={name}"))
        .arg("-e")
        .arg(format!("inject={name}:{fault}:when={number}"))
        .arg(binary())
        .args(args)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{call:?} {fault}: {errors}");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

/// What must hold after anything: the view is unbroken, and a commit then makes the base it.
fn settle(scratch: &Scratch, expected: &BTreeMap<String, String>, what: &str) -> usize {
    let session = open(scratch, false);
    session
        .mend()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(&shown(&session), expected, "{what}: what the session shows");
    let mut options = CommitOptions::default();
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    let conflicts = report.conflicts.len();
    if conflicts > 0 {
        // A file that was moved aside and put back has another change time: it counts as changed
        // until somebody says otherwise.
        options.on_conflict = handfast_session::OnConflict::Overwrite;
        let report = session.commit(&options, &mut |_, _| {}).unwrap();
        assert_eq!(report.conflicts, [], "{what}");
    }
    assert_eq!(&base(scratch), expected, "{what}: the base");
    conflicts
}

#[test]
fn a_commit_that_dies_anywhere_is_finished_or_never_began() {
    if !strace_is_there() {
        return;
    }
    let (mut never, mut finished) = (0, 0);
    let calls = kill_points(&calls());
    for call in &calls {
        let (scratch, expected) = scene();
        let before = base(&scratch);
        let (_, said) = inject(&scratch, call, "signal=SIGKILL");
        let what = format!("killed at {call:?}");
        assert!(said.is_empty(), "the kill was felt: {what} {said}");
        let session = open(&scratch, false);
        session
            .mend()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let now = base(&scratch);
        if session.diff().unwrap().is_empty() {
            finished += 1;
            assert_eq!(now, expected, "{what}: finished");
        } else {
            never += 1;
            assert_eq!(now, before, "{what}: never began");
        }
        drop(session);
        assert_eq!(settle(&scratch, &expected, &what), 0, "{what}");
    }
    println!(
        "{} calls: {never} never began, {finished} finished",
        calls.len()
    );
    assert!(never > 10 && finished > 10, "{never} {finished}");
}

#[test]
fn a_commit_that_fails_anywhere_loses_nothing() {
    if !strace_is_there() {
        return;
    }
    let (mut felt, mut doubtful) = (0, 0);
    let calls = calls();
    for (index, call) in calls.iter().enumerate() {
        let fault = ["error=ENOSPC", "error=EIO", "error=EMFILE"][index % 3];
        let (scratch, expected) = scene();
        let (code, said) = inject(&scratch, call, fault);
        let what = format!("{fault} at {call:?}: {code:?} {said}");
        assert!(
            code.is_some_and(|code| code <= 3),
            "an error is an answer: {what}"
        );
        if code == Some(0) {
            assert_eq!(base(&scratch), expected, "{what}");
        } else {
            felt += 1;
        }
        doubtful += settle(&scratch, &expected, &what);
    }
    println!(
        "{} calls, {felt} faults felt, {doubtful} in doubt",
        calls.len()
    );
    assert!(doubtful * 4 < felt, "{doubtful} of {felt}");
    assert!(felt * 3 > calls.len(), "{felt} of {}", calls.len());
}

#[test]
fn what_others_wrote_after_the_kill_is_kept() {
    if !strace_is_there() {
        return;
    }
    for call in &kill_points(&calls()) {
        let (scratch, _) = scene();
        inject(&scratch, call, "signal=SIGKILL");
        // Somebody changes every file that is there, whichever side of the commit it is on.
        let mut foreign = Vec::new();
        for (path, content) in base(&scratch) {
            if content != "/" && !path.contains(".handfast-") {
                let host = scratch.inside().join(&path[1..]);
                std::fs::write(&host, format!("foreign {path}")).unwrap();
                foreign.push(format!("foreign {path}"));
            }
        }
        let session = open(&scratch, false);
        session.mend().unwrap();
        let now: Vec<String> = base(&scratch).into_values().collect();
        for text in foreign {
            assert!(
                now.contains(&text),
                "killed at {call:?}: `{text}` is lost: {now:?}"
            );
        }
    }
}

/// The checker can fail: a commit by copying in place is caught by the same judgement.
#[test]
fn a_naive_commit_is_caught() {
    if !strace_is_there() {
        return;
    }
    let (scratch, expected) = scene();
    let before = base(&scratch);
    let script = format!(
        "printf new > {0}/changed; rm {0}/deleted",
        scratch.inside().display()
    );
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "trace=write"])
        .args([
            "-e",
            "inject=write:signal=SIGKILL:when=1",
            "sh",
            "-c",
            &script,
        ])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let now = base(&scratch);
    assert!(now != before && now != expected, "half-way is neither");
    assert!(Path::new(&scratch.inside()).exists());
}
