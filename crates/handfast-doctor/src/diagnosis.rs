//! Everything that was found out, and what it comes to.

use handfast::{Backend, Enforcement, Root, escape};

use crate::check::{Check, State};
use crate::probe::{self, Attempt};
use crate::scratch::{Scratch, TrialPlace};
use crate::{findings, trials};

/// What a diagnosis comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Every guarantee is given.
    Safe,
    /// Some guarantee is weaker, missing or could not be tried.
    Incomplete,
    /// Something was let through that must be refused.
    Unsafe,
}

/// Everything that was found out about a root.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// For people only: what a kernel can do is tried, never read off its version.
    pub kernel: String,
    /// What the root itself says.
    pub enforcement: Enforcement,
    /// Where things were tried; nothing if no directory could be made.
    pub tried_in: Option<TrialPlace>,
    /// What is promised on every system: each must be a yes.
    pub guarantees: Vec<Check>,
    /// What makes things better where it is there.
    pub offers: Vec<Check>,
    /// The ways out that were tried.
    pub attempts: Vec<Attempt>,
}

impl Diagnosis {
    /// Tries everything near a root, in a private directory that is removed before this returns.
    #[must_use]
    pub fn of(root: &Root) -> Self {
        let scratch = Scratch::near(root);
        Self::tried(root, scratch.as_ref())
    }

    fn tried(root: &Root, scratch: Option<&Scratch>) -> Self {
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
            kernel: kernel(),
            enforcement,
            tried_in: scratch.map(|scratch| scratch.place),
            guarantees,
            offers,
            attempts,
        }
    }

    /// What it comes to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        verdict(&self.guarantees, &self.attempts)
    }

    /// The verdict in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.verdict() {
            Verdict::Safe => match self.enforcement.backend {
                Backend::Kernel => "every guarantee is given here".to_owned(),
                Backend::Walk => {
                    "every guarantee is given here, by walking paths without openat2".to_owned()
                }
            },
            Verdict::Unsafe => {
                "NOT SAFE HERE: something was let through that must be refused".to_owned()
            }
            Verdict::Incomplete => {
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
}

/// An escape is unsafe; anything else that is not given cannot be enforced here.
fn verdict(guarantees: &[Check], attempts: &[Attempt]) -> Verdict {
    if attempts.iter().any(Attempt::escaped) {
        return Verdict::Unsafe;
    }
    match guarantees.iter().all(|check| check.state == State::Yes) {
        true => Verdict::Safe,
        false => Verdict::Incomplete,
    }
}

fn kernel() -> String {
    let name = rustix::system::uname();
    let text = [name.sysname(), name.release()].map(|part| escape(part.to_bytes()));
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::AttemptResult;
    use handfast::{ErrorKind, Links};

    fn check(state: State) -> Check {
        Check::new("id", "title", state, "")
    }

    fn attempt(found: AttemptResult) -> Attempt {
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
        let good = attempt(AttemptResult::Refused(ErrorKind::Link));
        let yes = check(State::Yes);
        let one = std::slice::from_ref;
        assert_eq!(
            verdict(one(&yes), std::slice::from_ref(&good)),
            Verdict::Safe
        );
        for state in [State::Weaker, State::No, State::Unknown] {
            let guarantees = [yes.clone(), check(state)];
            assert_eq!(
                verdict(&guarantees, std::slice::from_ref(&good)),
                Verdict::Incomplete
            );
        }
        for found in [AttemptResult::Passed, AttemptResult::Hung] {
            let attempts = [good.clone(), attempt(found)];
            assert_eq!(verdict(one(&yes), &attempts), Verdict::Unsafe);
        }
    }

    #[test]
    fn a_refusal_for_another_reason_is_not_an_escape_and_not_a_yes() {
        let attempts = [attempt(AttemptResult::Refused(ErrorKind::NotFound))];
        let confinement = findings::confinement(&attempts);
        assert_eq!(confinement.state, State::Weaker);
        assert_eq!(verdict(&[confinement], &attempts), Verdict::Incomplete);
    }

    #[test]
    fn nothing_tried_is_not_a_yes() {
        for attempts in [vec![], vec![attempt(AttemptResult::Skipped("why"))]] {
            assert_eq!(findings::confinement(&attempts).state, State::Unknown);
        }
    }
}
