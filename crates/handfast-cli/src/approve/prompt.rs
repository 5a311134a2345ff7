//! Questions one after the other, on a terminal.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write};

use handfast_session::{GrantScope, Inbox, Question};

use super::shown::lines;
use super::{LOOK, give, waiting};
use crate::failure::Failure;
use crate::fs::answer::{Done, PrintResult};
use crate::json::JsonObject;
use crate::output::Output;

const HELP: &str = "y: allow once · f: allow for this file · s: allow all that the pattern matches, \
                    for the session\nn: deny · d: deny all that the pattern matches, for the session \
                    · l: later";

/// Whether there is a person to ask.
pub(super) fn is_possible(out: &Output) -> bool {
    !out.is_json() && !out.is_quiet() && std::io::stdin().is_terminal()
}

/// Asks about what waits; with `wait`, also about what comes.
pub(super) fn ask(inboxes: &[(String, Inbox)], wait: bool, out: &mut Output) -> PrintResult {
    let mut seen = BTreeSet::new();
    let mut answered = 0_u64;
    loop {
        let questions = waiting(inboxes)?;
        let new = questions
            .into_iter()
            .filter(|(_, question)| seen.insert(question.digest.clone()));
        for (session, question) in new.collect::<Vec<_>>() {
            match ask_one(&session, &question, out)? {
                Said::End => return done(answered),
                Said::Later => {}
                Said::Answer(yes, scope) => {
                    match give(inboxes, &question.digest, yes, scope) {
                        Ok(_) => answered += 1,
                        // The request was given up, or another person was faster: go on with the next one.
                        Err(failure) => out.failure(&failure),
                    }
                }
            }
        }
        if !wait {
            if seen.is_empty() {
                out.note("note: nothing waits for an answer");
            }
            return done(answered);
        }
        std::thread::sleep(LOOK);
    }
}

enum Said {
    Answer(bool, GrantScope),
    Later,
    End,
}

fn ask_one(session: &str, question: &Question, out: &mut Output) -> Result<Said, Box<Failure>> {
    for line in lines(session, question) {
        out.note(&line);
    }
    // What was typed before the question was shown is no answer to it.
    let input = std::io::stdin();
    let _ = rustix::termios::tcflush(&input, rustix::termios::QueueSelector::IFlush);
    loop {
        out.flush();
        let mut stderr = std::io::stderr().lock();
        let asked = write!(stderr, "allow it? [y/f/s/n/d/l/?] ").and_then(|()| stderr.flush());
        drop(stderr);
        let mut text = String::new();
        let read = std::io::stdin().lock().read_line(&mut text);
        if asked.is_err() || !matches!(read, Ok(read) if read > 0) {
            return Ok(Said::End);
        }
        return Ok(match text.trim() {
            "y" => Said::Answer(true, GrantScope::Once),
            "f" => Said::Answer(true, GrantScope::File),
            "s" => Said::Answer(true, GrantScope::Session),
            "n" => Said::Answer(false, GrantScope::Once),
            "d" => Said::Answer(false, GrantScope::Session),
            "l" => Said::Later,
            _ => {
                out.note(HELP);
                continue;
            }
        });
    }
}

fn done(answered: u64) -> PrintResult {
    let fields = JsonObject::new().with("answered", answered);
    let plural = if answered == 1 {
        "question"
    } else {
        "questions"
    };
    Done::answer(fields, format!("{answered} {plural} answered"))
}
