//! What a document marks as ```` ```console run ```` is run, and prints what is below it.
//!
//! The blocks of a document share one empty directory and one shell. A line `…` stands for any
//! lines, `…` within a line for any text. A comment `<!-- run: … -->` prepares something that the
//! reader is not shown.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{documents, name};

const PATIENCE: Duration = Duration::from_secs(300);
/// Printed between commands; no command prints it.
const MARK: &str = "\u{1}next";

struct Step {
    line: usize,
    command: String,
    /// What it has to print, or nothing for what only prepares.
    shown: Option<Vec<String>>,
}

#[test]
fn commands_print_what_is_shown() {
    let mut wrong = Vec::new();
    let mut commands = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        if document.ends_with("run.md")
            && let Err(error) = std::fs::File::options()
                .read(true)
                .write(true)
                .open("/dev/fuse")
        {
            println!("skipped: run.md: /dev/fuse: {error}");
            continue;
        }
        let steps = steps(&text);
        commands += steps.iter().filter(|step| step.shown.is_some()).count();
        if !steps.is_empty() {
            wrong.extend(run(&name(&document), &steps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if !documents().is_empty() {
        assert!(commands > 10, "only {commands} commands were found");
        println!("{commands} commands print what the documents show");
    }
}

#[test]
fn a_document_that_is_wrong_is_noticed() {
    let text = "```console run\n$ echo one\none\n$ echo two \\\n>   three\ntwo …ee\n```\n";
    assert_eq!(run("good", &steps(text)), Vec::<String>::new());
    let text = "```console run\n$ seq 5\n1\n…\n5\n$ echo one\ntwo\n```\n";
    let wrong = run("bad", &steps(text));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("bad:6: echo one"), "{wrong:?}");
    let text = "```console run\n$ seq 3\n1\n…\n4\n```\n```console\n$ never\n```\n";
    assert_eq!(run("bad", &steps(text)).len(), 1);
}

/// The commands of a document, in order.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut continued = false;
    for (number, line) in text.lines().enumerate() {
        let prepared = line
            .strip_prefix("<!-- run: ")
            .and_then(|it| it.strip_suffix(" -->"));
        if let Some(command) = prepared {
            steps.push(Step {
                line: number + 1,
                command: command.to_owned(),
                shown: None,
            });
        } else if line == "```console run" {
            inside = true;
        } else if line == "```" {
            inside = false;
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                line: number + 1,
                command: command.to_owned(),
                shown: Some(Vec::new()),
            });
            continued = true;
        } else if inside && let Some(step) = steps.last_mut() {
            match line.strip_prefix("> ") {
                Some(more) if continued => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                _ => {
                    continued = false;
                    step.shown.get_or_insert_default().push(line.to_owned());
                }
            }
        }
    }
    steps
}

/// Runs the commands of one document; what was printed otherwise than shown.
fn run(name: &str, steps: &[Step]) -> Vec<String> {
    let mut script = String::from("exec 2>&1\n");
    for step in steps {
        writeln!(script, "{}\nprintf '\\n{MARK}\\n'", step.command).unwrap();
    }
    let told = shell(&script);
    let mark = format!("\n{MARK}\n");
    let told = told.split(&mark);
    let mut wrong = Vec::new();
    for (step, told) in steps.iter().zip(told) {
        let Some(shown) = &step.shown else {
            continue;
        };
        let told: Vec<_> = told.lines().collect();
        let shown: Vec<_> = shown.iter().map(String::as_str).collect();
        if !fits(&shown, &told) {
            wrong.push(format!(
                "{name}:{}: {}\nshown:\n{}\nprinted:\n{}\n",
                step.line,
                step.command,
                shown.join("\n"),
                told.join("\n")
            ));
        }
    }
    wrong
}

/// Whether what was printed is what is shown.
fn fits(shown: &[&str], told: &[&str]) -> bool {
    match shown.split_first() {
        None => told.is_empty(),
        Some((&"…", rest)) => (0..=told.len()).any(|skipped| fits(rest, &told[skipped..])),
        Some((first, rest)) => told
            .split_first()
            .is_some_and(|(line, others)| line_fits(first, line) && fits(rest, others)),
    }
}

fn line_fits(shown: &str, told: &str) -> bool {
    let Some((before, after)) = shown.split_once('…') else {
        return shown == told;
    };
    let Some(rest) = told.strip_prefix(before) else {
        return false;
    };
    rest.char_indices()
        .map(|(at, _)| &rest[at..])
        .chain([""])
        .any(|rest| line_fits(after, rest))
}

/// A shell in an empty directory, where `handfast` is the one that was built.
fn shell(script: &str) -> String {
    let dir = std::env::temp_dir().join(format!(
        "handfast-docs-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir(&dir).unwrap();
    let told = shell_in(&dir, script);
    std::fs::remove_dir_all(&dir).unwrap();
    told
}

fn shell_in(dir: &Path, script: &str) -> String {
    let binary = std::env::var_os("HANDFAST_BIN").unwrap_or(env!("CARGO_BIN_EXE_handfast").into());
    std::fs::create_dir(dir.join("bin")).unwrap();
    std::fs::create_dir(dir.join("here")).unwrap();
    std::os::unix::fs::symlink(binary, dir.join("bin/handfast")).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new("bash")
        .args(["--norc", "-c", script])
        .current_dir(dir.join("here"))
        .env("PATH", format!("{}:{path}", dir.join("bin").display()))
        .env("HOME", dir)
        .env("XDG_STATE_HOME", dir.join("state"))
        .env("XDG_RUNTIME_DIR", dir)
        .env_remove("HANDFAST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the commands hang: {script}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.join().unwrap()
}
