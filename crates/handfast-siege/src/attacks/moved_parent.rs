//! A directory on the way is moved out of the root, and back.
//!
//! What was pinned before the move stays usable for the rest of that one operation: an effect in the
//! moved directory is the stated residue. Everything else outside is watched.

use std::io;

use handfast::ErrorKind;

use super::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::arena::Arena;
use crate::canary::Canary;
use crate::controls::{Control, naive_descent};
use crate::duel::Duel;

pub(crate) static ATTACK: Attack = Attack {
    name: "moved-parent",
    does: "a directory on the way is moved out of the root and back",
    harm: "anything outside but the moved directory is read or changed",
    swaps: |top, _| {
        let (inside, away) = (top.join("root/p/a"), top.join("away/a"));
        let mut is_out = false;
        vec![Box::new(move || {
            let moved = if is_out {
                std::fs::rename(&away, &inside).is_ok() || {
                    // A victim made the missing directory again; the old one comes back all the same.
                    drop(std::fs::remove_dir_all(&inside));
                    std::fs::rename(&away, &inside).is_ok()
                }
            } else {
                std::fs::rename(&inside, &away).is_ok()
            };
            is_out ^= moved;
            moved
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-climb",
        scene,
        leaf: "",
        // Up again by asking the kernel, as tree walkers did for long.
        attempt: |arena, _, work| {
            let way = ["p", "a", "tree", "sub", "..", "..", ".."];
            naive_descent(arena, way.into_iter(), "..", work)
        },
        fifo: None,
    },
};

static DUEL: Duel = Duel {
    scene,
    prefix: "p/a/",
    inside: "root/p/a",
    is_good: |arena, _| is_dir(&arena.path("root/p/a")),
    allowed: |victim, _| {
        let mut allowed = vec![ErrorKind::NotFound, ErrorKind::Raced];
        if matches!(victim.verb, "write-if" | "remove-if") {
            // Gone since its version was asked for.
            allowed.push(ErrorKind::Stale);
        }
        allowed
    },
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    let outside = Canary::plant(&arena.path("outside"))?;
    let away = Canary::plant_loose(&arena.path("away"), &["a"])?;
    arena.room("root/p")?;
    arena.room("root/p/a")?;
    Ok(outside.and(away))
}
