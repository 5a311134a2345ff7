//! `doctor` tries the engines of a run: what it says is what a run finds.

use serde_json::Value;

use super::stage::{Stage, Told, as_each_user, is_root};
use crate::support::skip;

/// What `doctor` says of an engine: the state, and why.
fn told_of(stage: &Stage, prelude: &str, engine: &str) -> (String, String, Value) {
    let args = ["doctor", "--json"];
    let told = Told::from(stage.command(prelude, &args).output().unwrap());
    let value: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}"));
    let engines = value["engines"].as_array().unwrap();
    let found = engines.iter().find(|one| one["id"] == engine);
    let text = |key: &str| found.unwrap()[key].as_str().unwrap().to_owned();
    (text("state"), text("detail"), value["engine"].clone())
}

#[test]
fn doctor_finds_the_engines_that_runs_have() {
    as_each_user(|stage| {
        for (engine, options) in [
            ("fuse", &["--protect", "none"][..]),
            ("overlayfs", &["--protect", "none", "--fast"]),
            (
                "landlock",
                &[
                    "--protect",
                    "none",
                    "--engine",
                    "landlock",
                    "--mode",
                    "read-only",
                ],
            ),
        ] {
            let (state, why, taken) = told_of(stage, "", engine);
            let told = stage.run(options, "cat a.txt");
            assert_eq!(
                state == "yes",
                told.code == Some(0),
                "{engine}, {why}: {told:?}"
            );
            assert!(matches!(told.code, Some(0 | 3)), "{told:?}");
            assert_eq!(taken, "fuse");
        }
        let (state, _, _) = told_of(stage, "", "fusermount3");
        assert_eq!(state, "no");
        let words = stage.handfast(&["doctor"]).out;
        assert!(words.contains("which takes fuse"), "{words}");
        // Nothing is left behind: no mount, and nothing in the working directory.
        assert!(super::is_unmounted(&stage.scratch.path));
    });
}

#[test]
fn doctor_says_what_is_missing_and_what_helps() {
    if !is_root() {
        skip("missing engines", "only root can take something away");
        return;
    }
    // The node is root's in a namespace of the test, as it is on some machines.
    let shut = "mount -t tmpfs t /mnt; mknod -m 600 /mnt/fuse c 10 229; mount --bind /mnt/fuse /dev/fuse; \
         exec setpriv --reuid=1000 --regid=1000 --clear-groups \"$@\";";
    let gone = "mount -t tmpfs t /dev;";
    let broken = "mount --bind /dev/null /dev/fuse;";
    let barred = "exec unshare --user --map-root-user sh -c \
         'echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"' sh \"$@\";";
    let stage = Stage::new("0");
    for (prelude, engine, help) in [
        (shut, "fuse", "chmod 666 /dev/fuse"),
        (gone, "fuse", "modprobe fuse"),
        (broken, "fuse", "refused"),
        (barred, "fuse", "user.max_user_namespaces"),
        (barred, "overlayfs", "user.max_user_namespaces"),
    ] {
        let (state, why, taken) = told_of(&stage, prelude, engine);
        assert_eq!(state, "no", "{prelude}: {why}");
        assert!(why.contains(help), "{prelude}: {why}");
        assert_eq!(taken, Value::Null, "{prelude}: {why}");
    }
    // What does not depend on the device is still there.
    assert_eq!(told_of(&stage, shut, "overlayfs").0, "yes");
    let words = Told::from(stage.command(gone, &["doctor"]).output().unwrap()).out;
    assert!(words.contains("refused unless one is asked for"), "{words}");
}
