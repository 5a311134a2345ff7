//! What a verb answers with, and how it is printed.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::Output;

/// What every verb returns.
pub(crate) type PrintResult = Result<Box<dyn Printable>, Box<Failure>>;

/// What was found or done.
pub(crate) trait Printable {
    /// For programs: what follows `ok` and `version`.
    fn fields(&self) -> JsonObject;

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
pub(crate) fn print(answer: &mut dyn Printable, out: &mut Output) -> Exit {
    let trouble = answer.troubles().first();
    if out.is_json() {
        let fields = match trouble {
            Some(trouble) => JsonObject::new()
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

/// The answer of verbs that change something and print little.
pub(crate) struct Done {
    fields: JsonObject,
    note: String,
}

impl Done {
    /// `note` is printed for people only.
    pub(crate) fn answer(fields: JsonObject, note: String) -> PrintResult {
        Ok(Box::new(Self { fields, note }))
    }
}

impl Printable for Done {
    fn fields(&self) -> JsonObject {
        self.fields.clone()
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        out.note(&self.note);
        Ok(())
    }
}
