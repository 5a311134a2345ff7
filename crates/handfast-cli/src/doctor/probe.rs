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

use super::scratch::Scratch;
use crate::json::Object;

/// A call that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// The name and the title of each way out.
pub(super) fn ways() -> impl Iterator<Item = (&'static str, &'static str)> {
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
pub(super) enum Found {
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
pub(super) struct Attempt {
    pub(super) way: &'static str,
    pub(super) backend: &'static str,
    pub(super) links: Links,
    pub(super) expected: ErrorKind,
    pub(super) found: Found,
}

impl Attempt {
    /// Whether it got out, or was stopped by nothing but our patience.
    pub(super) fn escaped(&self) -> bool {
        matches!(self.found, Found::Passed | Found::Hung)
    }

    /// Whether it was refused, but not for the documented reason.
    pub(super) fn is_odd(&self) -> bool {
        matches!(self.found, Found::Refused(kind) if kind != self.expected)
    }

    pub(super) fn was_tried(&self) -> bool {
        !matches!(self.found, Found::Skipped(_))
    }

    pub(super) fn outcome(&self) -> &'static str {
        match self.found {
            Found::Refused(kind) => kind.name(),
            Found::Passed => "PASSED",
            Found::Hung => "HUNG",
            Found::Skipped(_) => "skipped",
        }
    }

    pub(super) fn to_json(&self) -> Object {
        let links = match self.links {
            Links::Refuse => "refuse",
            Links::Beneath => "beneath",
        };
        let why = match self.found {
            Found::Skipped(why) => Some(why),
            _ => None,
        };
        Object::new()
            .with("way", self.way)
            .with("backend", self.backend)
            .with("links", links)
            .with("expected", self.expected.name())
            .with("found", self.outcome())
            .with("why", why)
    }
}

/// Tries every way out. Nothing is tried on a backend that is not there.
pub(super) fn probe(scratch: &Scratch) -> Vec<Attempt> {
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
                    (true, _) => Found::Skipped("this filesystem cannot hold it"),
                    (_, Err(why)) => Found::Skipped(why),
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
fn attempt(way: &Way, root: Root) -> Found {
    let Ok(path) = RelPath::clean(way.path) else {
        return Found::Skipped("the path is not one");
    };
    let attempt = way.attempt;
    let (sender, receiver) = mpsc::channel();
    let started = std::thread::Builder::new().spawn(move || {
        // Nobody listens once patience is spent.
        drop(sender.send(attempt(&root, &path)));
    });
    if started.is_err() {
        return Found::Skipped("no thread could be started");
    }
    match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(())) => Found::Passed,
        Ok(Err(error)) => Found::Refused(error.kind()),
        Err(_) => Found::Hung,
    }
}
