//! Where the repository of a linked worktree or a submodule of git lies.
//!
//! There `.git` is a file, and the file names a directory elsewhere. A program in an earlier run may
//! have written that file, so a name in it is no reason to show a directory: the directory has to
//! name the project in its turn, which only its own owner could write.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::refusal::Refusal;

/// The longest file of one line that git writes: a path.
const MAX_LINE: u64 = 8192;

/// The longest settings of a submodule that are looked through.
const MAX_SETTINGS: u64 = 1 << 20;

/// The directory that holds the repository of a project, outside of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repository {
    /// Its path, without links. Worktrees of one repository share it.
    pub path: PathBuf,
    /// What the repository calls this worktree; nothing for a submodule.
    pub worktree: Option<OsString>,
    device: u64,
    inode: u64,
}

impl Repository {
    /// The repository that a project's file `.git` leads to. Nothing if it lies in the project.
    ///
    /// # Errors
    /// A file that git would not write; a directory that does not name this project, belongs to
    /// another user, or holds the project or the home directory.
    pub(crate) fn of(project: &Path, home: Option<&Path>) -> Result<Option<Self>, Refusal> {
        let file = project.join(".git");
        let line = one_line(&file)?;
        let named = line
            .strip_prefix(b"gitdir: ")
            .filter(|named| !named.is_empty())
            .ok_or_else(|| refused(&file, "is no file of git"))?;
        let own = real(project, named)?;
        if own.starts_with(project) {
            return Ok(None);
        }
        let (path, worktree) = match one_line(&own.join("commondir")) {
            Ok(common) => worktree(project, &own, &common)?,
            Err(_) => (submodule(project, &own)?, None),
        };
        if project.starts_with(&path) || path.starts_with(project) {
            return Err(refused(&path, "holds the project, or lies in it"));
        }
        if home.is_some_and(|home| home.starts_with(&path)) {
            return Err(refused(&path, "is or holds your home directory"));
        }
        let status = path
            .symlink_metadata()
            .map_err(|error| refused(&path, &format!("cannot be looked at: {error}")))?;
        if status.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(&path, "belongs to another user"));
        }
        Ok(Some(Self {
            path,
            worktree,
            device: status.dev(),
            inode: status.ino(),
        }))
    }

    /// Whether an object is the directory that was found: the session opens the path again.
    #[must_use]
    pub fn is(&self, object: &handfast::Metadata) -> bool {
        (object.identity.device, object.identity.inode) == (self.device, self.inode)
    }
}

/// A linked worktree: the repository knows it by a directory of its own, which names the worktree's
/// file `.git`.
fn worktree(
    project: &Path,
    own: &Path,
    common: &[u8],
) -> Result<(PathBuf, Option<OsString>), Refusal> {
    let common = real(own, common)?;
    let name = own
        .strip_prefix(common.join("worktrees"))
        .ok()
        .filter(|rest| rest.components().count() == 1);
    let Some(name) = name else {
        return Err(refused(own, "is no worktree of the repository it names"));
    };
    let back = one_line(&own.join("gitdir"))?;
    names_back(project, own, &real(own, &back)?, &project.join(".git"))?;
    Ok((common.clone(), Some(name.as_os_str().to_owned())))
}

/// A submodule: its settings name the project.
fn submodule(project: &Path, own: &Path) -> Result<PathBuf, Refusal> {
    let settings = text(&own.join("config"), MAX_SETTINGS)?;
    let mut core = false;
    let mut named = None;
    for line in settings.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.starts_with(b"[") {
            core = line.eq_ignore_ascii_case(b"[core]");
        } else if let Some((key, value)) = split_once(line, b'=')
            && core
            && key.trim_ascii().eq_ignore_ascii_case(b"worktree")
        {
            named = Some(value.trim_ascii());
        }
    }
    let Some(named) = named else {
        return Err(refused(own, "does not say which worktree it is of"));
    };
    names_back(project, own, &real(own, named)?, project)?;
    Ok(own.to_owned())
}

fn split_once(line: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == at)?;
    Some((&line[..at], &line[at + 1..]))
}

fn names_back(project: &Path, own: &Path, found: &Path, wanted: &Path) -> Result<(), Refusal> {
    if found == wanted {
        return Ok(());
    }
    let project = handfast::escape(project.as_os_str().as_bytes());
    let why = format!("is the repository of another worktree than `{project}`");
    Err(refused(own, &why))
}

/// A path that a file of git says, without links. It begins at the directory of the file.
#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path; the session pins it and compares"
)]
fn real(from: &Path, named: &[u8]) -> Result<PathBuf, Refusal> {
    let named = PathBuf::from(OsString::from_vec(named.to_vec()));
    let path = from.join(named);
    path.canonicalize()
        .map_err(|error| refused(&path, &format!("cannot be found: {error}")))
}

/// The content of a file of one line.
fn one_line(path: &Path) -> Result<Vec<u8>, Refusal> {
    let text = text(path, MAX_LINE)?;
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    match line.contains(&b'\n') || line.is_empty() {
        true => Err(refused(path, "is no file of git")),
        false => Ok(line.to_vec()),
    }
}

/// The content of a small file.
#[allow(
    clippy::disallowed_methods,
    reason = "a file of the operator's own repository, by an ambient path"
)]
fn text(path: &Path, limit: u64) -> Result<Vec<u8>, Refusal> {
    use std::io::Read;
    let flags = rustix::fs::OFlags::RDONLY
        | rustix::fs::OFlags::NONBLOCK
        | rustix::fs::OFlags::NOCTTY
        | rustix::fs::OFlags::NOFOLLOW
        | rustix::fs::OFlags::CLOEXEC;
    let read = || -> std::io::Result<Vec<u8>> {
        let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
        let file = std::fs::File::from(file);
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("it is no file"));
        }
        let mut text = Vec::new();
        file.take(limit + 1).read_to_end(&mut text)?;
        match text.len() as u64 > limit {
            true => Err(std::io::Error::other("it is too long")),
            false => Ok(text),
        }
    };
    read().map_err(|error| refused(path, &format!("cannot be read: {error}")))
}

fn refused(path: &Path, why: &str) -> Refusal {
    let shown = handfast::escape(path.as_os_str().as_bytes());
    Refusal::request(format!(
        "the project is a linked worktree or a submodule of git, and `{shown}` {why}"
    ))
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "tests set their scenes with ambient calls"
)]
mod tests {
    use super::*;

    /// A directory of its own, taken away at the end.
    struct FakeRepository(PathBuf);

    impl FakeRepository {
        fn new(name: &str) -> Self {
            let name = format!("handfast-repository-{name}-{}", std::process::id());
            let dir = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir.canonicalize().unwrap())
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        /// A repository with a worktree, as git makes them.
        fn worktree(name: &str) -> Self {
            let scene = Self::new(name);
            let top = scene.0.display().to_string();
            scene.put("main/.git/worktrees/w/commondir", "../..\n");
            scene.put("main/.git/worktrees/w/gitdir", &format!("{top}/w/.git\n"));
            scene.put("w/.git", &format!("gitdir: {top}/main/.git/worktrees/w\n"));
            scene
        }

        fn find(&self, project: &str) -> Result<Option<Repository>, Refusal> {
            Repository::of(&self.0.join(project), None)
        }

        fn why(&self) -> String {
            self.find("w").unwrap_err().why
        }
    }

    impl Drop for FakeRepository {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a_worktree_leads_to_the_repository_that_all_worktrees_share() {
        let scene = FakeRepository::worktree("shared");
        let found = scene.find("w").unwrap().unwrap();
        assert_eq!(found.path, scene.0.join("main/.git"));
        assert_eq!(found.worktree.as_deref(), Some("w".as_ref()));
        // Newer versions of git can write both files without the machine's names.
        scene.put("w/.git", "gitdir: ../main/.git/worktrees/w\n");
        scene.put("main/.git/worktrees/w/gitdir", "../../../../w/.git\n");
        assert_eq!(scene.find("w").unwrap(), Some(found));
        let home = scene.0.join("main/.git/home");
        std::fs::create_dir(&home).unwrap();
        let refused = Repository::of(&scene.0.join("w"), Some(&home)).unwrap_err();
        assert!(refused.why.contains("home directory"), "{refused}");
    }

    #[test]
    fn a_submodule_leads_to_its_own_repository() {
        let scene = FakeRepository::new("module");
        scene.put("p/sub/.git", "gitdir: ../.git/modules/sub\n");
        let settings = "[core]\n\tbare = false\n\tworktree = ../../../sub\n[other]\nworktree = x\n";
        scene.put("p/.git/modules/sub/config", settings);
        let found = scene.find("p/sub").unwrap().unwrap();
        assert_eq!(found.path, scene.0.join("p/.git/modules/sub"));
        assert_eq!(found.worktree, None);
        scene.put("p/.git/modules/sub/config", "[core]\n\tworktree = /\n");
        let why = scene.find("p/sub").unwrap_err().why;
        assert!(why.contains("another worktree"), "{why}");
    }

    #[test]
    fn what_a_program_wrote_into_the_file_shows_no_foreign_directory() {
        let scene = FakeRepository::worktree("foreign");
        let top = scene.0.display().to_string();
        // The repository of another project, with a worktree of its own.
        scene.put("theirs/.git/worktrees/w/commondir", "../..\n");
        scene.put("theirs/.git/worktrees/w/gitdir", &format!("{top}/t/.git\n"));
        scene.put("t/.git", "gitdir: ../theirs/.git/worktrees/w\n");
        scene.put("w/.git", "gitdir: ../theirs/.git/worktrees/w\n");
        assert!(scene.why().contains("another worktree"), "{}", scene.why());
        // A directory that is no repository at all.
        scene.put("secrets/key", "SECRET\n");
        scene.put("w/.git", "gitdir: ../secrets\n");
        assert!(scene.why().contains("config"), "{}", scene.why());
        // One that the program made itself, which names what it wants to see.
        scene.put("w/own/commondir", "../../secrets\n");
        scene.put("w/own/gitdir", "../.git\n");
        scene.put("w/.git", "gitdir: own\n");
        assert_eq!(scene.find("w").unwrap(), None);
        scene.put("granted/commondir", "../secrets\n");
        scene.put("granted/gitdir", "../w/.git\n");
        scene.put("w/.git", "gitdir: ../granted\n");
        assert!(scene.why().contains("no worktree of"), "{}", scene.why());
        for text in ["", "gitdir: \n", "gitdir: a\nb\n", "elsewhere\n"] {
            scene.put("w/.git", text);
            assert!(scene.find("w").is_err(), "{text:?}");
        }
    }
}
