//! What came of it, in a word.

use handfast_ledger::event::Record;

/// How the thing went that an event is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EventOutcome {
    /// It may be done.
    Allowed,
    /// It was done.
    Done,
    /// A rule, a guard or a permission said no.
    Denied,
    /// No rule forbade it, and it could not be done: nothing is there, the disk is full.
    Failed,
    /// Nothing was decided: the event is about the log itself.
    None,
}

impl EventOutcome {
    pub(super) fn of(record: &Record<'_>) -> Self {
        if let Some(result) = record.result.as_ref() {
            return match result.ok {
                true => Self::Done,
                // It was allowed before: the disk is full, not a quota.
                false if result.kind.as_deref() == Some("Quota") => Self::Failed,
                false if result.kind.as_deref().is_some_and(is_refusal) => Self::Denied,
                false => Self::Failed,
            };
        }
        match record.decision.as_ref() {
            None => Self::None,
            Some(decision) if decision.allow => Self::Allowed,
            Some(decision) if decision.kind.as_deref().is_none_or(is_refusal) => Self::Denied,
            Some(_) => Self::Failed,
        }
    }

    /// The word in a list. One of them must catch the eye.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Done => "done",
            Self::Denied => "DENIED",
            Self::Failed => "failed",
            Self::None => "",
        }
    }
}

/// Whether an error of this kind means that a rule or a permission refused. What is not known is shown as the
/// graver of the two.
fn is_refusal(kind: &str) -> bool {
    !matches!(
        kind,
        "NotFound"
            | "Exists"
            | "NotADirectory"
            | "IsADirectory"
            | "NotEmpty"
            | "Busy"
            | "Unsupported"
            | "Io"
    )
}

#[cfg(test)]
mod tests {
    use handfast::ErrorKind;

    use super::is_refusal;

    #[test]
    fn every_kind_is_a_refusal_or_a_failure() {
        let failures: Vec<_> = ErrorKind::ALL
            .iter()
            .map(|kind| kind.name())
            .filter(|kind| !is_refusal(kind))
            .collect();
        assert_eq!(
            failures,
            [
                "NotFound",
                "Exists",
                "NotADirectory",
                "IsADirectory",
                "NotEmpty",
                "Unsupported",
                "Busy",
                "Io"
            ]
        );
    }
}
