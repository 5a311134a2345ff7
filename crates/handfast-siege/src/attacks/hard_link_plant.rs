//! A second name of a file outside is planted where a file is about to be changed in place.

use std::io;
use std::os::unix::fs::MetadataExt;

use handfast::ErrorKind;

use super::{Attack, BOTH_WAYS, Pace, is_file, take_turns};
use crate::arena::{Arena, FILES};
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::{Duel, leaf_floor};

pub(crate) static ATTACK: Attack = Attack {
    name: "hard-link-plant",
    does: "the file itself is replaced by a second name of a file outside, and back",
    harm: "a file outside is changed through its name inside",
    swaps: |top, leaf| {
        let target = top.join("outside").join(leaf);
        let place = top.join("root/d").join(leaf);
        vec![take_turns(place, move |aside| {
            std::fs::hard_link(&target, aside).is_ok()
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-truncate",
        scene,
        leaf: "f",
        attempt: |arena, _, work| {
            let path = arena.path("root/d/f");
            if is_file(&path) {
                work();
                drop(std::fs::write(path, "inside"));
            }
            // The canary shows the harm.
            false
        },
        fifo: None,
    },
};

static DUEL: Duel = Duel {
    scene,
    prefix: "d/",
    inside: "root/d",
    targets: |victim| {
        // Reading such a file is allowed; giving it to the same user again shows in its change
        // time only, which the attacker changes too.
        !matches!(
            victim.verb,
            "read" | "open" | "metadata" | "get-xattr" | "list-xattr" | "version" | "chown"
        )
    },
    is_good: |arena, leaf| {
        std::fs::symlink_metadata(arena.path("root/d").join(leaf))
            .is_ok_and(|meta| meta.is_file() && meta.nlink() == 1)
    },
    allowed: |victim, _| {
        let mut allowed = vec![ErrorKind::HardLink, ErrorKind::Raced];
        if matches!(victim.verb, "write-if" | "remove-if") {
            allowed.extend([ErrorKind::Stale, ErrorKind::NotFound]);
        }
        allowed
    },
    floor: leaf_floor,
    leaks: false,
    leaf: Some(|victim| victim.leaf),
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    arena.room("root/d")?;
    Canary::plant_linked(&arena.path("outside"), &FILES)
}
