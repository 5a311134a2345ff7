//! A directory on the way is exchanged with a link to the outside.

use std::io;

use super::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::arena::{Arena, exchange};
use crate::canary::Canary;
use crate::controls::{Control, naive_check};
use crate::duel::Duel;
use crate::layers::EVERY;

pub(crate) static ATTACK: Attack = Attack {
    name: "directory-swap",
    does: "a directory on the way is exchanged with a link to the outside",
    harm: "anything outside is read or changed",
    swaps: |top, _| {
        let (real, evil) = (top.join("root/a"), top.join("root/evil"));
        vec![Box::new(move || exchange(&real, &evil))]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-write",
        scene,
        leaf: "",
        attempt: |arena, _, work| {
            let path = arena.path("root/a/data");
            if naive_check(&arena.path("root"), &path) {
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
    prefix: "a/",
    inside: "root/a",
    layers: EVERY,
    pair: Some(("a", "evil")),
    is_good: |arena, _| is_dir(&arena.path("root/a")),
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    let canary = Canary::plant(&arena.path("outside"))?;
    arena.room("root/a")?;
    std::os::unix::fs::symlink("../outside", arena.path("root/evil"))?;
    Ok(canary)
}
