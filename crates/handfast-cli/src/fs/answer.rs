//! What a verb answers with, and how it is printed.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::Object;
use crate::output::Output;

/// What every verb returns.
pub(crate) type Answered = Result<Box<dyn Answer>, Box<Failure>>;

/// What was found or done.
pub(crate) trait Answer {
    /// For programs: what follows `ok` and `version`.
    fn fields(&self) -> Object;

    /// For people. Fails if what is printed has to be read first, and cannot be.
    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>>;

    /// The exit code of an answer that is given in full.
    fn verdict(&self) -> Exit {
        Exit::Yes
    }

    /// What could not be done beside what is answered; the first one is the error.
    fn troubles(&self) -> &[Failure] {
        &[]
    }
}

/// Prints an answer. The verdict does not depend on whether anybody reads it.
pub(crate) fn print(answer: &mut dyn Answer, out: &mut Output) -> Exit {
    let trouble = answer.troubles().first();
    if out.is_json() {
        let fields = match trouble {
            Some(trouble) => Object::new()
                .with("error", trouble.to_json())
                .and(answer.fields()),
            None => answer.fields(),
        };
        out.object(trouble.is_none() && answer.verdict() == Exit::Yes, fields);
        return trouble.map_or(Exit::Yes, |trouble| trouble.exit);
    }
    if let Err(failure) = answer.show(out) {
        out.failure(&failure);
        return failure.exit;
    }
    for trouble in answer.troubles() {
        out.failure(trouble);
    }
    answer
        .troubles()
        .first()
        .map_or(Exit::Yes, |trouble| trouble.exit)
}

/// The answer of verbs that change something and have little to tell.
pub(crate) struct Done {
    fields: Object,
    note: String,
}

impl Done {
    /// `note` is printed for people only.
    pub(crate) fn answer(fields: Object, note: String) -> Answered {
        Ok(Box::new(Self { fields, note }))
    }
}

impl Answer for Done {
    fn fields(&self) -> Object {
        self.fields.clone()
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        out.note(&self.note);
        Ok(())
    }
}
