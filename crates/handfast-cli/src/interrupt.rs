//! Ctrl-C in a command that works in a temporary directory: the directory goes, then the process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use handfast_broker::Signals;

/// The exit code that shells give a program that SIGINT ended.
const INTERRUPTED: i32 = 130;
/// Threads and processes of the command may still be at work in the directory.
const MAX_REMOVALS: usize = 50;
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(3600);
/// What is typed reaches this process and its children at once: one of them may end first.
const GRACE: Duration = Duration::from_millis(250);

/// Whether a signal has come, and the directory is being removed.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// To be called before something that went wrong is reported: if a signal came, that is why, and this
/// waits for the end of the process.
pub(crate) fn give_way() {
    std::thread::sleep(GRACE);
    while IS_ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Waits for SIGINT, SIGTERM or SIGHUP from now on. Then removes what `leftovers` names, and ends
/// the process. To be called before the first thread is started: only later threads are kept from
/// the signals.
pub(crate) fn clean_up_on_signals(leftovers: impl Fn() -> Vec<PathBuf> + Send + 'static) {
    // Without it the command works, and leaves its directory as it would have done before.
    let Ok(signals) = Signals::take() else {
        return;
    };
    std::thread::spawn(move || {
        while signals.wait(SIGNAL_TIMEOUT).is_none() {}
        IS_ENDING.store(true, Ordering::SeqCst);
        let is_clean = (0..MAX_REMOVALS).any(|_| remove(&leftovers()));
        if !is_clean {
            let line = "note: interrupted; a temporary directory could not be removed\n";
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                line.as_bytes(),
            ));
        }
        end();
    });
}

/// Removes directories; whether none of them is there any more.
#[expect(
    clippy::disallowed_methods,
    reason = "directories that this process made, by the names it gave them"
)]
fn remove(paths: &[PathBuf]) -> bool {
    let mut gone = true;
    for path in paths {
        let removed = std::fs::remove_dir_all(path);
        gone &= removed.is_ok()
            || std::fs::symlink_metadata(path)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    }
    gone
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "other threads are at work, and nothing of theirs is to be finished"
)]
fn end() -> ! {
    std::process::exit(INTERRUPTED)
}
