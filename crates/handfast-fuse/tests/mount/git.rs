//! git works in a session that is mounted.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use handfast_session::{Mode, Protect};

use crate::support::{Mounted, git_ok, in_namespace};

fn repository(base: &Path) {
    git_ok(base, &["init", "-q", "-b", "main"]);
    std::fs::create_dir(base.join("src")).unwrap();
    for number in 0..20 {
        let file = base.join(format!("src/file-{number}.txt"));
        std::fs::write(file, format!("line {number}\n")).unwrap();
    }
    std::fs::write(base.join(".gitignore"), ".env*\n").unwrap();
    std::fs::write(base.join(".env"), "SECRET=1\n").unwrap();
    git_ok(base, &["add", "-A"]);
    git_ok(base, &["commit", "-q", "-m", "first"]);
}

#[test]
fn git_adds_and_commits_and_the_base_stays_as_it_was() {
    in_namespace(
        "git::git_adds_and_commits_and_the_base_stays_as_it_was",
        || {
            let workspace = Protect::preset("workspace").unwrap();
            let mounted = Mounted::new(Mode::Overlay, workspace, repository);
            let (base, view) = (&mounted.base, &mounted.view);
            assert_eq!(git_ok(view, &["status", "--porcelain"]), "");

            std::fs::write(view.join("src/new.txt"), "new\n").unwrap();
            std::fs::write(view.join("src/file-3.txt"), "changed\n").unwrap();
            std::fs::remove_file(view.join("src/file-4.txt")).unwrap();
            let status = git_ok(view, &["status", "--porcelain"]);
            assert_eq!(
                status,
                " M src/file-3.txt\n D src/file-4.txt\n?? src/new.txt\n"
            );
            git_ok(view, &["add", "-A"]);
            git_ok(view, &["commit", "-q", "-m", "second"]);
            assert_eq!(git_ok(view, &["status", "--porcelain"]), "");
            git_ok(view, &["fsck", "--strict"]);
            assert_eq!(git_ok(view, &["log", "--format=%s"]), "second\nfirst\n");
            git_ok(view, &["gc", "-q"]);
            git_ok(view, &["switch", "-q", "-c", "branch", "HEAD~1"]);
            assert!(view.join("src/file-4.txt").exists());
            assert!(!view.join("src/new.txt").exists());

            assert_eq!(git_ok(base, &["log", "--format=%s"]), "first\n");
            assert_eq!(git_ok(base, &["status", "--porcelain"]), "");
            let changed = mounted.session.diff().unwrap();
            assert!(
                changed
                    .iter()
                    .any(|one| one.path.to_string() == "/ws/.git/HEAD")
            );
        },
    );
}

#[test]
fn objects_of_the_base_keep_their_numbers() {
    in_namespace("git::objects_of_the_base_keep_their_numbers", || {
        let mounted = Mounted::new(Mode::Overlay, Protect::new(), repository);
        for path in ["", "src", "src/file-7.txt", ".git/index"] {
            let (one, other) = (mounted.base.join(path), mounted.view.join(path));
            let number = |path: &Path| std::fs::symlink_metadata(path).unwrap().ino();
            assert_eq!(number(&one), number(&other), "{path}");
        }
        // A file that is changed keeps its number as long as the kernel knows it.
        let file = mounted.view.join("src/file-7.txt");
        let open = std::fs::File::open(&file).unwrap();
        let before = open.metadata().unwrap().ino();
        std::fs::write(&file, "changed").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().ino(), before);
    });
}

#[test]
fn a_secret_that_appears_later_is_denied() {
    in_namespace("git::a_secret_that_appears_later_is_denied", || {
        let workspace = Protect::preset("workspace").unwrap();
        let mounted = Mounted::new(Mode::Overlay, workspace, repository);
        let denied = |path: &Path| {
            let error = std::fs::read(path).unwrap_err();
            assert_eq!(
                error.kind(),
                std::io::ErrorKind::PermissionDenied,
                "{path:?}"
            );
        };
        denied(&mounted.view.join(".env"));
        let later = mounted.view.join(".env.local");
        assert!(!later.exists());
        std::fs::write(mounted.base.join(".env.local"), "SECRET=2\n").unwrap();
        denied(&later);
        // The name is listed like every name; its attributes are not.
        let output = std::process::Command::new("ls")
            .args(["-a", "-U"])
            .arg(&mounted.view)
            .output()
            .unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let names: Vec<_> = listed.lines().collect();
        for name in [".", "..", ".env", ".env.local", ".git", "src"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(std::fs::symlink_metadata(&later).is_err());
        denied(&later);
    });
}
