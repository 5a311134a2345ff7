//! Failures of sessions as the command prints them, and the question before a change.

use handfast::{Effect, ErrorKind, escape};
use handfast_session::{Error, Finished};

use super::hints::hint;
use crate::exit::Exit;
use crate::failure::{Failure, exit_of};
use crate::output::Output;

/// The session refused: ``cannot <deed> `what`: …``.
pub(crate) fn failed(verb: &'static str, deed: &str, what: &str, error: &Error) -> Box<Failure> {
    let shown = escape(what.as_bytes());
    let sentence = match what {
        "" => format!("cannot {deed}"),
        _ => format!("cannot {deed} `{shown}`"),
    };
    let failure = Failure {
        kind: error.kind(),
        verb,
        sentence,
        path: shown,
        destination: error.destination().map(str::to_owned),
        detail: error.detail().to_owned(),
        effect: error.effect(),
        exit: exit_of(error.kind()),
        hints: Vec::new(),
    };
    Box::new(failure.with_hints(hint(verb, what, error)))
}

/// What was typed is wrong.
pub(crate) fn misused(verb: &'static str, deed: &str, why: &str) -> Box<Failure> {
    Box::new(Failure {
        kind: ErrorKind::Invalid,
        verb,
        sentence: format!("cannot {deed}"),
        path: String::new(),
        destination: None,
        detail: why.to_owned(),
        effect: Effect::None,
        exit: Exit::Usage,
        hints: Vec::new(),
    })
}

/// A virtual path from the command line.
pub(super) fn path(
    verb: &'static str,
    deed: &str,
    text: &std::ffi::OsStr,
) -> Result<handfast_session::VirtualPath, Box<Failure>> {
    use std::os::unix::ffi::OsStrExt;
    handfast_session::VirtualPath::parse(text.as_bytes()).map_err(|error| {
        let mut failure = failed(verb, deed, &text.to_string_lossy(), &error);
        failure.exit = Exit::Usage;
        failure
    })
}

/// A virtual path as bytes.
pub(super) fn bytes(path: &handfast_session::VirtualPath) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend_from_slice(path.as_rel().as_bytes());
    text
}

/// Refuses if no person can be asked: there is no terminal, or nothing would be shown.
pub(super) fn require_person(
    verb: &'static str,
    out: &crate::output::Output,
) -> Result<(), Box<Failure>> {
    use std::io::IsTerminal;
    if out.is_quiet() {
        let why = "`--quiet` shows nothing that could be agreed to; leave it out, or give `--yes`";
        return Err(misused(verb, &format!("{verb} without an answer"), why));
    }
    if !std::io::stdin().is_terminal() || out.is_json() {
        let why = "nobody can be asked without a terminal; `--yes` does it without asking";
        return Err(misused(verb, &format!("{verb} without an answer"), why));
    }
    Ok(())
}

/// Asks before something that changes or drops much.
pub(super) fn confirm(
    verb: &'static str,
    question: &str,
    yes: bool,
    out: &mut crate::output::Output,
) -> Result<bool, Box<Failure>> {
    use std::io::{BufRead, Write};
    if yes {
        return Ok(true);
    }
    require_person(verb, out)?;
    // What is agreed to is on the screen before the question.
    out.flush();
    let stdin = std::io::stdin();
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    if asked.is_err() || stdin.lock().read_line(&mut answer).is_err() {
        return Ok(false);
    }
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Finishes what a killed process began, and says so: a person would look for those changes in the session.
pub(super) fn tell_finished(
    session: &handfast_session::Session,
    out: &mut Output,
) -> Result<(), handfast_session::Error> {
    match session.finish_interrupted()? {
        Some(Finished::Commit) => out.note(
            "note: a commit that was interrupted was finished first: its changes are in the base now; \
             `session undo` takes them back",
        ),
        Some(_) => out.note(
            "note: an undo that was interrupted was finished first: those changes are in the session again",
        ),
        None => {}
    }
    Ok(())
}
