//! What a write costs in system calls, with root and session already open. Needs `strace`.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;
use std::process::Command;

use handfast::files::Put;
use handfast::{Durability, RelPath, Root, WriteOptions};
use handfast_session::{AsVirtualPath, Mode, Protect, VirtualPath};

use super::support::Scratch;

const CHILD: &str = "HANDFAST_COUNTED";
const WAYS: [&str; 3] = ["root", "read-write", "overlay"];

/// Something that shows in a trace.
fn mark(what: &str) {
    drop(std::fs::symlink_metadata(format!("/handfast-mark-{what}")));
}

/// What is traced: one write each, after one that warms up.
fn write_once() {
    let scratch = Scratch::new();
    scratch.file("a/b/c/file", "old");
    let root = Root::open_ambient(scratch.base()).unwrap();
    let protect = Protect::preset("workspace").unwrap();
    let direct = scratch.protected(Mode::ReadWrite, protect);
    let overlay = scratch.session(Mode::Overlay);
    let options = WriteOptions::new().durability(Durability::None);
    for round in ["warm", "counted"] {
        let end = |way: &str| mark(&format!("{round}-{way}-end"));
        mark(&format!("{round}-root"));
        let path = RelPath::parse("a/b/c/file").unwrap();
        root.write_with(&path, "new", options).unwrap();
        end("root");
        for (way, session) in [("read-write", &direct), ("overlay", &overlay)] {
            mark(&format!("{round}-{way}"));
            session
                .put("/a/b/c/file", b"new", Put::Replace, options)
                .unwrap();
            end(way);
        }
    }
}

/// The calls of one way, as `strace` shows them.
fn calls_of<'t>(trace: &'t str, way: &str) -> Vec<&'t str> {
    let begin = format!("handfast-mark-counted-{way}\"");
    let end = format!("handfast-mark-counted-{way}-end\"");
    let lines = trace.lines().skip_while(|line| !line.contains(&begin));
    let lines = lines.skip(1).take_while(|line| !line.contains(&end));
    // Memory is the allocator's business.
    let memory = ["brk(", "mmap(", "munmap(", "madvise(", "mprotect("];
    let calls = lines.filter(|line| !memory.iter().any(|call| line.contains(call)));
    calls.collect()
}

/// The first name that a call is about.
fn name_in(line: &str) -> &str {
    match line.split('(').next().unwrap_or_default().contains("write") {
        // What it writes is no name.
        true => "",
        false => line.split('"').nth(1).unwrap_or_default(),
    }
}

fn trace() -> String {
    let scratch = Scratch::new();
    let out = scratch.top.join("trace");
    let status = Command::new("strace")
        .args(["-f", "-s", "200", "-o"])
        .arg(&out)
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "counts::a_write_costs_little_more_than_a_roots",
            "--test-threads=1",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    read(&out)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_write_costs_little_more_than_a_roots() {
    if std::env::var_os(CHILD).is_some() {
        return write_once();
    }
    if std::env::var("HANDFAST_EXPECT_BACKEND").is_ok_and(|backend| backend == "walk") {
        println!("skipped: calls are counted on the kernel backend");
        return;
    }
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI must have strace");
        super::support::skip("counting system calls", "strace is not installed");
        return;
    }
    let trace = trace();
    let [root, direct, overlay] = WAYS.map(|way| calls_of(&trace, way));
    println!(
        "root {}, read-write {}, overlay {}",
        root.len(),
        direct.len(),
        overlay.len()
    );
    assert!(root.len() > 3);
    assert!(
        direct.len() * 2 <= root.len() * 3,
        "1.5 times at most: {direct:#?}"
    );
    for calls in [&root, &direct] {
        let is_pin = |line: &&&str| line.contains("\"a/b/c\"");
        assert_eq!(calls.iter().filter(is_pin).count(), 1, "{calls:#?}");
        assert!(is_pin(&&calls[0]), "the pin comes first: {calls:#?}");
        for line in &calls[1..] {
            assert!(!name_in(line).contains('/'), "one name at a time: {line}");
        }
    }
}

/// A path that counts how often it is parsed.
struct Counted<'a>(&'a str, &'a Cell<u32>);

impl AsVirtualPath for Counted<'_> {
    fn as_virtual(&self) -> Result<Cow<'_, VirtualPath>, handfast_session::Error> {
        self.1.set(self.1.get() + 1);
        VirtualPath::parse(self.0).map(Cow::Owned)
    }

    fn as_text(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[test]
fn the_text_of_a_request_is_parsed_once() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let scratch = Scratch::new();
        scratch.file("dir/file", "content").link("dir", "link");
        let session = scratch.session(mode);
        let parses = Cell::new(0);
        let once = |what: &str, act: &dyn Fn(Counted<'_>)| {
            // Through a link the path is resolved again; its text is not.
            for path in ["/dir/file", "/link/file"] {
                parses.set(0);
                act(Counted(path, &parses));
                assert_eq!(parses.get(), 1, "{what} {path} {}", mode.name());
            }
        };
        let fast = WriteOptions::new().durability(Durability::None);
        once("read", &|path| drop(session.read(path).unwrap()));
        once("metadata", &|path| assert!(session.metadata(path).is_ok()));
        once("symlink_metadata", &|path| {
            assert!(session.symlink_metadata(path).is_ok())
        });
        once("version", &|path| assert!(session.version(path).is_ok()));
        once("read_dir", &|path| assert!(session.read_dir(path).is_err()));
        once("walk", &|path| {
            assert!(session.walk(path, handfast::TreeLimits::new()).is_err());
        });
        once("put", &|path| {
            drop(session.put(path, b"x", Put::Replace, fast).unwrap())
        });
        once("append", &|path| drop(session.append(path, "x").unwrap()));
        once("open", &|path| drop(session.open(path).unwrap()));
        once("stage", &|path| {
            drop(session.stage(path).unwrap().commit().unwrap())
        });
        once("chmod", &|path| session.chmod(path, 0o600).unwrap());
        once("create_dir_all", &|path| {
            assert!(session.create_dir_all(path).is_err())
        });
    }
}
