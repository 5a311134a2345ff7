//! Six ways out, tried through the library on both backends and under both policies for links.
//!
//! The tree is made with plain system calls, since the library refuses to make such links. Each
//! attempt must be refused with the documented kind: success is an escape.

use std::sync::mpsc;
use std::time::Duration;

use handfast::{
    BackendChoice, Error, ErrorKind, FilesystemKind, Links, RelPath, Root, RootOptions,
};
use rustix::fs::Mode;

use crate::scratch::Scratch;

/// A call that takes longer than this hangs.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// One way out.
struct Way {
    id: &'static str,
    title: &'static str,
    path: &'static str,
    attempt: fn(&Root, &RelPath) -> Result<(), Error>,
    /// Where links are refused, and where they are followed beneath the root.
    expected: [ErrorKind; 2],
}

const WAYS: [Way; 6] = [
    Way {
        id: "link-out",
        title: "a link that leads out",
        path: "out",
        attempt: read,
        expected: [ErrorKind::Link, ErrorKind::Escape],
    },
    Way {
        id: "parent-link",
        title: "a link to `..`",
        path: "up",
        attempt: list,
        expected: [ErrorKind::Link, ErrorKind::Escape],
    },
    Way {
        id: "absolute-link",
        title: "an absolute link",
        path: "absolute",
        attempt: list,
        expected: [ErrorKind::Link, ErrorKind::Escape],
    },
    Way {
        id: "magic-link",
        title: "a magic link of procfs",
        path: "root",
        attempt: list,
        expected: [ErrorKind::Link, ErrorKind::Link],
    },
    Way {
        id: "trailing-slash",
        title: "`link/`, with a slash at the end",
        path: "dir/",
        attempt: list,
        expected: [ErrorKind::Link, ErrorKind::Escape],
    },
    Way {
        id: "fifo",
        title: "a FIFO that nobody writes to",
        path: "fifo",
        attempt: read,
        expected: [ErrorKind::Kind, ErrorKind::Kind],
    },
];

/// The name and the title of each way out that is tried.
pub fn ways() -> impl Iterator<Item = (&'static str, &'static str)> {
    WAYS.iter().map(|way| (way.id, way.title))
}

fn read(root: &Root, path: &RelPath) -> Result<(), Error> {
    root.read(path).map(drop)
}

fn list(root: &Root, path: &RelPath) -> Result<(), Error> {
    root.read_dir(path).map(drop)
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AttemptResult {
    /// It was refused.
    Refused(ErrorKind),
    /// It went through.
    Passed,
    /// It did not come back.
    Hung,
    /// It could not be tried: there is no such thing here.
    Skipped(&'static str),
}

/// One attempt: a way out, a backend and a policy.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The name of the way out.
    pub way: &'static str,
    /// `kernel` or `walk`.
    pub backend: &'static str,
    /// How the root treated links.
    pub links: Links,
    /// The documented refusal.
    pub expected: ErrorKind,
    /// What came of it.
    pub found: AttemptResult,
}

impl Attempt {
    /// Whether it got out, or was stopped by nothing but our patience.
    #[must_use]
    pub fn escaped(&self) -> bool {
        matches!(self.found, AttemptResult::Passed | AttemptResult::Hung)
    }

    /// Whether it was refused, but not for the documented reason.
    #[must_use]
    pub fn is_odd(&self) -> bool {
        matches!(self.found, AttemptResult::Refused(kind) if kind != self.expected)
    }

    /// Whether it could be tried here.
    #[must_use]
    pub fn was_tried(&self) -> bool {
        !matches!(self.found, AttemptResult::Skipped(_))
    }

    /// What came of it in one word.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match self.found {
            AttemptResult::Refused(kind) => kind.name(),
            AttemptResult::Passed => "PASSED",
            AttemptResult::Hung => "HUNG",
            AttemptResult::Skipped(_) => "skipped",
        }
    }
}

/// Tries every way out. Nothing is tried on a backend that is not there.
pub(crate) fn probe(scratch: &Scratch) -> Vec<Attempt> {
    let obstacles = plant(scratch);
    let mut attempts = Vec::new();
    for (backend, choice) in [
        ("kernel", BackendChoice::Kernel),
        ("walk", BackendChoice::Walk),
    ] {
        for (policy, links) in [Links::Refuse, Links::Beneath].into_iter().enumerate() {
            let options = RootOptions::new().backend(choice).links(links);
            for way in &WAYS {
                let Some(root) = root_for(way, scratch, &options) else {
                    continue;
                };
                let found = match (obstacles.missing(way.id), root) {
                    (true, _) => AttemptResult::Skipped("this filesystem cannot hold it"),
                    (_, Err(why)) => AttemptResult::Skipped(why),
                    (_, Ok(root)) => attempt(way, root),
                };
                attempts.push(Attempt {
                    way: way.id,
                    backend,
                    links,
                    expected: way.expected[policy],
                    found,
                });
            }
        }
    }
    attempts
}

/// The ways out that could not be made.
struct Obstacles(Vec<&'static str>);

impl Obstacles {
    fn missing(&self, way: &str) -> bool {
        self.0.contains(&way)
    }
}

/// Makes the tree: `outside` with something to find, and `inside`, which is the root.
fn plant(scratch: &Scratch) -> Obstacles {
    let mut missing = Vec::new();
    let secret = scratch
        .sub_root("outside", RootOptions::new())
        .and_then(|outside| {
            let path = RelPath::parse("secret").ok()?;
            outside.write(&path, b"secret").ok()
        });
    let inside = scratch.sub_root("inside", RootOptions::new());
    for (way, name, target) in [
        ("link-out", "out", "../outside/secret"),
        ("parent-link", "up", ".."),
        ("absolute-link", "absolute", "/"),
        ("trailing-slash", "dir", "../outside"),
    ] {
        let made = inside
            .as_ref()
            .is_some_and(|inside| rustix::fs::symlinkat(target, inside, name).is_ok());
        if !made || secret.is_none() {
            missing.push(way);
        }
    }
    if !inside.is_some_and(|inside| make_fifo(&inside)) {
        missing.push("fifo");
    }
    Obstacles(missing)
}

#[cfg(not(target_vendor = "apple"))]
fn make_fifo(dir: &Root) -> bool {
    rustix::fs::mkfifoat(dir, "fifo", Mode::RUSR | Mode::WUSR).is_ok()
}

#[cfg(target_vendor = "apple")]
fn make_fifo(_: &Root) -> bool {
    false
}

/// The root a way out starts from. `None` if the backend is not there; an error if there is no
/// such way on this system.
fn root_for(
    way: &Way,
    scratch: &Scratch,
    options: &RootOptions,
) -> Option<Result<Root, &'static str>> {
    let inside = scratch.sub_root("inside", options.clone())?;
    if way.id != "magic-link" {
        return Some(Ok(inside));
    }
    let own = format!("/proc/{}", std::process::id());
    let root = Root::open_ambient_with(own, options.clone())
        .ok()
        .filter(|root| root.enforcement().filesystem == FilesystemKind::Proc);
    Some(root.ok_or("procfs is not mounted here"))
}

/// In a thread of its own: a call that hangs must not hang the doctor.
fn attempt(way: &Way, root: Root) -> AttemptResult {
    let Ok(path) = RelPath::clean(way.path) else {
        return AttemptResult::Skipped("the path is not one");
    };
    let attempt = way.attempt;
    let (sender, receiver) = mpsc::channel();
    let started = std::thread::Builder::new().spawn(move || {
        // The receiver is gone after the timeout.
        drop(sender.send(attempt(&root, &path)));
    });
    if started.is_err() {
        return AttemptResult::Skipped("no thread could be started");
    }
    match receiver.recv_timeout(CALL_TIMEOUT) {
        Ok(Ok(())) => AttemptResult::Passed,
        Ok(Err(error)) => AttemptResult::Refused(error.kind()),
        Err(_) => AttemptResult::Hung,
    }
}
