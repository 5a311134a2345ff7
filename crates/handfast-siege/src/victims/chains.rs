//! Calls that belong together, for attacks that ask for them.

use handfast::files::{At, Put};
use handfast::{Error, Name, RelPath, RenameMode};

use super::{Returned, Victim, clear, fast, keep, nothing, victim, with_f};

fn geteuid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Copies a file, and reads the copy.
pub(crate) const COPY_AND_READ: Victim =
    victim("copy-and-read", Some("data"), keep, |files, names, _| {
        let copy = names.at("copied")?;
        files.copy(&names.at("data")?, &copy, Put::Replace)?;
        files.read(&copy, files.read_limit()).map(Returned::text)
    })
    .looks_up(3);

/// Adds to a file, and reads it: an overlay copies it up before.
pub(crate) const APPEND_AND_READ: Victim =
    victim("append-and-read", Some("g"), keep, |files, names, _| {
        let path = names.at("g")?;
        files.append(&path, b"+", fast())?;
        files.read(&path, files.read_limit()).map(Returned::text)
    })
    .looks_up(2);

/// Renames a file to a name below which a directory would hold something protected.
pub(crate) const RENAME_ONTO: Victim = victim(
    "rename-onto",
    None,
    |inside, number| {
        clear(inside, "spot");
        with_f(inside, number);
    },
    |files, names, _| {
        let (from, to) = (names.at("f")?, names.at("spot")?);
        nothing(files.rename(&from, &to, RenameMode::NoReplace))
    },
);

/// Makes a directory, and puts a file into what was handed out.
pub(crate) const FILL_NEW_DIR: Victim = victim(
    "fill-new-dir",
    None,
    |inside, _| {
        // What an attacker put there is the attacker's to take away.
        let ours = |path: &RelPath| Ok::<_, Error>(inside.metadata(path)?.uid == geteuid());
        if RelPath::parse("d").is_ok_and(|path| ours(&path).unwrap_or(false)) {
            clear(inside, "d");
        }
    },
    |files, _, _| {
        let top = files.top()?;
        let (dir, mark) = (Name::parse("d")?, Name::parse("mark")?);
        let made = files.create_dir_at(At::new(&top, &dir), 0o700)?;
        nothing(files.put_at(At::new(&made, &mark), b"inside", Put::New, fast()))
    },
);
