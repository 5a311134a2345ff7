//! The last component turns into a link to a file outside, and back.

use std::io;

use handfast::ErrorKind;

use super::{Attack, BOTH_WAYS, Pace, is_file, take_turns};
use crate::arena::Arena;
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::{Duel, leaf_floor, refusal};
use crate::layers::EVERY;

pub(crate) static ATTACK: Attack = Attack {
    name: "leaf-swap",
    does: "the file itself is replaced by a link to a file outside, and back",
    harm: "anything outside is read or changed",
    swaps: |top, leaf| {
        let target = format!("../../outside/{leaf}");
        let place = top.join("root/d").join(leaf);
        vec![take_turns(place, move |aside| {
            std::os::unix::fs::symlink(&target, aside).is_ok()
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-write",
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
    layers: EVERY,
    is_good: |arena, leaf| is_file(&arena.path("root/d").join(leaf)),
    allowed: |victim, links| {
        let mut allowed = vec![refusal(links), ErrorKind::Link, ErrorKind::Raced];
        match victim.verb {
            // The attacker's renames change the file's version, and the file under the name.
            "write-if" | "remove-if" => allowed.extend([ErrorKind::Stale, ErrorKind::NotFound]),
            "hard-link" => allowed.push(ErrorKind::Kind),
            _ => {}
        }
        allowed
    },
    floor: leaf_floor,
    leaf: Some(|victim| victim.leaf),
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    let canary = Canary::plant(&arena.path("outside"))?;
    arena.room("root/d")?;
    Ok(canary)
}
