//! Platforms on which no root can be opened: the command says so and does nothing.

use std::io::Write;

use crate::exit::Exit;

/// Answers every command alike.
pub(crate) fn run() -> Exit {
    let words = "error: this platform cannot confine file access without a race, so it is not done\n\
                 hint: Linux is the supported platform\n";
    // Nobody may be listening; the exit code says it too.
    drop(std::io::stderr().write_all(words.as_bytes()));
    Exit::CannotTell
}
