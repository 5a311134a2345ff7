//! An agent's edit tool that can be paused: it writes only what it still knows.
//!
//! The agent reads a file, goes away to think (or is stopped, and resumed by another process), and
//! comes back with new content and the version it saw, which is text and can be kept anywhere.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use handfast::{ErrorKind, RelPath, Root, Version};

/// What the tool hands to the model, and gets back later.
struct Note {
    path: String,
    version: String,
}

/// What the tool answers.
#[derive(Debug, PartialEq)]
enum Outcome {
    Written,
    /// Another writer was faster: the new content to consider, and a note of it.
    LookAgain(String),
}

fn look(root: &Root, path: &str) -> Result<(String, Note), Box<dyn Error>> {
    let (content, version) = root.read_versioned(&RelPath::parse(path)?)?;
    let note = Note {
        path: path.to_owned(),
        version: version.to_string(),
    };
    Ok((String::from_utf8(content)?, note))
}

fn resume(root: &Root, note: &Note, content: &str) -> Result<Outcome, Box<dyn Error>> {
    let path = RelPath::parse(&note.path)?;
    let seen: Version = note.version.parse()?;
    match root.write_if(&path, &seen, content) {
        Ok(_) => Ok(Outcome::Written),
        Err(error) if error.kind() == ErrorKind::Stale => {
            let (now, _) = look(root, &note.path)?;
            Ok(Outcome::LookAgain(now))
        }
        Err(error) => Err(error.into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let root = Root::open_ambient(dir.path())?;
    let path = RelPath::parse("plan.md")?;
    root.write(&path, "- think\n")?;

    let (content, note) = look(&root, "plan.md")?;
    println!("the agent saw {content:?}");
    root.write(&path, "- think\n- ask a person\n")?;
    println!("a person changed it");
    println!("the agent resumes: {:?}", resume(&root, &note, "- act\n")?);

    let (content, note) = look(&root, "plan.md")?;
    println!("the agent saw {content:?}");
    println!(
        "the agent resumes: {:?}",
        resume(&root, &note, "- ask\n- act\n")?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Outcome, look, resume};
    use handfast::{RelPath, Root};

    #[test]
    fn only_what_is_still_known_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open_ambient(dir.path()).unwrap();
        let path = RelPath::parse("plan.md").unwrap();
        root.write(&path, "one").unwrap();
        let (_, note) = look(&root, "plan.md").unwrap();
        root.write(&path, "two").unwrap();
        let answer = resume(&root, &note, "three").unwrap();
        assert_eq!(answer, Outcome::LookAgain("two".to_owned()));
        assert_eq!(root.read(&path).unwrap(), b"two");
        let (_, note) = look(&root, "plan.md").unwrap();
        assert_eq!(resume(&root, &note, "three").unwrap(), Outcome::Written);
        assert_eq!(root.read(&path).unwrap(), b"three");
        super::main().unwrap();
    }
}
