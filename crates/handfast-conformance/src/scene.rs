//! The tree that every case begins with.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::RelPath;

/// A private directory with `root` and `outside` in it, removed when dropped.
#[derive(Debug)]
pub struct Scene {
    top: PathBuf,
}

impl Scene {
    /// Plants a fresh one.
    #[must_use]
    pub fn plant() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = match std::env::var_os("HANDFAST_TEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            // Thousands of small trees: in memory where the system has it.
            None if Path::new("/dev/shm").is_dir() => PathBuf::from("/dev/shm"),
            None => std::env::temp_dir(),
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("handfast-conformance-{}-{number}", std::process::id());
        let scene = Self {
            top: base.join(name),
        };
        // create_dir fails if the name exists already.
        std::fs::create_dir(&scene.top).expect("a private directory can be made");
        scene.furnish();
        scene
    }

    /// The directory that is served.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.top.join("root")
    }

    /// What must never change.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.top.join("outside")
    }

    fn furnish(&self) {
        std::fs::create_dir(self.outside()).unwrap();
        std::fs::write(self.outside().join("secret"), "outside").unwrap();
        let root = self.root();
        std::fs::create_dir(&root).unwrap();
        self.furnish_top(&root);
        furnish_sub(&root.join("sub"));
        std::fs::hard_link(self.outside().join("secret"), root.join("hard")).unwrap();
    }

    /// One of every kind.
    fn furnish_top(&self, at: &Path) {
        let file = |name: &str, content: &str, mode| {
            std::fs::write(at.join(name), content).unwrap();
            chmod(&at.join(name), mode);
        };
        for name in ["dir", "dir/deep", "empty"] {
            std::fs::create_dir(at.join(name)).unwrap();
        }
        file("file", "content of a file", 0o640);
        file("dir/inner", "inner", 0o755);
        file("dir/deep/er", "", 0o600);
        chmod(&at.join("dir/deep"), 0o750);
        let link = |target: &str, name: &str| symlink(target, at.join(name)).unwrap();
        link("file", "to-file");
        link("dir", "to-dir");
        link("dir/", "to-dir-slash");
        link("file/", "to-file-slash");
        link("dir/..", "to-here");
        link("./dir/../dir//inner", "round");
        link("deep", "dir/to-deep");
        link("to-dir/to-deep", "twice");
        link("../outside", "out");
        link("../outside/secret", "out-file");
        link("../root/file", "out-and-back");
        link("nothing", "dangling");
        link("nothing/", "dangling-slash");
        link("nothing/deeper", "dangling-deep");
        link("loop-b", "loop-a");
        link("loop-a", "loop-b");
        symlink(self.outside(), at.join("absolute")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, at.join("fifo"), mode).unwrap();
    }
}

/// One level down, where a link may climb.
fn furnish_sub(at: &Path) {
    std::fs::create_dir(at).unwrap();
    std::fs::create_dir(at.join("dir")).unwrap();
    std::fs::write(at.join("file"), "file").unwrap();
    std::fs::write(at.join("dir/inner"), "inner").unwrap();
    for (target, name) in [
        ("../file", "to-file"),
        ("dir", "to-dir"),
        ("..", "to-here"),
        ("../../outside", "out"),
        ("../nothing", "dangling"),
    ] {
        symlink(target, at.join(name)).unwrap();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Best effort: what is left lies in the temporary directory.
        drop(std::fs::remove_dir_all(&self.top));
    }
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

const NAMES: &[&str] = &[
    "file",
    "dir",
    "empty",
    "to-file",
    "to-dir",
    "to-dir-slash",
    "to-file-slash",
    "to-here",
    "round",
    "twice",
    "out",
    "out-file",
    "out-and-back",
    "absolute",
    "dangling",
    "dangling-slash",
    "dangling-deep",
    "loop-a",
    "fifo",
    "hard",
    "absent",
];

/// Every name, alone and on the way, in every spelling that people type.
#[must_use]
pub fn paths() -> Vec<RelPath> {
    let mut texts = vec![
        ".".to_owned(),
        "dir/deep/er".to_owned(),
        "to-dir/to-deep/er".to_owned(),
        "twice/er".to_owned(),
        "absent/deeper/still".to_owned(),
    ];
    for name in NAMES {
        texts.push((*name).to_owned());
        texts.push(format!("{name}/"));
        texts.push(format!("{name}/inner"));
        texts.push(format!("{name}/absent"));
    }
    for name in [
        "file", "dir", "to-file", "to-dir", "to-here", "out", "dangling", "absent",
    ] {
        texts.push(format!("sub/{name}"));
        texts.push(format!("to-here/{name}"));
    }
    texts
        .iter()
        .map(|text| RelPath::clean(text).expect("the table's paths are valid"))
        .collect()
}
