//! In a mount namespace of its own.

use std::collections::BTreeMap;
use std::process::Command;

use handfast::{BackendChoice, Error, ErrorKind, RelPath, RenameMode, Root, RootOptions};

use super::{open, rel};

/// In a mount namespace of its own: what is mounted inside is refused, on both backends.
pub(crate) fn mounts(root_path: &str, outside: &str) -> i32 {
    let inside = format!("{root_path}/mnt");
    if !mount(&["--bind", outside, &inside])
        || !mount(&[
            "--bind",
            &format!("{outside}/secret"),
            &format!("{root_path}/mnt-file"),
        ])
        || !mount(&["-t", "tmpfs", "tmpfs", &format!("{root_path}/tmp")])
    {
        println!("cannot mount");
        return 3;
    }
    for backend in ["kernel", "walk"] {
        let choice = if backend == "walk" {
            BackendChoice::Walk
        } else {
            BackendChoice::Kernel
        };
        for links in [handfast::Links::Refuse, handfast::Links::Beneath] {
            let options = RootOptions::new().backend(choice).links(links);
            let Ok(root) = Root::open_ambient_with(root_path, options.clone()) else {
                println!("skipped: {backend}");
                continue;
            };
            let mut results: BTreeMap<&str, Result<(), Error>> = BTreeMap::new();
            results.insert("read", root.read(&rel("mnt/secret")).map(drop));
            results.insert("read file mount", root.read(&rel("mnt-file")).map(drop));
            results.insert("write", root.write(&rel("mnt/new"), "x").map(drop));
            results.insert(
                "write file mount",
                root.write(&rel("mnt-file"), "x").map(drop),
            );
            results.insert("stat", root.metadata(&rel("mnt")).map(drop));
            results.insert("stat tmpfs", root.metadata(&rel("tmp")).map(drop));
            results.insert("ls", root.read_dir(&rel("mnt")).map(drop));
            results.insert("mkdir", root.create_dir(&rel("mnt/x")).map(drop));
            results.insert("mkdir -p", root.create_dir_all(&rel("mnt/x/y")).map(drop));
            results.insert("rm", root.remove_file(&rel("mnt/secret")));
            results.insert("rm mount", root.remove_dir(&rel("mnt")));
            results.insert("rm -r", root.remove_tree(&rel("mnt")));
            results.insert("rm file mount", root.remove_file(&rel("mnt-file")));
            results.insert(
                "mv",
                root.rename(&rel("mnt"), &rel("x"), RenameMode::NoReplace),
            );
            results.insert("cp -r", root.copy_tree(&rel("mnt"), &rel("x")));
            results.insert("chmod", root.chmod(&rel("mnt-file"), 0o777));
            results.insert("tree", {
                let mut walk = root.walk(&RelPath::root()).unwrap();
                loop {
                    match walk.next_entry() {
                        Ok(Some(_)) => {}
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                }
            });
            if links == handfast::Links::Beneath {
                results.insert("link", root.read(&rel("link/secret")).map(drop));
            }
            for (verb, result) in results {
                match result {
                    Err(error) if error.kind() == ErrorKind::Mount => {}
                    other => panic!("{backend} {links:?} {verb}: {other:?}"),
                }
            }
            let allowing =
                Root::open_ambient_with(root_path, options.mounts(handfast::Mounts::Allow))
                    .unwrap();
            assert_eq!(allowing.read(&rel("mnt/secret")).unwrap(), b"outside");
        }
    }
    0
}

/// What is mounted into a temporary directory is left alone when that is dropped.
pub(crate) fn mounted_temp(root: &str, outside: &str) -> i32 {
    use std::os::unix::fs::PermissionsExt;
    let root_path = root;
    let root = open(root, "auto");
    let temp = root.temp_dir(&RelPath::root()).unwrap();
    temp.root().create_dir(&rel("mnt")).unwrap();
    let inside = format!("{root_path}/{}/mnt", temp.name());
    if !mount(&["--bind", outside, &inside]) {
        return 3;
    }
    drop(temp);
    let mode = std::fs::metadata(outside).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o751, "the mounted directory was changed");
    0
}

/// A root on a filesystem of one megabyte: full, nothing is lost and nothing is left.
pub(crate) fn full_disk(root: &str) -> i32 {
    if !mount(&["-t", "tmpfs", "-o", "size=1M", "tmpfs", root]) {
        return 3;
    }
    for backend in ["kernel", "walk"] {
        if Root::open_ambient_with(root, RootOptions::new().backend(BackendChoice::Kernel)).is_err()
            && backend == "kernel"
        {
            println!("skipped: kernel");
            continue;
        }
        let root = open(root, backend);
        root.write(&rel("f"), "old").unwrap();
        root.create_dir_all(&rel("t")).unwrap();
        root.write(&rel("t/big"), vec![1; 600 << 10]).unwrap();
        let big = vec![2; 800 << 10];
        let names = |root: &Root| {
            let mut list = root.read_dir(&RelPath::root()).unwrap();
            let mut names = Vec::new();
            while let Some(entry) = list.next_entry().unwrap() {
                names.push(entry.name().to_string());
            }
            names.sort();
            names
        };
        let before = names(&root);
        for (verb, result) in [
            ("write", root.write(&rel("f"), &big).map(drop)),
            ("write-new", root.write_new(&rel("g"), &big).map(drop)),
            ("append", root.append(&rel("f"), &big).map(drop)),
            ("copy", root.copy(&rel("t/big"), &rel("g")).map(drop)),
            ("copy-tree", root.copy_tree(&rel("t"), &rel("u"))),
        ] {
            let error = result.expect_err(verb);
            assert_eq!(error.kind(), ErrorKind::Quota, "{verb}: {error}");
            assert_eq!(error.effect(), handfast::Effect::None, "{verb}: {error}");
            assert_eq!(root.read(&rel("f")).unwrap(), b"old", "{verb}");
            assert_eq!(names(&root), before, "{verb}");
        }
        root.remove_tree(&rel("t")).unwrap();
    }
    0
}

/// A root on a filesystem that is made read-only under it.
pub(crate) fn read_only(path: &str) -> i32 {
    if !mount(&["-t", "tmpfs", "tmpfs", path]) {
        return 3;
    }
    let root = open(path, "auto");
    root.write(&rel("f"), "old").unwrap();
    if !mount(&["-o", "remount,ro", path]) {
        return 3;
    }
    for (verb, result) in [
        ("write", root.write(&rel("f"), "new").map(drop)),
        ("write-new", root.write_new(&rel("g"), "new").map(drop)),
        ("append", root.append(&rel("f"), "new").map(drop)),
        ("create-dir", root.create_dir(&rel("d")).map(drop)),
        ("create-dir-all", root.create_dir_all(&rel("d/e")).map(drop)),
        ("remove", root.remove_file(&rel("f"))),
        (
            "rename",
            root.rename(&rel("f"), &rel("g"), RenameMode::Replace),
        ),
        ("chmod", root.chmod(&rel("f"), 0o600)),
    ] {
        let error = result.expect_err(verb);
        assert_eq!(error.kind(), ErrorKind::Denied, "{verb}: {error}");
        assert_eq!(root.read(&rel("f")).unwrap(), b"old");
    }
    0
}

/// A directory of the lower layer of an overlay, renamed.
pub(crate) fn overlay_rename(base: &str) -> i32 {
    for dir in ["lower", "lower/d", "upper", "work", "merged"] {
        std::fs::create_dir(format!("{base}/{dir}")).unwrap();
    }
    let merged = format!("{base}/merged");
    let options = format!(
        "lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work,redirect_dir=nofollow"
    );
    if !mount(&["-t", "overlay", "overlay", "-o", &options, &merged]) {
        return 3;
    }
    let root = open(&merged, "auto");
    match root.rename(&rel("d"), &rel("e"), RenameMode::NoReplace) {
        Ok(()) => println!("renamed"),
        Err(error) => drop(super::verbs::report(Err(error))),
    }
    0
}

/// A root on overlayfs: identities change by copy-up, and conditional writes still work.
pub(crate) fn overlay(base: &str) -> i32 {
    for dir in ["lower", "upper", "work", "merged"] {
        std::fs::create_dir(format!("{base}/{dir}")).unwrap();
    }
    std::fs::write(format!("{base}/lower/f"), "one").unwrap();
    std::fs::write(format!("{base}/lower/g"), "one").unwrap();
    let options = format!("lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work");
    let merged = format!("{base}/merged");
    if !mount(&["-t", "overlay", "overlay", "-o", &options, &merged]) {
        return 3;
    }
    let root = open(&merged, "auto");
    let enforcement = root.enforcement();
    assert_eq!(enforcement.filesystem, handfast::FilesystemKind::Overlay);
    assert!(
        !enforcement.weaknesses().is_empty(),
        "what is weaker is said"
    );
    let version = root.version(&rel("f")).unwrap();
    let written = root.write_if(&rel("f"), &version, "two").unwrap();
    assert_eq!(root.read(&rel("f")).unwrap(), b"two");
    root.write_if(&rel("f"), &written.version().unwrap(), "three")
        .unwrap();
    assert_eq!(
        root.write_if(&rel("f"), &version, "x").unwrap_err().kind(),
        ErrorKind::Stale
    );
    let version = root.version(&rel("g")).unwrap();
    root.remove_if(&rel("g"), &version).unwrap();
    root.write(&rel("h"), "h").unwrap();
    root.append(&rel("h"), "h").unwrap();
    root.copy(&rel("h"), &rel("i")).unwrap();
    root.create_dir_all(&rel("a/b/c")).unwrap();
    match root.copy_tree(&rel("a"), &rel("z")) {
        Ok(()) => {}
        // Without privileges overlayfs cannot rename directories.
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
    }
    drop(root.temp_dir(&RelPath::root()).unwrap());
    root.remove_tree(&rel("a")).unwrap();
    assert_eq!(std::fs::read(format!("{base}/lower/f")).unwrap(), b"one");
    let left: Vec<_> = std::fs::read_dir(&merged)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with(".handfast"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    0
}

fn mount(args: &[&str]) -> bool {
    Command::new("mount")
        .args(args)
        .status()
        .is_ok_and(|status| status.success())
}
