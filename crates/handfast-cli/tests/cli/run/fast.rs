//! `run --fast`: the kernel's own overlay, whose changes become the session's at the end.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::attacks::{PYTHON, has_python};
use super::stage::{Stage, Told, as_each_user, is_root};

pub(super) const FAST: [&str; 3] = ["--fast", "--protect", "none"];

pub(super) fn in_session<'a>(options: &[&'a str], name: &'a str) -> Vec<&'a str> {
    [options, &["--session", name]].concat()
}

/// A base with one of everything.
pub(super) fn furnish(stage: &Stage) {
    for (path, text) in [
        ("removed", "1"),
        ("dir/one", "1"),
        ("dir/two", "2"),
        ("dir/sub/three", "3"),
        ("emptied/old", "4"),
        ("emptied/kept", "5"),
        ("remade/sub/old", "5"),
        ("remade/sub/deep/old", "5"),
        ("remade/sub/deep/same", "5"),
        ("file-to-dir", "6"),
        ("dir-to-file/seven", "7"),
        ("link-to-file", "8"),
        ("moved/eight", "9"),
        ("untouched/nine", "9"),
    ] {
        stage.scratch.file(path, text);
    }
    stage.scratch.link("a.txt", "retargeted");
    stage.scratch.link("a.txt", "unlinked");
    stage.hand_over();
}

/// Changes of every kind that both engines keep.
const CHANGES: &str = r#"set -e
echo more >> a.txt; echo new > new.txt; chmod 750 new.txt; : > empty; rm removed dir/one
mkdir -p made/deep; echo x > made/deep/x; ln made/deep/x made/y; chmod 711 made
rm -r dir/sub; rm -r emptied; mkdir emptied; echo z > emptied/z
rm -r remade; mkdir -p remade/sub/deep; echo n > remade/sub/new; echo n > remade/sub/deep/same
rm file-to-dir; mkdir file-to-dir; echo in > file-to-dir/in
rm -r dir-to-file; echo file > dir-to-file
ln -sfn src retargeted; rm unlinked; ln -s ../outside/secret out; rm link-to-file; ln -s a.txt link-to-file
cat moved/eight > src/eight; rm -r moved; chmod 700 dir; touch -d 2001-02-03 dated; cat untouched/nine > copy
exec 3>> src/main.rs; echo '// more' >&3; exec 3>&-; head -c 300000 /dev/zero > large; echo end >> large
"#;

#[test]
fn the_changes_of_a_fast_run_are_those_of_the_mount() {
    as_each_user(|stage| {
        furnish(stage);
        let mount = stage.run(
            &in_session(&["--quiet", "--protect", "none"], "mount"),
            CHANGES,
        );
        assert_eq!(mount.code, Some(0), "{mount:?}");
        let told = stage.run(&in_session(&FAST, "kernel"), CHANGES);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.words.contains("engine overlayfs"), "{told:?}");
        assert!(
            told.words.contains("weaker: overlayfs: no file"),
            "{told:?}"
        );
        assert!(!told.words.contains("not kept"), "{told:?}");
        let diff = |name| stage.handfast(&["session", "diff", name]).out;
        let (one, other) = (diff("mount"), diff("kernel"));
        assert!(one.contains("new.txt") && one.contains("emptied/kept"));
        assert!(one.contains("remade/sub/old") && one.contains("remade/sub/deep/old"));
        assert_eq!(one, other);
        assert!(stage.base("removed").exists() && !stage.base("new.txt").exists());
        // The times of files, which build tools go by.
        let read = stage.run(
            &["--quiet", "--session", "kernel", "--protect", "none"],
            "stat -c %y dated | cut -c 1-10; cat made/y; tail -c 4 large",
        );
        assert_eq!(read.out, "2001-02-03\nx\nend\n", "{read:?}");
        let told = stage.handfast(&["session", "commit", "--yes", "kernel"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(!stage.base("removed").exists() && !stage.base("emptied/kept").exists());
        assert!(!stage.base("remade/sub/old").exists() && stage.base("remade/sub/new").exists());
        assert_eq!(std::fs::read(stage.base("made/y")).unwrap(), b"x\n");
        assert_eq!(left_by_kernel(stage), 0);
    });
}

/// Directories that are still the kernel's, in all sessions.
pub(super) fn left_by_kernel(stage: &Stage) -> usize {
    let sessions = stage.scratch.path.join("state/handfast/sessions");
    let mut left = 0;
    for session in std::fs::read_dir(sessions).into_iter().flatten() {
        let mount = session.unwrap().path().join("mount-0");
        for entry in std::fs::read_dir(mount).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            left += usize::from(name.starts_with("kernel"));
        }
    }
    left
}

#[test]
fn what_a_session_does_not_keep_is_said_and_attributes_are_kept() {
    if !has_python("attributes of a fast run") {
        return;
    }
    as_each_user(|stage| {
        let code = "import os; os.setxattr('a.txt', 'user.colour', b'red'); \
             os.setxattr('src', 'user.overlay.opaque', b'y'); \
             os.setxattr('a.txt', 'user.overlay.metacopy', b''); os.mkfifo('fifo')";
        let script = format!(
            "{PYTHON} -c \"{code}\"; echo x > .handfast-mine; rm -f .env; \
             mkdir shut; echo in > shut/in; chmod 000 shut; \
             echo unread > one; chmod 200 one; ln one another; chmod 000 ."
        );
        // It is said to those too who want to hear little, and the run is no success.
        let quiet = [&["--quiet"], &FAST[..]].concat();
        let told = stage.run(&in_session(&quiet, "s"), &script);
        assert_eq!(told.code, Some(1), "{told:?}");
        for line in [
            "not kept: /fifo: a fifo goes with the run",
            "not kept: /.handfast-mine: names that begin",
            "not kept: /: the mode of the project",
        ] {
            assert!(told.words.contains(line), "{line}: {told:?}");
        }
        let diff = stage.handfast(&["session", "diff", "s"]);
        assert!(diff.out.contains("user.colour=red"), "{diff:?}");
        // An attribute that a program gave a directory hides nothing of the base.
        assert!(!diff.out.contains("main.rs"), "{diff:?}");
        assert!(!diff.out.contains("user.overlay"), "{diff:?}");
        assert!(diff.out.contains("shut/in"), "{diff:?}");
        for name in ["/one", "/another"] {
            assert!(!told.words.contains(&format!("{name}:")), "{told:?}");
            assert!(diff.out.contains(name), "{name}: {diff:?}");
        }
        assert!(!diff.out.contains("handfast-mine"), "{diff:?}");
        assert_eq!(left_by_kernel(stage), 1);
        // It is said once; the code of a program that fails is its own.
        let told = stage.run(&in_session(&["--protect", "none"], "s"), "true");
        assert!(!told.words.contains("not kept"), "{told:?}");
        let told = stage.run(&in_session(&quiet, "other"), "mkfifo fifo; exit 7");
        assert_eq!(told.code, Some(7), "{told:?}");
        assert!(told.words.contains("not kept: /fifo"), "{told:?}");
    });
}

#[test]
fn read_only_names_are_changed_and_wait_for_their_own_name() {
    as_each_user(|stage| {
        let policy = "version = 1\n[[root]]\nname = \"p\"\npath = \".\"\nread_only = [\"a.txt\"]\n";
        stage.scratch.file("policy.toml", policy);
        stage.hand_over();
        let options = ["--fast", "--policy", "policy.toml", "--session", "s"];
        let told = stage.run(&options, "echo more >> a.txt; echo b > b.txt");
        assert_eq!(told.code, Some(0), "{told:?}");
        let told = stage.handfast(&["session", "commit", "--yes", "s"]);
        assert!(told.words.contains("waits     /a.txt"), "{told:?}");
        assert_eq!(
            std::fs::read(stage.base("a.txt")).unwrap(),
            b"from the base\n"
        );
        assert!(stage.base("b.txt").exists());
        let told = stage.handfast(&["session", "commit", "--yes", "s", "/a.txt"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(
            std::fs::read(stage.base("a.txt")).unwrap(),
            b"from the base\nmore\n"
        );
    });
}

/// A run that has done a first part of its work and waits for a word before the second.
pub(super) struct Paused<'a> {
    stage: &'a Stage,
    child: Child,
}

impl<'a> Paused<'a> {
    pub(super) fn new(stage: &'a Stage, session: &str, first: &str, second: &str) -> Self {
        let granted = stage.scratch.path.join("granted");
        for name in ["ready", "go"] {
            drop(std::fs::remove_file(granted.join(name)));
        }
        let at = granted.display();
        let script = format!(
            "{first}\n: > {at}/ready; until test -e {at}/go; do sleep 0.01; done\n{second}"
        );
        let write = granted.to_str().unwrap().to_owned();
        let args = ["run", "--fast", "--protect", "none", "--session", session];
        let rest = ["--write", &write, "--", "sh", "-c", &script];
        let mut command = stage.command("", &[&args[..], &rest].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        while !granted.join("ready").exists() {
            if child.try_wait().unwrap().is_some() {
                let told = Told::from(child.wait_with_output().unwrap());
                panic!("it ended too early: {told:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { stage, child }
    }

    pub(super) fn go_on(self) -> Told {
        let go = self.stage.scratch.path.join("granted/go");
        std::fs::write(go, "").unwrap();
        Told::from(self.child.wait_with_output().unwrap())
    }
}

pub(super) fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

#[test]
fn what_the_kernels_overlay_cannot_enforce_is_exit_3() {
    as_each_user(|stage| {
        let log = stage.scratch.path.join("log");
        let log = log.to_str().unwrap();
        for (options, word) in [
            (&["--fast"][..], "denies no file"),
            (&["--engine", "overlayfs"], "denies no file"),
            (&["--fast", "--protect", "none", "--deny", "x"], "`--deny`"),
            (&["--fast", "--protect", "none", "--ask", "x"], "`--ask`"),
            (
                &["--fast", "--protect", "none", "--quota", "1MiB"],
                "`--quota`",
            ),
            (
                &["--fast", "--protect", "none", "--mode", "read-only"],
                "`--mode`",
            ),
            (
                &["--fast", "--protect", "none", "--mode", "read-write"],
                "`--mode`",
            ),
            (&["--fast", "--protect", "none", "--log", log], "`--log`"),
            (&["--fast", "--protect", "none", "--nested"], "`--nested`"),
        ] {
            let told = stage.run(&in_session(options, "refused"), "echo started");
            assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
            assert!(told.words.contains(word), "{options:?}: {told:?}");
        }
        // Changes that wait would not be shown.
        let told = stage.run(&in_session(&["--protect", "none"], "w"), "echo 1 > new.txt");
        assert_eq!(told.code, Some(0), "{told:?}");
        let told = stage.run(&in_session(&FAST, "w"), "echo started");
        assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
        assert!(told.words.contains("changes wait"), "{told:?}");
        // Our own state would be shown.
        let inside = "export XDG_STATE_HOME=$PWD/state;";
        let args = [&["run"], &FAST[..], &["--", "echo", "started"]].concat();
        let told = Told::from(stage.command(inside, &args).output().unwrap());
        assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
        // So would what lies under a mount.
        if is_root() {
            let cover = format!(
                "if [ $(id -u) = 0 ]; then mount -t tmpfs t {0}; fi; grep -q {0} /proc/mounts || exit 3;",
                stage.base("src").display()
            );
            let told = Told::from(stage.command(&cover, &args).output().unwrap());
            assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
            let is_said = told.words.contains("mounted inside of the project");
            assert!(is_said || stage.user != "0", "{told:?}");
        }
    });
}

#[test]
fn two_runs_in_one_session_do_not_mix() {
    as_each_user(|stage| {
        let paused = Paused::new(stage, "s", "echo p >> a.txt", ":");
        for options in [&FAST[..], &["--protect", "none"]] {
            let told = stage.run(&in_session(options, "s"), "echo started; echo 2 > two");
            assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
        }
        // Nor does anybody else change the session meanwhile; looking is free.
        let told = stage.handfast(&["fs", "--session", "s", "mkdir", "/made"]);
        assert_ne!(told.code, Some(0), "{told:?}");
        assert!(told.words.contains("under way"), "{told:?}");
        let told = stage.handfast(&["session", "diff", "--names", "s"]);
        assert_eq!(told.out, "", "{told:?}");
        let other = stage.run(&in_session(&FAST, "other"), "cat a.txt; echo o > o");
        assert_eq!(
            (other.code, other.out.as_str()),
            (Some(0), "from the base\n")
        );
        assert_eq!(paused.go_on().code, Some(0));
        let told = stage.handfast(&["session", "diff", "--names", "s"]);
        assert!(told.out.contains("changed  /a.txt"), "{told:?}");
        assert!(!told.out.contains("two"), "{told:?}");
        // The other way round: a session that the mount shows is not the kernel's.
        let mut mount = stage.command(
            "",
            &[
                "run",
                "--session",
                "m",
                "--protect",
                "none",
                "--",
                "sh",
                "-c",
                "echo up; read x",
            ],
        );
        let mut mount = mount
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 3];
        std::io::Read::read_exact(mount.stdout.as_mut().unwrap(), &mut line).unwrap();
        let told = stage.run(&in_session(&FAST, "m"), "echo started");
        assert_eq!((told.code, told.out.as_str()), (Some(3), ""), "{told:?}");
        assert!(told.words.contains("has the session"), "{told:?}");
        drop(mount.stdin.take());
        mount.wait().unwrap();
    });
}

#[test]
fn a_killed_fast_run_loses_nothing() {
    as_each_user(|stage| {
        furnish(stage);
        for (number, look) in ["session", "run"].iter().enumerate() {
            let session = format!("k{number}");
            let work = "echo p >> a.txt; rm -r dir; mkdir made; echo x > made/x";
            let mut paused = Paused::new(stage, &session, work, "echo never > never");
            assert_eq!(left_by_kernel(stage), 1);
            paused.child.kill().unwrap();
            paused.child.wait().unwrap();
            assert!(super::is_unmounted(&stage.scratch.inside()));
            // A person has changed the base before anybody looks.
            write(&stage.scratch.inside(), "a.txt", "person\n");
            if *look == "run" {
                let told = stage.run(&in_session(&["--protect", "none"], &session), "cat made/x");
                assert_eq!(told.out, "x\n", "{told:?}");
            }
            let told = stage.handfast(&["session", "diff", "--names", &session]);
            for line in ["changed  /a.txt", "deleted  /dir/two", "added    /made/x"] {
                assert!(told.out.contains(line), "{line}: {told:?}");
            }
            assert!(!told.out.contains("never"), "{told:?}");
            assert_eq!(left_by_kernel(stage), 0);
            let told = stage.handfast(&["session", "commit", "--yes", &session]);
            assert!(told.out.contains("conflict  /a.txt"), "{told:?}");
            assert_eq!(std::fs::read(stage.base("a.txt")).unwrap(), b"person\n");
            write(&stage.scratch.inside(), "a.txt", "from the base\n");
        }
        // Killed at any moment of its start: the next one starts, or has nothing to say.
        for moment in 0..8 {
            let args = [&["run"], &in_session(&FAST, "start")[..], &["--", "true"]].concat();
            let mut child = stage
                .command("", &args)
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(4 * moment));
            child.kill().unwrap();
            child.wait().unwrap();
            let told = stage.run(
                &in_session(&["--quiet", "--fast", "--protect", "none"], "start"),
                "cat a.txt",
            );
            assert_eq!(told.out, "from the base\n", "{moment}: {told:?}");
        }
        assert_eq!(left_by_kernel(stage), 0);
    });
}

/// An import is killed at each file that it copies: by a limit on the length of files, which are the longer
/// the later it comes to them. The last one has the modes that the program gave, and not those that the
/// import needed.
#[test]
fn an_import_that_is_killed_changes_nothing() {
    const FILES: u32 = 5;
    as_each_user(|stage| {
        let script = format!(
            "set -e; for i in 1 2 3 4 {FILES}; do n=$((9-i)); head -c $((i*100000)) /dev/zero > $n; chmod 000 $n; \
             mkdir d$n; echo in > d$n/in; chmod 000 d$n; done; echo a > z; chmod 000 z; ln z y"
        );
        let mut paused = Paused::new(stage, "s", &script, ":");
        paused.child.kill().unwrap();
        paused.child.wait().unwrap();
        let names = ["session", "diff", "--names", "s"];
        for killed in 1..=FILES {
            // In blocks of 512 bytes.
            let limit = format!("ulimit -f $(({killed}*190));");
            let told = Told::from(stage.command(&limit, &names).output().unwrap());
            assert_ne!(told.code, Some(0), "{killed}: {told:?}");
            assert_eq!(left_by_kernel(stage), 1, "{killed}: {told:?}");
        }
        let told = stage.handfast(&names);
        assert_eq!(left_by_kernel(stage), 0, "{told:?}");
        let options = in_session(&["--quiet", "--protect", "none"], "s");
        let told = stage.run(
            &options,
            "stat -c '%n %a %s' 4 8 y z; stat -c '%n %a' d4 d8",
        );
        let modes = "4 0 500000\n8 0 100000\ny 0 2\nz 0 2\nd4 0\nd8 0\n";
        assert_eq!(told.out, modes, "{told:?}");
    });
}

/// The directory of a session's first mount.
fn home_of(stage: &Stage, session: &str) -> std::path::PathBuf {
    let sessions = stage.scratch.path.join("state/handfast/sessions");
    sessions.join(session).join("mount-0")
}

/// If the command is killed, its lock is free before the program is dead. So the run notes its first process.
#[test]
fn a_fast_run_notes_the_process_that_an_import_waits_for() {
    as_each_user(|stage| {
        let paused = Paused::new(stage, "s", ":", ":");
        let command = paused.child.id();
        let listed = format!("/proc/{command}/task/{command}/children");
        let listed = std::fs::read_to_string(listed).unwrap();
        let first: u64 = listed.trim().parse().unwrap();
        let begun = std::fs::read(home_of(stage, "s").join("kernel/begun")).unwrap();
        let noted = |pid: u64| begun.windows(8).any(|bytes| bytes == pid.to_le_bytes());
        assert!(noted(first) && !noted(command.into()), "{first}: {begun:?}");
        assert_eq!(paused.go_on().code, Some(0));
    });
}

/// A process that imports holds two locks: that of the session, and that of the run. A second look is not told
/// that a run is under way, and that nothing was changed yet.
#[test]
fn a_look_waits_for_an_import() {
    as_each_user(|stage| {
        let mut paused = Paused::new(stage, "s", "echo p >> a.txt", ":");
        paused.child.kill().unwrap();
        paused.child.wait().unwrap();
        let home = home_of(stage, "s");
        let locks = [home.clone(), home.join("kernel/begun")].map(|path| {
            let file = std::fs::File::open(path).unwrap();
            let how = rustix::fs::FlockOperation::LockExclusive;
            rustix::fs::flock(&file, how).unwrap();
            file
        });
        let mut look = stage.command("", &["session", "diff", "--names", "s"]);
        let look = look.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut look = look.spawn().unwrap();
        // It has had its turn once it ends, which it does not.
        for _ in 0..100 {
            if look.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(locks);
        let told = Told::from(look.wait_with_output().unwrap());
        assert!(told.out.contains("changed  /a.txt"), "{told:?}");
    });
}

/// Attributes by which the kernel's overlay would show other files, if it believed the base.
#[test]
fn what_the_base_says_of_itself_is_not_believed() {
    as_each_user(|stage| {
        furnish(stage);
        let base = stage.scratch.inside();
        let outside = stage.scratch.outside().join("secret");
        let outside = outside.to_str().unwrap().to_owned();
        let none = rustix::fs::XattrFlags::empty();
        for prefix in ["user.overlay.", "trusted.overlay."] {
            for (path, name, value) in [
                ("a.txt", "metacopy", &b""[..]),
                ("a.txt", "redirect", outside.as_bytes()),
                ("dir", "redirect", b"/emptied"),
                ("dir", "opaque", b"y"),
                ("src", "redirect", b"../outside"),
                ("src", "opaque", b"x"),
                ("emptied", "origin", b"\0\xfb\x1d\0\x01junk"),
            ] {
                let set =
                    rustix::fs::setxattr(base.join(path), format!("{prefix}{name}"), value, none);
                assert!(
                    set.is_ok() || prefix.starts_with("trusted"),
                    "{path}: {set:?}"
                );
            }
        }
        let socket = std::os::unix::net::UnixListener::bind(base.join("socket")).unwrap();
        stage.hand_over();
        let script = "cat a.txt dir/two emptied/old src/main.rs; ls dir; echo more >> a.txt; \
             echo more >> dir/two; cat link; cat a.txt";
        let told = stage.run(&in_session(&FAST, "s"), script);
        assert_eq!(told.out, "24fn main() {}\none\nsub\ntwo\n", "{told:?}");
        // The kernel opens no file that claims to have its content elsewhere.
        assert!(
            told.words.contains("a.txt: Operation not permitted"),
            "{told:?}"
        );
        let diff = stage.handfast(&["session", "diff", "--names", "s"]);
        assert_eq!(diff.out, "changed  /dir/two (1 to 6 bytes)\n", "{diff:?}");
        let secret = std::fs::read(stage.scratch.outside().join("secret")).unwrap();
        assert_eq!(secret, b"SECRET=outside\n");
        if has_python("a socket in the base") {
            let code = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('socket')";
            let script = format!("{PYTHON} -c \"{code}\" 2> /dev/null && echo reached");
            let told = stage.run(&in_session(&FAST, "socket"), &script);
            assert_eq!(told.out, "", "{told:?}");
        }
        drop(socket);
    });
}
