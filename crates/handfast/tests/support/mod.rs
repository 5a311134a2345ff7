//! What the tests share: private directories, both backends, and what this machine can do.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part of this"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]

pub mod turns;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::{Backend, BackendChoice, Error, ErrorKind, Links, RelPath, Root, RootOptions};

/// A private directory with `root` and `outside` in it, removed when dropped.
pub struct Scratch {
    pub top: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        Self::below(std::env::temp_dir())
    }

    /// A directory in memory where the machine has one: for tests that sync or make names by the ten
    /// thousand, and ask nothing of the disk.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::below(memory.to_owned())
        } else {
            Self::new()
        }
    }

    /// `HANDFAST_TEST_DIR` says where every test works.
    fn below(base: PathBuf) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::var_os("HANDFAST_TEST_DIR").map_or(base, PathBuf::from);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let top = base.join(format!("handfast-test-{}-{number}", std::process::id()));
        // create_dir fails if somebody was there before us.
        std::fs::create_dir(&top).expect("a private directory can be made");
        std::fs::create_dir(top.join("root")).unwrap();
        std::fs::create_dir(top.join("outside")).unwrap();
        std::fs::write(top.join("outside/secret"), "outside").unwrap();
        std::fs::create_dir(top.join("outside/dir")).unwrap();
        std::fs::write(top.join("outside/dir/secret"), "outside").unwrap();
        Self { top }
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.top.join(below)
    }

    pub fn root_path(&self) -> PathBuf {
        self.top.join("root")
    }

    pub fn open(&self, options: RootOptions) -> Root {
        Root::open_ambient_with(self.root_path(), options).expect("the root opens")
    }

    /// Writes a file below `root`, making its parents.
    pub fn file(&self, path: &str, content: &str) -> &Self {
        let path = self.root_path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub fn dir(&self, path: &str) -> &Self {
        std::fs::create_dir_all(self.root_path().join(path)).unwrap();
        self
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.root_path().join(path)).unwrap();
        self
    }

    pub fn hard_link(&self, source: &str, path: &str) -> &Self {
        std::fs::hard_link(self.top.join(source), self.root_path().join(path)).unwrap();
        self
    }

    pub fn fifo(&self, path: &str) -> &Self {
        let path = self.root_path().join(path);
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &path,
            rustix::fs::Mode::from_raw_mode(0o666),
        )
        .unwrap();
        self
    }

    pub fn read(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.top.join(path)).unwrap()).unwrap()
    }

    /// Everything below `top`: path, kind, mode, content. Two equal snapshots mean that nothing
    /// was changed.
    pub fn snapshot(&self, below: &str) -> Vec<String> {
        let mut found = Vec::new();
        snapshot_into(&self.top.join(below), &mut found);
        found.sort();
        found
    }

    /// What is outside: names, modes, times and content. Not the number of names, since an inside
    /// name of an outside file may be taken away.
    pub fn outside(&self) -> Vec<String> {
        self.snapshot("outside")
            .into_iter()
            .map(|line| {
                let mut fields: Vec<&str> = line.splitn(5, ' ').collect();
                fields.remove(2);
                fields.join(" ")
            })
            .collect()
    }

    /// No staging name is left anywhere.
    pub fn assert_no_leftovers(&self) {
        let left: Vec<_> = self
            .snapshot("")
            .into_iter()
            .filter(|line| line.contains(".handfast-"))
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

fn snapshot_into(dir: &Path, found: &mut Vec<String>) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries {
        let Ok(entry) = entry else { continue };
        let path = entry.path();
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        let content = if meta.is_file() {
            handfast::escape(&std::fs::read(&path).unwrap_or_default())
        } else if meta.is_symlink() {
            handfast::escape(std::fs::read_link(&path).unwrap().as_os_str().as_bytes())
        } else {
            String::new()
        };
        found.push(format!(
            "{} {:o} {} {} {}",
            handfast::escape(path.as_os_str().as_bytes()),
            meta.permissions().mode(),
            meta.nlink(),
            if meta.is_file() { meta.mtime_nsec() } else { 0 },
            content
        ));
        if meta.is_dir() {
            snapshot_into(&path, found);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        make_removable(&self.top);
        if std::fs::remove_dir_all(&self.top).is_err() {
            // Trees deeper than std can remove.
            drop(Command::new("rm").arg("-rf").arg(&self.top).status());
        }
    }
}

/// An ordinary user cannot remove what it made unreadable.
fn make_removable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(meta) = std::fs::symlink_metadata(dir) else {
        return;
    };
    if !meta.is_dir() {
        return;
    }
    if meta.permissions().mode() & 0o700 != 0o700 {
        drop(std::fs::set_permissions(
            dir,
            std::fs::Permissions::from_mode(0o700),
        ));
    }
    // Deep trees are left to the removal itself; a few levels are enough for the tests.
    if dir.as_os_str().len() < 600
        && let Ok(entries) = std::fs::read_dir(dir)
    {
        for entry in entries.flatten() {
            make_removable(&entry.path());
        }
    }
}

pub fn rel(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::parse_with(
        path,
        &handfast::Limits::new()
            .with_depth(1_000_000)
            .with_total(10_000_000),
    )
    .expect("the test's path is valid")
}

/// Whether `openat2` works here. Declared by `HANDFAST_EXPECT_BACKEND` in CI: a machine that is
/// not what CI says it is fails instead of skipping.
pub fn kernel_available() -> bool {
    static WORKS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *WORKS.get_or_init(ask_for_kernel)
}

fn ask_for_kernel() -> bool {
    let scratch = Scratch::new();
    let works = Root::open_ambient_with(
        scratch.root_path(),
        RootOptions::new().backend(BackendChoice::Kernel),
    )
    .is_ok();
    if let Some(expected) = std::env::var_os("HANDFAST_EXPECT_BACKEND") {
        let expected = expected.to_str().expect("kernel or walk");
        assert_eq!(
            if works { "kernel" } else { "walk" },
            expected,
            "the machine is not what HANDFAST_EXPECT_BACKEND says"
        );
    }
    works
}

/// Runs a test on every backend this machine has; what it has not is said.
pub fn each_backend(mut test: impl FnMut(BackendChoice)) {
    if kernel_available() {
        test(BackendChoice::Kernel);
    } else {
        skip("the kernel backend: openat2 is masked or absent");
    }
    test(BackendChoice::Walk);
}

/// Runs a test on every backend and both policies for links.
pub fn each_policy(mut test: impl FnMut(RootOptions, Links)) {
    each_backend(|backend| {
        for links in [Links::Refuse, Links::Beneath] {
            test(RootOptions::new().backend(backend).links(links), links);
        }
    });
}

pub fn options(backend: BackendChoice) -> RootOptions {
    RootOptions::new().backend(backend)
}

pub fn beneath(backend: BackendChoice) -> RootOptions {
    options(backend).links(Links::Beneath)
}

pub fn skip(what: &str) {
    println!("skipped: {what}");
}

/// Whether races were asked to be long, as before a release: the short ones guard a change.
pub fn races_are_long() -> bool {
    let rounds = std::env::var("HANDFAST_RACE_ROUNDS").ok();
    rounds
        .and_then(|rounds| rounds.parse().ok())
        .is_some_and(|rounds: u64| rounds >= 1000)
}

pub fn am_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[track_caller]
pub fn assert_kind<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind) -> Error {
    match result {
        Ok(value) => panic!("expected {kind}, got {value:?}"),
        Err(error) => {
            assert_eq!(error.kind(), kind, "{error}");
            error
        }
    }
}

/// The program that tests run as somebody else: under strace, in a namespace, with few
/// descriptors.
pub fn victim() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let victim = path.join("examples/victim");
    assert!(
        victim.is_file(),
        "build the examples first: cargo test does, cargo test --test NAME does not"
    );
    victim
}

/// Whether an outside program is there. In CI it must be.
pub fn have_program(name: &str) -> bool {
    let found = Command::new(name)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        assert!(
            std::env::var_os("CI").is_none(),
            "{name} is missing, and CI must have it"
        );
        skip(&format!("{name} is not installed"));
    }
    found
}

#[track_caller]
pub fn assert_success(output: &Output) {
    assert!(
        output.status.success(),
        "status {:?}\nstdout: {}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs something that must not hang: a second, or the test fails.
#[track_caller]
pub fn within_a_second<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(sender.send(work())));
    receiver
        .recv_timeout(std::time::Duration::from_secs(1))
        .unwrap_or_else(|_| panic!("{what} hangs"))
}

pub fn backend_name(choice: BackendChoice) -> &'static str {
    match choice {
        BackendChoice::Kernel => Backend::Kernel.name(),
        BackendChoice::Walk => Backend::Walk.name(),
        BackendChoice::Auto => "auto",
    }
}

pub fn mode_of(scratch: &Scratch, path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::symlink_metadata(scratch.path(path))
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

/// Runs the victim in a namespace of its own where it may mount; `None` if there is none.
pub fn unshared(args: &[&str]) -> Option<std::process::Output> {
    let flags = if am_root() { "-m" } else { "-Urm" };
    let output = Command::new("unshare")
        .arg(flags)
        .arg(victim())
        .args(args)
        .output()
        .unwrap();
    let cannot = output.status.code() == Some(3)
        || String::from_utf8_lossy(&output.stderr).contains("unshare:");
    if cannot {
        assert!(
            !am_root() || std::env::var_os("CI").is_none(),
            "root in CI can mount"
        );
        skip("no namespace can be made here");
        return None;
    }
    Some(output)
}
