//! The diagnosis, printed for people and for programs.

use handfast::{Enforcement, Links};
use handfast_doctor::{Attempt, AttemptResult, Check, Diagnosis, State, TrialPlace, Verdict, ways};

use crate::exit::Exit;
use crate::json::{Json, JsonObject};
use crate::output::{self, Output};

/// Where things were tried if there was nowhere to try them.
const NOWHERE: &str = "no directory could be made to try things in";

/// Where the third column begins.
const INDENT: usize = 48;

/// How wide the third column is where it is broken.
const WIDTH: usize = 72;

/// An escape is a no; anything else that is not given cannot be enforced here.
pub(super) fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Safe => Exit::Yes,
        Verdict::Incomplete => Exit::CannotTell,
        Verdict::Unsafe => Exit::No,
    }
}

/// Prints a diagnosis; `root` is as it was typed, escaped.
pub(super) fn print(diagnosis: &Diagnosis, engines: &[Check], root: &str, out: &mut Output) {
    if out.is_json() {
        let fields = fields(diagnosis, engines);
        out.object(diagnosis.verdict() == Verdict::Safe, fields);
        return;
    }
    if !out.is_quiet() {
        print_details(diagnosis, engines, root, out);
    }
    out.folded(&format!("verdict: {}", diagnosis.sentence()), 9);
}

fn print_details(diagnosis: &Diagnosis, engines: &[Check], root: &str, out: &mut Output) {
    let Enforcement {
        filesystem,
        backend,
        reason,
        ..
    } = diagnosis.enforcement;
    out.line(&format!("root      {root} ({filesystem})"));
    out.line(&format!("kernel    {}", diagnosis.kernel));
    out.line(&format!("backend   {backend}: {}", reason.sentence()));
    let tried_in = diagnosis.tried_in.map_or(NOWHERE, TrialPlace::sentence);
    out.line(&format!("tried in  {tried_in}"));
    out.line("");
    out.line("guarantees");
    for check in &diagnosis.guarantees {
        print_check(check, out);
    }
    out.line("");
    out.line("offered by this kernel and filesystem");
    for check in &diagnosis.offers {
        print_check(check, out);
    }
    out.line("");
    print_engines(engines, out);
    print_attempts(&diagnosis.attempts, out);
}

/// The engine that a run takes by itself; weaker ones have to be asked for.
fn taken(engines: &[Check]) -> Option<&'static str> {
    let first = engines.first().filter(|check| check.state == State::Yes);
    first.map(|check| check.id)
}

/// They are no part of the verdict: a run refuses by itself what it cannot enforce.
fn print_engines(engines: &[Check], out: &mut Output) {
    if engines.is_empty() {
        return;
    }
    out.line(&match taken(engines) {
        Some(engine) => format!("engines of `handfast run`, which takes {engine}"),
        None => "engines of `handfast run`, which is refused unless one is asked for".to_owned(),
    });
    for check in engines {
        // What helps takes more than a line.
        let mut rest = textwrap::wrap(&check.detail, WIDTH).into_iter();
        let detail = rest.next().unwrap_or_default().into_owned();
        print_check(&Check { detail, ..*check }, out);
        for more in rest {
            out.line(&format!("{:INDENT$}{more}", ""));
        }
    }
    out.line("");
}

/// `yes      nothing leaves the root    all 24 attempts were refused`
fn print_check(check: &Check, out: &mut Output) {
    let (state, title) = (check.state.name(), check.title);
    let line = format!("  {state:<8} {title:<36} {}", check.detail);
    out.folded(&line, INDENT);
}

/// One line for each way out: what every backend said where links are refused, and where they
/// are followed beneath the root.
fn print_attempts(attempts: &[Attempt], out: &mut Output) {
    if attempts.is_empty() {
        return;
    }
    out.line("tried: answers where links are refused / followed beneath the root");
    out.line(&format!("{:46}{:<16} walk", "", "kernel"));
    for (way, title) in ways() {
        let tries: Vec<_> = attempts.iter().filter(|one| one.way == way).collect();
        let word = word(&tries);
        let answers = |backend| {
            let said: Vec<_> = tries
                .iter()
                .filter(|attempt| attempt.backend == backend)
                .map(|attempt| attempt.outcome())
                .collect();
            match said.is_empty() {
                true => "not there".to_owned(),
                false => said.join(" / "),
            }
        };
        let (kernel, walk) = (answers("kernel"), answers("walk"));
        let line = format!("  {word:<8} {title:<34} {kernel:<16} {walk}");
        out.folded(&line, 46);
    }
    out.line("");
}

/// The worst that came of some attempts.
fn word(attempts: &[&Attempt]) -> &'static str {
    let any = |is: fn(&Attempt) -> bool| attempts.iter().any(|attempt| is(attempt));
    if any(Attempt::escaped) {
        "PASSED"
    } else if any(Attempt::is_odd) {
        "odd"
    } else if any(Attempt::was_tried) {
        "refused"
    } else {
        "skipped"
    }
}

fn fields(diagnosis: &Diagnosis, engines: &[Check]) -> JsonObject {
    let Enforcement {
        filesystem,
        backend,
        reason,
        birth_times,
        attached,
        ..
    } = diagnosis.enforcement;
    let weaknesses = diagnosis.enforcement.weaknesses();
    let root = JsonObject::new()
        .with("filesystem", filesystem.to_string())
        .with("backend", backend.name())
        .with("reason", reason.sentence())
        .with("birth_times", birth_times)
        .with("attached", attached)
        .with("weaknesses", weaknesses.into_iter().collect::<Json>());
    let checks = |checks: &[Check]| output::list(checks.iter().map(check_fields));
    JsonObject::new()
        .with("verdict", diagnosis.sentence())
        .with("kernel", diagnosis.kernel.as_str())
        .with("root", root)
        .with("tried_in", diagnosis.tried_in.map(TrialPlace::name))
        .with("guarantees", checks(&diagnosis.guarantees))
        .with("offers", checks(&diagnosis.offers))
        .with("engine", taken(engines))
        .with("engines", checks(engines))
        .with(
            "attempts",
            output::list(diagnosis.attempts.iter().map(attempt_fields)),
        )
}

fn check_fields(check: &Check) -> JsonObject {
    JsonObject::new()
        .with("id", check.id)
        .with("state", check.state.name())
        .with("title", check.title)
        .with("detail", check.detail.as_str())
}

fn attempt_fields(attempt: &Attempt) -> JsonObject {
    let links = match attempt.links {
        Links::Refuse => "refuse",
        Links::Beneath => "beneath",
        Links::InRoot => "in-root",
    };
    let why = match attempt.found {
        AttemptResult::Skipped(why) => Some(why),
        _ => None,
    };
    JsonObject::new()
        .with("way", attempt.way)
        .with("backend", attempt.backend)
        .with("links", links)
        .with("expected", attempt.expected.name())
        .with("found", attempt.outcome())
        .with("why", why)
}
