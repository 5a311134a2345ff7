//! Private directories, and the server as a program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// A private directory, removed when dropped: `inside` is served, `outside` lies beside it.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        let name = format!("handfast-mcp-{}-{number}-{now:x}", std::process::id());
        let path = std::env::temp_dir().join(name);
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

    pub fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.at(name)).unwrap();
    }

    pub fn fifo(&self, name: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, self.at(name), mode).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// The server, without arguments; `HANDFAST_BIN` names a `handfast` that is used instead.
pub fn mcp() -> Command {
    if let Some(binary) = std::env::var_os("HANDFAST_BIN") {
        let mut command = Command::new(binary);
        command.arg("mcp");
        return command;
    }
    Command::new(server())
}

/// The program in `examples/serve.rs`.
pub fn server() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let server = path.join("examples/serve");
    assert!(
        server.is_file(),
        "build the examples first: cargo test does, cargo test --test NAME does not"
    );
    server
}
