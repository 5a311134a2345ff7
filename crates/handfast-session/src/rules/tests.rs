use super::*;

fn rules(deny: &[&str], read_only: &[&str]) -> Rules {
    let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Rules::compile(&Protect {
        deny: own(deny),
        read_only: own(read_only),
        ask: Vec::new(),
    })
    .unwrap()
}

fn denied(pattern: &str, path: &str) -> bool {
    let rules = rules(&[pattern], &[]);
    let path = RelPath::parse(path).unwrap();
    rules
        .forbids(&rules.judge(&path), Access::Read, Shape::File)
        .is_some()
}

#[test]
fn patterns_match_as_git_check_ignore_says() {
    // Each line was compared with `git check-ignore` on a file of that path.
    for (pattern, path, expected) in [
        (".env", ".env", true),
        (".env", "a/b/.env", true),
        (".env", ".env/x", true),
        (".env", "a.env", false),
        ("*.pem", "a/b.pem", true),
        ("*.pem", "a.pem/x", true),
        ("/a", "a", true),
        ("/a", "b/a", false),
        ("a/b", "a/b", true),
        ("a/b", "x/a/b", false),
        ("a/b", "a/b/c/d", true),
        ("**/a/b", "x/y/a/b", true),
        ("**/a/b", "a/b", true),
        ("a/**/b", "a/b", true),
        ("a/**/b", "a/x/y/b", true),
        ("a/**/b", "a/x/y/c", false),
        ("a/**", "a", false),
        ("a/**", "a/x", true),
        ("a/**", "a/x/y", true),
        ("build/", "build", false),
        ("build/", "build/x", true),
        ("build/", "x/build/y", true),
        ("a/*.c", "a/x.c", true),
        ("a/*.c", "a/b/x.c", false),
        ("a/*/c", "a/b/c", true),
        ("s[ae]t", "x/set", true),
        ("\\!a", "!a", true),
        ("**", "a/b", true),
    ] {
        assert_eq!(denied(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn what_git_says_is_what_we_say() {
    // Where git is there, ask it: a file for every path, every pattern alone in `.gitignore`.
    let patterns = [
        ".env", "*.pem", "/a", "a/b", "**/a/b", "a/**/b", "a/**", "b/", "a/*.c", "a/*/c", "s[ae]t",
        "?", "a*", "*a*b", "**/b", "/a/b/", "**",
    ];
    let paths = [
        ".env", "a/.env", "a/b/c", "a/x.c", "a/b/x.c", "b", "c/b/x", "x/a/b/c", "set", "c/sat/y",
        "aab", "q/axb", "d/k.pem", "z",
    ];
    for pattern in patterns {
        for path in paths {
            let Some(expected) = ask_git(pattern, path) else {
                println!("skipped: patterns against git: git is not there");
                return;
            };
            assert_eq!(denied(pattern, path), expected, "{pattern} {path}");
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "tests set their scenes with ambient calls"
)]
fn ask_git(pattern: &str, path: &str) -> Option<bool> {
    use std::process::Command;
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("handfast-git-{}-{number}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let answer = || -> Option<bool> {
        let git = |args: &[&str]| {
            Command::new("git")
                .args(args)
                .current_dir(&dir)
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("HOME", &dir)
                .output()
        };
        git(&["init", "-q"]).ok()?;
        let file = dir.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        std::fs::write(dir.join(".git/info/exclude"), format!("{pattern}\n")).unwrap();
        let output = git(&["check-ignore", "-q", path]).ok()?;
        Some(output.status.success())
    };
    let answer = answer();
    std::fs::remove_dir_all(&dir).unwrap();
    answer
}

#[test]
fn deny_beats_read_only_and_covers_below() {
    let rules = rules(&["secret"], &["*"]);
    let said = |path: &str, access| {
        let verdict = rules.judge(&RelPath::parse(path).unwrap());
        rules
            .forbids(&verdict, access, Shape::File)
            .map(|rule| rule.list)
    };
    assert_eq!(said("secret", Access::Read), Some("deny"));
    assert_eq!(said("secret", Access::Change), Some("deny"));
    assert_eq!(said("a/secret/b/c", Access::Read), Some("deny"));
    assert_eq!(said("a/b", Access::Read), None);
    assert_eq!(said("a/b", Access::Change), Some("read_only"));
}

#[test]
fn what_could_lie_below_is_known_from_the_pattern_alone() {
    let rules = rules(&["*.pem"], &[".git/hooks", "**/deep/er/x"]);
    let below = |path: &str| rules.judge(&RelPath::parse(path).unwrap()).below().clone();
    let ordinary = |path: &str| rules.is_ordinary_below(&RelPath::parse(path).unwrap(), || false);
    assert_eq!(below("a"), below("b/c"));
    assert_ne!(below(".git"), below("b"));
    assert_eq!(below("x/.git"), below("b"));
    assert_ne!(below("q/deep"), below("b"));
    assert!(ordinary("a/b"));
    assert!(!ordinary(".git"));
    assert!(!ordinary("any/deep"));
}

#[test]
fn case_variants_are_found_where_case_does_not_matter() {
    let rules = rules(&[".env", "*.PEM", "caf\u{e9}"], &[]);
    for path in [".ENV", "a/X.pem", "CAF\u{c9}", "cafe\u{301}/x"] {
        let path = RelPath::parse(path).unwrap();
        let exact = rules.judge(&path);
        assert_eq!(rules.forbids(&exact, Access::Read, Shape::File), None);
        let folded = rules.judge_folded(&path);
        assert!(rules.forbids(&folded, Access::Read, Shape::File).is_some());
    }
}

#[test]
fn patterns_without_effect_are_errors() {
    for bad in ["!a", "#a", "", "/", "a//b", "../a", "a/./b", "a ", "[x"] {
        let protect = Protect::new().with_deny(bad);
        assert!(Rules::compile(&protect).is_err(), "{bad:?}");
    }
}

#[test]
fn what_lies_below_a_name_of_another_case_is_not_ordinary_where_case_folds() {
    let rules = rules(&[], &["**/.git/hooks"]);
    for (path, exact, folded) in [
        (".git", false, false),
        ("a/.GIT", true, false),
        ("a/.Git", true, false),
        ("a/git", true, true),
    ] {
        let path = RelPath::parse(path).unwrap();
        assert_eq!(rules.is_ordinary_below(&path, || false), exact, "{path}");
        assert_eq!(rules.is_ordinary_below(&path, || true), folded, "{path}");
    }
}
