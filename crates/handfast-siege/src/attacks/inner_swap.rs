//! A directory on the way is exchanged with a link to another directory inside. Nothing leaves the
//! root, but where links are refused none may be followed.

use std::io;

use handfast::{ErrorKind, Links};

use super::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::arena::{Arena, exchange};
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::Duel;

pub(crate) static ATTACK: Attack = Attack {
    name: "inner-swap",
    does: "a directory on the way is exchanged with a link to another one inside",
    harm: "a link is followed though links are refused",
    swaps: |top, _| {
        let (real, evil) = (top.join("root/a"), top.join("root/evil"));
        vec![Box::new(move || exchange(&real, &evil))]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-no-link",
        scene,
        leaf: "",
        attempt: |arena, _, work| {
            if is_dir(&arena.path("root/a")) {
                work();
                drop(std::fs::write(arena.path("root/a/data"), "inside"));
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
    policies: &[Links::Refuse],
    is_good: |arena, _| is_dir(&arena.path("root/a")),
    allowed: |_, _| vec![ErrorKind::Link, ErrorKind::Raced],
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    arena.room("root/a")?;
    std::fs::create_dir(arena.path("root/other"))?;
    std::os::unix::fs::symlink("other", arena.path("root/evil"))?;
    Canary::plant(&arena.path("root/other"))
}
