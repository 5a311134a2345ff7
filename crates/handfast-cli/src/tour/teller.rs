//! What the tour says, and the commands it runs before the reader's eyes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::Surprise;
use super::stage::TourDirectory;
use crate::exit::Exit;
use crate::output::Output;

/// Wide enough to read, and narrow enough for any terminal.
const WIDTH: usize = 76;
/// The pause after a paragraph, if a person reads along.
const PAUSE: Duration = Duration::from_millis(1500);

/// Tells one chapter.
pub(super) struct Teller<'out> {
    out: &'out mut Output,
    number: usize,
    chapters: usize,
    pause: bool,
}

/// What a command printed, and how it ended.
pub(super) struct Said {
    pub(super) stdout: String,
    stderr: String,
    line: String,
    status: ExitStatus,
}

impl<'out> Teller<'out> {
    pub(super) fn new(out: &'out mut Output, number: usize, chapters: usize, fast: bool) -> Self {
        Self {
            out,
            number,
            chapters,
            pause: !fast && Output::is_terminal(),
        }
    }

    pub(super) fn heading(&mut self, text: &str) {
        let line = format!("{} of {}  {text}", self.number, self.chapters);
        let line = if Output::is_coloured() {
            format!("\x1b[1m{line}\x1b[0m")
        } else {
            line
        };
        self.print(&format!("{line}\n"));
    }

    /// A paragraph.
    pub(super) fn say(&mut self, text: &str) {
        self.print(&format!("{}\n", wrap(text)));
        self.out.flush();
        if self.pause && !self.out.is_json() {
            std::thread::sleep(PAUSE);
        }
    }

    /// Something that was counted.
    pub(super) fn figure(&mut self, who: &str, what: &str) {
        if !self.out.is_json() {
            self.out.folded(&format!("  {who:<22} {what}"), 25);
        }
        self.out.flush();
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.print("");
    }

    /// Runs this command with these arguments, shows both, and makes sure how it ends.
    pub(super) fn run(
        &mut self,
        stage: &TourDirectory,
        line: &str,
        input: Option<&str>,
        ends: Exit,
    ) -> Result<Said, Surprise> {
        self.prompt(line, input);
        let said = silently(stage, line, input, ends)?;
        self.show(&said);
        Ok(said)
    }

    /// Runs this command in a directory of the stage and shows both, however it ends.
    #[cfg(feature = "run")]
    pub(super) fn try_in(
        &mut self,
        stage: &TourDirectory,
        dir: &str,
        line: &str,
    ) -> Result<Said, Surprise> {
        self.print(&format!("  $ cd {dir}"));
        self.prompt(line, None);
        let said = call(stage, &stage.path().join(dir), line, None)?;
        self.show(&said);
        Ok(said)
    }

    /// That a chapter is not shown on this machine. Why not was printed by its command.
    #[cfg(feature = "run")]
    pub(super) fn cannot(&mut self) {
        self.gap();
        self.say(
            "This machine cannot show it, as the error says. The other chapters do not need that.",
        );
    }

    /// Shows a command, as it would be typed.
    pub(super) fn prompt(&mut self, line: &str, input: Option<&str>) {
        let before = match input {
            Some(input) => format!("printf '{}' | ", input.replace('\n', "\\n")),
            None => String::new(),
        };
        let whole = format!("  $ {before}handfast {line}");
        self.print(&continued(&whole));
    }

    /// Shows what a command printed.
    pub(super) fn show(&mut self, said: &Said) {
        for line in said.stdout.lines().chain(said.stderr.lines()) {
            self.folded(line);
        }
        self.out.flush();
    }

    /// Shows one line that a command printed.
    pub(super) fn folded(&mut self, line: &str) {
        if !self.out.is_json() {
            self.out.folded(&format!("  {line}"), 6);
        }
    }

    pub(super) fn print(&mut self, text: &str) {
        if !self.out.is_json() {
            self.out.line(text);
        }
    }
}

/// Runs this command with these arguments, which hold no spaces.
pub(super) fn silently(
    stage: &TourDirectory,
    line: &str,
    input: Option<&str>,
    ends: Exit,
) -> Result<Said, Surprise> {
    let said = call(stage, stage.path(), line, input)?;
    said.must_end(ends)?;
    Ok(said)
}

fn call(
    stage: &TourDirectory,
    dir: &Path,
    line: &str,
    input: Option<&str>,
) -> Result<Said, Surprise> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(line.split(' '))
        .current_dir(dir)
        .env("XDG_STATE_HOME", stage.path().join("state"))
        .env_remove("HANDFAST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // Who does not read it will say so by its exit code.
        drop(stdin.write_all(input.as_bytes()));
    }
    let output = child.wait_with_output()?;
    Ok(Said {
        line: line.to_owned(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status,
    })
}

impl Said {
    /// Whether it ended so.
    pub(super) fn ended_with(&self, exit: Exit) -> bool {
        self.status.code() == Some(i32::from(exit.code()))
    }

    /// Makes sure how it ended.
    pub(super) fn must_end(&self, exit: Exit) -> Result<(), Surprise> {
        if self.ended_with(exit) {
            return Ok(());
        }
        Err(Surprise::Wrong(format!(
            "`handfast {}` ended with {} and not with {}: {}{}",
            self.line,
            self.status,
            exit.code(),
            self.stdout,
            self.stderr
        )))
    }

    /// Why it did not do what was asked.
    #[cfg(feature = "run")]
    pub(super) fn first_words(&self) -> String {
        let mut lines = self.stderr.lines();
        let error = lines.find_map(|line| line.strip_prefix("error: "));
        error.unwrap_or("it did not say why").to_owned()
    }

    /// Makes sure that it printed this somewhere.
    pub(super) fn must_say(&self, words: &str) -> Result<(), Surprise> {
        if self.stdout.contains(words) || self.stderr.contains(words) {
            return Ok(());
        }
        Err(Surprise::Wrong(format!(
            "`{words}` was to be printed, and was not: {}{}",
            self.stdout, self.stderr
        )))
    }
}

/// A long command on several lines, as a shell takes it, broken before an option.
fn continued(line: &str) -> String {
    let mut shown = String::new();
    let mut width = 0;
    for part in line.split(" --") {
        let option = if shown.is_empty() { "" } else { " --" };
        if width > 0 && width + option.len() + part.len() + 2 > WIDTH {
            shown.push_str(" \\\n     ");
            width = 5;
        }
        shown.push_str(option);
        shown.push_str(part);
        width += option.len() + part.len();
    }
    shown
}

/// Where to go from here.
pub(super) fn last_words(out: &mut Output) {
    out.line("Everything above happened in a temporary directory, which is gone.");
    out.line("");
    for (what, how) in [
        ("run a program of yours", "handfast run -- COMMAND"),
        ("attack it on this machine", "handfast siege"),
        ("what this machine enforces", "handfast doctor"),
        ("review what an agent changes", "handfast session --help"),
        ("audit a repository", "handfast audit ."),
    ] {
        out.line(&format!("  {what:<30} {how}"));
    }
}

/// Breaks text into lines.
fn wrap(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    textwrap::fill(&words.join(" "), WIDTH)
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, wrap};

    #[test]
    fn lines_are_never_wider_than_said_and_no_word_is_lost() {
        let text = "a word and another ".repeat(40);
        let wrapped = wrap(&text);
        assert!(wrapped.lines().count() > 5);
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH), "{wrapped}");
        let words: Vec<_> = wrapped.split_whitespace().collect();
        assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
    }
}
