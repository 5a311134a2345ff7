//! Which directory is the project.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::Digest as _;

use crate::refusal::Refusal;
use crate::repository::Repository;

/// What marks the top of a project.
const MARKS: [&str; 3] = [".git", ".jj", ".hg"];

/// The directory that a program works on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Project {
    /// Its path, without links.
    pub path: PathBuf,
    /// The working directory, without links: the project or a directory in it.
    pub cwd: PathBuf,
    /// Where its repository lies, if that is elsewhere: of a linked worktree or a submodule of git.
    pub repository: Option<Repository>,
    device: u64,
    inode: u64,
    /// When the directory was made, where the filesystem tells; tells a reused inode.
    born: Option<SystemTime>,
}

impl Project {
    /// Finds the project of a working directory: the nearest directory above it with `.git`, `.jj`
    /// or `.hg`, else the working directory itself.
    ///
    /// # Errors
    /// A directory that is nobody's project: `/`, the home directory or one above it, a directory of
    /// another user; a linked worktree or a submodule whose repository does not know it.
    #[allow(
        clippy::disallowed_methods,
        reason = "the operator's own directory, by an ambient path; the session pins it and compares"
    )]
    pub fn find(cwd: &Path, home: Option<&Path>) -> Result<Self, Refusal> {
        let cwd = cwd.canonicalize().map_err(|error| {
            Refusal::request(format!("the working directory cannot be found: {error}"))
        })?;
        let is_marked = |dir: &&Path| {
            MARKS
                .iter()
                .any(|mark| dir.join(mark).symlink_metadata().is_ok())
        };
        let path = cwd.ancestors().find(is_marked).unwrap_or(&cwd).to_owned();
        let shown = handfast::escape(path.as_os_str().as_bytes());
        if path == Path::new("/") {
            return Err(Refusal::request(
                "the project would be `/`; go to a project first",
            ));
        }
        let home = home.and_then(|home| home.canonicalize().ok());
        if home.as_deref().is_some_and(|home| home.starts_with(&path)) {
            return Err(Refusal::request(format!(
                "the project would be `{shown}`, which is or holds your home directory; go to a project first"
            )));
        }
        let status = path
            .symlink_metadata()
            .map_err(|error| Refusal::request(format!("`{shown}` cannot be looked at: {error}")))?;
        if status.uid() != rustix::process::geteuid().as_raw() {
            return Err(Refusal::request(format!(
                "`{shown}` belongs to another user"
            )));
        }
        let git = path.join(".git").symlink_metadata();
        let repository = match git.is_ok_and(|git| git.is_file()) {
            true => Repository::of(&path, home.as_deref())?,
            false => None,
        };
        Ok(Self {
            path,
            cwd,
            repository,
            device: status.dev(),
            inode: status.ino(),
            born: status.created().ok(),
        })
    }

    /// Whether an object is the directory that was found: the session opens the path again.
    #[must_use]
    pub fn is(&self, object: &handfast::Metadata) -> bool {
        (object.identity.device, object.identity.inode) == (self.device, self.inode)
    }

    /// The name of the project's session, which `run` and `mcp --overlay` share: the same for the same
    /// directory, another one if the directory was replaced.
    #[must_use]
    pub fn session_name(&self) -> String {
        let mut digest = sha2::Sha256::new();
        digest.update(self.device.to_le_bytes());
        digest.update(self.inode.to_le_bytes());
        let born = self.born.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |since| since.as_nanos());
        digest.update(born.to_le_bytes());
        let digest = digest.finalize();
        let key: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            true => c,
            false => '-',
        };
        let name: String = name.chars().take(40).map(plain).collect();
        format!("run-{name}-{key}")
    }
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "tests set their scenes with ambient calls"
)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("handfast-run-{name}-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("sub/deep")).unwrap();
        dir.canonicalize().unwrap()
    }

    #[test]
    fn the_nearest_mark_decides_and_home_is_no_project() {
        let dir = scratch("mark");
        let alone = Project::find(&dir.join("sub/deep"), None).unwrap();
        assert_eq!(alone.path, dir.join("sub/deep"));
        std::fs::create_dir(dir.join(".git")).unwrap();
        let found = Project::find(&dir.join("sub/deep"), None).unwrap();
        assert_eq!(found.path, dir);
        assert_eq!(found.cwd, dir.join("sub/deep"));
        assert_ne!(found.session_name(), alone.session_name());
        // A directory that took the place of another one is another project.
        let sub = |dir: &Path| Project::find(&dir.join("other"), None).unwrap();
        std::fs::create_dir_all(dir.join("other/.git")).unwrap();
        let before = sub(&dir);
        assert_eq!(sub(&dir).session_name(), before.session_name());
        std::fs::remove_dir_all(dir.join("other")).unwrap();
        std::fs::create_dir_all(dir.join("other/.git")).unwrap();
        assert_ne!(sub(&dir).session_name(), before.session_name());
        assert!(Project::find(&dir.join("sub"), Some(&dir.join("sub"))).is_err());
        assert!(Project::find(Path::new("/"), None).is_err());
        std::fs::remove_dir(dir.join(".git")).unwrap();
        std::fs::write(dir.join(".git"), "gitdir: /elsewhere\n").unwrap();
        let linked = Project::find(&dir, None).unwrap_err();
        assert_eq!(linked.kind, crate::RefusalKind::Request);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
