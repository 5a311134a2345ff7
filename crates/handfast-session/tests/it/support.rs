//! Private directories, sessions over them, and what a tree looks like.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use handfast_session::{
    Caller, Catalogue, Mode, MountSpec, Protect, Session, SessionSpec, VirtualPath,
};

/// On whose behalf the tests ask.
pub fn me() -> Caller {
    Caller::new("test")
}

/// A private directory with `base`, `outside` and `state` in it, removed when dropped.
pub struct Scratch {
    pub top: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("handfast-session-{}-{number}", std::process::id());
        let top = std::env::temp_dir().join(name);
        std::fs::create_dir(&top).expect("a private directory can be made");
        std::fs::set_permissions(&top, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::create_dir(top.join("base")).unwrap();
        std::fs::create_dir(top.join("outside")).unwrap();
        std::fs::write(top.join("outside/secret"), "outside").unwrap();
        Self { top }
    }

    pub fn base(&self) -> PathBuf {
        self.top.join("base")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.base().join(path)
    }

    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub fn dir(&self, path: &str) -> &Self {
        std::fs::create_dir_all(self.at(path)).unwrap();
        self
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
        self
    }

    pub fn read(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.at(path)).unwrap()).unwrap()
    }

    pub fn catalogue(&self) -> Catalogue {
        Catalogue::open_ambient(self.top.join("state")).unwrap()
    }

    pub fn spec(&self, mode: Mode) -> SessionSpec {
        SessionSpec::new().mount(self.mount(mode))
    }

    pub fn mount(&self, mode: Mode) -> MountSpec {
        MountSpec::new(self.base(), v("/")).mode(mode)
    }

    /// A session in a mode, durable where the mode is.
    pub fn session(&self, mode: Mode) -> Session {
        self.session_of(&self.spec(mode))
    }

    pub fn protected(&self, mode: Mode, protect: Protect) -> Session {
        self.session_of(&SessionSpec::new().mount(self.mount(mode).protect(protect)))
    }

    pub fn session_of(&self, spec: &SessionSpec) -> Session {
        if spec_is_durable(spec) {
            let catalogue = self.catalogue();
            match catalogue.create("s", spec) {
                Ok(()) => {}
                Err(error) if error.kind() == handfast::ErrorKind::Exists => {}
                Err(error) => panic!("{error}"),
            }
            catalogue.open("s", me()).unwrap()
        } else {
            Session::new(spec, me()).unwrap()
        }
    }

    /// Everything in the base: path to kind, mode and content.
    pub fn tree(&self) -> BTreeMap<String, String> {
        tree_of(&self.base())
    }

    pub fn outside(&self) -> BTreeMap<String, String> {
        tree_of(&self.top.join("outside"))
    }
}

fn spec_is_durable(spec: &SessionSpec) -> bool {
    !format!("{spec:?}").contains("mode: Memory") && format!("{spec:?}").contains("mode: Overlay")
}

/// Everything below a directory of the host.
pub fn tree_of(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let status = std::fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(dir).unwrap().as_os_str().as_bytes();
            let mode = status.permissions().mode() & 0o7777;
            let facts = if status.is_dir() {
                pending.push(path.clone());
                format!("dir {mode:o}")
            } else if status.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                format!("link {}", handfast::escape(target.as_os_str().as_bytes()))
            } else {
                let content = std::fs::read(&path).unwrap();
                format!("file {mode:o} {}", handfast::escape(&content))
            };
            found.insert(handfast::escape(name), facts);
        }
    }
    found
}

/// Everything that a session shows, in the same form.
pub fn tree_in(session: &Session) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut walk = session.walk("/", handfast::TreeLimits::new()).unwrap();
    while let Some(entry) = walk.next_entry().unwrap() {
        let path = bytes(&entry.path);
        let status = session.symlink_metadata(&path).unwrap();
        let mode = status.mode & 0o7777;
        let facts = if status.is_dir() {
            format!("dir {mode:o}")
        } else if status.is_symlink() {
            format!("link {}", session.read_link(&path).unwrap())
        } else {
            format!(
                "file {mode:o} {}",
                handfast::escape(&session.read(&path).unwrap())
            )
        };
        found.insert(entry.path.to_string()[1..].to_owned(), facts);
    }
    found
}

/// A virtual path as the bytes it is parsed from.
pub fn bytes(path: &VirtualPath) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend_from_slice(path.as_rel().as_bytes());
    text
}

impl Drop for Scratch {
    fn drop(&mut self) {
        make_removable(&self.top);
        std::fs::remove_dir_all(&self.top).unwrap();
    }
}

/// An ordinary user cannot remove what it made unreadable.
fn make_removable(dir: &Path) {
    let Ok(status) = std::fs::symlink_metadata(dir) else {
        return;
    };
    if !status.is_dir() {
        return;
    }
    if status.permissions().mode() & 0o700 != 0o700 {
        drop(std::fs::set_permissions(
            dir,
            std::fs::Permissions::from_mode(0o700),
        ));
    }
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        make_removable(&entry.path());
    }
}

pub fn v(path: &str) -> VirtualPath {
    VirtualPath::parse(path).unwrap()
}

/// The kind of an error.
pub fn kind<T: std::fmt::Debug>(result: Result<T, handfast_session::Error>) -> handfast::ErrorKind {
    result.unwrap_err().kind()
}

/// The diff as lines: kind, path, source.
pub fn diff(session: &Session) -> Vec<String> {
    session
        .diff()
        .unwrap()
        .into_iter()
        .map(|change| match change.from {
            Some(from) => format!("{} {} < {from}", change.kind.name(), change.path),
            None => format!("{} {}", change.kind.name(), change.path),
        })
        .collect()
}

/// Says that something was not tried here.
pub fn skip(what: &str, why: &str) {
    use std::io::Write;
    let line = format!("skipped: {what}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
