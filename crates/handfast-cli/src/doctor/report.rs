//! The diagnosis as a whole, for people and for programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use handfast::{Backend, Enforcement, Root, escape};

use super::check::{Check, State};
use super::probe::{self, Attempt};
use super::scratch::{Place, Scratch};
use super::{findings, trials};
use crate::exit::Exit;
use crate::json::Object;
use crate::output::{self, Output};

/// Where things were tried if there was nowhere to try them.
const NOWHERE: &str = "no directory could be made to try things in";

/// Everything that was found out.
pub(super) struct Report {
    /// As it was typed, escaped.
    root: String,
    /// Shown only: what a kernel can do is tried, never read off its version.
    kernel: String,
    enforcement: Enforcement,
    tried_in: Option<Place>,
    /// Each must be a yes.
    guarantees: Vec<Check>,
    /// Good to have.
    offers: Vec<Check>,
    attempts: Vec<Attempt>,
}

impl Report {
    pub(super) fn new(typed: &OsStr, root: &Root, scratch: Option<&Scratch>) -> Self {
        let enforcement = root.enforcement();
        let attempts = scratch.map(probe::probe).unwrap_or_default();
        let mut guarantees = vec![
            findings::confinement(&attempts),
            findings::specials(&attempts),
            findings::mounts(&enforcement),
        ];
        guarantees.extend(trials::guarantees(scratch));
        guarantees.push(findings::filesystem(&enforcement));
        guarantees.push(findings::attached(&enforcement));
        let mut offers = vec![
            findings::openat2(&enforcement),
            findings::mount_ids(&enforcement),
            findings::birth_times(&enforcement),
        ];
        offers.extend(trials::offers(scratch));
        offers.push(findings::landlock());
        Self {
            root: escape(typed.as_bytes()),
            kernel: kernel(),
            enforcement,
            tried_in: scratch.map(|scratch| scratch.place),
            guarantees,
            offers,
            attempts,
        }
    }

    /// An escape is a no; anything else that is not given cannot be enforced here.
    pub(super) fn verdict(&self) -> Exit {
        verdict(&self.guarantees, &self.attempts)
    }

    fn sentence(&self) -> String {
        match self.verdict() {
            Exit::Yes => match self.enforcement.backend {
                Backend::Kernel => "every guarantee is given here".to_owned(),
                Backend::Walk => {
                    "every guarantee is given here, by walking paths without openat2".to_owned()
                }
            },
            Exit::No => "NOT SAFE HERE: something was let through that must be refused".to_owned(),
            _ => {
                let missing: Vec<_> = self
                    .guarantees
                    .iter()
                    .filter(|check| check.state != State::Yes)
                    .map(|check| format!("{} ({})", check.id, check.state.name()))
                    .collect();
                let missing = missing.join(", ");
                format!("not every guarantee is given here: {missing}")
            }
        }
    }

    pub(super) fn print(&self, out: &mut Output) {
        if out.is_json() {
            out.object(self.verdict() == Exit::Yes, self.fields());
            return;
        }
        if !out.is_quiet() {
            self.print_details(out);
        }
        out.folded(&format!("verdict: {}", self.sentence()), 9);
    }

    fn print_details(&self, out: &mut Output) {
        let Enforcement {
            filesystem,
            backend,
            reason,
            ..
        } = self.enforcement;
        out.line(&format!("root      {} ({filesystem})", self.root));
        out.line(&format!("kernel    {}", self.kernel));
        out.line(&format!("backend   {backend}: {}", reason.sentence()));
        let tried_in = self.tried_in.map_or(NOWHERE, Place::sentence);
        out.line(&format!("tried in  {tried_in}"));
        out.line("");
        out.line("guarantees");
        for check in &self.guarantees {
            check.print(out);
        }
        out.line("");
        out.line("offered by this kernel and filesystem");
        for check in &self.offers {
            check.print(out);
        }
        out.line("");
        self.print_attempts(out);
    }

    /// One line for each way out: what every backend said where links are refused, and where they
    /// are followed beneath the root.
    fn print_attempts(&self, out: &mut Output) {
        if self.attempts.is_empty() {
            return;
        }
        out.line("tried: answers where links are refused / followed beneath the root");
        out.line(&format!("{:46}{:<16} walk", "", "kernel"));
        for (way, title) in probe::ways() {
            let tries: Vec<_> = self.attempts.iter().filter(|one| one.way == way).collect();
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

    fn fields(&self) -> Object {
        let Enforcement {
            filesystem,
            backend,
            reason,
            ..
        } = self.enforcement;
        let root = Object::new()
            .with("filesystem", filesystem.to_string())
            .with("backend", backend.name())
            .with("reason", reason.sentence())
            .with("birth_times", self.enforcement.birth_times)
            .with("attached", self.enforcement.attached)
            .with(
                "weaknesses",
                self.enforcement
                    .weaknesses()
                    .into_iter()
                    .collect::<crate::json::Json>(),
            );
        Object::new()
            .with("verdict", self.sentence())
            .with("kernel", self.kernel.as_str())
            .with("root", root)
            .with("tried_in", self.tried_in.map(Place::name))
            .with(
                "guarantees",
                output::list(self.guarantees.iter().map(Check::to_json)),
            )
            .with(
                "offers",
                output::list(self.offers.iter().map(Check::to_json)),
            )
            .with(
                "attempts",
                output::list(self.attempts.iter().map(Attempt::to_json)),
            )
    }
}

fn verdict(guarantees: &[Check], attempts: &[Attempt]) -> Exit {
    if attempts.iter().any(Attempt::escaped) {
        return Exit::No;
    }
    match guarantees.iter().all(|check| check.state == State::Yes) {
        true => Exit::Yes,
        false => Exit::CannotTell,
    }
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

fn kernel() -> String {
    let name = rustix::system::uname();
    let text = [name.sysname(), name.release()].map(|part| escape(part.to_bytes()));
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::probe::Found;
    use super::*;
    use handfast::{ErrorKind, Links};

    fn check(state: State) -> Check {
        Check::new("id", "title", state, "")
    }

    fn attempt(found: Found) -> Attempt {
        Attempt {
            way: "link-out",
            backend: "walk",
            links: Links::Refuse,
            expected: ErrorKind::Link,
            found,
        }
    }

    #[test]
    fn only_what_is_let_through_is_a_no() {
        let good = attempt(Found::Refused(ErrorKind::Link));
        let yes = check(State::Yes);
        let one = std::slice::from_ref;
        assert_eq!(verdict(one(&yes), std::slice::from_ref(&good)), Exit::Yes);
        for state in [State::Weaker, State::No, State::Unknown] {
            let guarantees = [yes.clone(), check(state)];
            assert_eq!(
                verdict(&guarantees, std::slice::from_ref(&good)),
                Exit::CannotTell
            );
        }
        for found in [Found::Passed, Found::Hung] {
            let attempts = [good.clone(), attempt(found)];
            assert_eq!(verdict(one(&yes), &attempts), Exit::No);
        }
    }

    #[test]
    fn a_refusal_for_another_reason_is_not_an_escape_and_not_a_yes() {
        let attempts = [attempt(Found::Refused(ErrorKind::NotFound))];
        let confinement = findings::confinement(&attempts);
        assert_eq!(confinement.state, State::Weaker);
        assert_eq!(verdict(&[confinement], &attempts), Exit::CannotTell);
    }

    #[test]
    fn nothing_tried_is_not_a_yes() {
        for attempts in [vec![], vec![attempt(Found::Skipped("why"))]] {
            assert_eq!(findings::confinement(&attempts).state, State::Unknown);
        }
    }
}
