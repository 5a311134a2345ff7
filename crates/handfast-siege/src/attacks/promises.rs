//! What the layers promise beyond staying inside: one table of attacks, each with its harm.
//!
//! | attack | two names that are exchanged | harm |
//! |---|---|---|
//! | denied-swap | a directory, and a link to a denied one | denied content in an answer |
//! | denied-name | a directory, and one whose files are second names of denied ones | the same |
//! | protected-swap | a directory, and a link to a read-only one | a protected name changed |
//! | protected-move | a file, and a directory that may not come under a name | the same |
//! | version-swap | two files | bytes of one object with the version of another |

use std::io;
use std::path::Path;

use handfast::{Error, ErrorKind, RelPath};

use super::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::arena::{Arena, FILES, exchange};
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::Duel;
use crate::layers::{EVERY, RULED, Rules, Stand};
use crate::victims::{APPEND_AND_READ, COPY_AND_READ, RENAME_ONTO, Returned, Victim};

/// An attack of this table: two names below the root are exchanged again and again.
macro_rules! exchanged {
    ($name:literal, $does:literal, $harm:literal, $pair:expr, $duel:expr, $control:expr) => {
        Attack {
            name: $name,
            does: $does,
            harm: $harm,
            swaps: |top, _| {
                let (one, other) = (
                    top.join("root").join($pair.0),
                    top.join("root").join($pair.1),
                );
                vec![Box::new(move || exchange(&one, &other))]
            },
            pace: Pace::QUICK,
            ways: BOTH_WAYS,
            run: |attack, field| {
                static DUEL: Duel = Duel {
                    pair: Some($pair),
                    ..$duel
                };
                DUEL.run(attack, field)
            },
            control: $control,
        }
    };
}

/// A rule that denies a directory, and allows files with several names as far as it does not.
const DENIED: Rules = Rules {
    deny: &["/denied"],
    hard_links: "allow",
    ..Rules::NONE
};

/// A rule that keeps directories as they are.
const PROTECTED: Rules = Rules {
    read_only: &["/locked", "/spot/held"],
    ..Rules::NONE
};

pub(super) static DENIED_SWAP: Attack = exchanged!(
    "denied-swap",
    "a directory on the way is exchanged with a link to a denied one",
    "denied content is in an answer, or was changed",
    ("a", "evil"),
    Duel {
        scene: denied_scene,
        prefix: "a/",
        inside: "root/a",
        layers: RULED,
        rules: DENIED,
        own: &[COPY_AND_READ, APPEND_AND_READ],
        is_good: |arena, _| is_dir(&arena.path("root/a")),
        ..Duel::USUAL
    },
    Control {
        verb: "naive-read",
        scene: denied_scene,
        leaf: "",
        attempt: |arena, _, work| {
            let path = arena.path("root/a/data");
            let real = path.canonicalize();
            let denied = arena.path("root/denied");
            if real.is_ok_and(|real| !real.starts_with(denied)) {
                work();
                return says_outside(&path);
            }
            false
        },
        fifo: None,
    }
);

pub(super) static DENIED_NAME: Attack = exchanged!(
    "denied-name",
    "a directory is exchanged with one whose files are second names of denied ones",
    "denied content is in an answer",
    ("a", "b"),
    Duel {
        scene: second_names,
        prefix: "a/",
        inside: "root/a",
        layers: RULED,
        rules: DENIED,
        own: &[COPY_AND_READ, APPEND_AND_READ],
        // What only changes a name does not come to the content.
        // And facts about a file are not its content.
        targets: |victim| {
            let beside = ["remove-file", "rename", "metadata"];
            victim.leaf.is_some() && !beside.contains(&victim.verb)
        },
        allowed: |victim, _| match victim.verb {
            // What was asked for first lies in the other directory now.
            "write-if" => vec![ErrorKind::Raced, ErrorKind::Stale],
            "copy-and-read" => vec![ErrorKind::Raced, ErrorKind::NotFound],
            _ => vec![ErrorKind::Raced],
        },
        is_good: has_one_name,
        floor: |_| 0,
        ..Duel::USUAL
    },
    Control {
        verb: "naive-read",
        scene: second_names,
        leaf: "",
        attempt: |arena, _, work| {
            if has_one_name(arena, "data") {
                work();
                return says_outside(&arena.path("root/a/data"));
            }
            false
        },
        fifo: None,
    }
);

pub(super) static PROTECTED_SWAP: Attack = exchanged!(
    "protected-swap",
    "a directory on the way is exchanged with a link to a read-only one",
    "a protected name was changed",
    ("a", "evil"),
    Duel {
        scene: protected_scene,
        prefix: "a/",
        inside: "root/a",
        layers: RULED,
        rules: PROTECTED,
        targets: Victim::changes,
        allowed: |victim, _| match victim.verb {
            // The version was that of the other directory's file.
            "write-if" => vec![ErrorKind::Raced, ErrorKind::Stale],
            // An MCP server looks at the end whether the directory is there, and meets the other one.
            "create-dir" => vec![ErrorKind::Raced, ErrorKind::NotFound],
            _ => vec![ErrorKind::Raced],
        },
        is_good: |arena, _| is_dir(&arena.path("root/a")),
        leaks: false,
        look: |_, stand, _| protected_changes(stand, "locked"),
        ..Duel::USUAL
    },
    Control {
        verb: "naive-write",
        scene: protected_scene,
        leaf: "",
        attempt: |arena, _, work| {
            let path = arena.path("root/a/data");
            let locked = arena.path("root/locked");
            if path
                .canonicalize()
                .is_ok_and(|real| !real.starts_with(locked))
            {
                work();
                drop(std::fs::write(path, "inside"));
            }
            // The canary shows the harm.
            false
        },
        fifo: None,
    }
);

pub(super) static PROTECTED_MOVE: Attack = exchanged!(
    "protected-move",
    "a file that is renamed is exchanged with a directory that may not come there",
    "a protected name was made",
    ("f", "two"),
    Duel {
        scene: move_scene,
        layers: RULED,
        rules: PROTECTED,
        targets: |_| false,
        own: &[RENAME_ONTO],
        allowed: |_, _| vec![ErrorKind::Denied, ErrorKind::NotFound, ErrorKind::Raced],
        // Where what moves is not held, nothing at all may come under such a name.
        floor: |_| 0,
        leaks: false,
        look: |arena, stand, _| {
            match is_dir(&arena.path("root/spot/held")) {
                true => Ok(Some("changed: spot/held".to_owned())),
                false => protected_changes(stand, "spot/held"),
            }
        },
        ..Duel::USUAL
    },
    Control {
        verb: "naive-rename",
        scene: move_scene,
        leaf: "",
        attempt: |arena, _, work| {
            let (from, to) = (arena.path("root/f"), arena.path("root/spot"));
            if !super::is_file(&from) {
                return false;
            }
            work();
            let moved = std::fs::rename(&from, &to).is_ok();
            let harmed = is_dir(&to.join("held"));
            if moved {
                drop(std::fs::rename(&to, &from));
            }
            harmed
        },
        fifo: None,
    }
);

pub(super) static VERSION_SWAP: Attack = exchanged!(
    "version-swap",
    "the file that is read is exchanged with another one",
    "bytes of one file are returned with the version of the other",
    ("data", "other"),
    Duel {
        scene: pair_scene,
        layers: EVERY,
        targets: |victim| victim.verb == "read-versioned",
        allowed: |_, _| vec![ErrorKind::Raced],
        leaks: false,
        look: mixed,
        ..Duel::USUAL
    },
    Control {
        verb: "naive-read-then-stat",
        scene: pair_scene,
        leaf: "",
        attempt: |arena, _, work| {
            use std::os::unix::fs::MetadataExt;
            let path = arena.path("root/data");
            let bytes = std::fs::read(&path).unwrap_or_default();
            work();
            let inode = std::fs::metadata(&path).map_or(0, |meta| meta.ino());
            inode_of(arena, &bytes).is_some_and(|real| real != inode)
        },
        fifo: None,
    }
);

fn denied_scene(arena: &Arena) -> io::Result<Canary> {
    arena.room("root/a")?;
    std::fs::create_dir(arena.path("root/denied"))?;
    std::os::unix::fs::symlink("denied", arena.path("root/evil"))?;
    Canary::plant(&arena.path("root/denied"))
}

/// A directory of ordinary files, and one whose files are denied ones under a second name.
fn second_names(arena: &Arena) -> io::Result<Canary> {
    std::fs::create_dir(arena.path("root/denied"))?;
    let canary = Canary::plant_linked(&arena.path("root/denied"), &FILES)?;
    arena.room("root/a")?;
    std::fs::create_dir(arena.path("root/b"))?;
    for name in FILES {
        let denied = arena.path("root/denied").join(name);
        std::fs::hard_link(denied, arena.path("root/b").join(name))?;
    }
    Ok(canary)
}

fn has_one_name(arena: &Arena, leaf: &str) -> bool {
    use std::os::unix::fs::MetadataExt;
    let leaf = if leaf.is_empty() { "data" } else { leaf };
    let meta = std::fs::symlink_metadata(arena.path("root/a").join(leaf));
    meta.is_ok_and(|meta| meta.nlink() == 1)
}

fn says_outside(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|text| text == b"outside")
}

fn protected_scene(arena: &Arena) -> io::Result<Canary> {
    arena.room("root/a")?;
    std::fs::create_dir(arena.path("root/locked"))?;
    std::os::unix::fs::symlink("locked", arena.path("root/evil"))?;
    Canary::plant(&arena.path("root/locked"))
}

fn move_scene(arena: &Arena) -> io::Result<Canary> {
    std::fs::write(arena.path("root/f"), "inside")?;
    std::fs::create_dir_all(arena.path("root/two/held"))?;
    Ok(Canary::default())
}

/// What an overlay holds of a protected place: the disk does not show it before a commit.
fn protected_changes(stand: &Stand, place: &str) -> Result<Option<String>, Error> {
    let changed = stand.changed_below(&RelPath::parse(place)?)?;
    Ok(changed.map(|changed| format!("changed in the overlay: {changed}")))
}

/// What the two files of [`pair_scene`] say.
const SAYS: [(&str, &[u8]); 2] = [("data", b"one inside"), ("other", b"two inside")];

fn pair_scene(arena: &Arena) -> io::Result<Canary> {
    for (name, says) in SAYS {
        let path = arena.path("root").join(name);
        std::fs::write(&path, says)?;
        // A third name says which is which, wherever the attacker put it.
        std::fs::hard_link(&path, arena.path("away").join(name))?;
        // Old enough to have no digest: then only which object it is tells the two apart.
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        std::fs::File::options()
            .write(true)
            .open(path)?
            .set_modified(then)?;
    }
    Ok(Canary::default())
}

/// The file that holds these bytes.
fn inode_of(arena: &Arena, bytes: &[u8]) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let (name, _) = SAYS.iter().find(|(_, says)| *says == bytes)?;
    let meta = std::fs::metadata(arena.path("away").join(name)).ok()?;
    Some(meta.ino())
}

/// Whether a version is of another file than the bytes beside it. A read that says neither which
/// version it is nor the bytes of one of the files shows nothing.
fn mixed(arena: &Arena, _: &Stand, seen: Option<&Returned>) -> Result<Option<String>, Error> {
    let Some(seen) = seen else {
        return Ok(None);
    };
    let unknown = |what| Error::refused(ErrorKind::Invalid, what);
    let version = seen
        .version
        .ok_or_else(|| unknown("no version was returned"))?;
    let (name, _) = SAYS
        .iter()
        .find(|(_, says)| *says == seen.text)
        .ok_or_else(|| unknown("the bytes are of neither file"))?;
    let object = arena.hold("away")?.metadata(&RelPath::parse(name)?)?;
    Ok((!version.is_of_renamed(&object))
        .then(|| format!("the bytes of `{name}` with another version")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast::Links;

    use crate::layers::Layer;

    #[test]
    fn a_read_without_a_version_shows_nothing() {
        let arena = Arena::new(&std::env::temp_dir()).unwrap();
        pair_scene(&arena).unwrap();
        let stand = Stand::open(Layer::Walk, &arena, Links::Refuse, Rules::NONE, None).unwrap();
        let bytes = || Returned::text(SAYS[0].1);
        let root = arena.hold("root").unwrap();
        let version = |name| root.version(&RelPath::parse(name).unwrap()).unwrap();
        let with = |name| Returned::versioned(SAYS[0].1.to_vec(), version(name));
        let mixed = |seen: Returned| mixed(&arena, &stand, Some(&seen));
        assert!(mixed(bytes()).is_err());
        assert!(mixed(Returned::default()).is_err());
        assert_eq!(mixed(with("data")).unwrap(), None);
        assert!(mixed(with("other")).unwrap().is_some());
    }
}
