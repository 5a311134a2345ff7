//! FIFOs and sockets are planted where a file is about to be opened.

use std::io;

use handfast::ErrorKind;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Attack, BOTH_WAYS, Pace, is_file, take_turns};
use crate::arena::Arena;
use crate::canary::Canary;
use crate::controls::Control;
use crate::duel::{Duel, leaf_floor};

pub(crate) static ATTACK: Attack = Attack {
    name: "special-plant",
    does: "the file itself is replaced by a FIFO, by a socket, and back",
    harm: "a call takes longer than a second",
    swaps: |top, leaf| {
        // One FIFO under many names: a call that hangs on it can be freed.
        let specials = [top.join("fifo"), top.join("socket")];
        let mut turn = 0;
        let place = top.join("root/d").join(leaf);
        vec![take_turns(place, move |aside| {
            turn += 1;
            std::fs::hard_link(&specials[turn % 2], aside).is_ok()
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-open",
        scene,
        leaf: "data",
        attempt: |arena, _, work| {
            let path = arena.path("root/d/data");
            if is_file(&path) {
                work();
                drop(std::fs::read(path));
            }
            // The watchdog shows the harm.
            false
        },
        fifo: Some("fifo"),
    },
};

static DUEL: Duel = Duel {
    scene,
    prefix: "d/",
    inside: "root/d",
    is_good: |arena, leaf| is_file(&arena.path("root/d").join(leaf)),
    allowed: |victim, _| {
        let mut allowed = vec![ErrorKind::Kind, ErrorKind::Raced];
        if matches!(victim.verb, "write-if" | "remove-if") {
            allowed.extend([ErrorKind::Stale, ErrorKind::NotFound]);
        }
        allowed
    },
    floor: leaf_floor,
    leaf: Some(|victim| victim.leaf),
    fifo: Some("fifo"),
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    let canary = Canary::plant(&arena.path("outside"))?;
    arena.room("root/d")?;
    let mode = Mode::from_raw_mode(0o600);
    for (name, kind) in [("fifo", FileType::Fifo), ("socket", FileType::Socket)] {
        mknodat(CWD, arena.path(name), kind, mode, 0)?;
    }
    Ok(canary)
}
