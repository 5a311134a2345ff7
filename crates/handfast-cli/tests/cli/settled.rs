//! Refusals that are settled for the library and the command alike, without links in the play:
//! the right kind, the path as it was given, and nothing changed.

use crate::support::{Scratch, backends};

/// Options, verb, kind.
type Row = (
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
);

/// A tree with one of everything, and something outside to protect.
pub(crate) fn world() -> Scratch {
    let scratch = Scratch::new();
    std::fs::write(scratch.outside().join("secret-file"), "secret").unwrap();
    std::fs::create_dir(scratch.outside().join("secret-dir")).unwrap();
    scratch.file("file", "content");
    scratch.file("other", "other");
    scratch.file("dir/inner", "inner");
    scratch.dir("empty");
    scratch.fifo("fifo");
    std::fs::hard_link(scratch.outside().join("secret-file"), scratch.at("hard")).unwrap();
    scratch.link("file", "in");
    scratch.link("dir", "in-dir");
    scratch.link("../outside/secret-file", "out");
    scratch.link("../outside/secret-dir", "out-dir");
    scratch.link(scratch.outside().join("secret-file"), "absolute");
    scratch.link("secret-nowhere", "dangling");
    scratch.link("loop", "loop");
    scratch
}

/// Runs rows on every backend. All of them must be refused and leave everything as it was.
pub(crate) fn check(what: &str, rows: &[Row]) {
    for backend in backends(what) {
        let scratch = world();
        let before = scratch.snapshot();
        for (options, verb, kind) in rows {
            let all = [&["--backend", backend], *options].concat();
            let run = scratch.fs_with(&all, verb, b"overwritten");
            let error = run.refused(kind);
            let context = format!("{backend} {options:?} {verb:?}: {run:?}");
            assert_eq!(error["verb"], verb[0], "{context}");
            assert_eq!(error["effect"], "none", "{context}");
            let named = error["path"].as_str().unwrap();
            let given = verb.contains(&named);
            assert!(given, "{context}");
            let words = format!("{}{}", run.text(), run.stderr);
            let host = scratch.path.to_str().unwrap();
            assert!(!words.contains(host), "a host path: {context}");
            assert!(!words.contains("secret"), "a link's target: {context}");
            assert_eq!(before, scratch.snapshot(), "something changed: {context}");
        }
    }
}

#[test]
fn what_the_parser_refuses() {
    let verbs: [&[&str]; 16] = [
        &["read"],
        &["write"],
        &["append"],
        &["ls"],
        &["tree"],
        &["stat"],
        &["mkdir"],
        &["mkdir", "-p"],
        &["rm"],
        &["rm", "-r"],
        &["readlink"],
        &["chmod", "600"],
        &["version"],
        &["symlink", "x"],
        &["write", "--new"],
        &["recover"],
    ];
    let bad = [
        "",
        "/",
        "/file",
        "..",
        "../file",
        "dir/..",
        "dir/../file",
        "./../x",
    ];
    for backend in backends("the parser") {
        let scratch = world();
        let before = scratch.snapshot();
        for verb in verbs {
            for path in bad {
                let verb = [verb, &[path]].concat();
                let run = scratch.fs(&["--backend", backend], &verb);
                let error = run.refused("Invalid");
                assert_eq!(
                    (&error["verb"], &error["path"]),
                    (&verb[0].into(), &path.into())
                );
            }
        }
        for verb in ["mv", "cp", "link"] {
            for path in bad {
                scratch.fs(&[], &[verb, path, "new"]).refused("Invalid");
                let error = scratch.fs(&[], &[verb, "file", path]).refused("Invalid");
                assert_eq!(error["destination"], path);
            }
        }
        assert_eq!(before, scratch.snapshot());
    }
}

#[test]
fn the_root_itself_is_for_ls_tree_stat_and_recover() {
    for backend in backends("the root itself") {
        let scratch = world();
        for path in [".", "./", "./.", ".//"] {
            for verb in ["ls", "tree", "stat", "recover"] {
                scratch.fs(&["--backend", backend], &[verb, path]).ok();
            }
        }
    }
    check(
        "the root itself",
        &[
            (&[], &["read", "."], "Invalid"),
            (&[], &["write", "."], "Invalid"),
            (&[], &["append", "./"], "Invalid"),
            (&[], &["mkdir", "."], "Invalid"),
            (&[], &["mkdir", "-p", "."], "Invalid"),
            (&[], &["rm", "."], "Invalid"),
            (&[], &["rm", "-r", "."], "Invalid"),
            (&[], &["mv", ".", "x"], "Invalid"),
            (&[], &["mv", "file", "."], "Invalid"),
            (&[], &["cp", "-r", ".", "x"], "Invalid"),
            (&[], &["cp", "file", "."], "Invalid"),
            (&[], &["link", ".", "x"], "Invalid"),
            (&[], &["symlink", "x", "."], "Invalid"),
            (&[], &["readlink", "."], "Invalid"),
            (&[], &["chmod", "700", "."], "Invalid"),
            (&[], &["version", "."], "Invalid"),
        ],
    );
}

#[test]
fn files_used_as_directories_and_directories_as_files() {
    check(
        "kinds",
        &[
            (&[], &["read", "file/"], "NotADirectory"),
            (&[], &["read", "file/."], "NotADirectory"),
            (&[], &["read", "file/x"], "NotADirectory"),
            (&[], &["read", "dir"], "IsADirectory"),
            (&[], &["write", "dir"], "IsADirectory"),
            (&[], &["write", "file/"], "NotADirectory"),
            (&[], &["write", "file/x"], "NotADirectory"),
            (&[], &["append", "dir"], "IsADirectory"),
            (&[], &["append", "file/x"], "NotADirectory"),
            (&[], &["version", "dir"], "IsADirectory"),
            (&[], &["ls", "file"], "NotADirectory"),
            (&[], &["tree", "file"], "NotADirectory"),
            (&[], &["stat", "file/"], "NotADirectory"),
            (&[], &["recover", "file"], "NotADirectory"),
            (&[], &["mkdir", "-p", "file"], "NotADirectory"),
            (&[], &["mkdir", "-p", "file/x/y"], "NotADirectory"),
            (&[], &["mkdir", "file/x"], "NotADirectory"),
            (&[], &["rm", "dir"], "IsADirectory"),
            (&[], &["rm", "empty"], "IsADirectory"),
            (&[], &["rm", "file/"], "NotADirectory"),
            (&[], &["rm", "-r", "file/"], "NotADirectory"),
            (&[], &["mv", "file/", "x"], "NotADirectory"),
            (&[], &["readlink", "file"], "Kind"),
            (&[], &["readlink", "dir"], "Kind"),
        ],
    );
}

#[test]
fn what_is_not_there_and_what_is() {
    check(
        "presence",
        &[
            (&[], &["read", "missing"], "NotFound"),
            (&[], &["stat", "missing/x"], "NotFound"),
            (&[], &["ls", "missing"], "NotFound"),
            (&[], &["tree", "missing"], "NotFound"),
            (&[], &["version", "missing"], "NotFound"),
            (&[], &["readlink", "missing"], "NotFound"),
            (&[], &["chmod", "600", "missing"], "NotFound"),
            (&[], &["recover", "missing"], "NotFound"),
            (&[], &["rm", "missing"], "NotFound"),
            (&[], &["rm", "-r", "missing"], "NotFound"),
            (&[], &["mv", "missing", "x"], "NotFound"),
            (&[], &["mv", "file", "missing/x"], "NotFound"),
            (&[], &["mv", "--exchange", "file", "missing"], "NotFound"),
            (&[], &["cp", "missing", "x"], "NotFound"),
            (&[], &["cp", "-r", "missing", "x"], "NotFound"),
            (&[], &["link", "missing", "x"], "NotFound"),
            (&[], &["write", "missing/x"], "NotFound"),
            (&[], &["append", "missing/x"], "NotFound"),
            (&[], &["mkdir", "missing/x"], "NotFound"),
            (&[], &["symlink", "file", "missing/x"], "NotFound"),
            (&[], &["mkdir", "dir"], "Exists"),
            (&[], &["mkdir", "file"], "Exists"),
            (&[], &["mkdir", "in-dir"], "Exists"),
            (&[], &["write", "--new", "file"], "Exists"),
            (&[], &["write", "--new", "dir"], "Exists"),
            (&[], &["write", "--new", "fifo"], "Exists"),
            (&[], &["write", "--new", "dangling"], "Exists"),
            (
                &["--links", "beneath"],
                &["write", "--new", "dangling"],
                "Exists",
            ),
            (&[], &["symlink", "file", "other"], "Exists"),
            (&[], &["link", "file", "other"], "Exists"),
            (&[], &["link", "file", "dangling"], "Exists"),
            (&[], &["mv", "--no-replace", "file", "other"], "Exists"),
            (&[], &["mv", "--no-replace", "file", "dangling"], "Exists"),
            (&[], &["mv", "--no-replace", "dir", "empty"], "Exists"),
        ],
    );
}

#[test]
fn nothing_moves_or_is_copied_into_a_directory() {
    check(
        "mv and cp",
        &[
            (&[], &["mv", "file", "dir"], "IsADirectory"),
            (&[], &["mv", "file", "empty"], "IsADirectory"),
            (&[], &["mv", "dir", "file"], "NotADirectory"),
            (&[], &["mv", "empty", "dir"], "NotEmpty"),
            (&[], &["mv", "dir", "dir/x"], "Invalid"),
            (&[], &["cp", "file", "dir"], "IsADirectory"),
            (&[], &["cp", "dir", "x"], "IsADirectory"),
            (&[], &["cp", "-r", "dir", "empty"], "IsADirectory"),
            (&[], &["cp", "-r", "dir", "file"], "Exists"),
            (&[], &["cp", "-r", "dir", "dir/x"], "Invalid"),
            (&[], &["cp", "-r", "dir", "missing/x"], "NotFound"),
        ],
    );
    for backend in backends("mv of a directory") {
        let scratch = world();
        scratch
            .fs(&["--backend", backend], &["mv", "dir", "empty"])
            .ok();
        assert_eq!(std::fs::read(scratch.at("empty/inner")).unwrap(), b"inner");
    }
}

#[test]
fn special_files_are_refused_and_removed_like_any_entry() {
    check(
        "special files",
        &[
            (&[], &["read", "fifo"], "Kind"),
            (&[], &["write", "fifo"], "Kind"),
            (&[], &["append", "fifo"], "Kind"),
            (&[], &["version", "fifo"], "Kind"),
            (&[], &["chmod", "600", "fifo"], "Kind"),
            (&[], &["link", "fifo", "x"], "Kind"),
            (&[], &["cp", "fifo", "x"], "Kind"),
            (&[], &["cp", "file", "fifo"], "Kind"),
            (&[], &["ls", "fifo"], "NotADirectory"),
            (&[], &["recover", "fifo"], "NotADirectory"),
        ],
    );
    for backend in backends("rm of a FIFO") {
        let scratch = world();
        scratch
            .fs(&["--backend", backend], &["mv", "fifo", "pipe"])
            .ok();
        scratch.fs(&["--backend", backend], &["rm", "pipe"]).ok();
    }
}
