//! Mounts, full disks and read-only filesystems, each in a mount namespace of its own.

use std::process::{Command, Stdio};

use crate::support::{IMPATIENCE, Run, Scratch, backends, skip};

/// Runs a script as root of a namespace of its own: `$0` is the binary, `$1` the scratch
/// directory, `$2` the backend. Nothing if this user cannot have one.
fn in_namespace(what: &str, scratch: &Scratch, backend: &str, script: &str) -> Option<Run> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-euc", script])
            .arg(crate::support::binary())
            .arg(&scratch.path)
            .arg(backend)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().ok()?;
        Some(Run::wait(child, 10 * IMPATIENCE))
    };
    let possible = unshare("mount -t tmpfs none \"$1/outside\"");
    if possible.is_none_or(|run| run.code != 0) {
        skip(what, "no mount namespace to be had");
        return None;
    }
    unshare(script)
}

fn check(what: &str, backend: &str, prepare: &str, verb: &str, kind: &str) {
    let scratch = Scratch::new();
    scratch.file("file", "x");
    scratch.dir("mnt");
    std::fs::write(scratch.outside().join("file"), "outside").unwrap();
    let script = format!("{prepare}; \"$0\" fs --json --root \"$1/inside\" --backend $2 {verb}");
    let Some(run) = in_namespace(what, &scratch, backend, &script) else {
        return;
    };
    if kind == "ok" {
        run.ok();
        return;
    }
    let error = run.refused(kind);
    assert_eq!(error["effect"], "none", "{run:?}");
}

#[test]
fn mounts_below_the_root_are_not_entered() {
    let bind = "mount --bind \"$1/outside\" \"$1/inside/mnt\"";
    let tmpfs = "mount -t tmpfs none \"$1/inside/mnt\"";
    let file = "mount --bind \"$1/outside/file\" \"$1/inside/file\"";
    for backend in backends("mounts") {
        for (prepare, verb) in [
            (bind, "read mnt/file"),
            (bind, "ls mnt"),
            (bind, "write mnt/new < /dev/null"),
            (bind, "append mnt/file < /dev/null"),
            (bind, "mkdir -p mnt/a/b"),
            (bind, "rm mnt/file"),
            (bind, "rm -r mnt"),
            (bind, "mv file mnt/file"),
            (bind, "cp file mnt/file"),
            (bind, "tree ."),
            (bind, "read mnt/file --links beneath"),
            (tmpfs, "ls mnt"),
            (tmpfs, "mkdir mnt/x"),
            (file, "read file"),
            (file, "write file < /dev/null"),
            (file, "rm file"),
        ] {
            check("a mount", backend, prepare, verb, "Mount");
        }
        check("a mount", backend, bind, "ls mnt --mounts allow", "ok");
        check(
            "a mount",
            backend,
            bind,
            "mv file mnt/x --mounts allow",
            "Mount",
        );
    }
}

#[test]
fn a_full_disk_is_quota_and_leaves_the_old_file() {
    let prepare = "mount -t tmpfs -o size=256k none \"$1/inside\"; \
                   printf old > \"$1/inside/file\"";
    let checked = "; code=$?; [ \"$(cat \"$1/inside/file\")\" = old ]; \
                   [ \"$(ls -A \"$1/inside\" | wc -l)\" = 1 ]; exit $code";
    for backend in backends("a full disk") {
        for verb in ["write file", "write new"] {
            // The check of what is left runs whatever the verb answers.
            let verb = format!("{verb} < /dev/zero || {{ false{checked}; }}");
            check("a full disk", backend, prepare, &verb, "Quota");
        }
    }
}

#[test]
fn a_read_only_filesystem_is_denied() {
    let prepare = "mount --bind \"$1/inside\" \"$1/inside\"; \
                   mount -o remount,bind,ro \"$1/inside\"";
    for backend in backends("a read-only filesystem") {
        for verb in [
            "write file < /dev/null",
            "write new < /dev/null",
            "append file < /dev/null",
            "mkdir x",
            "mkdir -p x/y",
            "rm file",
            "rm -r mnt",
            "mv file x",
            "cp file x",
            "link file x",
            "symlink file x",
            "chmod 600 file",
        ] {
            check("a read-only filesystem", backend, prepare, verb, "Denied");
        }
        check(
            "a read-only filesystem",
            backend,
            prepare,
            "read file",
            "ok",
        );
    }
}
