//! Private directories, runs of the binary with a watchdog, and skips that are counted.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

/// A call that takes longer hangs. Generous, since the tests of all crates may share the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What must come back at once: opening a FIFO.
pub const IMPATIENCE: Duration = Duration::from_secs(2);

/// A private directory, removed when dropped: `inside` is the root, `outside` lies beside it.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        Self::within(std::env::temp_dir())
    }

    /// In memory where the machine has such a place: a sweep over every system call syncs thousands of
    /// times, and a kill leaves the same on every filesystem.
    pub fn in_memory() -> Self {
        let memory = PathBuf::from("/dev/shm");
        let usable = rustix::fs::access(&memory, rustix::fs::Access::WRITE_OK).is_ok();
        Self::within(match usable {
            true => memory,
            false => std::env::temp_dir(),
        })
    }

    fn within(dir: PathBuf) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let name = format!(
            "handfast-cli-{}-{}-{:x}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            now.as_nanos()
        );
        let path = dir.join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let scratch = Self { path };
        std::fs::create_dir(scratch.inside()).unwrap();
        std::fs::create_dir(scratch.outside()).unwrap();
        scratch
    }

    pub fn inside(&self) -> PathBuf {
        self.path.join("inside")
    }

    pub fn outside(&self) -> PathBuf {
        self.path.join("outside")
    }

    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.inside().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn dir(&self, name: &str) {
        std::fs::create_dir_all(self.at(name)).unwrap();
    }

    pub fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.at(name)).unwrap();
    }

    pub fn fifo(&self, name: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, self.at(name), mode).unwrap();
    }

    /// Runs a verb with `--json` on the root.
    pub fn fs<S: AsRef<OsStr>>(&self, options: &[&str], verb: &[S]) -> Run {
        self.fs_with(options, verb, b"")
    }

    /// As [`Scratch::fs`], with standard input.
    pub fn fs_with<S: AsRef<OsStr>>(&self, options: &[&str], verb: &[S], input: &[u8]) -> Run {
        let mut args: Vec<OsString> = vec!["fs".into(), "--json".into(), "--root".into()];
        args.push(self.inside().into());
        args.extend(options.iter().map(OsString::from));
        args.extend(verb.iter().map(|arg| arg.as_ref().to_owned()));
        Run::of(&args, input, PATIENCE)
    }

    /// Runs a verb for people.
    pub fn words(&self, verb: &[&str]) -> Run {
        self.words_with(verb, b"")
    }

    /// As [`Scratch::words`], with standard input.
    pub fn words_with(&self, verb: &[&str], input: &[u8]) -> Run {
        let mut args: Vec<OsString> = vec!["fs".into(), "--root".into(), self.inside().into()];
        args.extend(verb.iter().map(OsString::from));
        Run::of(&args, input, PATIENCE)
    }

    /// Everything below, with kind, mode, links and content: to show that nothing changed.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.path.clone()];
        while let Some(dir) = pending.pop() {
            let Ok(entries) = std::fs::read_dir(&dir) else {
                continue;
            };
            for entry in entries {
                let path = entry.unwrap().path();
                let status = std::fs::symlink_metadata(&path).unwrap();
                let kind = status.file_type();
                let content = if kind.is_file() {
                    format!("{:?}", std::fs::read(&path))
                } else if kind.is_symlink() {
                    format!("{:?}", std::fs::read_link(&path))
                } else {
                    format!("fifo {}", kind.is_fifo())
                };
                let facts = (status.ino(), status.mode(), status.nlink());
                found.insert(path.clone(), format!("{kind:?} {facts:?} {content}"));
                if kind.is_dir() {
                    pending.push(path);
                }
            }
        }
        found
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// What a run of the binary came to.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Run {
    pub fn of(args: &[impl AsRef<OsStr>], input: &[u8], patience: Duration) -> Self {
        Self::with_env(args, &[], input, patience)
    }

    /// The same with something in the environment.
    pub fn with_env(
        args: &[impl AsRef<OsStr>],
        env: &[(&str, &OsStr)],
        input: &[u8],
        patience: Duration,
    ) -> Self {
        let mut command = handfast(args);
        command.envs(env.iter().copied());
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A verb that is refused does not read its input; the pipe may be closed by then.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let run = Self::wait(child, patience);
        writer.join().unwrap();
        run
    }

    /// Waits for a child, and ends it if it takes too long.
    pub fn wait(mut child: Child, patience: Duration) -> Self {
        let out = drain(child.stdout.take());
        let err = drain(child.stderr.take());
        let deadline = Instant::now() + patience;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("the call hangs: {child:?}");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let run = Self {
            code: status.code().unwrap_or_else(|| panic!("died: {status}")),
            stdout: out.join().unwrap(),
            stderr: String::from_utf8(err.join().unwrap()).unwrap(),
        };
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        run
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The one object on standard output.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert_eq!(value["version"], 1, "{value}");
        assert_eq!(self.stdout.last(), Some(&b'\n'));
        assert_eq!(self.text().lines().count(), 1);
        value
    }

    /// It was done; the object.
    pub fn ok(&self) -> Value {
        let value = self.json();
        assert_eq!((self.code, &value["ok"]), (0, &true.into()), "{self:?}");
        assert_eq!(self.stderr, "");
        value
    }

    /// It was refused with exit code 1; the error.
    pub fn refused(&self, kind: &str) -> Value {
        self.failed(kind, 1)
    }

    pub fn failed(&self, kind: &str, code: i32) -> Value {
        let value = self.json();
        assert_eq!(value["ok"], false, "{self:?}");
        assert_eq!(value["error"]["kind"], kind, "{self:?}");
        assert_eq!(self.code, code, "{self:?}");
        value["error"].clone()
    }
}

/// The binary, its streams captured.
pub fn handfast(args: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(binary());
    command.args(args);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command
}

fn drain(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut data = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut data).unwrap();
        }
        data
    })
}

/// Says that something was not tried here, and counts it.
pub fn skip(what: &str, why: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let line = format!("skipped: {what}: {why} (number {number})\n");
    // Not by a macro: those are silenced in tests that pass, and a skip must show.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The backends that are there. Only a kernel without openat2 is a reason to leave one out.
pub fn backends(what: &str) -> Vec<&'static str> {
    static KERNEL: OnceLock<bool> = OnceLock::new();
    let kernel = *KERNEL.get_or_init(|| {
        let scratch = Scratch::new();
        let run = scratch.fs(&["--backend", "kernel"], &["ls", "."]);
        match run.code {
            0 => true,
            3 => {
                run.failed("Unsupported", 3);
                false
            }
            _ => panic!("{run:?}"),
        }
    });
    if kernel {
        return vec!["kernel", "walk"];
    }
    skip(
        what,
        "the kernel backend is not there, openat2 is absent or filtered",
    );
    vec!["walk"]
}

/// Whether file modes do not stop this user.
pub fn is_privileged() -> bool {
    let scratch = Scratch::new();
    let path = scratch.file("probe", "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::File::open(path).is_ok()
}

/// Bytes as an argument.
pub fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The binary under test; `HANDFAST_BIN` names a copy for users that cannot reach the build's.
pub fn binary() -> std::ffi::OsString {
    std::env::var_os("HANDFAST_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_handfast").into())
}

/// `handfast mcp`, without arguments.
pub fn mcp() -> Command {
    let mut command = Command::new(binary());
    command.arg("mcp");
    command
}
