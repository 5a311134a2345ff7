//! The program that the tests run as somebody else: under strace, in a namespace of its own, with
//! few descriptors, behind the second wall. Not an example to follow.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "part of the tests"
)]

#[cfg(target_os = "linux")]
mod modes {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::Command;

    use handfast::harden::{Hardening, Wall};
    use handfast::{
        Backend, BackendChoice, BackendReason, Durability, Error, ErrorKind, RelPath, RenameMode,
        Root, RootOptions, WriteOptions,
    };

    pub(crate) fn rel(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    pub(crate) fn open(root: &str, backend: &str) -> Root {
        let choice = match backend {
            "kernel" => BackendChoice::Kernel,
            "walk" => BackendChoice::Walk,
            _ => BackendChoice::Auto,
        };
        Root::open_ambient_with(root, RootOptions::new().backend(choice)).unwrap()
    }

    fn durability(text: &str) -> WriteOptions {
        WriteOptions::new().durability(match text {
            "none" => Durability::None,
            "file" => Durability::File,
            _ => Durability::Full,
        })
    }

    /// A call that stands out in a trace: the sweep begins after it.
    fn mark() {
        let marked = rustix::fs::access("/handfast-marker", rustix::fs::Access::EXISTS);
        assert!(marked.is_err());
    }

    /// One atomic write. Prints what became of it.
    pub(crate) fn write(root: &str, backend: &str, path: &str, text: &str, how: &str) -> i32 {
        let root = open(root, backend);
        mark();
        report(root.write_with(&rel(path), text, durability(how)).map(drop))
    }

    /// One conditional write of the version the file has now.
    pub(crate) fn write_if(root: &str, backend: &str, path: &str, text: &str) -> i32 {
        let root = open(root, backend);
        let version = root.version(&rel(path)).unwrap();
        mark();
        report(root.write_if(&rel(path), &version, text).map(drop))
    }

    /// One tree copy.
    pub(crate) fn copy_tree(root: &str, backend: &str, from: &str, to: &str) -> i32 {
        let root = open(root, backend);
        mark();
        report(root.copy_tree(&rel(from), &rel(to)))
    }

    fn report(result: Result<(), Error>) -> i32 {
        match result {
            Ok(()) => {
                println!("ok");
                0
            }
            Err(error) => {
                println!("{} {} {error}", error.kind(), error.effect().name());
                1
            }
        }
    }

    /// Walks and removes a tree of any depth with 64 descriptors and a stack of 256 KiB.
    pub(crate) fn deep(root: &str, backend: &str, path: &str) -> i32 {
        let limit = rustix::process::Rlimit {
            current: Some(64),
            maximum: Some(64),
        };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
        let (root, path) = (open(root, backend), rel(path));
        let worker = move || {
            let mut walk = root.walk(&path).unwrap();
            let (mut entries, mut deepest) = (0_u64, 0);
            while let Some(entry) = walk.next_entry().unwrap() {
                entries += 1;
                deepest = deepest.max(entry.depth());
            }
            drop(walk);
            println!("walked {entries} entries, {deepest} deep");
            root.remove_tree(&path).unwrap();
            assert_eq!(
                root.metadata(&path).unwrap_err().kind(),
                ErrorKind::NotFound
            );
            println!("removed");
        };
        std::thread::Builder::new()
            .stack_size(256 * 1024)
            .spawn(worker)
            .unwrap()
            .join()
            .map_or(1, |()| 0)
    }

    /// With the wall up, names under a parent that was moved out after pinning are refused.
    pub(crate) fn harden(root_path: &str, outside: &str, backend: &str) -> i32 {
        let root = open(root_path, backend);
        let parent = root.open_dir(&rel("a")).unwrap().into_root().unwrap();
        let before = parent.write_new(&rel("before"), "x").map(drop);
        before.unwrap();
        let other = std::fs::File::open(root_path).unwrap();
        // The attacker is outside the wall: another process, before the wall goes up.
        let moved = Path::new(outside).join("moved");
        match Hardening::new().root(&root).harden_process().unwrap() {
            Wall::Full | Wall::Partial => {}
            Wall::None => {
                println!("no landlock");
                return 3;
            }
        }
        drop(other);
        // Inside still works.
        root.write(&rel("inside"), "x").unwrap();
        root.rename(&rel("inside"), &rel("a/inside"), RenameMode::NoReplace)
            .unwrap();
        root.copy(&rel("a/inside"), &rel("copied")).unwrap();
        // Outside is gone, whatever the code does.
        assert!(
            std::fs::read("/etc/passwd").is_err(),
            "the wall does not stand"
        );
        assert!(std::fs::write(Path::new(outside).join("x"), "x").is_err());
        // Wait for the attacker to move the pinned directory out.
        println!("ready");
        for _ in 0..5000 {
            if root.metadata(&rel("a")).is_err() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(moved);
        assert_eq!(
            root.metadata(&rel("a")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        let refusals: Vec<(&str, Result<(), Error>)> = vec![
            ("write", parent.write(&rel("inside"), "y").map(drop)),
            ("write-new", parent.write_new(&rel("new"), "y").map(drop)),
            ("append", parent.append(&rel("inside"), "y").map(drop)),
            ("read", parent.read(&rel("inside")).map(drop)),
            ("create-dir", parent.create_dir(&rel("dir")).map(drop)),
            (
                "create-dir-all",
                parent.create_dir_all(&rel("x/y")).map(drop),
            ),
            ("remove-file", parent.remove_file(&rel("inside"))),
            ("remove-tree", parent.remove_tree(&rel("tree"))),
            (
                "rename",
                parent.rename(&rel("inside"), &rel("z"), RenameMode::NoReplace),
            ),
            ("symlink", parent.symlink("inside", &rel("link"))),
            ("hard-link", parent.hard_link(&rel("inside"), &rel("hard"))),
        ];
        for (verb, result) in refusals {
            match result {
                Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Mount) => {}
                other => panic!("{verb} outside: {other:?}"),
            }
        }
        println!("refused");
        0
    }

    /// The wall for one thread leaves the others free, and a process with threads is refused.
    pub(crate) fn harden_threads(root: &str) -> i32 {
        let root = open(root, "auto");
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let waiting = std::thread::spawn(move || wait.recv().is_err());
        let error = Hardening::new().root(&root).harden_process().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let inner = root.clone();
        let worker = std::thread::spawn(move || {
            let wall = Hardening::new().root(&inner).harden_thread().unwrap();
            inner.write(&rel("from-worker"), "x").unwrap();
            (wall, std::fs::read("/etc/passwd").is_err())
        });
        let (wall, refused) = worker.join().unwrap();
        if wall == Wall::None {
            println!("no landlock");
            return 3;
        }
        assert!(refused);
        assert!(std::fs::read("/etc/passwd").is_ok(), "this thread is free");
        drop(done);
        waiting.join().unwrap();
        0
    }

    /// In a mount namespace of its own: what is mounted inside is refused, on both backends.
    pub(crate) fn mounts(root_path: &str, outside: &str) -> i32 {
        let mount = |args: &[&str]| {
            let status = Command::new("mount").args(args).status().unwrap();
            status.success()
        };
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

    /// `openat2` is taken away after the root was opened: the walk takes over, once and for good.
    pub(crate) fn lose_openat2(root: &str, errno: &str) -> i32 {
        use seccompiler::{SeccompAction, SeccompFilter, apply_filter};
        let errno = match errno {
            "EPERM" => rustix::io::Errno::PERM,
            _ => rustix::io::Errno::NOSYS,
        };
        let strict = open(root, "kernel");
        let root = open(root, "auto");
        assert_eq!(root.read(&rel("a/f")).unwrap(), b"f");
        assert_eq!(root.enforcement().backend, Backend::Kernel);
        let filter = SeccompFilter::new(
            [(libc::SYS_openat2, vec![])].into_iter().collect(),
            SeccompAction::Allow,
            SeccompAction::Errno(errno.raw_os_error().unsigned_abs()),
            std::env::consts::ARCH.try_into().unwrap(),
        )
        .unwrap();
        let program: seccompiler::BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
        assert_eq!(root.read(&rel("a/f")).unwrap(), b"f");
        let after = root.enforcement();
        assert_eq!(
            (after.backend, after.reason),
            (Backend::Walk, BackendReason::Lost)
        );
        root.write(&rel("a/g"), "g").unwrap();
        assert_eq!(
            root.read(&rel("a/link")).unwrap_err().kind(),
            ErrorKind::Link
        );
        // Who insists on the kernel gets it or nothing.
        assert_eq!(
            strict.read(&rel("a/f")).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
        0
    }

    /// No descriptor of ours reaches a program that is started.
    pub(crate) fn inherit(root: &str, backend: &str) -> i32 {
        // Whatever this process was started with is not ours.
        let count = || {
            let output = Command::new("ls")
                .args(["-1", "/proc/self/fd"])
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stdout).lines().count()
        };
        let before = count();
        let root = open(root, backend);
        let _file = root.open(&rel("a/f")).unwrap();
        let _dir = root.open_dir(&rel("a")).unwrap();
        let _slot = root.slot(&rel("a/f")).unwrap();
        let _list = root.read_dir(&rel("a")).unwrap();
        let _walk = root.walk(&rel("a")).unwrap();
        let _temp = root.temp_file(&rel("a")).unwrap();
        let _temp_dir = root.temp_dir(&rel("a")).unwrap();
        let _lock = root
            .lock(
                &rel("a/lock"),
                handfast::LockKind::Exclusive,
                std::time::Duration::ZERO,
            )
            .unwrap();
        let _staged = root.stage(&rel("a/f"), WriteOptions::new()).unwrap();
        i32::from(count() != before)
    }

    fn mount(args: &[&str]) -> bool {
        Command::new("mount")
            .args(args)
            .status()
            .is_ok_and(|status| status.success())
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
            if Root::open_ambient_with(root, RootOptions::new().backend(BackendChoice::Kernel))
                .is_err()
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

    /// The process's own root changes after a root was opened: the descriptor keeps its meaning.
    pub(crate) fn chroot(root: &str, outside: &str) -> i32 {
        let root = open(root, "auto");
        if rustix::process::chroot(outside).is_err() {
            return 3;
        }
        std::env::set_current_dir("/").unwrap();
        assert_eq!(root.read(&rel("f")).unwrap(), b"f");
        root.write(&rel("g"), "g").unwrap();
        assert_eq!(root.read(&rel("out")).unwrap_err().kind(), ErrorKind::Link);
        0
    }

    /// The host's umask decides for new files, and for nothing that has an exact mode.
    pub(crate) fn umask(root: &str, backend: &str) -> i32 {
        let root = open(root, backend);
        let mode = |path: &str| root.metadata(&rel(path)).unwrap().mode;
        for (mask, file, dir) in [
            (0o000, 0o666, 0o777),
            (0o077, 0o600, 0o700),
            (0o027, 0o640, 0o750),
        ] {
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask));
            let name = |what: &str| format!("{what}-{mask:o}");
            root.write(&rel(&name("w")), "").unwrap();
            assert_eq!(mode(&name("w")), file);
            root.write_new(&rel(&name("n")), "").unwrap();
            assert_eq!(mode(&name("n")), file);
            root.append(&rel(&name("a")), "").unwrap();
            assert_eq!(mode(&name("a")), file);
            root.create_dir(&rel(&name("d"))).unwrap();
            assert_eq!(mode(&name("d")), dir);
            let exact = WriteOptions::new().mode(0o646);
            root.write_with(&rel(&name("e")), "", exact).unwrap();
            assert_eq!(mode(&name("e")), 0o646, "an exact mode is exact");
            root.write(&rel(&name("e")), "again").unwrap();
            assert_eq!(mode(&name("e")), 0o646, "a replaced file keeps its mode");
            let mut temp = root.temp_file(&RelPath::root()).unwrap();
            temp.persist_new(&rel(&name("t")), WriteOptions::new())
                .unwrap();
            assert_eq!(
                mode(&name("t")),
                0o600,
                "temporary files are for their owner"
            );
            let temp = root.temp_dir(&RelPath::root()).unwrap();
            assert_eq!(
                temp.root().metadata(&RelPath::root()).unwrap().mode,
                0o700 & !mask
            );
        }
        0
    }

    /// Takes a lock once, and says whether it is on the file that has the name.
    pub(crate) fn lock_once(root: &str) -> i32 {
        let root = open(root, "auto");
        mark();
        let wait = std::time::Duration::from_secs(5);
        let guard = root
            .lock(&rel("lock"), handfast::LockKind::Exclusive, wait)
            .unwrap();
        println!("{}", guard.verify().unwrap());
        0
    }

    /// Reads through a link, and says who walked.
    pub(crate) fn read_link_target(path: &str) -> i32 {
        let options = RootOptions::new().links(handfast::Links::Beneath);
        let root = Root::open_ambient_with(path, options).unwrap();
        mark();
        let kind = root
            .read(&rel("link"))
            .map_or_else(|error| error.kind().name(), |_| "ok");
        println!("{kind} {}", root.enforcement().backend);
        0
    }

    /// Holds a lock until it is killed.
    pub(crate) fn hold_lock(root: &str) -> i32 {
        let root = open(root, "auto");
        let wait = std::time::Duration::from_secs(1);
        let _guard = root
            .lock(&rel("lock"), handfast::LockKind::Exclusive, wait)
            .unwrap();
        println!("locked");
        std::thread::sleep(std::time::Duration::from_secs(60));
        0
    }

    /// With few descriptors left, verbs fail and leave nothing.
    pub(crate) fn few_descriptors(root: &str, backend: &str) -> i32 {
        let root = open(root, backend);
        let mut held = Vec::new();
        let limit = rustix::process::Rlimit {
            current: Some(32),
            maximum: Some(32),
        };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            held.push(file);
        }
        let mut failures = 0;
        loop {
            for (verb, result) in [
                ("read", root.read(&rel("a/f")).map(drop)),
                ("write", root.write(&rel("a/f"), "new").map(drop)),
                ("mkdir", root.create_dir_all(&rel("p/q/r")).map(drop)),
                ("copy", root.copy_tree(&rel("a"), &rel("copy"))),
                ("remove", root.remove_tree(&rel("b"))),
            ] {
                match result {
                    Ok(()) => println!("{} free: {verb} works", 32 - held.len()),
                    Err(error) if matches!(error.kind(), ErrorKind::Io) => failures += 1,
                    // The second time round it is there, or gone.
                    Err(error)
                        if matches!(
                            error.kind(),
                            ErrorKind::Exists | ErrorKind::IsADirectory | ErrorKind::NotFound
                        ) => {}
                    Err(error) => panic!("{verb}: {error}"),
                }
            }
            if held.pop().is_none() {
                break;
            }
        }
        assert!(failures > 5, "the limit was felt");
        0
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let code = match args[..] {
        ["write", root, backend, path, text, how] => modes::write(root, backend, path, text, how),
        ["write-if", root, backend, path, text] => modes::write_if(root, backend, path, text),
        ["copy-tree", root, backend, from, to] => modes::copy_tree(root, backend, from, to),
        ["deep", root, backend, path] => modes::deep(root, backend, path),
        ["harden", root, outside, backend] => modes::harden(root, outside, backend),
        ["harden-threads", root] => modes::harden_threads(root),
        ["mounts", root, outside] => modes::mounts(root, outside),
        ["lose-openat2", root, errno] => modes::lose_openat2(root, errno),
        ["inherit", root, backend] => modes::inherit(root, backend),
        ["few-descriptors", root, backend] => modes::few_descriptors(root, backend),
        ["full-disk", root] => modes::full_disk(root),
        ["mounted-temp", root, outside] => modes::mounted_temp(root, outside),
        ["read-only", root] => modes::read_only(root),
        ["overlay", root] => modes::overlay(root),
        ["chroot", root, outside] => modes::chroot(root, outside),
        ["umask", root, backend] => modes::umask(root, backend),
        ["hold-lock", root] => modes::hold_lock(root),
        ["lock-once", root] => modes::lock_once(root),
        ["read-link-target", root] => modes::read_link_target(root),
        [] => {
            println!("run by the tests");
            0
        }
        _ => 2,
    };
    std::process::ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(not(target_os = "linux"))]
fn main() {}
