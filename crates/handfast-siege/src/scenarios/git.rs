//! What a version control system does: many small atomic writes and renames.

use std::io;

use handfast::{Error, ErrorKind, RenameMode, Root};

use super::{Workload, path};
use crate::arena::{Arena, exchange};
use crate::attacks::{Attack, BOTH_WAYS, Pace, is_dir};
use crate::canary::Canary;
use crate::controls::{Control, naive_check};
use crate::victims::fast;

pub(crate) static ATTACK: Attack = Attack {
    name: "git-like",
    does: "the directory of objects is exchanged with a link to the outside while commits are made",
    harm: "anything outside is changed",
    swaps: |top, _| {
        let (real, evil) = (top.join("root/objects"), top.join("root/evil"));
        vec![Box::new(move || exchange(&real, &evil))]
    },
    pace: Pace::SLOW,
    ways: BOTH_WAYS,
    run: |attack, field| WORK.run(attack, field),
    control: Control {
        verb: "naive-commit",
        scene,
        leaf: "",
        attempt: |arena, _, work| {
            let path = arena.path("root/objects/data");
            if naive_check(&arena.path("root"), &path) {
                work();
                let lock = path.with_extension("lock");
                drop(std::fs::write(&lock, "inside"));
                drop(std::fs::rename(&lock, &path));
            }
            // The canary shows the harm.
            false
        },
        fifo: None,
    },
};

static WORK: Workload = Workload {
    verb: "commit",
    scene,
    is_good: |arena| is_dir(&arena.path("root/objects")),
    steps: commit,
    allowed: &[ErrorKind::Raced],
    floor: 50,
};

/// Objects, an index by lock file and rename, a log line, a reference.
fn commit(root: &Root, number: u64) -> Result<(), Error> {
    for object in 0..3 {
        let fan = (number * 3 + object) % 256;
        let dir = format!("objects/{fan:02x}");
        root.create_dir_all(&path(&dir)?)?;
        let name = path(&format!("{dir}/{number:08x}{object}"))?;
        match root.write_new_with(&name, "inside", fast()) {
            // The commit before was refused half way, and the object is there.
            Err(error) if error.kind() == ErrorKind::Exists => {}
            done => drop(done?),
        }
    }
    root.write_with(&path("index.lock")?, "inside", fast())?;
    root.rename(&path("index.lock")?, &path("index")?, RenameMode::Replace)?;
    root.append(&path("logs/HEAD")?, "inside\n")?;
    root.write_with(&path("refs/heads/main")?, "inside", fast())
        .map(drop)
}

fn scene(arena: &Arena) -> io::Result<Canary> {
    for dir in ["objects", "refs/heads", "logs"] {
        std::fs::create_dir_all(arena.path("root").join(dir))?;
    }
    std::os::unix::fs::symlink("../outside", arena.path("root/evil"))?;
    Canary::plant(&arena.path("outside"))
}
