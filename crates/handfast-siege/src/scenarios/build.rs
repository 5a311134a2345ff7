//! What a build does: trees are made, filled, copied, listed and removed.

use std::io;

use handfast::{Error, ErrorKind, Root};

use super::{Workload, path};
use crate::arena::{Arena, exchange};
use crate::attacks::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::canary::Canary;
use crate::controls::{Control, naive_check};
use crate::victims::fast;

pub(crate) static ATTACK: Attack = Attack {
    name: "build",
    does: "the output directory is exchanged with a link to the outside while a build runs",
    harm: "anything outside is changed",
    swaps: |top, _| {
        let (real, evil) = (top.join("root/target"), top.join("root/evil"));
        vec![Box::new(move || exchange(&real, &evil))]
    },
    pace: Pace::SLOW,
    ways: BOTH_WAYS,
    run: |attack, field| WORK.run(attack, field),
    control: Control {
        verb: "naive-build",
        scene,
        leaf: "",
        attempt: |arena, _, work| {
            let dir = arena.path("root/target/deps");
            if naive_check(&arena.path("root"), &dir) {
                work();
                drop(std::fs::create_dir_all(&dir));
            }
            // The canary shows the harm.
            false
        },
        fifo: None,
    },
};

static WORK: Workload = Workload {
    verb: "build",
    scene,
    is_good: |arena| is_dir(&arena.path("root/target")),
    steps: build,
    allowed: &[ErrorKind::Raced],
    floor: 50,
};

fn build(root: &Root, _: u64) -> Result<(), Error> {
    let source = root.read(&path("src/data")?)?;
    root.create_dir_all(&path("target/debug/deps")?)?;
    root.write_with(&path("target/debug/deps/lib.o")?, &source, fast())?;
    root.copy_with(&path("src/f")?, &path("target/debug/out")?, fast())?;
    let mut outputs = root.read_dir(&path("target/debug")?)?;
    while outputs.next_entry()?.is_some() {}
    match root.remove_tree(&path("target/debug")?) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn scene(arena: &Arena) -> io::Result<Canary> {
    arena.room("root/src")?;
    std::fs::create_dir(arena.path("root/target"))?;
    std::os::unix::fs::symlink("../outside", arena.path("root/evil"))?;
    Canary::plant(&arena.path("outside"))
}
