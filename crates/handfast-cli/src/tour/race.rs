//! The race: the same writes under the same attack, by naive code and by the library.
#![allow(
    clippy::disallowed_methods,
    reason = "the naive writer does what the lint warns of; that is the point"
)]

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handfast::{RelPath, Root};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Surprise;
use super::stage::TourDirectory;
use super::teller::Teller;

/// Far longer than the naive writer ever survived in our runs.
const RACE_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn show(stage: &TourDirectory, teller: &mut Teller<'_>) -> Result<(), Surprise> {
    teller.heading("A symlink race (TOCTOU): the check and the use are two moments");
    teller.say(
        "A service may write below `inside/` and nowhere else. Its writer looks careful: it \
         resolves the directory, makes sure that it is beneath `inside/`, and writes the file. \
         At the same time an attacker swaps `inside/reports` with a link to `outside/`, again and again.",
    );
    set_scene(stage)?;
    let (tries, escaped) = under_attack(stage.path(), || naive(stage.path()))?;
    if !escaped {
        return Err(Surprise::Cannot(format!(
            "the naive writer was not caught in {tries} attempts"
        )));
    }
    teller.figure(
        "checked, then written",
        &format!("write {tries} of `inside/reports/…` landed in `outside/`"),
    );
    clear_outside(stage)?;

    let root = Root::open_ambient(stage.path().join("inside"))?;
    let enough = if stage.fast { 100 } else { 1000 };
    let (done, refused) = under_attack(stage.path(), || confined(&root, enough))?;
    let outside = count(&stage.path().join("outside"))?;
    teller.figure(
        "Root::write",
        &format!("{done} writes landed inside, {refused} refused, {outside} landed outside"),
    );
    if outside != 0 {
        return Err(Surprise::Wrong(format!("{outside} files landed outside")));
    }
    if done == 0 {
        return Err(Surprise::Wrong("nothing was written at all".to_owned()));
    }
    teller.gap();
    teller.say(
        "Handfast opens the directory once, checks what it opened, and writes \
         through the same descriptor. There is no second moment. `handfast siege` does this to \
         every verb, and in other ways.",
    );
    Ok(())
}

fn set_scene(stage: &TourDirectory) -> io::Result<()> {
    for name in ["inside", "inside/reports", "outside"] {
        std::fs::create_dir(stage.path().join(name))?;
    }
    std::os::unix::fs::symlink("../outside", stage.path().join("inside/swap"))
}

/// Runs `work` while an attacker swaps the directory with the link.
fn under_attack<T>(top: &Path, work: impl FnOnce() -> Result<T, Surprise>) -> Result<T, Surprise> {
    let over = AtomicBool::new(false);
    let (directory, link) = (top.join("inside/reports"), top.join("inside/swap"));
    let swap = || renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE);
    // Twice: the directory is where it was. Where this does not work, nothing can be shown.
    swap().and_then(|()| swap()).map_err(io::Error::from)?;
    std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let mut swaps = 0_u32;
            while !over.load(Ordering::Relaxed) || swaps % 2 == 1 {
                if swap().is_ok() {
                    swaps += 1;
                }
                // Sometimes at once, sometimes after as long as a write takes.
                std::thread::sleep(Duration::from_micros(u64::from(
                    swaps.wrapping_mul(367) % 1500,
                )));
            }
        });
        let outcome = work();
        over.store(true, Ordering::Relaxed);
        attacker
            .join()
            .map_err(|_| Surprise::Cannot("the attacker died".to_owned()))?;
        outcome
    })
}

/// Writes until a file lands outside; how many writes passed the check, and whether one did.
fn naive(top: &Path) -> Result<(u32, bool), Surprise> {
    let root = top.join("inside").canonicalize()?;
    let outside = top.join("outside");
    let begun = Instant::now();
    let mut tries = 0;
    while begun.elapsed() < RACE_TIMEOUT {
        let parent = root.join("reports");
        let checked = parent.canonicalize().is_ok_and(|it| it.starts_with(&root));
        if checked {
            tries += 1;
            // What fails fails; only where it lands counts.
            drop(std::fs::write(parent.join("naive.txt"), "hello"));
        }
        if outside.join("naive.txt").exists() {
            return Ok((tries, true));
        }
    }
    Ok((tries, false))
}

/// Writes through the library until enough landed; how many did, and how many were refused.
fn confined(root: &Root, enough: u32) -> Result<(u32, u32), Surprise> {
    let (mut done, mut refused) = (0, 0);
    let begun = Instant::now();
    while done < enough && begun.elapsed() < RACE_TIMEOUT {
        let path = RelPath::parse(format!("reports/{done}.txt"))?;
        match root.write(&path, "hello") {
            Ok(_) => done += 1,
            Err(_) => {
                refused += 1;
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
    Ok((done, refused))
}

fn clear_outside(stage: &TourDirectory) -> Result<(), Surprise> {
    stage
        .root()
        .remove_file(&RelPath::parse("outside/naive.txt")?)?;
    Ok(())
}

fn count(dir: &Path) -> io::Result<usize> {
    Ok(std::fs::read_dir(dir)?.count())
}
