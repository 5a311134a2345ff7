//! `handfast run`: programs behind the wall, as root and as an ordinary user.
//!
//! Root makes a mount namespace with a device node of its own, so the host's `/dev/fuse` and mounts
//! are never changed; an ordinary user is 1000 there. Without root the tests use what the host has.

mod asked;
mod attacks;
mod bad_input;
mod engines;
mod fast;
mod fast_conflicts;
mod fast_programs;
mod git_settings;
mod killed;
mod logged;
mod policy;
mod programs;
mod self_approval;
mod siege;
mod stage;
mod unreadable;
mod walls;
mod worktrees;

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::skip;
use stage::{Stage, Told, as_each_user, is_root};

#[test]
fn changes_wait_and_the_exit_code_is_passed_on() {
    as_each_user(|stage| {
        let told = stage.run(
            &[],
            "echo new > new.txt; rm a.txt; mkdir d; id -u; pwd; exit 7",
        );
        assert_eq!(told.code, Some(7), "{told:?}");
        let inside = stage.scratch.inside();
        let expected = format!("{}\n{}\n", stage.user, inside.display());
        assert_eq!(told.out, expected);
        assert!(told.words.contains("3 changes wait"), "{told:?}");
        assert!(stage.base("a.txt").exists() && !stage.base("new.txt").exists());
        // The same session is found again, and shows what was done.
        let again = stage.run(&["--quiet"], "cat new.txt; test -e a.txt || echo gone");
        assert_eq!((again.code, again.out.as_str()), (Some(0), "new\ngone\n"));
        assert_eq!(again.words, "");
        let signal = stage.run(&[], "kill -9 $$");
        assert_eq!(signal.code, Some(137), "{signal:?}");
    });
}

#[test]
fn changes_are_committed_or_discarded_as_asked() {
    as_each_user(|stage| {
        let told = stage.run(&["--discard"], "echo new > new.txt");
        assert_eq!(told.code, Some(0), "{told:?}");
        let failed = stage.run(&["--commit"], "echo new > new.txt; exit 3");
        assert_eq!(failed.code, Some(3), "{failed:?}");
        assert!(failed.words.contains("the program failed"), "{failed:?}");
        assert!(!stage.base("new.txt").exists());
        let told = stage.run(&["--commit"], "echo newer > new.txt");
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(std::fs::read(stage.base("new.txt")).unwrap(), b"newer\n");
        // A person changes the file meanwhile: nothing is overwritten.
        let args = [
            "run",
            "--commit",
            "--",
            "sh",
            "-c",
            "echo x > a.txt; echo done; sleep 1",
        ];
        let mut child = stage
            .command("", &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        std::fs::write(stage.base("a.txt"), "a person's\n").unwrap();
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.words.contains("conflict /a.txt"), "{told:?}");
        assert_eq!(std::fs::read(stage.base("a.txt")).unwrap(), b"a person's\n");
    });
}

/// Looks for a secret until it can be read, for longer than the kernel caches names.
const LOOK: &str = "echo ready; n=0; while [ $n -lt 25 ]; do cat .env.local 2>/dev/null && exit 9; \
     n=$((n+1)); sleep 0.1; done; cat .env.local";

#[test]
fn a_secret_that_appears_later_is_denied() {
    let attack = |stage: &Stage, command: &mut Command| {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        assert_eq!(text, "ready\n");
        std::fs::write(stage.base(".env.local"), "SECRET=2\n").unwrap();
        std::io::Read::read_to_string(&mut out, &mut text).unwrap();
        let told = Told::from(child.wait_with_output().unwrap());
        std::fs::remove_file(stage.base(".env.local")).unwrap();
        Told { out: text, ..told }
    };
    as_each_user(|stage| {
        // The control is a sandbox whose denials are mounts that were made at its start.
        let known = Told::from((siege::naive(stage, &["cat", ".env"]).output()).unwrap());
        assert_eq!((known.code, known.out.as_str()), (Some(0), ""), "{known:?}");
        let naive = attack(stage, &mut siege::naive(stage, &["sh", "-c", LOOK]));
        assert_eq!(naive.code, Some(9), "the control reads it: {naive:?}");
        assert!(naive.out.contains("SECRET=2"), "{naive:?}");
        let told = attack(
            stage,
            &mut stage.command("", &["run", "--", "sh", "-c", LOOK]),
        );
        assert!(!told.out.contains("SECRET"), "{told:?}");
        assert!(
            told.words.contains(".env.local: Permission denied"),
            "{told:?}"
        );
        assert_eq!(stage.run(&[], "cat .env").code, Some(1));
    });
}

#[test]
fn what_was_open_before_the_run_leads_nowhere() {
    as_each_user(|stage| {
        let script = "ls /proc/self/fd | tr '\\n' ' '; cat /proc/self/fd/5/.env; cat <&6; cat .env";
        let args = ["run", "--", "sh", "-c", script];
        let prelude = "exec 5<. 6<.env;";
        // The control: without the run, both descriptors lead to the secret.
        let naive = "cat /proc/self/fd/5/.env; cat <&6";
        let naive = Command::new("sh")
            .args(["-c", &format!("{prelude} {naive}")])
            .current_dir(stage.scratch.inside())
            .output();
        let naive = String::from_utf8(naive.unwrap().stdout).unwrap();
        assert_eq!(naive.matches("SECRET").count(), 2);
        let told = Told::from(stage.command(prelude, &args).output().unwrap());
        assert!(!told.out.contains("SECRET"), "{told:?}");
        assert!(told.out.starts_with("0 1 2 3 "), "{told:?}");
        let dir = stage.command("exec 0<.;", &["run", "--", "true"]).output();
        let dir = Told::from(dir.unwrap());
        assert_eq!(dir.code, Some(2), "{dir:?}");
        assert!(dir.words.contains("is a directory"), "{dir:?}");
    });
}

#[test]
fn the_rest_of_the_machine_is_absent_or_read_only() {
    as_each_user(|stage| {
        let script = r#"
            for path in link ../outside/secret "$HOME/.ssh/id" /proc/1/root/etc/hostname \
                /proc/1/environ /etc/shadow; do cat "$path" 2>/dev/null; done
            for path in /usr/x /etc/x /x /sys/x /proc/sys/kernel/core_pattern /dev/x; do
                ( : > "$path" ) 2>/dev/null && echo "wrote $path"
            done
            ls -A /tmp /run | grep -v -e "^/" -e '^$' | head -3
            for path in /dev/full /etc/shadow; do
                chmod "$(stat -c %a "$path")" "$path" 2>/dev/null && echo "changed $path"
            done
            for path in /proc/*; do
                test -f "$path" && ( : >> "$path" ) 2>/dev/null && echo "opened $path"
            done
            mount -t tmpfs t /tmp 2>/dev/null && echo mounted
            umount . 2>/dev/null && echo unmounted
            unshare --user true 2>/dev/null && echo namespace
            ls -d /proc/[0-9]* | wc -l
            grep -c -E '^Cap(Inh|Prm|Eff|Bnd|Amb):[[:space:]]*0+$|^NoNewPrivs:[[:space:]]*1$' /proc/self/status
            env | grep -c SECRET_TOKEN
            touch "$HOME/own" /tmp/own && echo private"#;
        let told = stage.run(&[], script);
        let lines: Vec<_> = told.out.lines().collect();
        // Directories on the way to the project are all that is seen of its neighbours.
        let on_the_way = |line: &&str| stage.scratch.path.iter().any(|name| name == *line);
        let lines: Vec<_> = lines.into_iter().filter(|line| !on_the_way(line)).collect();
        let [processes, without, token, "private"] = lines[..] else {
            panic!("{told:?}");
        };
        assert!(processes.parse::<u32>().unwrap() < 8, "{told:?}");
        assert_eq!(
            without, "6",
            "five empty sets of capabilities, and no_new_privs"
        );
        assert_eq!(token, "0");
        assert!(!stage.scratch.path.join("home/own").exists());
        let passed = stage.run(&["--env", "SECRET_TOKEN"], "echo $SECRET_TOKEN");
        assert_eq!(passed.out, "hidden\n");
    });
}

#[test]
fn settings_that_only_root_may_read_are_empty_for_roots_programs() {
    if !is_root() {
        skip("root's own settings", "only root has some");
        return;
    }
    let stage = Stage::new("0");
    let prelude = "mount -t tmpfs -o mode=755 t /etc/ssl; mkdir -m 700 /etc/ssl/wg; \
        for file in wg/key loose shown; do echo SECRET-$file > /etc/ssl/$file; done; \
        chmod 640 /etc/ssl/loose; chmod 644 /etc/ssl/shown;";
    let script = "cat /etc/ssl/wg/key /etc/ssl/loose /etc/ssl/shown 2>/dev/null";
    let args = ["run", "--", "sh", "-c", script];
    let told = Told::from(stage.command(prelude, &args).output().unwrap());
    assert_eq!(told.out, "SECRET-shown\n", "{told:?}");
}

#[test]
fn a_program_cannot_end_its_own_server() {
    as_each_user(|stage| {
        for script in [
            "kill -9 0",
            "kill -9 -1; kill -9 0",
            "kill -STOP 1; kill -9 1; exit 5",
        ] {
            let told = stage.run(&[], script);
            assert!(
                told.words.contains("nothing was changed"),
                "{script}: {told:?}"
            );
            assert!(matches!(told.code, Some(137 | 5)), "{script}: {told:?}");
        }
    });
}

#[test]
fn grants_are_what_they_say() {
    as_each_user(|stage| {
        let dir = stage.scratch.path.join("granted");
        let dir = dir.to_str().unwrap();
        let script = format!("echo x > {dir}/file; cat {dir}/file");
        let none = stage.run(&[], &script);
        assert_eq!(none.out, "", "{none:?}");
        let written = stage.run(&["--write", dir], &script);
        assert_eq!(written.out, "x\n", "{written:?}");
        let read = stage.run(
            &["--read", dir],
            &format!("cat {dir}/file; echo y > {dir}/file"),
        );
        assert_eq!((read.code, read.out.as_str()), (Some(2), "x\n"), "{read:?}");
        let net = stage.run(&["--net", "none"], "tail -n +3 /proc/net/dev | cut -d: -f1");
        assert_eq!(net.out.trim(), "lo", "{net:?}");
        let look = ["--mode", "read-only", "--session", "look"];
        let refused = stage.run(&look, "echo x > new.txt");
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let direct = [
            "--mode",
            "read-write",
            "--session",
            "direct",
            "--deny",
            "*.log",
        ];
        let told = stage.run(&direct, "echo x > direct.txt; echo x > direct.log");
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(stage.base("direct.txt").exists() && !stage.base("direct.log").exists());
    });
}

#[test]
fn a_quota_and_a_profile_are_honoured() {
    as_each_user(|stage| {
        let small = ["--session", "small", "--quota", "64KiB", "--engine", "fuse"];
        let script = "head -c 1000000 /dev/zero > big; echo $?; rm big; head -c 1000 /dev/zero > ok; \
            stat -c %s ok; df --output=size -B1 . | tail -1";
        let told = stage.run(&small, script);
        let lines: Vec<_> = told.out.lines().map(str::trim).collect();
        assert_eq!(lines, ["1", "1000", "65536"], "{told:?}");
        assert!(told.words.contains("No space left"), "{told:?}");
        // A profile of the user's own grants what it names, and nothing else.
        let own = stage.scratch.path.join("home/.config/handfast/profiles");
        std::fs::create_dir_all(&own).unwrap();
        let text = "# mine\nread ~/.ssh/id\nenv SECRET_TOKEN\n";
        std::fs::write(own.join("mine.profile"), text).unwrap();
        stage.hand_over();
        let script = "cat ~/.ssh/id; echo $SECRET_TOKEN";
        let without = stage.run(&["--quiet"], script);
        assert_eq!(without.out, "\n", "{without:?}");
        let with = stage.run(&["--quiet", "--profile", "mine"], script);
        assert_eq!(with.out, "SECRET=home\nhidden\n", "{with:?}");
    });
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    as_each_user(|stage| {
        let top = stage.scratch.path.display().to_string();
        let log = stage.scratch.path.join("granted/log").display().to_string();
        let granted = stage.scratch.path.join("granted").display().to_string();
        let cases: [(&[&str], &str); 14] = [
            (&["run", "--quota", "1G", "--", "true"], "a size is"),
            (
                &["run", "--quota", "1GiB", "--", "true"],
                "given to a new one",
            ),
            (&["run", "--profile", "what", "--", "true"], "no profile"),
            (&["run", "--json", "--", "true"], "`--json` goes with"),
            (&["run", "--", "/nonexistent/program"], "cannot be started"),
            (
                &["run", "--read", "/nonexistent", "--", "true"],
                "cannot be granted",
            ),
            (&["run", "--read", ".", "--", "true"], "past the session"),
            (&["run", "--write", &top, "--", "true"], "past the session"),
            (&["run", "--read", "/proc", "--", "true"], "one of its own"),
            (&["run", "--protect", "none", "--", "true"], "other rules"),
            (
                &["run", "--mode", "read-only", "--", "true"],
                "is `overlay`",
            ),
            (&["run", "--protect", "what", "--", "true"], "no preset"),
            (
                &["run", "--log", &log, "--write", &granted, "--", "true"],
                "or its log",
            ),
            (
                &["run", "--log", &granted, "--read", &granted, "--", "true"],
                "or its log",
            ),
        ];
        assert_eq!(stage.run(&[], "true").code, Some(0));
        for (args, why) in cases {
            let told = stage.handfast(args);
            assert_eq!(told.code, Some(2), "{args:?}: {told:?}");
            let said = format!("{}{}", told.words, told.out);
            assert!(said.contains(why), "{args:?}: {told:?}");
        }
        for (args, why) in [
            (["--engine", "landlock"], "would not wait"),
            (["--engine", "overlayfs"], "denies no file"),
        ] {
            let told = stage.run(&args, "true");
            assert_eq!(told.code, Some(3), "{args:?}: {told:?}");
            assert!(told.words.contains(why), "{args:?}: {told:?}");
        }
        let home = Told::from(
            (stage
                .command("cd \"$HOME\";", &["run", "--", "true"])
                .output())
            .unwrap(),
        );
        assert_eq!(home.code, Some(2), "{home:?}");
        let explained =
            stage.handfast(&["run", "--explain", "--session", "never", "--", "rm", "a"]);
        assert_eq!(explained.code, Some(0), "{explained:?}");
        assert!(explained.out.contains("deny     .env"), "{explained:?}");
        assert!(
            !stage
                .scratch
                .path
                .join("state/handfast/sessions/never")
                .exists()
        );
    });
}

#[test]
fn what_this_system_cannot_enforce_is_exit_3() {
    if !is_root() {
        let why = "only root can take something away from a namespace";
        skip("what a system cannot enforce", why);
        return;
    }
    let stage = Stage::new("0");
    for (prelude, why) in [
        (
            "mount --bind /dev/null /dev/fuse;",
            "cannot mount the session",
        ),
        (
            // The limit is one of a user namespace: the host keeps its own.
            "exec unshare --user --map-root-user sh -c \
             'echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"' sh \"$@\";",
            "no user namespace can be made",
        ),
        (
            "mount -t tmpfs t /opt; mkdir /opt/alias; mount --bind . /opt/alias;",
            "a second time",
        ),
        (
            "mkdir ../alias; mount --bind . ../alias; set -- \"$1\" run --read ../alias/src -- true;",
            "a second time",
        ),
    ] {
        let output = stage.command(prelude, &["run", "--", "true"]).output();
        let told = Told::from(output.unwrap());
        assert_eq!(told.code, Some(3), "{prelude}: {told:?}");
        assert!(told.words.contains(why), "{prelude}: {told:?}");
    }
}

#[test]
fn two_first_runs_at_once_each_have_the_rules_they_asked_for() {
    as_each_user(|stage| {
        let mut late = 0;
        for round in 0..12 {
            let name = format!("new-{round}");
            let denied = ["run", "--session", &name, "--deny", "a.*", "--"];
            let strict = [&denied[..], &["cat", "a.txt"]].concat();
            let plain = ["run", "--session", &name, "--", "cat", "a.txt"];
            let start = |args: &[&str]| {
                let mut command = stage.command("", args);
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            };
            let both = [start(&plain), start(&strict)];
            let [plain, strict] = both.map(|run| Told::from(run.wait_with_output().unwrap()));
            assert_eq!(strict.out, "", "{strict:?}");
            assert_ne!(strict.code, Some(0), "{strict:?}");
            // A run that asked for no rules takes those of the session.
            assert!(matches!(plain.code, Some(0 | 1)), "{plain:?}");
            late += usize::from(strict.code == Some(2));
        }
        println!("{late} of 12 found a session with other rules");
    });
}

#[test]
fn a_killed_server_takes_the_program_and_the_mount_with_it() {
    as_each_user(|stage| {
        let beat = stage.scratch.path.join("granted/beat");
        let script = format!(
            "echo started; while :; do echo x >> {}; sleep 0.05; done",
            beat.display()
        );
        let granted = stage.scratch.path.join("granted");
        let args = [
            "run",
            "--write",
            granted.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            &script,
        ];
        let mut child = stage
            .command("", &args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "started\n");
        // Every stage of the start was an exec: the child is the server.
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let size = || std::fs::metadata(&beat).map_or(0, |status| status.len());
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let before = size();
            std::thread::sleep(Duration::from_millis(500));
            if size() == before {
                break;
            }
            assert!(Instant::now() < deadline, "the program lives on");
        }
        assert_eq!(stage.run(&[], "cat a.txt").out, "from the base\n");
        assert!(is_unmounted(&stage.scratch.inside()));
    });
}

#[test]
fn a_session_is_mounted_for_people_until_it_is_unmounted() {
    if !is_root() {
        skip("mounts for people", "only root may mount");
        return;
    }
    let stage = Stage::new("0");
    let script = r#"run=$1; mkdir ../view ../full; touch ../full/x
        "$run" session new look --base . --preset workspace
        for dir in . src .. ../full ../state/handfast ../missing; do
            "$run" mount look "$dir"; echo "code $?"
        done
        "$run" mount look ../view & server=$!
        n=0; until test -e ../view/a.txt || [ $n -gt 100 ]; do sleep 0.05; n=$((n+1)); done
        cat ../view/a.txt; cat ../view/.env; echo x > ../view/a.txt
        "$run" mount look ../view; echo "code $?"
        umount ../view; wait $server; echo "ended $?"
        "$run" mount --write look ../view & server=$!
        n=0; until test -e ../view/a.txt || [ $n -gt 100 ]; do sleep 0.05; n=$((n+1)); done
        echo more >> ../view/a.txt; kill -INT $server; wait $server; echo "ended $?"
        ls -A ../view; "$run" session diff --names look; exit;"#;
    let told = Told::from(stage.command(script, &[]).output().unwrap());
    let expected = "code 2\n".repeat(6)
        + "from the base\ncode 2\nended 0\nended 0\nchanged  /a.txt (14 to 19 bytes)\n";
    assert_eq!(told.out, expected, "{told:?}");
    assert!(told.words.contains("Read-only file system"), "{told:?}");
    assert!(told.words.contains(".env: Permission denied"), "{told:?}");
    assert!(told.words.contains("is a mount already"), "{told:?}");
}

fn is_unmounted(dir: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    !mounts.contains(dir.to_str().unwrap())
}
