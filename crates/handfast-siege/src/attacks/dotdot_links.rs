//! A directory leaves the root while the many `..` of a link's target are walked.

use std::io;

use handfast::{ErrorKind, Links};

use super::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::arena::Arena;
use crate::canary::Canary;
use crate::controls::{Control, naive_descent};
use crate::duel::Duel;

/// How often the link goes into the directory that is moved, and up from it.
const TURNS: usize = 8;

pub(crate) static ATTACK: Attack = Attack {
    name: "dotdot-links",
    does: "a directory leaves the root while a link's many `..` are walked through it",
    harm: "anything outside is read or changed",
    swaps: |top, _| {
        let (inside, away) = (top.join("root/a/c"), top.join("away/c"));
        let mut is_out = false;
        vec![Box::new(move || {
            let (from, to) = if is_out {
                (&away, &inside)
            } else {
                (&inside, &away)
            };
            let moved = std::fs::rename(from, to).is_ok();
            is_out ^= moved;
            moved
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| DUEL.run(attack, field),
    control: Control {
        verb: "naive-descriptor-walk",
        scene,
        leaf: "",
        // It never follows a link, but asks the kernel for `..`.
        attempt: |arena, _, work| naive_descent(arena, target().split('/'), "c", work),
        fifo: None,
    },
};

fn target() -> String {
    format!("{}h", "a/c/../../".repeat(TURNS))
}

static DUEL: Duel = Duel {
    scene,
    prefix: "via/",
    inside: "root/h",
    // Where links are refused, none is walked.
    policies: &[Links::Beneath],
    is_good: |arena, _| is_dir(&arena.path("root/a/c")),
    allowed: |victim, _| {
        let mut allowed = vec![ErrorKind::NotFound, ErrorKind::Raced, ErrorKind::Escape];
        match victim.verb {
            // Gone since its version was asked for.
            "write-if" | "remove-if" => allowed.push(ErrorKind::Stale),
            // A link that leads to nothing is in the way of what is to be made.
            "create-dir-all" => allowed.push(ErrorKind::Link),
            _ => {}
        }
        allowed
    },
    // Half is not natural here: the directory comes and goes while the long way is walked, and
    // every one of its turns must meet it.
    floor: |victim| if victim.lookups > 1 { 0 } else { 5 },
    ..Duel::USUAL
};

fn scene(arena: &Arena) -> io::Result<Canary> {
    std::fs::create_dir_all(arena.path("root/a/c"))?;
    arena.room("root/h")?;
    std::os::unix::fs::symlink(target(), arena.path("root/via"))?;
    // Code that believes the kernel's `..` finds the same names beside the root.
    std::fs::create_dir_all(arena.path("a/c"))?;
    std::fs::create_dir(arena.path("h"))?;
    Canary::plant(&arena.path("h"))
}
