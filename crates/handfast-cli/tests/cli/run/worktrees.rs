//! Linked worktrees and submodules of git: their repository lies elsewhere, and is in the session too.

use std::path::Path;
use std::process::{Command, Stdio};

use super::stage::{Stage, Told, as_each_user};

/// Runs git outside of any run, on files of any owner.
fn git(dir: &Path, args: &[&str]) -> String {
    let named = ["user.name=a", "user.email=a@b", "safe.directory=*"];
    let settings = named.iter().chain(&["protocol.file.allow=always"]);
    let done = Command::new("git")
        .args(settings.flat_map(|setting| ["-c", setting]))
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let told = Told::from(done);
    assert_eq!(told.code, Some(0), "git {args:?}: {told:?}");
    told.out
}

/// A repository with one commit, and worktrees beside it.
pub(super) fn with_worktrees(stage: &Stage, names: &[&str]) {
    let inside = stage.scratch.inside();
    std::fs::write(stage.base(".gitignore"), ".env\n").unwrap();
    git(&inside, &["add", "a.txt", "src", ".gitignore"]);
    git(&inside, &["commit", "-qm", "first"]);
    for name in names {
        let path = format!("../{name}");
        git(&inside, &["worktree", "add", "-q", &path]);
        std::fs::write(stage.scratch.path.join(name).join(".env"), "SECRET=1\n").unwrap();
    }
    stage.hand_over();
}

fn args<'a>(session: &'a str, script: &'a str) -> [&'a str; 8] {
    let quiet = "--quiet";
    ["run", quiet, "--session", session, "--", "sh", "-c", script]
}

/// A run in a worktree.
fn run_in(stage: &Stage, worktree: &str, session: &str, script: &str) -> Told {
    let cd = format!("cd ../{worktree};");
    Told::from(stage.command(&cd, &args(session, script)).output().unwrap())
}

const NAMED: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
     GIT_COMMITTER_EMAIL=a@b;";

/// Everything that git knows of branches and worktrees.
fn known(stage: &Stage) -> String {
    let inside = stage.scratch.inside();
    git(&inside, &["for-each-ref"]) + &git(&inside, &["worktree", "list", "--porcelain"])
}

#[test]
fn git_works_in_a_linked_worktree_and_both_directories_wait() {
    as_each_user(|stage| {
        with_worktrees(stage, &["tree"]);
        let before = known(stage);
        let script = format!(
            "{NAMED} set -e; git status --porcelain; echo new > new.txt; git add new.txt; \
             git commit -qm second; git switch -qc side; echo more >> a.txt; git commit -qam third; \
             git stash list; git log --format=%s; git status --porcelain; git fsck --strict; cat .env"
        );
        let told = run_in(stage, "tree", "w", &script);
        assert_eq!(told.out, "third\nsecond\nfirst\n", "{told:?}");
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.words.contains(".env: Permission denied"), "{told:?}");
        assert_eq!(known(stage), before);
        let tree = stage.scratch.path.join("tree");
        assert!(!tree.join("new.txt").exists());
        let diff = stage.handfast(&["session", "diff", "--names", "w"]);
        for path in ["/tree/new.txt", "/.git/refs/heads/side", "/.git/objects/"] {
            assert!(diff.out.contains(path), "{path}: {diff:?}");
        }
        let done = stage.handfast(&["session", "commit", "--yes", "w"]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let log = git(&tree, &["log", "--format=%s", "side"]);
        assert_eq!(log, "third\nsecond\nfirst\n");
        git(&tree, &["fsck", "--strict"]);
        // What the run left, git takes over: the index and the files agree.
        assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    });
}

#[test]
fn what_git_obeys_in_a_shared_repository_waits_until_it_is_named() {
    as_each_user(|stage| {
        with_worktrees(stage, &["tree", "other"]);
        let before = known(stage);
        let script = "common=$(git rev-parse --git-common-dir); \
             echo 'touch /tmp/x' > \"$common/hooks/post-commit\"; echo '[core] x = y' >> \"$common/config\"; \
             echo 'ref: refs/heads/x' > \"$common/worktrees/other/HEAD\"; \
             echo /nowhere > \"$common/worktrees/tree/gitdir\"; rm -r \"$common/worktrees/other/logs\"; \
             mkdir evil; echo 'gitdir: evil' > .git && echo wrote; \
             echo fine > fine.txt";
        let told = run_in(stage, "tree", "w", script);
        assert_eq!((told.code, told.words.as_str()), (Some(0), ""), "{told:?}");
        assert_eq!(told.out, "wrote\n");
        let own = std::fs::read(stage.scratch.path.join("tree/.git")).unwrap();
        let done = stage.handfast(&["session", "commit", "--yes", "w"]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let tree = stage.scratch.path.join("tree");
        assert!(tree.join("fine.txt").exists(), "{done:?}");
        assert_eq!(std::fs::read(tree.join(".git")).unwrap(), own);
        assert_eq!(known(stage), before);
        let settings = git(&stage.scratch.inside(), &["config", "--list", "--local"]);
        assert!(!settings.contains("core.x"), "{settings}");
        let hook = stage.base(".git/hooks/post-commit");
        assert!(!hook.exists());
        let left = stage.handfast(&["session", "diff", "--names", "w"]);
        for path in [
            "/.git/hooks/post-commit",
            "/.git/config",
            "/.git/worktrees/other/HEAD",
            "/.git/worktrees/other/logs",
            "/.git/worktrees/tree/gitdir",
            "/tree/.git",
        ] {
            assert!(left.out.contains(path), "{path}: {left:?}");
        }
        // Other worktrees are absent inside. Git may take them for gone; that waits, too.
        let pruned = run_in(stage, "other", "p", "git worktree prune; git worktree list");
        assert_eq!(pruned.out.lines().count(), 2, "{pruned:?}");
        assert_eq!(
            stage.handfast(&["session", "commit", "--yes", "p"]).code,
            Some(0)
        );
        assert_eq!(known(stage), before);
        let named = ["session", "commit", "--yes", "w", "/.git/hooks/post-commit"];
        assert_eq!(stage.handfast(&named).code, Some(0));
        assert!(hook.exists());
    });
}

#[test]
fn worktrees_of_one_repository_run_at_once_and_are_committed_one_by_one() {
    as_each_user(|stage| {
        let names = ["one", "two", "three"];
        with_worktrees(stage, &names);
        let script = format!(
            "{NAMED} set -e; name=$(basename $PWD); for n in 1 2 3; do echo $n > $name.$n; \
             git add $name.$n; git commit -qm $name.$n; done; git log --oneline | wc -l"
        );
        let runs = names.map(|name| {
            let mut command = stage.command(&format!("cd ../{name};"), &args(name, &script));
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        });
        for run in runs {
            let told = Told::from(run.wait_with_output().unwrap());
            assert_eq!((told.code, told.out.trim()), (Some(0), "4"), "{told:?}");
        }
        for name in names {
            let done = stage.handfast(&["session", "commit", "--yes", name]);
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        git(&stage.scratch.inside(), &["fsck", "--strict"]);
        for name in names {
            let tree = stage.scratch.path.join(name);
            let log = git(&tree, &["log", "--format=%s"]);
            assert_eq!(log, format!("{name}.3\n{name}.2\n{name}.1\nfirst\n"));
            assert_eq!(git(&tree, &["status", "--porcelain"]), "");
        }
    });
}

#[test]
fn git_works_in_a_submodule() {
    as_each_user(|stage| {
        with_worktrees(stage, &[]);
        let above = stage.scratch.path.join("above");
        std::fs::create_dir(&above).unwrap();
        git(&above, &["init", "-q", "."]);
        // A clone asks who owns what it copies from.
        let me = rustix::process::geteuid().as_raw().to_string();
        let inside = stage.scratch.inside();
        let mine = Command::new("chown").args(["-R", &me]).arg(inside).status();
        assert!(mine.unwrap().success());
        git(&above, &["submodule", "--quiet", "add", "../inside", "sub"]);
        stage.hand_over();
        let script = format!(
            "{NAMED} set -e; echo new > new.txt; git add new.txt; git commit -qm second; \
             git log --format=%s; ls -a .."
        );
        let told = run_in(stage, "above/sub", "m", &script);
        assert_eq!(told.code, Some(0), "{told:?}");
        // The project above is not shown: only the way to the submodule's repository is.
        assert_eq!(told.out, "second\nfirst\n.\n..\n.git\nsub\n", "{told:?}");
        let sub = above.join("sub");
        assert_eq!(git(&sub, &["log", "--format=%s"]), "first\n");
        let done = stage.handfast(&["session", "commit", "--yes", "m"]);
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(git(&sub, &["log", "--format=%s"]), "second\nfirst\n");
    });
}

#[test]
fn a_file_that_leads_to_a_foreign_repository_is_refused() {
    as_each_user(|stage| {
        with_worktrees(stage, &["tree", "other"]);
        let file = stage.scratch.path.join("tree/.git");
        let other = stage.scratch.path.join("other/.git");
        let own = std::fs::read(&file).unwrap();
        assert_eq!(run_in(stage, "tree", "w", "true").code, Some(0));
        for (text, why) in [
            (std::fs::read(other).unwrap(), "another worktree"),
            (b"gitdir: ../home/.ssh\n".to_vec(), "config"),
            (b"gitdir: ../missing\n".to_vec(), "cannot be found"),
            (b"nonsense\n".to_vec(), "no file of git"),
        ] {
            std::fs::write(&file, text).unwrap();
            let told = run_in(stage, "tree", "w", "cat ../home/.ssh/id; true");
            assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{told:?}");
            assert!(told.words.contains(why), "{told:?}");
        }
        std::fs::write(&file, own).unwrap();
        let explained = stage.command("cd ../tree;", &["run", "--explain", "--", "true"]);
        let explained = Told::from({ explained }.output().unwrap());
        let repository = format!("repo     {}", stage.base(".git").display());
        assert!(explained.out.contains(&repository), "{explained:?}");
    });
}
