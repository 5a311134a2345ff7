//! Many roots pinned on one shared directory, each writing, while links are planted at the names
//! they write.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use handfast::{BackendChoice, Error, ErrorKind, Links, Root};

use super::path;
use crate::arena::Arena;
use crate::attacker::{Attacker, Swap, Way};
use crate::attacks::{Attack, Pace, THREADS, frees};
use crate::canary::Canary;
use crate::cell::Cell;
use crate::controls::{Control, naive_check};
use crate::cores;
use crate::duel::{BOTH, policy_name};
use crate::field::{CALMER, Field, backend_name};
use crate::fight::note_error;
use crate::victims::fast;

/// Sessions that share the directory.
const SESSIONS: u64 = 150;

/// Names that every session writes, each with an attacker of its own.
const NAMES: [&str; 3] = ["results.json", "state.json", "log.txt"];

pub(crate) static ATTACK: Attack = Attack {
    name: "shared-root-150",
    does: "150 roots write into one directory where three attackers plant links to the outside",
    harm: "anything outside is changed",
    swaps: |top, _| NAMES.iter().map(|name| plant(top, name)).collect(),
    pace: Pace::QUICK,
    ways: THREADS,
    run: |attack, field| run(attack, field),
    control: Control {
        verb: "naive-write",
        scene,
        leaf: "",
        attempt: |arena, _, work| {
            // As a sandbox's mount did: nothing is there, the parent is fine, so write.
            let path = arena.path("root/results.json");
            let is_link = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
            if !is_link && naive_check(&arena.path("root"), &path) {
                work();
                drop(std::fs::write(path, "inside"));
            }
            // The canary shows the harm.
            false
        },
        fifo: None,
    },
};

/// A link to an existing file, nothing, a link to a missing name, nothing.
fn plant(top: &Path, name: &str) -> Swap {
    let (place, aside) = (
        top.join("root").join(name),
        top.join(format!("{name}.aside")),
    );
    let targets = [top.join("outside/data"), top.join("outside/planted")];
    let mut turn = 0;
    Box::new(move || {
        turn += 1;
        if turn % 2 == 0 {
            return frees(&place);
        }
        drop(std::fs::remove_file(&aside));
        std::os::unix::fs::symlink(&targets[turn / 2 % 2], &aside).is_ok()
            && std::fs::rename(&aside, &place).is_ok()
    })
}

fn run(attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
    for backend in field.backends(attack.name, "write") {
        field.tell(attack.name, "write", backend_name(backend));
        for calmer in std::iter::once(1).chain(CALMER) {
            for &links in BOTH {
                let cell = run_leg(attack, field, backend, links, calmer)?;
                field.report.add(cell);
            }
            if !field.is_unsettled(attack.name, "write", backend_name(backend)) {
                break;
            }
        }
    }
    Ok(())
}

/// What a session writes: mostly a shared name, sometimes a file of its own.
fn name_of(session: u64, turn: u64) -> String {
    match turn % 4 {
        3 => format!("session-{session}.json"),
        _ => NAMES[(session + turn) as usize % NAMES.len()].to_owned(),
    }
}

/// One write of a session: replaced, or appended to.
fn write(root: &Root, session: u64, turn: u64) -> Result<(), Error> {
    let name = path(&name_of(session, turn))?;
    match turn % 4 {
        2 => root.append(&name, "inside").map(drop),
        _ => root.write_with(&name, "inside", fast()).map(drop),
    }
}

fn run_leg(
    attack: &'static Attack,
    field: &Field<'_>,
    backend: BackendChoice,
    links: Links,
    calmer: u32,
) -> io::Result<Cell> {
    let arena = Arena::new(&field.base)?;
    let canary = scene(&arena)?;
    let roots: Vec<_> = (0..SESSIONS)
        .map(|_| arena.open(backend, links))
        .collect::<Result<_, _>>()
        .map_err(io::Error::from)?;
    let attacker = Attacker::start(attack, arena.top(), "", Way::Thread, None)?;
    attacker.set_pace(attack.pace.calmer(calmer))?;
    attacker.wait_for_life();
    let cell = Mutex::new(Cell {
        verb: "write".to_owned(),
        attack: attack.name,
        backend: backend_name(backend),
        attackers: vec![Way::Thread.name()],
        links: vec![policy_name(links)],
        floor: 60,
        ..Cell::default()
    });
    let shared = arena.path("root");
    let turns = (field.rounds / 2).div_ceil(SESSIONS).max(2);
    let allowed = [ErrorKind::Link, ErrorKind::Escape, ErrorKind::Raced];
    std::thread::scope(|scope| -> io::Result<()> {
        for (session, root) in roots.iter().enumerate() {
            let (cell, canary, shared) = (&cell, &canary, &shared);
            let work = move || {
                cores::anywhere();
                for turn in 0..turns {
                    let place = shared.join(name_of(session as u64, turn));
                    let is_link =
                        std::fs::symlink_metadata(place).is_ok_and(|meta| meta.is_symlink());
                    let result = write(root, session as u64, turn);
                    let touched = canary.touched();
                    let Ok(mut cell) = cell.lock() else { return };
                    cell.attempts += 1;
                    cell.good += u64::from(!is_link);
                    match result {
                        Ok(()) => cell.succeeded += 1,
                        Err(error) => note_error(&mut cell, &error, &allowed),
                    }
                    if let Some(touched) = touched {
                        cell.escapes += 1;
                        cell.harm.get_or_insert(touched);
                        return;
                    }
                }
            };
            std::thread::Builder::new()
                .stack_size(256 * 1024)
                .spawn_scoped(scope, work)?;
        }
        Ok(())
    })?;
    let mut cell = cell.into_inner().unwrap_or_default();
    cell.swaps = attacker.swaps();
    Ok(cell)
}

fn scene(arena: &Arena) -> io::Result<Canary> {
    Canary::plant(&arena.path("outside"))
}
