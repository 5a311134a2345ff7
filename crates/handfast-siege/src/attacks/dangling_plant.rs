//! A link to a file that does not exist yet is planted where something is about to be created.

use std::io;

use handfast::ErrorKind;

use super::{Attack, BOTH_WAYS, Pace, frees};
use crate::arena::Arena;
use crate::canary::Canary;
use crate::controls::{Control, naive_check};
use crate::duel::{Duel, refusal};

pub(crate) static ATTACK: Attack = Attack {
    name: "dangling-plant",
    does: "where something is about to be created, a link to a missing name outside comes and goes",
    harm: "something is created outside",
    swaps: |top, leaf| {
        let (place, aside) = (top.join("root/d").join(leaf), top.join("root/d/aside"));
        let target = top.join("outside/planted");
        let mut is_there = false;
        vec![Box::new(move || {
            is_there = !is_there;
            if is_there {
                drop(std::fs::remove_file(&aside));
                std::os::unix::fs::symlink(&target, &aside).is_ok()
                    && std::fs::rename(&aside, &place).is_ok()
            } else {
                frees(&place)
            }
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-create",
        scene,
        leaf: "results",
        attempt: |arena, _, work| {
            let path = arena.path("root/d/results");
            let is_free = std::fs::symlink_metadata(&path).is_err();
            if is_free && naive_check(&arena.path("root"), &path) {
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
    is_good: |arena, leaf| {
        let path = arena.path("root/d").join(leaf);
        std::fs::symlink_metadata(path).map_or(true, |meta| !meta.is_symlink())
    },
    allowed: |victim, links| {
        let mut allowed = vec![refusal(links), ErrorKind::Link, ErrorKind::Raced];
        match victim.verb {
            // A link under a name that must be free.
            "create-new" | "write-new" | "create-dir" | "symlink" | "hard-link" | "copy-tree" => {
                allowed.push(ErrorKind::Exists);
            }
            _ => {}
        }
        allowed
    },
    leaf: Some(|victim| victim.creates),
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    let canary = Canary::plant(&arena.path("outside"))?;
    arena.room("root/d")?;
    Ok(canary)
}
