//! The one printer: data on standard output, words on standard error.
//!
//! Printing never fails as far as a command can see. A closed pipe silences what follows; any
//! other trouble with standard output is reported at the end, since data may be missing then.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{Json, JsonObject};
use crate::width;

/// For whom is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// People: data on standard output, words on standard error.
    Words,
    /// Programs: one object on standard output.
    Json,
}

/// What became of standard output.
enum Sink {
    Open(BufWriter<Stdout>),
    /// The reader has closed the pipe.
    Closed,
    Broken(io::Error),
}

/// Where answers go.
pub(crate) struct Output {
    form: Form,
    quiet: bool,
    sink: Sink,
}

impl Output {
    pub(crate) fn new(form: Form, quiet: bool) -> Self {
        Self {
            form,
            quiet,
            sink: Sink::Open(BufWriter::with_capacity(64 * 1024, io::stdout())),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether anything printed still arrives somewhere.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.sink, Sink::Open(_))
    }

    /// Whether standard output is a terminal, where bytes can do things.
    pub(crate) fn is_terminal() -> bool {
        io::stdout().is_terminal()
    }

    /// Whether colours are wanted there: on a terminal, unless NO_COLOR is set.
    pub(crate) fn is_coloured() -> bool {
        Self::is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Prints data as it is.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        self.send(|sink| sink.write_all(bytes));
    }

    /// Prints a line of data.
    pub(crate) fn line(&mut self, text: &str) {
        self.send(|sink| writeln!(sink, "{text}"));
    }

    /// Prints a line of data; on a terminal that is narrower, below `indent` from its second row on.
    pub(crate) fn folded(&mut self, text: &str, indent: usize) {
        match width::of_terminal() {
            Some(columns) => self.line(&width::fold(text, indent, columns)),
            None => self.line(text),
        }
    }

    /// Flushes the output so far, for a reader that waits for it.
    pub(crate) fn flush(&mut self) {
        self.send(Write::flush);
    }

    /// Prints the answer for programs: `ok` and `version` first.
    pub(crate) fn object(&mut self, ok: bool, fields: JsonObject) {
        let object = JsonObject::new()
            .with("ok", ok)
            .with("version", 1_u32)
            .and(fields);
        self.line(&object.to_string());
    }

    /// Prints a note, for people only.
    pub(crate) fn note(&mut self, text: &str) {
        if self.form == Form::Words && !self.quiet {
            self.words(&format!("{text}\n"));
        }
    }

    /// Prints a line on standard error that must be seen, in every output form.
    pub(crate) fn alarm(&mut self, text: &str) {
        self.words(text);
    }

    /// Says what went wrong, and what can be done about it.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        match self.form {
            Form::Json => {
                let fields = JsonObject::new().with("error", failure.to_json());
                self.object(false, fields);
            }
            Form::Words => self.words(&failure.to_words(self.quiet)),
        }
    }

    /// Prints what is left. Only data that could not be delivered for another reason than that
    /// nobody wants it turns a yes into a no.
    pub(crate) fn finish(mut self, verdict: Exit) -> Exit {
        self.send(Write::flush);
        let Sink::Broken(error) = &self.sink else {
            return verdict;
        };
        let words = format!("error: cannot write to standard output: {error}\n");
        self.words(&words);
        match verdict {
            Exit::Yes => Exit::No,
            other => other,
        }
    }

    fn send(&mut self, print: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>) {
        let Sink::Open(sink) = &mut self.sink else {
            return;
        };
        if let Err(error) = print(sink) {
            let next = match error.kind() {
                io::ErrorKind::BrokenPipe => Sink::Closed,
                _ => Sink::Broken(error),
            };
            // What is still buffered must not be tried again when the buffer goes away.
            if let Sink::Open(sink) = std::mem::replace(&mut self.sink, next) {
                drop(sink.into_parts());
            }
        }
    }

    /// All words at once, so that lines of several processes do not mix.
    fn words(&mut self, text: &str) {
        // Data said before words appears before them.
        self.send(Write::flush);
        // Nobody may be listening; the exit code says it too.
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }
}

/// A list of objects.
pub(crate) fn list(objects: impl IntoIterator<Item = JsonObject>) -> Json {
    objects.into_iter().collect()
}
