//! Which engines `handfast run` has here.

use handfast_doctor::{Check, State};
use handfast_run::EngineTrial;

/// What each of them is, in few words.
fn title(name: &str) -> &'static str {
    match name {
        "fuse" => "fuse, which a run takes by itself",
        "overlayfs" => "overlayfs (`--fast`)",
        _ => "landlock (`--engine landlock`)",
    }
}

/// What each of them gives.
fn given(name: &str) -> &'static str {
    match name {
        "fuse" => "a mount in a user namespace: changes wait, and rules hold",
        "overlayfs" => "the kernel's overlay: changes wait, and nothing is denied",
        _ => "changes are made at once, and nothing is denied",
    }
}

/// A line for each engine that was tried.
pub(super) fn checks() -> Vec<Check> {
    let mut trials = handfast_run::try_engines();
    trials.push(EngineTrial {
        name: "fusermount3",
        missing: Some(
            "a mount by fusermount3, where user namespaces are barred, is not built".to_owned(),
        ),
    });
    trials.into_iter().map(check).collect()
}

fn check(trial: EngineTrial) -> Check {
    let (state, detail) = match trial.missing {
        None => (State::Yes, given(trial.name).to_owned()),
        Some(why) => (State::No, why),
    };
    Check {
        id: trial.name,
        title: match trial.name {
            "fusermount3" => "fuse by fusermount3",
            name => title(name),
        },
        state,
        detail,
    }
}
