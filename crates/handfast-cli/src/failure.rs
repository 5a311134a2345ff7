//! A refusal or a failure, as the command prints it.
//!
//! It names the verb as it was typed and the path as it was given, escaped. It never holds a host
//! path or a link's target: the library's errors do not, and nothing is added here.

use handfast::{Effect, ErrorKind};

use crate::exit::Exit;
use crate::json::JsonObject;

/// What went wrong, for programs and for people.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    /// The verb as it is typed.
    pub(crate) verb: &'static str,
    /// What could not be done, as people say it: ``cannot remove `a/b` ``.
    pub(crate) sentence: String,
    /// The path as it was given, escaped.
    pub(crate) path: String,
    /// The second path, escaped.
    pub(crate) destination: Option<String>,
    pub(crate) detail: String,
    pub(crate) effect: Effect,
    pub(crate) exit: Exit,
    /// What a person can do about it, one sentence each.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// The failure with something a person can do.
    #[must_use]
    pub(crate) fn with_hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// The `error` of the object that is printed for programs.
    pub(crate) fn to_json(&self) -> JsonObject {
        let mut error = JsonObject::new()
            .with("kind", self.kind.name())
            .with("verb", self.verb)
            .with("path", self.path.as_str());
        if let Some(destination) = &self.destination {
            error = error.with("destination", destination.as_str());
        }
        error
            .with("detail", self.detail.as_str())
            .with("effect", self.effect.name())
    }

    /// Lines for people, each with its end.
    pub(crate) fn to_words(&self, brief: bool) -> String {
        let mut words = format!("error: {}: {}\n", self.sentence, self.detail);
        match self.effect {
            Effect::None => {}
            Effect::Visible => {
                words.push_str("note: the change, or a part of it, is visible already\n")
            }
            Effect::Unknown => words.push_str("note: whether anything changed is unknown\n"),
        }
        if !brief {
            for hint in &self.hints {
                words.push_str(&format!("hint: {hint}\n"));
            }
        }
        words
    }
}

/// How a failed verb ends the process.
pub(crate) fn exit_of(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::Unsupported => Exit::CannotTell,
        _ => Exit::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Failure {
        Failure {
            kind: ErrorKind::Exists,
            verb: "mv",
            sentence: "cannot move `a\\n` to `b`".to_owned(),
            path: "a\\n".to_owned(),
            destination: Some("b".to_owned()),
            detail: "something is there already".to_owned(),
            effect: Effect::Visible,
            exit: Exit::No,
            hints: vec!["do something else".to_owned()],
        }
    }

    #[test]
    fn programs_get_kind_verb_paths_detail_and_effect() {
        assert_eq!(
            sample().to_json().to_string(),
            r#"{"kind":"Exists","verb":"mv","path":"a\\n","destination":"b","detail":"something is there already","effect":"visible"}"#
        );
    }

    #[test]
    fn people_get_a_sentence_and_what_to_do() {
        assert_eq!(
            sample().to_words(false),
            "error: cannot move `a\\n` to `b`: something is there already\n\
             note: the change, or a part of it, is visible already\n\
             hint: do something else\n"
        );
        assert!(!sample().to_words(true).contains("hint:"));
    }

    #[test]
    fn only_unsupported_means_that_this_system_cannot() {
        for kind in ErrorKind::ALL {
            let expected = match kind {
                ErrorKind::Unsupported => Exit::CannotTell,
                _ => Exit::No,
            };
            assert_eq!(exit_of(kind), expected);
        }
    }
}
