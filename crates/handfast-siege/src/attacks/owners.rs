//! Co-owners of the parent directory: what is handed out as new is theirs, or others may read what is
//! written.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use handfast::ErrorKind;

use super::{Attack, BOTH_WAYS, Pace};
use crate::arena::{Arena, FILES};
use crate::attacker::Swap;
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::{Duel, leaf_floor};
use crate::layers::Layer;
use crate::victims::FILL_NEW_DIR;

/// A user who is not the one that lays siege.
fn somebody() -> u32 {
    match rustix::process::geteuid().as_raw() {
        65_534 => 65_533,
        _ => 65_534,
    }
}

pub(super) static FOREIGN_OWNER: Attack = Attack {
    name: "foreign-owner",
    does: "a directory of another user is renamed over the one that was just made",
    harm: "the result of a call belongs to another user",
    swaps: |top, _| {
        let (theirs, place) = (top.join("away/theirs"), top.join("root/d"));
        // It comes where the name is free or an empty directory has it, and goes away again.
        vec![Box::new(move || match is_theirs(&place) {
            true => std::fs::rename(&place, &theirs).is_ok(),
            // Who clears the name may have removed it.
            false => {
                (is_theirs(&theirs) || make_theirs(&theirs).is_ok())
                    && std::fs::rename(&theirs, &place).is_ok()
            }
        })]
    },
    pace: Pace::HURRIED,
    ways: BOTH_WAYS,
    run: |attack, field| {
        static DUEL: Duel = Duel {
            scene: owner_scene,
            // A broker and a server hand out no directories, and an overlay makes its own
            // where no other user may write.
            layers: &[Layer::Kernel, Layer::Walk, Layer::Session],
            targets: |_| false,
            own: &[FILL_NEW_DIR],
            is_good: |arena, _| !arena.path("root/d").exists(),
            allowed: |_, _| vec![ErrorKind::Exists, ErrorKind::Raced, ErrorKind::NotFound],
            floor: |_| 0,
            look: |arena, _, _| Ok(lies_with_them(arena)),
            is_hurried: true,
            ..Duel::USUAL
        };
        DUEL.run(attack, field)
    },
    control: Control {
        verb: "naive-mkdir",
        scene: owner_scene,
        leaf: "",
        attempt: |arena, _, work| {
            let place = arena.path("root/d");
            if std::fs::create_dir(&place).is_ok() {
                work();
                drop(std::fs::write(place.join("mark"), "inside"));
            }
            let harmed = lies_with_them(arena).is_some();
            if !is_theirs(&place) {
                drop(std::fs::remove_dir_all(place));
            }
            harmed
        },
        fifo: None,
    },
};

pub(super) static WIDER_ACCESS: Attack = Attack {
    name: "wider-access",
    does: "a private file is replaced by another private one, and every name beside it is looked at",
    harm: "others may read what only the owner could read before",
    swaps: |top, leaf| vec![watch(top, leaf)],
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| {
        static DUEL: Duel = Duel {
            scene: private_scene,
            prefix: "d/",
            inside: "root/d",
            // An overlay writes to a store of its own, which no other user may read.
            layers: &[
                Layer::Kernel,
                Layer::Walk,
                Layer::Session,
                Layer::Broker,
                Layer::Mcp,
            ],
            targets: |victim| {
                let writes = ["write", "stage", "write-if", "append", "copy", "open-write"];
                writes.contains(&victim.verb)
            },
            allowed: |_, _| vec![ErrorKind::Raced, ErrorKind::Stale, ErrorKind::NotFound],
            floor: leaf_floor,
            leaks: false,
            look: |arena, _, _| Ok(witnessed(arena)),
            leaf: Some(|victim| victim.leaf),
            ..Duel::USUAL
        };
        DUEL.run(attack, field)
    },
    control: Control {
        verb: "naive-replace",
        scene: private_scene,
        leaf: "f",
        attempt: |arena, _, work| {
            let (path, draft) = (arena.path("root/d/f"), arena.path("root/d/f.tmp"));
            let mode = std::fs::metadata(&path).map_or(0o600, |meta| meta.mode());
            drop(std::fs::write(&draft, "inside"));
            work();
            drop(std::fs::set_permissions(
                &draft,
                Permissions::from_mode(mode),
            ));
            drop(std::fs::rename(&draft, &path));
            witnessed(arena).is_some()
        },
        fifo: None,
    },
};

fn owner_scene(arena: &Arena) -> io::Result<Canary> {
    make_theirs(&arena.path("away/theirs")).map_err(|error| {
        let why = format!("only root makes directories of another user: {error}");
        io::Error::new(error.kind(), why)
    })?;
    Ok(Canary::default())
}

fn make_theirs(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)?;
    chown(path, Some(somebody()), None)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o777))
}

fn is_theirs(place: &Path) -> bool {
    std::fs::symlink_metadata(place).is_ok_and(|meta| meta.uid() == somebody())
}

/// Whether something of ours lies in a directory of theirs.
fn lies_with_them(arena: &Arena) -> Option<String> {
    let places = [arena.path("away/theirs"), arena.path("root/d")];
    let place = places
        .iter()
        .find(|place| is_theirs(place) && place.join("mark").exists())?;
    drop(std::fs::remove_file(place.join("mark")));
    Some("the new directory belongs to another user".to_owned())
}

/// Everything is private: the files that are there, and the one that victims copy to.
fn private_scene(arena: &Arena) -> io::Result<Canary> {
    DirBuilder::new().mode(0o755).create(arena.path("root/d"))?;
    for name in FILES.iter().chain(&["copied"]) {
        io::Write::write_all(&mut private(&arena.path("root/d").join(name))?, b"inside")?;
    }
    Ok(Canary::default())
}

/// A new file that only its owner may read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

/// Puts one private file after the other under a name, and looks at whatever else is there.
fn watch(top: &Path, leaf: &str) -> Swap {
    let (dir, witness) = (top.join("root/d"), top.join("away/witness"));
    let (place, aside) = (dir.join(leaf), top.join("away/aside"));
    Box::new(move || {
        if let Some(found) = open_to_others(&dir) {
            drop(std::fs::write(&witness, found));
        }
        private(&aside).is_ok() && std::fs::rename(&aside, &place).is_ok()
    })
}

/// The first file with content that others may read.
fn open_to_others(dir: &Path) -> Option<String> {
    let wide = |entry: &std::fs::DirEntry| {
        let meta = std::fs::symlink_metadata(entry.path());
        meta.is_ok_and(|meta| meta.is_file() && meta.len() > 0 && meta.mode() & 0o077 != 0)
    };
    let entry = std::fs::read_dir(dir).ok()?.flatten().find(wide)?;
    Some(entry.file_name().to_string_lossy().into_owned())
}

/// What the attacker saw meanwhile, or what is there now.
fn witnessed(arena: &Arena) -> Option<String> {
    let witness = arena.path("away/witness");
    let before = std::fs::read_to_string(&witness).ok();
    drop(std::fs::remove_file(witness));
    let found = before.or_else(|| open_to_others(&arena.path("root/d")))?;
    // Found once, and private again for the next attempt.
    let private = Permissions::from_mode(0o600);
    drop(std::fs::set_permissions(
        arena.path("root/d").join(&found),
        private,
    ));
    Some(format!(
        "others may read d/{}",
        handfast::escape(found.as_bytes())
    ))
}
