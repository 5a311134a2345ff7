//! A program takes the right to read its files from everybody, the reviewer included.

use super::fast::in_session;
use super::stage::{as_each_user, is_root};

const SCRIPT: &str = "set -e; echo q >> a.txt; chmod 000 a.txt; echo evil > b.txt; \
     printf xy > secret; chmod 000 secret";

#[test]
fn a_file_without_a_right_to_read_hides_no_other_change() {
    as_each_user(|stage| {
        for engine in [&["--protect", "none"][..], &["--fast", "--protect", "none"]] {
            let name = format!("s{}", engine.len());
            let told = stage.run(&in_session(engine, &name), SCRIPT);
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(told.words.contains("3 changes wait"), "{told:?}");
            let diff = stage.handfast(&["session", "diff", &name]);
            assert!(diff.out.contains("+evil"), "{diff:?}");
            // Sizes and modes are known of files that cannot be read too.
            let facts = "changed  /a.txt (mode 0644 to 0000, 14 to 16 bytes";
            assert!(diff.out.contains(facts), "{diff:?}");
            let facts = "added    /secret (file 0000, 2 bytes";
            assert!(diff.out.contains(facts), "{diff:?}");
            let list = stage.handfast(&["session", "list"]);
            assert!(!list.out.contains('?'), "{list:?}");
            // Root reads what it likes.
            let can_read = stage.user == "0" && is_root();
            match can_read {
                true => assert!(diff.out.contains("+xy"), "{diff:?}"),
                false => {
                    let why = "not shown: 2 bytes: it cannot be read, its mode 0000 forbids it";
                    assert!(diff.out.contains(why), "{diff:?}");
                }
            }
            let code = Some(i32::from(!can_read));
            assert_eq!(diff.code, code, "{diff:?}");
            let one = stage.handfast(&["session", "diff", &name, "/b.txt"]);
            assert_eq!(one.code, Some(0), "{one:?}");
            assert!(one.out.contains("+evil"), "{one:?}");
            if can_read {
                continue;
            }
            // What nobody could be shown is not committed, and stands in the way of the rest.
            let told = stage.handfast(&["session", "commit", "--yes", &name]);
            assert_eq!(told.code, Some(1), "{told:?}");
            for path in ["/a.txt", "/secret"] {
                let conflict = format!("conflict  {path}: its mode forbids even its owner");
                assert!(told.out.contains(&conflict), "{told:?}");
            }
            assert!(!stage.base("b.txt").exists(), "{told:?}");
            let told = stage.handfast(&[
                "session",
                "commit",
                "--yes",
                "--overwrite",
                &name,
                "/secret",
            ]);
            assert_eq!(told.code, Some(1), "{told:?}");
            assert!(!stage.base("secret").exists(), "{told:?}");
            // The way out that the message names.
            let told = stage.handfast(&["fs", "--session", &name, "chmod", "600", "/secret"]);
            assert_eq!(told.code, Some(0), "{told:?}");
            let told = stage.handfast(&["session", "commit", "--yes", &name, "/secret"]);
            assert_eq!(told.code, Some(0), "{told:?}");
            assert_eq!(std::fs::read(stage.base("secret")).unwrap(), b"xy");
            std::fs::remove_file(stage.base("secret")).unwrap();
        }
    });
}
