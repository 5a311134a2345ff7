//! Weaker walls: what they still give, and what they refuse and say.

use super::attacks::{PYTHON, has_python};
use super::stage::{Stage, Told, as_each_user, is_root};

/// Programs of an ordinary user; root is refused.
fn as_user(test: impl Fn(&Stage)) {
    as_each_user(|stage| match stage.user.as_str() {
        "0" => {}
        _ => test(stage),
    });
}

const LANDLOCK: [&str; 6] = [
    "--engine",
    "landlock",
    "--protect",
    "none",
    "--mode",
    "read-write",
];

#[test]
fn landlock_alone_confines_and_says_what_it_lacks() {
    as_user(|stage| {
        let outside = stage.scratch.outside();
        let outside = outside.display();
        let home = stage.scratch.path.join("home");
        let home = home.display();
        let script = format!(
            "cat {outside}/secret {home}/.ssh/id link; ls {outside} {home} /run /tmp; \
             for path in {outside}/made {home}/made /tmp/made /dev/shm/made; do \
             ( : > $path ) 2> /dev/null && echo wrote $path; done; \
             truncate -s 0 {outside}/secret && echo cut; kill -0 $PPID && echo signalled; \
             unshare --user true && echo namespace; mount -t tmpfs t . && echo mounted; \
             grep -c -E '^NoNewPrivs:[[:space:]]*1$' /proc/self/status; \
             cat a.txt; echo new > new.txt; echo x > $TMPDIR/x && cat $TMPDIR/x; exit 5"
        );
        let told = stage.run(&LANDLOCK, &script);
        assert_eq!(told.code, Some(5), "{told:?}");
        assert_eq!(told.out, "1\nfrom the base\nx\n", "{told:?}");
        assert!(
            told.words
                .contains("weaker: landlock: changes are made at once"),
            "{told:?}"
        );
        assert!(told.words.contains("engine landlock"), "{told:?}");
        assert_eq!(std::fs::read(stage.base("new.txt")).unwrap(), b"new\n");
        let secret = std::fs::read(stage.scratch.outside().join("secret")).unwrap();
        assert_eq!(secret, b"SECRET=outside\n");
        let read_only = [
            "--engine",
            "landlock",
            "--protect",
            "none",
            "--mode",
            "read-only",
        ];
        let script = "echo x > new.txt; truncate -s 0 a.txt; chmod 600 src; cat a.txt";
        let told = stage.run(&read_only, script);
        assert_eq!(
            (told.code, told.out.as_str()),
            (Some(0), "from the base\n"),
            "{told:?}"
        );
        assert_eq!(std::fs::read(stage.base("new.txt")).unwrap(), b"new\n");
        let granted = stage.scratch.path.join("granted");
        let script = format!("echo x > {0}/file; cat {0}/file", granted.display());
        let write = [&LANDLOCK[..], &["--write", granted.to_str().unwrap()]].concat();
        assert_eq!(stage.run(&write, &script).out, "x\n");
        assert_eq!(stage.run(&LANDLOCK, &script).out, "");
        let missing = stage.handfast(&[&["run"], &LANDLOCK[..], &["--", "/nonexistent"]].concat());
        assert_eq!(missing.code, Some(2), "{missing:?}");
        let left = std::fs::read_dir(std::env::temp_dir()).unwrap();
        let of_run = |name: &str| name.starts_with("handfast-run-") && name.ends_with("-0");
        let left = left.filter(|entry| {
            let entry = entry.as_ref().unwrap();
            let mine = entry.metadata().is_ok_and(|entry| {
                use std::os::unix::fs::MetadataExt;
                entry.uid().to_string() == stage.user
            });
            mine && of_run(&entry.file_name().to_string_lossy())
        });
        assert_eq!(left.count(), 0, "temporary directories are left");
    });
}

#[test]
fn what_landlock_alone_cannot_enforce_is_exit_3() {
    as_each_user(|stage| {
        let with = |more: &[&'static str]| [&LANDLOCK[..], more].concat();
        let engine = ["--engine", "landlock"];
        let cases = [
            (engine.to_vec(), "has no overlay"),
            (
                [&engine[..], &["--mode", "read-write"]].concat(),
                "appears later",
            ),
            (with(&["--deny", "*.key"]), "--deny"),
            (with(&["--ask", "*.key"]), "--ask"),
            (with(&["--net", "none"]), "--net none"),
            (with(&["--session", "x"]), "--session"),
            (with(&["--quota", "1MiB"]), "--quota"),
            (with(&["--keep"]), "--keep"),
            (with(&["--nested"]), "--nested"),
            (with(&["--log", "/nonexistent"]), "--log"),
        ];
        for (args, why) in cases {
            let told = stage.run(&args, "echo ran");
            assert_eq!(
                (told.code, told.out.as_str()),
                (Some(3), ""),
                "{args:?}: {told:?}"
            );
            assert!(told.words.contains(why), "{args:?}: {told:?}");
        }
        let nested = stage.run(&["--nested"], "true");
        if stage.user == "0" && is_root() {
            let told = stage.run(&LANDLOCK, "cat /etc/shadow");
            assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
            assert_eq!(nested.code, Some(3), "{nested:?}");
        } else {
            assert_eq!(nested.code, Some(0), "{nested:?}");
        }
    });
}

/// A sandbox of a program's own, as bubblewrap builds it: namespaces, a new procfs, mounts.
const OWN: &str = "exec unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c";

#[test]
fn a_nested_program_builds_its_own_sandbox_and_stays_in_ours() {
    as_user(|stage| {
        let inside = "mount -t tmpfs t /tmp && echo mounted; ls -d /proc/[0-9]* | wc -l; cat a.txt; \
             cat .env; cat ../outside/secret link; echo new > new.txt; \
             umount -l . 2> /dev/null && echo unmounted; cat .env; \
             grep -c fuse.handfast /proc/self/mountinfo; \
             mount -o remount,bind,rw /usr 2> /dev/null && echo remounted; \
             ( : > /usr/x ) 2> /dev/null && echo wrote; for dir in /proc/1/root /proc/1/cwd; do \
             cat $dir/../outside/secret 2> /dev/null; done; true";
        let script = format!("{OWN} '{inside}'");
        // The control: a whole wall lets no program build one.
        let whole = stage.run(&["--quiet"], &script);
        assert_ne!(whole.code, Some(0), "{whole:?}");
        let told = stage.run(&["--nested"], &script);
        assert_eq!(told.code, Some(0), "{told:?}");
        let lines: Vec<_> = told.out.lines().collect();
        let ["mounted", processes, "from the base", "1"] = lines[..] else {
            panic!("{told:?}");
        };
        assert!(processes.parse::<u32>().unwrap() < 8, "{told:?}");
        assert!(told.words.contains("weaker: nested"), "{told:?}");
        assert!(!stage.base("new.txt").exists());
        assert!(told.words.contains("1 change waits"), "{told:?}");
        if has_python("calls of a nested program") {
            // The filter still refuses what needs no namespace.
            let calls = "import ctypes, errno; l = ctypes.CDLL(None, use_errno=True); \
                 l.ioctl(0, 0x5412, b'x'); print(ctypes.get_errno() == errno.EPERM); \
                 print(l.syscall(425, 1, 0) < 0 and ctypes.get_errno() == errno.EPERM)";
            let args = ["run", "--quiet", "--nested", "--", PYTHON, "-c", calls];
            let told: Told = stage.handfast(&args);
            assert_eq!(told.out, "True\nTrue\n", "{told:?}");
        }
    });
}
