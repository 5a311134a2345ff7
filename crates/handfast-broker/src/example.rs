//! A first call that works under a policy, for the person who has just started the broker.

use crate::rulebook::Rulebook;

/// A lease that somebody may ask for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExampleLease {
    /// Who may, as the policy says it; nothing for the broker's own user.
    pub who: Option<String>,
    /// Its verbs, separated by commas.
    pub verbs: String,
}

impl Rulebook {
    /// A lease that the policy gives: to the broker's own user where it gives one, else to those whom its
    /// first rule names.
    #[must_use]
    pub fn example(&self) -> ExampleLease {
        let (who, verbs) = self.first_rule();
        let verbs = match verbs {
            [] => "read".to_owned(),
            verbs => verbs.join(","),
        };
        ExampleLease { who, verbs }
    }
}
