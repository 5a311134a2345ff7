//! The root's own name is exchanged with a link to the outside. A pinned root does not notice.

use std::io;

use super::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::arena::{Arena, exchange};
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::Duel;

pub(crate) static ATTACK: Attack = Attack {
    name: "root-swap",
    does: "the root's own name is exchanged with a link to the outside",
    harm: "anything outside is read or changed",
    swaps: |top, _| {
        let (real, evil) = (top.join("root"), top.join("evil"));
        vec![Box::new(move || exchange(&real, &evil))]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-read",
        scene,
        leaf: "",
        attempt: |arena, _, work| {
            let root = arena.path("root");
            let is_fine = is_dir(&root);
            work();
            is_fine && std::fs::read(root.join("data")).is_ok_and(|seen| seen == b"outside")
        },
        fifo: None,
    },
};

static DUEL: Duel = Duel {
    scene,
    prefix: "a/",
    inside: "root/a",
    is_good: |_, _| true,
    allowed: |_, _| Vec::new(),
    floor: |_| 100,
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    let canary = Canary::plant(&arena.path("outside"))?;
    arena.room("root/a")?;
    std::fs::write(arena.path("root/data"), "inside")?;
    std::os::unix::fs::symlink("outside", arena.path("evil"))?;
    Ok(canary)
}
