//! Places and moments that a run is not made for.

use std::os::unix::fs::chown;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::stage::{Stage, Told, as_each_user, is_root};
use crate::support::skip;

const FAST: [&str; 3] = ["--fast", "--protect", "none"];

#[test]
fn a_run_at_the_top_at_home_or_at_somebody_elses_is_refused() {
    as_each_user(|stage| {
        let foreign = stage.scratch.path.join("foreign");
        std::fs::create_dir_all(&foreign).unwrap();
        if is_root() {
            chown(&foreign, Some(4242), Some(4242)).unwrap();
        }
        for (place, why) in [
            ("cd /;", "the project would be"),
            ("cd \"$HOME\";", "the project would be"),
            ("cd ../foreign;", "belongs to another user"),
        ] {
            if place.contains("foreign") && !is_root() {
                skip("somebody else's directory", "only root gives one away");
                continue;
            }
            for options in [&["--protect", "none"][..], &FAST] {
                let args = [&["run"], options, &["--", "echo", "started"]].concat();
                let told = Told::from(stage.command(place, &args).output().unwrap());
                assert_eq!(
                    (told.code, told.out.as_str()),
                    (Some(2), ""),
                    "{place}: {told:?}"
                );
                assert!(told.words.contains(why), "{place}: {told:?}");
            }
        }
    });
}

#[test]
fn a_run_in_a_run_is_refused() {
    as_each_user(|stage| {
        let bin = match is_root() {
            true => stage.scratch.path.join("bin"),
            false => std::path::Path::new(env!("CARGO_BIN_EXE_handfast"))
                .parent()
                .unwrap()
                .into(),
        };
        let bin = bin.to_str().unwrap();
        let script = format!(
            "for o in --quiet --fast; do {bin}/handfast run $o --protect none -- echo started; echo $?; done"
        );
        for options in [
            &["--protect", "none", "--session", "a"][..],
            &[&FAST[..], &["--session", "b"]].concat(),
        ] {
            let told = stage.run(&[options, &["--read", bin]].concat(), &script);
            assert_eq!(told.out, "3\n3\n", "{told:?}");
        }
    });
}

#[test]
fn a_directory_of_100_000_names_is_listed_changed_and_removed() {
    as_each_user(|stage| {
        // Once is enough: the files take long to make.
        if stage.user == "0" {
            return;
        }
        many_names(stage);
    });
}

fn many_names(stage: &Stage) {
    let many = stage.scratch.inside().join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..100_000 {
        std::fs::File::create(many.join(format!("file-{number}"))).unwrap();
    }
    stage.hand_over();
    let script = "ls -f many | wc -l; echo x > many/new; rm many/file-5; ls many | wc -l; test -e many/file-99999";
    for options in [
        &["--quiet", "--protect", "none", "--session", "a"][..],
        &[&FAST[..], &["--session", "b"]].concat(),
    ] {
        let told = stage.run(options, script);
        assert_eq!(
            (told.code, told.out.as_str()),
            (Some(0), "100002\n100000\n"),
            "{told:?}"
        );
    }
    let told = stage.run(
        &[&FAST[..], &["--session", "c"]].concat(),
        "rm -r many; mkdir many",
    );
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.words.contains("100000 changes wait"), "{told:?}");
    assert_eq!(std::fs::read_dir(&many).unwrap().count(), 100_000);
}

#[test]
fn a_server_that_is_stopped_and_goes_on_loses_nothing() {
    as_each_user(|stage| {
        for (session, options) in [("a", &["--protect", "none"][..]), ("b", &FAST)] {
            let script = "for n in 1 2 3 4 5 6 7 8; do echo $n >> counted; echo $n; sleep 0.02; done; exit 6";
            let args = [
                &["run", "--session", session],
                options,
                &["--", "sh", "-c", script],
            ]
            .concat();
            let mut command = stage.command("", &args);
            let mut child = command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = [0; 2];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
            let pid = Pid::from_child(&child);
            rustix::process::kill_process(pid, Signal::STOP).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            assert!(
                child.try_wait().unwrap().is_none(),
                "it is stopped, and has not ended"
            );
            rustix::process::kill_process(pid, Signal::CONT).unwrap();
            let told = Told::from(child.wait_with_output().unwrap());
            assert_eq!(told.code, Some(6), "{told:?}");
            let read = stage.handfast(&["fs", "--session", session, "read", "/counted"]);
            assert_eq!(read.out, "1\n2\n3\n4\n5\n6\n7\n8\n", "{read:?}");
        }
    });
}

#[test]
fn a_full_disk_is_told_to_the_program_and_the_session_stays_whole() {
    if !is_root() {
        skip("a full disk", "only root mounts one");
        return;
    }
    let stage = Stage::new("0");
    let script =
        "head -c 9000000 /dev/zero > big; echo $?; rm big; echo small > small; cat small a.txt";
    for options in [&["--protect", "none"][..], &FAST] {
        let small = "mount -t tmpfs -o size=3m t \"$XDG_STATE_HOME\"; run() { \"$@\"; }; run \"$@\"; \
             exec \"$1\" session diff --names s;";
        let args = [
            &["run", "--session", "s"],
            options,
            &["--", "sh", "-c", script],
        ]
        .concat();
        let told = Told::from(stage.command(small, &args).output().unwrap());
        let expected = "1\nsmall\nfrom the base\nadded    /small (file 0644, 6 bytes)\n";
        assert_eq!(told.out, expected, "{options:?}: {told:?}");
        assert!(told.words.contains("No space left"), "{told:?}");
    }
    // No room to import what the kernel had room for: it is kept, and imported once there is.
    let tight = "mount -t tmpfs -o size=3m t \"$XDG_STATE_HOME\"; \"$@\"; echo $?; \
         \"$1\" session diff --names s; echo $?; mount -o remount,size=30m \"$XDG_STATE_HOME\"; \
         exec \"$1\" session diff --names s;";
    let script = "head -c 2000000 /dev/zero > big";
    let args = [
        &["run", "--session", "s"],
        &FAST[..],
        &["--", "sh", "-c", script],
    ]
    .concat();
    let told = Told::from(stage.command(tight, &args).output().unwrap());
    let added = "added    /big (file 0644, 2000000 bytes, binary: a NUL byte at 0)\n";
    assert_eq!(told.out, format!("1\n1\n{added}"), "{told:?}");
    assert!(told.words.contains("they are kept"), "{told:?}");
}

/// A user namespace counts its own processes, so the limit is the run's alone. Root has none.
#[test]
fn the_number_of_processes_is_limited_for_ordinary_users() {
    as_each_user(|stage| {
        for options in [
            &["--quiet", "--protect", "none", "--session", "a"][..],
            &[&FAST[..], &["--quiet", "--session", "b"]].concat(),
        ] {
            let limit = stage.run(options, "ulimit -u 2> /dev/null || bash -c 'ulimit -u'");
            let told: u64 = limit.out.trim().parse().unwrap_or(u64::MAX);
            assert!(told <= 10_000, "{limit:?}");
        }
        if stage.user == "0" {
            return;
        }
        let script = "bash -c 'ulimit -u 40; for n in $(seq 30); do sleep 60 & done; echo 30; \
             for n in $(seq 30); do sleep 60 & done; echo 60'; kill -9 -1";
        let told = stage.run(&["--quiet", "--protect", "none", "--session", "c"], script);
        assert!(told.out.starts_with("30\n"), "{told:?}");
        assert!(
            told.words.contains("Resource temporarily unavailable"),
            "{told:?}"
        );
    });
}
