//! A project whose repository lies elsewhere: a linked worktree or a submodule of git. Its session has
//! two mounts, and each is seen under its own path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use handfast_run::{Project, Repository};
use handfast_session::{MountSpec, Protect, VirtualPath};

use super::preset::all_but;

/// Where a session has the repository.
const REPOSITORY: &str = "/.git";

/// How a pattern begins that speaks of a repository.
const SPEAKS_OF_IT: [&str; 3] = ["**/.git", "/.git", ".git"];

/// The project's file `.git`. It is written so that it does not speak of the repository.
const OWN_FILE: &str = "/[.]git";

/// What the repository keeps of its main worktree: where that stands, and what it is in the middle of.
const OF_MAIN_WORKTREE: &[&str] = &[
    "/HEAD",
    "/*_HEAD",
    "/index",
    "/logs/HEAD",
    "/rebase-*",
    "/sequencer",
];

/// Where a session has the project: at its top, or beside its repository under its own name.
pub(super) fn place_of(project: &Project) -> VirtualPath {
    match (&project.repository, project.path.file_name()) {
        (Some(_), Some(name)) => {
            let path = [b"/", name.as_bytes()].concat();
            VirtualPath::parse(path).expect("a name of a directory is a path")
        }
        _ => VirtualPath::root(),
    }
}

/// Where a session has the repository, if it lies elsewhere.
pub(super) fn place_of_repository(project: &Project) -> Option<VirtualPath> {
    let path = || VirtualPath::parse(REPOSITORY).expect("a constant path");
    project.repository.as_ref().map(|_| path())
}

/// The rules of the project, with the file that leads to the repository: changed, it would lead git to
/// other settings.
pub(super) fn project_rules(project: &Project, mut rules: Protect) -> Protect {
    let own = OWN_FILE.to_owned();
    let speaks = rules
        .read_only
        .iter()
        .any(|pattern| in_repository(pattern).is_some());
    if project.repository.is_some() && speaks && !rules.read_only.contains(&own) {
        rules.read_only.push(own);
    }
    rules
}

/// The mounts of a session: the project, and its repository by the same terms.
pub(super) fn mounts(project: &Project, terms: &MountSpec) -> Vec<MountSpec> {
    let own = terms.clone().moved(&project.path, place_of(project));
    let mut mounts = vec![own];
    if let (Some(at), Some(repository)) = (place_of_repository(project), &project.repository) {
        let rules = repository_rules(terms.protection(), repository);
        let mount = terms.clone().moved(&repository.path, at);
        mounts.push(mount.protect(rules));
    }
    mounts
}

/// What the rules of a project say of its repository, which has a mount of its own. What belongs to
/// other worktrees is read, and not changed.
fn repository_rules(project: &Protect, repository: &Repository) -> Protect {
    let with_own = |patterns: &[String]| -> Vec<String> {
        let own = patterns.iter().filter_map(|pattern| in_repository(pattern));
        patterns.iter().cloned().chain(own).collect()
    };
    let mut rules = Protect {
        deny: with_own(&project.deny),
        read_only: with_own(&project.read_only),
        ask: with_own(&project.ask),
    };
    if rules.read_only.len() > project.read_only.len()
        && let Some(name) = &repository.worktree
    {
        rules.read_only.push("/modules/".to_owned());
        rules.read_only.extend(other_worktrees(name));
        for file in ["gitdir", "commondir", "config.worktree"] {
            rules.read_only.push(format!("/worktrees/*/{file}"));
        }
        rules
            .read_only
            .extend(OF_MAIN_WORKTREE.iter().map(|&name| name.to_owned()));
    }
    rules
}

/// Patterns for what the repository keeps of every worktree but one.
fn other_worktrees(name: &OsStr) -> Vec<String> {
    let in_worktrees = |pattern: String| format!("/worktrees/{pattern}/");
    match name.to_str().filter(|name| name.is_ascii()) {
        Some(name) => all_but(name, "").into_iter().map(in_worktrees).collect(),
        // No pattern can say it. Then this worktree's own changes wait until they are named, too.
        None => vec!["/worktrees/".to_owned()],
    }
}

/// A pattern that speaks of a repository in a project, for the repository itself.
fn in_repository(pattern: &str) -> Option<String> {
    let rest = SPEAKS_OF_IT
        .iter()
        .find_map(|begin| pattern.strip_prefix(begin))?;
    match rest {
        "" | "/" => Some("**".to_owned()),
        rest => rest.starts_with('/').then(|| rest.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use handfast_session::Patterns;

    use super::*;

    fn covers(patterns: &[String], path: &str) -> bool {
        let patterns = Patterns::compile(patterns).unwrap();
        patterns.covers(&handfast::RelPath::parse(path).unwrap())
    }

    #[test]
    fn every_worktree_but_this_one_is_covered() {
        for name in ["w", "feature-1", "a]b", "we!rd^", "a.b_c", "*", "a\\b"] {
            let patterns = other_worktrees(name.as_ref());
            let at = |name: &str| covers(&patterns, &format!("worktrees/{name}/HEAD"));
            assert!(!at(name), "{name}");
            for other in [
                "x",
                "feature",
                "feature-11",
                "feature-2",
                "a",
                "aa",
                "é",
                "w2",
                "b]b",
            ] {
                assert!(at(other), "{name}: {other}");
            }
            assert!(!covers(&patterns, "refs/heads/x"), "{name}");
        }
        assert!(covers(&other_worktrees("ä".as_ref()), "worktrees/ä/HEAD"));
    }

    #[test]
    fn patterns_of_a_repository_hold_in_it() {
        for (pattern, own) in [
            ("**/.git/hooks", Some("/hooks")),
            ("/.git/config", Some("/config")),
            (".git", Some("**")),
            (".git/", Some("**")),
            (".gitmodules", None),
            ("src/.git/x", None),
        ] {
            assert_eq!(in_repository(pattern).as_deref(), own, "{pattern}");
        }
        assert!(covers(&["**".to_owned()], "objects/aa/bb"));
    }
}
