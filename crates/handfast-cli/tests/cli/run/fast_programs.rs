//! Programs over the kernel's overlay, and what they leave behind.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use super::attacks::{PYTHON, has_python};
use super::fast::{FAST, in_session, left_by_kernel};
use super::stage::{Told, as_each_user};

/// The list of the mount, and what it has to say of each.
const SCRIPT: &str = include_str!("programs.sh");

#[test]
fn unmodified_programs_work_over_the_kernels_overlay() {
    as_each_user(|stage| {
        let told = stage.run(&in_session(&FAST, "p"), SCRIPT);
        let tried = SCRIPT.lines().filter(|line| line.starts_with("try "));
        assert_eq!(told.out.lines().count(), tried.count(), "{told:?}");
        for line in told.out.lines() {
            // A second name of a file of the base has the same content, and another number.
            let is_known = line.starts_with("failed ln-base");
            let is_fine = is_known || line.starts_with("ok ") || line.starts_with("absent ");
            assert!(is_fine, "as {}: {line}\n{told:?}", stage.user);
        }
        assert!(!stage.base("clone").exists() && !stage.base("h2").exists());
        let told = stage.handfast(&["session", "diff", "--names", "p"]);
        assert!(told.out.contains("clone"), "{told:?}");
    });
}

#[test]
fn git_works_in_a_linked_worktree_over_the_kernels_overlay() {
    as_each_user(|stage| {
        super::worktrees::with_worktrees(stage, &["tree"]);
        let script = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
             set -e; echo new > new.txt; git add new.txt; git commit -qm second; git switch -qc side; \
             git fsck --strict; git log --format=%s; mkfifo fifo";
        let args = [
            &["run"],
            &in_session(&FAST, "w")[..],
            &["--", "sh", "-c", script],
        ]
        .concat();
        let told = Told::from(stage.command("cd ../tree;", &args).output().unwrap());
        assert_eq!(
            (told.code, told.out.as_str()),
            (Some(1), "second\nfirst\n"),
            "{told:?}"
        );
        assert!(told.words.contains("not kept: /tree/fifo"), "{told:?}");
        assert!(!stage.scratch.path.join("tree/new.txt").exists());
        let told = stage.handfast(&["session", "diff", "--names", "w"]);
        for line in ["/tree/new.txt", "/.git/refs/heads/side"] {
            assert!(told.out.contains(line), "{line}: {told:?}");
        }
        let told = stage.handfast(&["session", "commit", "--yes", "w"]);
        assert!(told.out.contains("committed /tree/new.txt"), "{told:?}");
        assert!(stage.base(".git/refs/heads/side").exists(), "{told:?}");
    });
}

/// A program gives an open file away, to a process outside that a grant lets it reach. What that process
/// writes after the import is nobody's change.
#[test]
fn a_file_that_a_program_gave_away_changes_nothing_afterwards() {
    if !has_python("a file that was given away") {
        return;
    }
    // Outside: takes a descriptor, waits for a word, writes.
    const TAKES: &str = "import array, os, socket, sys\n\
        s = socket.socket(fileno=0)\n\
        c, _ = s.accept()\n\
        _, data, _, _ = c.recvmsg(1, socket.CMSG_SPACE(4))\n\
        fd = array.array('i', data[0][2])[0]\n\
        c.send(b'x'); print('taken', flush=True); sys.stdin = open(3); sys.stdin.readline()\n\
        os.pwrite(fd, b'LATE', 0); print(os.pread(fd, 4, 0), flush=True)";
    const GIVES: &str = "import array, os, socket, sys\n\
        f = os.open('given', os.O_RDWR | os.O_CREAT, 0o644); os.write(f, b'done'); \n\
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
        s.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [f]))]); s.recv(1)";
    as_each_user(|stage| {
        let granted = stage.scratch.path.join("granted");
        let path = granted.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        stage.hand_over();
        let (mut say, heard) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut taker = std::process::Command::new("sh")
            .args(["-c", "exec \"$0\" -c \"$1\" 3<&2", PYTHON, TAKES])
            .stdin(std::os::fd::OwnedFd::from(listener))
            .stderr(std::os::fd::OwnedFd::from(heard))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let script = format!("exec {PYTHON} -c \"$1\" {}", path.display());
        let write = granted.to_str().unwrap();
        let options = [&in_session(&FAST, "g")[..], &["--write", write]].concat();
        let args = [
            &["run"],
            &options[..],
            &["--", "sh", "-c", &script, "sh", GIVES],
        ]
        .concat();
        let told = Told::from(stage.command("", &args).output().unwrap());
        assert_eq!(told.code, Some(0), "{told:?}");
        say.write_all(b"go\n").unwrap();
        let mut out = String::new();
        taker
            .stdout
            .as_mut()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        taker.wait().unwrap();
        // The control: it did write, to the file that it was given.
        assert_eq!(out, "taken\nb'LATE'\n");
        let read = stage.handfast(&["fs", "--session", "g", "read", "/given"]);
        assert_eq!(read.out, "done", "{read:?}");
    });
}

/// What an import cannot take is nowhere else: the directory stays, and its place is said.
#[test]
fn what_a_session_cannot_take_stays_where_it_is() {
    as_each_user(|stage| {
        stage.scratch.file("shut/old", "1");
        stage.hand_over();
        let shut = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(stage.base("shut"), mode).unwrap();
        };
        shut(0o000);
        let deep =
            "i=0; while [ $i -lt 201 ]; do mkdir d; cd d; i=$((i+1)); done; echo deep > precious";
        let cases = [
            ("own", "echo own > .handfast-precious", true),
            ("deep", deep, true),
            // Root looks into every directory, so nothing is left out.
            (
                "shut",
                "chmod 755 shut; echo new > shut/precious",
                stage.user != "0",
            ),
            ("fine", "echo fine > precious", false),
        ];
        for (name, script, is_left) in cases {
            let before = left_by_kernel(stage);
            let told = stage.run(&in_session(&FAST, name), script);
            let place = told.words.lines().find_map(|line| {
                let said = line.strip_suffix("/upper")?;
                Some(said[said.find("stays in ")? + "stays in ".len()..].to_owned())
            });
            assert_eq!(place.is_some(), is_left, "{name}: {told:?}");
            assert_eq!(
                left_by_kernel(stage) - before,
                usize::from(is_left),
                "{told:?}"
            );
            let Some(place) = place else {
                continue;
            };
            let find = ["find", &place, "-name", "*precious", "-size", "+0"];
            let found = std::process::Command::new(find[0])
                .args(&find[1..])
                .output();
            let found = String::from_utf8(found.unwrap().stdout).unwrap();
            assert_eq!(found.lines().count(), 1, "{name}: {place}: {told:?}");
            // A later import does not remove it, and the session does.
            let told = stage.handfast(&["session", "discard", "--yes", name]);
            assert_eq!(told.code, Some(0), "{told:?}");
            let told = stage.run(&in_session(&FAST, name), "echo again > again");
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(std::path::Path::new(&place).exists(), "{told:?}");
            let told = stage.handfast(&["session", "rm", "--yes", name]);
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(!std::path::Path::new(&place).exists(), "{told:?}");
        }
        shut(0o755);
    });
}

/// No change replaces a FIFO of the base. What a program puts in its place is kept, and is a conflict.
#[test]
fn what_takes_the_place_of_a_fifo_is_a_conflict() {
    as_each_user(|stage| {
        stage.scratch.file("dir/old", "1");
        stage.scratch.file("gone/old", "1");
        let fifos = ["dir/fifo", "other", "gone/fifo"].map(|name| stage.base(name));
        let made = std::process::Command::new("mkfifo").args(&fifos).status();
        assert!(made.unwrap().success());
        stage.hand_over();
        let script =
            "rm -r dir; mkdir dir; echo new > dir/new; rm other; echo file > other; rm -r gone";
        let told = stage.run(&in_session(&FAST, "f"), script);
        assert!(!told.words.contains("not kept"), "{told:?}");
        let told = stage.handfast(&["session", "diff", "--names", "f"]);
        for line in ["/dir/new", "/dir/old", "/other", "/gone/old"] {
            assert!(told.out.contains(line), "{line}: {told:?}");
        }
        let told = stage.handfast(&["session", "commit", "--yes", "f"]);
        assert_eq!(told.code, Some(1), "{told:?}");
        for line in ["/dir/fifo:", "/other:", "/gone:"].map(|path| format!("conflict  {path}")) {
            assert!(told.out.contains(&line), "{line}: {told:?}");
        }
        for fifo in fifos {
            let kind = std::fs::symlink_metadata(&fifo).unwrap().file_type();
            assert!(std::os::unix::fs::FileTypeExt::is_fifo(&kind), "{fifo:?}");
        }
        assert_eq!(left_by_kernel(stage), 0);
    });
}
