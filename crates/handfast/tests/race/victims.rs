//! Every verb, as an attacker's target.

use crate::support::*;
use handfast::files::LastLink;
use handfast::{
    Durability, Error, ErrorKind, Files, LockKind, OpenOptions, RelPath, RenameMode, Root,
    Timestamp, WriteOptions,
};
use std::path::Path;
use std::time::Duration;

pub(crate) fn fast() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

pub(crate) type Prepare = fn(&Root);
type Attempt = fn(&Root, &dyn Fn(&str) -> RelPath, u64) -> Result<Vec<u8>, Error>;

/// A verb as an attacker's target: what must be there, and one call. What the call saw is given
/// back; nothing of the outside may be in it.
pub(crate) struct Victim {
    pub verb: &'static str,
    pub prepare: Prepare,
    pub attempt: Attempt,
    /// How many lookups of the swapped directory one call makes: each may meet the other state.
    pub lookups: u32,
}

pub(crate) fn keep(_: &Root) {}

pub(crate) fn with_f(inside: &Root) {
    drop(inside.write_with(&rel("f"), "inside", fast()));
}

pub(crate) fn listing(root: &Root, path: &RelPath) -> Result<Vec<u8>, Error> {
    let mut seen = Vec::new();
    let mut list = root.read_dir(path)?;
    while let Some(entry) = list.next_entry()? {
        seen.extend_from_slice(entry.name().as_bytes());
    }
    Ok(seen)
}

pub(crate) const NONE: Vec<u8> = Vec::new();

/// Every verb, on names in a directory that is swapped.
pub(crate) const VICTIMS: &[Victim] = &[
    Victim {
        verb: "read",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.read(&p("data")),
    },
    Victim {
        verb: "open",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            use std::io::Read;
            let mut seen = Vec::new();
            drop(r.open(&p("data"))?.read_to_end(&mut seen));
            Ok(seen)
        },
    },
    Victim {
        verb: "open-write",
        prepare: with_f,
        lookups: 1,
        attempt: |r, p, _| {
            use std::io::Write;
            let how = OpenOptions::new().write(true).create(true).truncate(true);
            drop(r.open_with(&p("f"), how)?.write_all(b"inside"));
            Ok(NONE)
        },
    },
    Victim {
        verb: "create-new",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| {
            r.open_with(
                &p(&format!("n{i}")),
                OpenOptions::new().write(true).create_new(true),
            )
            .map(|_| NONE)
        },
    },
    Victim {
        verb: "write",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.write_with(&p("f"), "inside", fast()).map(|_| NONE),
    },
    Victim {
        verb: "write-new",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| {
            r.write_new_with(&p(&format!("w{i}")), "x", fast())
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "append",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.append(&p("g"), "i").map(|_| NONE),
    },
    Victim {
        verb: "create-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| r.create_dir(&p(&format!("d{i}"))).map(|_| NONE),
    },
    Victim {
        verb: "create-dir-all",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| r.create_dir_all(&p(&format!("e{i}/x/y"))).map(|_| NONE),
    },
    Victim {
        verb: "open-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.open_dir(&p("tree")).map(|_| NONE),
    },
    Victim {
        verb: "resolve",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.node(&p("data"), LastLink::Itself).map(|_| NONE),
    },
    Victim {
        verb: "read-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| listing(r, &p("tree/sub")),
    },
    Victim {
        verb: "walk",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            let mut seen = Vec::new();
            let mut walk = r.walk(&p("tree"))?;
            while let Some(entry) = walk.next_entry()? {
                seen.extend(entry.path());
            }
            Ok(seen)
        },
    },
    Victim {
        verb: "copy",
        prepare: keep,
        lookups: 2,
        attempt: |r, p, _| {
            r.copy_with(&p("data"), &p("copied"), fast())?;
            Ok(NONE)
        },
    },
    Victim {
        verb: "copy-tree",
        prepare: keep,
        lookups: 2,
        attempt: |r, p, i| r.copy_tree(&p("tree"), &p(&format!("t{i}"))).map(|()| NONE),
    },
    Victim {
        verb: "rename",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            r.rename(&p("f"), &p("renamed"), RenameMode::Replace)
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "exchange",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            r.rename(&p("f"), &p("data"), RenameMode::Exchange)
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "remove-file",
        prepare: with_f,
        lookups: 1,
        attempt: |r, p, _| r.remove_file(&p("f")).map(|()| NONE),
    },
    Victim {
        verb: "remove-dir",
        prepare: |inside| drop(inside.create_dir(&rel("empty"))),
        lookups: 1,
        attempt: |r, p, _| r.remove_dir(&p("empty")).map(|()| NONE),
    },
    Victim {
        verb: "remove-tree",
        prepare: |inside| drop(inside.create_dir_all(&rel("gone/a/b"))),
        lookups: 1,
        attempt: |r, p, _| r.remove_tree(&p("gone")).map(|()| NONE),
    },
    Victim {
        verb: "metadata",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.metadata(&p("data")).map(|_| NONE),
    },
    Victim {
        verb: "read-link",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.read_link(&p("link")).map(|text| text.as_bytes().to_vec()),
    },
    Victim {
        verb: "symlink",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| r.symlink("data", &p(&format!("l{i}"))).map(|()| NONE),
    },
    Victim {
        verb: "hard-link",
        prepare: keep,
        lookups: 2,
        attempt: |r, p, i| r.hard_link(&p("data"), &p(&format!("h{i}"))).map(|()| NONE),
    },
    Victim {
        verb: "chmod",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| {
            r.chmod(&p("g"), 0o600 | u32::try_from(i % 8).unwrap())
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "chown",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.chown(&p("g"), Some(rustix::process::geteuid().as_raw()), None)
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "set-times",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.set_times(
                &p("g"),
                None,
                Some(Timestamp {
                    seconds: 7,
                    nanoseconds: 7,
                }),
            )
            .map(|()| NONE)
        },
    },
    Victim {
        verb: "get-xattr",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.get_xattr(&p("g"), "user.x").map(|_| NONE),
    },
    Victim {
        verb: "set-xattr",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| match r.set_xattr(&p("g"), "user.x", b"inside") {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(NONE),
            done => done.map(|()| NONE),
        },
    },
    Victim {
        verb: "temp-file",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.temp_file(&p("tree")).map(|_| NONE),
    },
    Victim {
        verb: "temp-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.temp_dir(&p("tree")).map(|_| NONE),
    },
    Victim {
        verb: "lock",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.lock(&p("lock"), LockKind::Exclusive, Duration::ZERO)
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "lock-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.lock_dir(&p("tree"), LockKind::Exclusive, Duration::ZERO)
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "version",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.version(&p("data")).map(|_| NONE),
    },
    Victim {
        verb: "write-if",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            let version = r.version(&p("f"))?;
            r.write_if_with(&p("f"), &version, "inside", fast())
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "remove-if",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            let version = r.version(&p("f"))?;
            r.remove_if(&p("f"), &version).map(|()| NONE)
        },
    },
    Victim {
        verb: "recover",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.recover(&p("tree")).map(|_| NONE),
    },
];

/// What the swapped directory holds inside: the same names as outside.
pub(crate) fn furnish(inside: &Path) {
    for name in ["data", "f", "g", "lock"] {
        std::fs::write(inside.join(name), "inside").unwrap();
    }
    std::fs::create_dir_all(inside.join("tree/sub")).unwrap();
    std::fs::write(inside.join("tree/sub/file"), "inside").unwrap();
    std::os::unix::fs::symlink("target", inside.join("link")).unwrap();
}
