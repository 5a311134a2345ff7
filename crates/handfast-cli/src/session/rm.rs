//! `session rm NAME`: a session goes.

use clap::Args;
use handfast::{ErrorKind, escape};
use handfast_session::{Caller, ReviewOptions};

use super::list::users;
use super::place::StateArgs;
use super::{failures, review};
use crate::fs::answer::{Done, PrintResult};
use crate::json::JsonObject;
use crate::log::Opening;
use crate::output::Output;

/// Remove a session with its changes, its snapshots and the copies kept for `undo`
///
/// The base is not touched. A session that another process has open is not removed.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session rm review"
))]
pub(super) struct RmArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// The session
    name: String,
}

impl RmArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening, out: &mut Output) -> PrintResult {
        remove("rm", &self.name, self.yes, state, opening, out)
    }
}

/// Removes a session, after it was shown what goes with it.
pub(super) fn remove(
    verb: &'static str,
    name: &str,
    yes: bool,
    state: &StateArgs,
    opening: Opening,
    out: &mut Output,
) -> PrintResult {
    let failed = |error| failures::failed(verb, "remove the session", name, &error);
    let catalogue = state.holding(verb, name)?;
    if let Ok(Some(used)) = catalogue.users(name)
        && !used.is_empty()
    {
        let why = format!("it is open in {}; end that first", users(&used));
        return Err(failed(handfast::Error::refused(ErrorKind::Busy, why)));
    }
    if !yes {
        match catalogue.open(name, Caller::new("handfast")) {
            Ok(session) => {
                let mut shown = |change| {
                    out.note(&review::line(&change));
                    Ok(())
                };
                session
                    .review(&ReviewOptions::default(), &mut shown)
                    .map_err(failed)?;
            }
            Err(error) => out.note(&format!(
                "what it holds cannot be shown: {}",
                escape(error.detail().as_bytes())
            )),
        }
    }
    let question = format!("remove the session `{name}` with its changes and snapshots?");
    if !failures::confirm(verb, &question, yes, out)? {
        let fields = JsonObject::new().with("removed", None::<String>);
        return Done::answer(fields, "nothing was removed".to_owned());
    }
    // A log must know what goes; without one, a session goes that can no longer be opened.
    match opening.logged {
        true => catalogue.remove(name, opening.caller),
        false => catalogue.remove_unseen(name),
    }
    .map_err(failed)?;
    let fields = JsonObject::new().with("removed", name);
    Done::answer(fields, format!("removed the session `{name}`"))
}
