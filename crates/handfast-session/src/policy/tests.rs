use std::path::Path;
use std::time::Duration;

use super::*;
use crate::mount::Mode;

const FULL: &str = r#"
version = 1

[quota]
bytes = "1GiB"

[[root]]
name = "ws"
path = "."
mount = "/ws"
mode = "read-write"
preset = "workspace"
deny = ["**/secret"]
read_only = ["vendor/"]
links = "beneath"
hard_links = "refuse-writes"
allow_network_fs = false

[root.quota]
bytes = "2MiB"
inodes = 100000
file_bytes = 1024
handles = 256

[[root]]
name = "lib"
path = "/usr/lib"
mode = "read-only"

[lease]
bind = "process"
ttl = "10m"
max_ttl = "1h"
writes = "commit"
on_revoke = "deny"

[log]
level = "ordered"

[[allow]]
user = "builder"
roots = ["ws"]
paths = ["src/**"]
verbs = ["read", "write"]

[audit]
anything = "is the auditor's"
"#;

fn read(text: &str) -> Result<Policy, Error> {
    Policy::parse(text, Path::new("/srv/project"))
}

#[test]
fn the_whole_format_is_read() {
    let policy = read(FULL).unwrap();
    let ws = &policy.roots[0].mount;
    assert_eq!(ws.host, Path::new("/srv/project/."));
    assert_eq!(ws.at.to_string(), "/ws");
    assert_eq!(ws.mode, Mode::ReadWrite);
    assert!(ws.protect.deny.contains(&".env".to_owned()));
    assert!(ws.protect.deny.contains(&"**/secret".to_owned()));
    assert_eq!(ws.quota.bytes, Some(2 << 20));
    assert_eq!(policy.quota.bytes, Some(1 << 30));
    let lib = &policy.roots[1].mount;
    assert_eq!(lib.host, Path::new("/usr/lib"));
    assert_eq!(lib.at.to_string(), "/lib");
    assert_eq!(policy.lease.max_ttl, Duration::from_secs(3600));
    assert_eq!(policy.allow[0].who, [Who::User("builder".into())]);
    assert_eq!(policy.session().mounts().len(), 2);
}

#[test]
fn a_log_has_a_level_and_what_is_kept_of_it() {
    let log = |rest: &str| {
        let root = "version = 1\n[[root]]\nname = \"a\"\npath = \"a\"\nmode = \"read-only\"\n";
        read(&format!("{root}[log]\n{rest}\n")).map(|policy| policy.log)
    };
    assert_eq!(log("").unwrap(), LogRules::default());
    let rules = log("level = \"buffered\"\nkeep_bytes = \"200MiB\"\nkeep_for = \"30d\"").unwrap();
    assert_eq!(rules.level, Some(LogLevel::Buffered));
    assert_eq!(rules.keep_bytes, Some(200 << 20));
    assert_eq!(rules.keep_for.unwrap().as_secs(), 30 * 86_400);
    for (wrong, why) in [
        ("level = \"bufered\"", "buffered"),
        ("keep_bytes = 4096", "at least 1 MiB"),
        ("keep_bytes = \"1KiB\"", "at least 1 MiB"),
        ("keep_for = 0", "a time"),
        ("keep = 1", "keep"),
    ] {
        let error = log(wrong).unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn what_is_wrong_is_named_with_what_was_meant() {
    let root = "version = 1\n[[root]]\nname = \"a\"\npath = \".\"\n";
    for (text, expected) in [
        ("", "`version = 1` is missing"),
        ("version = 2", "version 2 is not known; write `version = 1`"),
        ("version = 1", "there is no `[[root]]`"),
        (
            "version = 1\nroots = []",
            "unknown key `roots`; did you mean `root`?",
        ),
        (
            "version = 1\n[[root]]\npath = \".\"",
            "[[root]]: `name` is missing",
        ),
        (
            &format!("{root}dney = []"),
            "[[root]]: unknown key `dney`; did you mean `deny`?",
        ),
        (
            &format!("{root}readonly = []"),
            "unknown key `readonly`; did you mean `read_only`?",
        ),
        (
            &format!("{root}mode = \"readonly\""),
            "did you mean `read-only`?",
        ),
        (
            &format!("{root}deny = \"x\""),
            "`deny` must be a list of strings",
        ),
        (
            &format!("{root}deny = [\"!x\"]"),
            "exceptions with `!` are not supported",
        ),
        (
            &format!("{root}links = \"follow\""),
            "is none of `refuse`, `beneath`",
        ),
        (
            &format!("{root}mount = \"ws\""),
            "paths in a session are absolute",
        ),
        (
            &format!("{root}preset = \"workspce\""),
            "did you mean `workspace`?",
        ),
        (
            &format!("{root}[root.quota]\nbytes = \"2 Gigs\""),
            "[root.quota]: `bytes` must be",
        ),
        (
            &format!("{root}[root.quota]\nbyte = 1"),
            "[root.quota]: unknown key `byte`; did you",
        ),
        (
            &format!("{root}[root.quota]\nbytes = 1\nfile_bytes = 2"),
            "larger than `bytes`",
        ),
        (
            &format!("{root}deny = [\"x\"]\nread_only = [\"x\"]"),
            "stands in `deny` and in",
        ),
        (
            &format!("{root}{}", &root[12..]),
            "two roots have the name `a`",
        ),
        (
            &format!("{root}[lease]\nttl = \"2h\"\nmax_ttl = \"1h\""),
            "`ttl` is longer",
        ),
        (
            &format!("{root}[[allow]]\nroots = [\"a\"]"),
            "[[allow]] says nobody",
        ),
        (
            &format!("{root}[[allow]]\nuid = 1\nroots = [\"b\"]"),
            "unknown root `b`",
        ),
        (
            &format!("{root}[[allow]]\nuid = 1\nverbs = [\"wirte\"]"),
            "did you mean `write`?",
        ),
        (
            &format!("{root}[[allow]]\nuid = 1\nverbs = []"),
            "[[allow]]: `verbs` is empty: leave it out for all",
        ),
        (
            &format!("{root}[[allow]]\nuid = 1\npaths = []"),
            "`paths` is empty",
        ),
        (
            &format!("{root}[[allow]]\nuid = 1\nroots = []"),
            "`roots` is empty",
        ),
        ("version = 1\n[[root]\n", "line 2:"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(expected), "{text}\n{error}");
    }
}
