//! What POSIX promises about names, one call at a time: the mount answers as the filesystem below
//! does, and the directory looks the same afterwards. Every difference is listed with its reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use handfast_session::{Mode, Protect};
use rustix::fs::{AtFlags, CWD, FileType, Mode as Bits, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::support::{Mounted, Scratch, in_namespace};

/// What a call is made on.
const TARGETS: [&str; 16] = [
    "f", "empty", "ro", "two", "d", "d/", "ed", "l", "dl", "bl", "loop", "absent", "absent/x",
    "f/x", "d/c", "LONG",
];

type Act = fn(&Path, &Path) -> Result<String, Errno>;

/// The calls: on a target, in a directory.
const CALLS: [(&str, Act); 30] = [
    ("open read", |at, _| open(at, OFlags::RDONLY)),
    ("open write", |at, _| open(at, OFlags::WRONLY)),
    ("open create", |at, _| {
        open(at, OFlags::RDWR | OFlags::CREATE)
    }),
    ("open exclusive", |at, _| {
        open(at, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }),
    ("open truncate", |at, _| {
        open(at, OFlags::WRONLY | OFlags::TRUNC)
    }),
    ("open directory", |at, _| {
        open(at, OFlags::RDONLY | OFlags::DIRECTORY)
    }),
    ("open itself", |at, _| {
        open(at, OFlags::RDONLY | OFlags::NOFOLLOW)
    }),
    ("open path", |at, _| {
        open(at, OFlags::PATH | OFlags::NOFOLLOW)
    }),
    ("write", |at, _| write(at, OFlags::WRONLY)),
    ("append", |at, _| write(at, OFlags::WRONLY | OFlags::APPEND)),
    ("read", |at, _| {
        std::fs::read_to_string(at).map_err(|error| Errno::from_io_error(&error).unwrap())
    }),
    ("stat", |at, _| Ok(facts(&rustix::fs::stat(at)?))),
    ("lstat", |at, _| Ok(facts(&rustix::fs::lstat(at)?))),
    ("access", |at, _| {
        let access = rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK;
        unit(rustix::fs::access(at, access))
    }),
    ("mkdir", |at, _| {
        unit(rustix::fs::mkdir(at, Bits::from(0o750)))
    }),
    ("rmdir", |at, _| unit(rustix::fs::rmdir(at))),
    ("unlink", |at, _| unit(rustix::fs::unlink(at))),
    ("chmod", |at, _| {
        unit(rustix::fs::chmod(at, Bits::from(0o700)))
    }),
    ("truncate", |at, _| {
        let file = rustix::fs::open(at, OFlags::WRONLY, Bits::empty())?;
        unit(rustix::fs::ftruncate(file, 2))
    }),
    ("times", |at, _| {
        let time = Timespec {
            tv_sec: 1_000_000_000,
            tv_nsec: 5,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        rustix::fs::utimensat(CWD, at, &times, AtFlags::empty())?;
        Ok(rustix::fs::stat(at)?.st_mtime.to_string())
    }),
    ("readlink", |at, _| {
        Ok(format!("{:?}", rustix::fs::readlink(at, Vec::new())?))
    }),
    ("symlink", |at, _| {
        unit(rustix::fs::symlink("/etc/../x", at))
    }),
    ("link to", |at, dir| {
        unit(rustix::fs::link(dir.join("f"), at))
    }),
    ("link from", |at, dir| {
        unit(rustix::fs::link(at, dir.join("new")))
    }),
    ("rename file to", |at, dir| {
        unit(rustix::fs::rename(dir.join("f"), at))
    }),
    ("rename directory to", |at, dir| {
        unit(rustix::fs::rename(dir.join("d"), at))
    }),
    ("rename from", |at, dir| {
        unit(rustix::fs::rename(at, dir.join("new")))
    }),
    ("rename no replace", |at, dir| {
        unit(rustix::fs::renameat_with(
            CWD,
            dir.join("f"),
            CWD,
            at,
            RenameFlags::NOREPLACE,
        ))
    }),
    ("exchange", |at, dir| {
        unit(rustix::fs::renameat_with(
            CWD,
            dir.join("f"),
            CWD,
            at,
            RenameFlags::EXCHANGE,
        ))
    }),
    ("list", |at, _| {
        let listed =
            std::fs::read_dir(at).map_err(|error| Errno::from_io_error(&error).unwrap())?;
        let names = listed.map(|entry| entry.unwrap().file_name());
        Ok(format!("{:?}", names.collect::<BTreeSet<_>>()))
    }),
];

/// Calls that differ, with the targets and why.
type Difference = (&'static str, &'static [&'static str], &'static str);

const NO_SECOND_NAME: Difference = (
    "link from",
    &["l", "dl", "bl", "loop"],
    "an overlay gives symbolic links no second name: EPERM",
);

const COPIED: &str = "a file of the base with two names is copied up alone: the other name keeps \
                      the old file, which the review flags";

/// Over a base.
const OVER_BASE: &[Difference] = &[
    NO_SECOND_NAME,
    ("open write", &["two"], COPIED),
    ("open create", &["two"], COPIED),
    ("open truncate", &["two"], COPIED),
    ("write", &["two"], COPIED),
    ("append", &["two"], COPIED),
    ("chmod", &["two"], COPIED),
    ("truncate", &["two"], COPIED),
    ("times", &["two"], COPIED),
    ("link from", &["two"], COPIED),
    ("unlink", &["two"], COPIED),
    ("rename file to", &["two"], COPIED),
];

/// In what the overlay made.
const MADE: &[Difference] = &[NO_SECOND_NAME];

fn open(at: &Path, flags: OFlags) -> Result<String, Errno> {
    unit(rustix::fs::open(at, flags, Bits::from(0o640)).map(drop))
}

fn write(at: &Path, flags: OFlags) -> Result<String, Errno> {
    let file = rustix::fs::open(at, flags, Bits::empty())?;
    Ok(rustix::io::write(file, b"XY")?.to_string())
}

fn unit(done: Result<(), Errno>) -> Result<String, Errno> {
    done.map(|()| String::new())
}

/// Facts that do not depend on where a file lies. The length of a directory is the filesystem's own.
fn facts(of: &rustix::fs::Stat) -> String {
    let kind = FileType::from_raw_mode(of.st_mode);
    let is_dir = kind == FileType::Directory;
    let (len, names) = if is_dir {
        (0, 0)
    } else {
        (of.st_size, of.st_nlink)
    };
    format!("{kind:?} {:o} {len} {names}", of.st_mode & 0o7777)
}

/// One of each, in a directory.
fn plant(dir: &Path) {
    std::fs::create_dir(dir).unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        std::fs::write(dir.join(name), text).unwrap();
        std::fs::set_permissions(dir.join(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    file("f", "content", 0o644);
    file("empty", "", 0o600);
    file("ro", "read only", 0o444);
    file("two", "two names", 0o755);
    std::fs::hard_link(dir.join("two"), dir.join("second")).unwrap();
    std::fs::create_dir(dir.join("d")).unwrap();
    std::fs::create_dir(dir.join("ed")).unwrap();
    file("d/c", "child", 0o644);
    for (target, name) in [("f", "l"), ("d", "dl"), ("nothing", "bl"), ("loop", "loop")] {
        std::os::unix::fs::symlink(target, dir.join(name)).unwrap();
    }
}

/// Everything in a directory, one line each.
fn shown(dir: &Path) -> String {
    let mut text = String::new();
    let mut pending = vec![dir.to_owned()];
    let mut lines = BTreeSet::new();
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let status = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(dir).unwrap().display().to_string();
            let kind = status.file_type();
            let content = if kind.is_file() {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
            } else if kind.is_symlink() {
                std::fs::read_link(&path).unwrap().display().to_string()
            } else {
                String::new()
            };
            let names = if kind.is_dir() { 0 } else { status.nlink() };
            assert!(!kind.is_socket(), "{name}");
            lines.insert(format!("{name} {:o} {names} {content}", status.mode()));
            if kind.is_dir() {
                pending.push(path);
            }
        }
    }
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// What a call on a target comes to, and what the directory looks like then.
fn outcome(dir: &Path, call: Act, target: &str) -> String {
    let long = "n".repeat(256);
    let name = if target == "LONG" { &long } else { target };
    let answer = match call(&PathBuf::from(format!("{}/{name}", dir.display())), dir) {
        Ok(told) => format!("done {told}"),
        Err(errno) => format!("{errno:?}"),
    };
    format!("{answer}\n{}", shown(dir))
}

fn cases() -> impl Iterator<Item = (usize, &'static str, Act, &'static str)> {
    let pairs = CALLS
        .iter()
        .flat_map(|(name, call)| TARGETS.map(|target| (*name, *call, target)));
    pairs
        .enumerate()
        .map(|(number, (name, call, target))| (number, name, call, target))
}

/// Asks every case below both tops, and returns how often they agreed.
fn compare(native: &Path, mounted: &Path, differences: &[Difference]) -> usize {
    let (mut same, mut unlisted) = (0, Vec::new());
    let mut met = BTreeSet::new();
    for (number, name, call, target) in cases() {
        let expected = outcome(&native.join(number.to_string()), call, target);
        let answer = outcome(&mounted.join(number.to_string()), call, target);
        let listed = differences
            .iter()
            .position(|(call, targets, _)| *call == name && targets.contains(&target));
        match (answer == expected, listed) {
            (true, None) => same += 1,
            (false, Some(_)) => drop(met.insert((name, target))),
            (true, Some(_)) => unlisted.push(format!("{name} {target}: listed, and the same")),
            (false, None) => {
                unlisted.push(format!("{name} {target}:\n{answer}\nand not\n{expected}"));
            }
        }
    }
    assert!(unlisted.is_empty(), "{}", unlisted.join("\n"));
    let listed: usize = differences
        .iter()
        .map(|(_, targets, _)| targets.len())
        .sum();
    assert_eq!(met.len(), listed);
    same
}

fn planted(top: &Path) {
    for (number, ..) in cases() {
        plant(&top.join(number.to_string()));
    }
}

#[test]
fn every_call_answers_as_on_the_filesystem_below() {
    in_namespace(
        "posix::every_call_answers_as_on_the_filesystem_below",
        || {
            let native = Scratch::new();
            planted(&native.top);
            let mounted = Mounted::new(Mode::Overlay, Protect::new(), |base| {
                planted(base);
            });
            let same = compare(&native.top, &mounted.view, OVER_BASE);
            assert!(same >= 200, "{same}");
            println!("{same} answers are the same over a base");
            // What the calls did is in the session alone.
            let untouched = Scratch::new();
            plant(&untouched.top.join("0"));
            assert_eq!(
                shown(&mounted.base.join("0")),
                shown(&untouched.top.join("0"))
            );
            // The same calls on what was made through the mount.
            let again = Scratch::new();
            planted(&again.top);
            let made = mounted.view.join("made");
            std::fs::create_dir(&made).unwrap();
            planted(&made);
            let same = compare(&again.top, &made, MADE);
            assert!(same >= 200, "{same}");
            println!("{same} answers are the same in the overlay");
        },
    );
}
