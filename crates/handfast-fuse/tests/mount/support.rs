//! A namespace, a base, a session over it and its mount.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use handfast::RelPath;
use handfast::files::{Files, LastLink};
use handfast_fuse::{CacheTimes, Face, MountSettings, Served, mount_at, open_device, serve};
use handfast_session::{
    Asker, Caller, Catalogue, MAX_WAITING, Mode, MountSpec, Protect, Question, Session,
    SessionSpec, VirtualPath,
};

const INSIDE: &str = "HANDFAST_TEST_INSIDE";

/// Runs a test in namespaces of its own: the test binary starts itself once more in them.
pub(crate) fn in_namespace(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let is_root = rustix::process::geteuid().is_root();
    if let (false, Err(error)) = (is_root, open_device()) {
        println!("skipped: {test}: /dev/fuse: {error}");
        return;
    }
    let node = Scratch::new();
    // Root makes a device node; somebody else uses the one that is there.
    let script = r#"set -e
        mount --make-rprivate /
        if [ "$2" = root ]; then
            mount -t tmpfs tmpfs "$1"
            mknod -m 666 "$1/fuse" c 10 229
            mount --bind "$1/fuse" /dev/fuse
        fi
        shift 2; exec "$@""#;
    let mut unshare = Command::new("unshare");
    unshare.arg("--mount");
    if !is_root {
        unshare.args(["--user", "--map-root-user"]);
    }
    let output = unshare
        .args(["sh", "-c", script, "sh"])
        .arg(&node.top)
        .arg(if is_root { "root" } else { "user" })
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test}: {text}{errors}"
    );
    // What it counted, and whether it was starved.
    print!("{text}");
}

/// A private directory, removed when dropped.
pub(crate) struct Scratch {
    pub(crate) top: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("handfast-fuse-{}-{number}", std::process::id());
        let top = std::env::temp_dir().join(name);
        std::fs::create_dir(&top).unwrap();
        Self { top }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.top));
    }
}

/// A base and a session over it, mounted.
pub(crate) struct Mounted {
    pub(crate) base: PathBuf,
    pub(crate) view: PathBuf,
    pub(crate) session: Session,
    served: Option<Served>,
    scratch: Scratch,
}

impl Mounted {
    /// Fills the base, then mounts the session. What the tests change past the mount is seen at
    /// once.
    pub(crate) fn new(mode: Mode, protect: Protect, fill: impl FnOnce(&Path)) -> Self {
        let at_once = (Caller::new("test"), Cached::For(Duration::ZERO));
        Self::with_caller(mode, protect, fill, at_once)
    }

    /// As [`Mounted::new`], with directories that are watched.
    pub(crate) fn watched(protect: Protect, fill: impl FnOnce(&Path)) -> Self {
        let watched = (Caller::new("test"), Cached::Watched);
        Self::with_caller(Mode::Overlay, protect, fill, watched)
    }

    /// As [`Mounted::watched`], for programs that a person is asked about.
    pub(crate) fn asking(protect: Protect, fill: impl FnOnce(&Path)) -> Self {
        let caller = Caller::new("test").asker(Arc::new(Asking));
        Self::with_caller(Mode::Overlay, protect, fill, (caller, Cached::Watched))
    }

    /// As [`Mounted::new`], on behalf of a caller, with a cache of the kernel's that lasts.
    pub(crate) fn with_caller(
        mode: Mode,
        protect: Protect,
        fill: impl FnOnce(&Path),
        (caller, cached): (Caller, Cached),
    ) -> Self {
        let scratch = Scratch::new();
        let (base, view) = (scratch.top.join("base"), scratch.top.join("view"));
        std::fs::create_dir(&base).unwrap();
        std::fs::create_dir(&view).unwrap();
        fill(&base);
        let catalogue = Catalogue::open_ambient(scratch.top.join("state")).unwrap();
        let at = VirtualPath::parse("/ws").unwrap();
        let room = match protect.ask.is_empty() {
            true => 0,
            false => MAX_WAITING,
        };
        let mount = MountSpec::new(&base, at).mode(mode).protect(protect);
        catalogue
            .create("test", &SessionSpec::new().mount(mount))
            .unwrap();
        let session = catalogue.open("test", caller).unwrap();
        let served = Some(show(&session, &view, cached, room));
        Self {
            base,
            view,
            session,
            served,
            scratch,
        }
    }

    /// Another process of the same session.
    pub(crate) fn other(&self) -> Session {
        let catalogue = Catalogue::open_ambient(self.scratch.top.join("state")).unwrap();
        catalogue.open("test", Caller::new("other")).unwrap()
    }
}

fn show(session: &Session, view: &Path, cached: Cached, room: usize) -> Served {
    let files: Arc<dyn Files> = Arc::new(session.clone());
    let top = files
        .node(&RelPath::parse("ws").unwrap(), LastLink::Itself)
        .unwrap();
    let device = open_device().expect("the kernel's device can be opened");
    mount_at(device.as_fd(), view, MountSettings::new()).unwrap();
    let face = Face::new(files, top).unwrap();
    let face = face.with_room_for_waiting(room).with_fifos_and_sockets();
    let face = match cached {
        Cached::For(time) => face.cache_times(CacheTimes {
            names: time,
            facts: time,
            ..CacheTimes::default()
        }),
        Cached::Watched => face.watching().cache_times(CacheTimes {
            watched: Duration::from_secs(3600),
            ..CacheTimes::default()
        }),
    };
    serve(face, device).unwrap()
}

/// How long the kernel believes what it was told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cached {
    /// For this time.
    For(Duration),
    /// For an hour where changes are watched, as a run does it for a minute.
    Watched,
}

/// A mount whose programs ask, as a run's are.
struct Asking;

impl Asker for Asking {
    fn asked(&self, _: &Question) {
        handfast_fuse::request_waits();
    }

    fn ended(&self, _: &Question) {
        handfast_fuse::request_goes_on();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.view, rustix::mount::UnmountFlags::DETACH).unwrap();
        if let Some(served) = self.served.take() {
            drop(served.join());
        }
    }
}

/// Runs git without the settings of the machine.
fn git(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-C"])
        .arg(dir)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

/// What git says, if it succeeds.
pub(crate) fn git_ok(dir: &Path, args: &[&str]) -> String {
    let output = git(dir, args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {text}{errors}");
    text
}
