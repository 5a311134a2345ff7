//! What a broker that was killed left in its roots: files on their way to a name.

use std::time::Duration;

use handfast::{RecoveryOutcome, RelPath, Root, TreeLimits};

/// How long one root is looked through.
const TIME: Duration = Duration::from_secs(120);

/// Looks through roots in the background, and removes what is provably ours and dead. The library
/// keeps the rest; `handfast fs recover` lists it.
pub(crate) fn start(roots: Vec<Root>) {
    let cleaning = std::thread::Builder::new()
        .name("clean-up".to_owned())
        .spawn(move || roots.iter().for_each(clean));
    if let Err(error) = cleaning {
        crate::complain(&format!("no thread to clean up after a kill: {error}"));
    }
}

fn clean(root: &Root) {
    let found = root.recover_with(&RelPath::root(), TreeLimits::new().with_time(TIME));
    match found {
        Ok(found) => {
            let is_settled = |outcome: &RecoveryOutcome| {
                !matches!(outcome, RecoveryOutcome::InUse | RecoveryOutcome::Kept(_))
            };
            let settled = found.iter().filter(|found| is_settled(&found.outcome));
            match settled.count() {
                0 => {}
                count => crate::complain(&format!("cleaned up after a kill, files: {count}")),
            }
        }
        Err(error) => crate::complain(&format!("the clean-up after a kill ended early: {error}")),
    }
}
