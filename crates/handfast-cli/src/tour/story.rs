//! A person and an agent work on the same project: stale writes, an overlay, and the log of it.

use handfast::RelPath;

use super::Surprise;
use super::stage::TourDirectory;
use super::teller::{Teller, silently};
use crate::exit::Exit;

const FIRST: &str = "timeout = 30\n";
const PERSON: &str = "timeout = 60\n";
const AGENT: &str = "timeout = 5\n";

pub(super) fn stale(stage: &TourDirectory, teller: &mut Teller<'_>) -> Result<(), Surprise> {
    teller.heading("A stale agent");
    teller.say(
        "An agent read `settings.toml` and thinks about it. Meanwhile a person changes the file. \
         The agent wrote down which version it saw, and everything is logged.",
    );
    stage.put("project/settings.toml", FIRST)?;
    stage.put("project/.env", "TOKEN=secret\n")?;
    silently(stage, "log init log --name tour", None, Exit::Yes)?;
    let seen = silently(
        stage,
        "fs --root project version settings.toml",
        None,
        Exit::Yes,
    )?;
    let seen = seen.stdout.trim();
    teller.run(
        stage,
        "fs --root project --log log --agent person write settings.toml",
        Some(PERSON),
        Exit::Yes,
    )?;
    let write = "fs --root project --log log --agent robot write settings.toml --if-version";
    teller.prompt(&format!("{write} $SEEN"), Some(AGENT));
    let refused = silently(stage, &format!("{write} {seen}"), Some(AGENT), Exit::No)?;
    teller.show(&refused);
    expect(stage, "project/settings.toml", PERSON)?;
    teller.gap();
    teller.say("The person's change is kept. Nothing was overwritten.");
    Ok(())
}

pub(super) fn overlay(stage: &TourDirectory, teller: &mut Teller<'_>) -> Result<(), Surprise> {
    teller.heading("An agent that may try things");
    teller.say(
        "In a session, what the agent writes goes to an overlay. Secrets are out of its sight. \
         A person looks at the difference, and commits it.",
    );
    let base = "session new review --base project --preset workspace";
    teller.run(stage, base, None, Exit::Yes)?;
    let inside = "fs --session review --log log --agent robot";
    teller.run(
        stage,
        &format!("{inside} write /settings.toml"),
        Some(AGENT),
        Exit::Yes,
    )?;
    teller.run(stage, &format!("{inside} read /.env"), None, Exit::No)?;
    expect(stage, "project/settings.toml", PERSON)?;
    teller
        .run(stage, "session diff review", None, Exit::Yes)?
        .must_say("+timeout = 5")?;
    teller.run(stage, "session commit review --yes", None, Exit::Yes)?;
    expect(stage, "project/settings.toml", AGENT)?;
    teller.gap();
    Ok(())
}

pub(super) fn log(stage: &TourDirectory, teller: &mut Teller<'_>) -> Result<(), Surprise> {
    teller.heading("An audit log that shows every change to it");
    teller.say("What was done, what was refused, and whether the log was changed:");
    teller
        .run(stage, "log grep log --agent robot", None, Exit::Yes)?
        .must_say("DENIED")?;
    teller
        .run(stage, "log verify log", None, Exit::Yes)?
        .must_say("verdict: consistent, not authenticated")?;
    teller.gap();
    teller.say("In a copy of the log, an attacker replaces `robot` by `human`:");
    forge(stage)?;
    teller
        .run(stage, "log verify copy", None, Exit::No)?
        .must_say("verdict: tampered")?;
    teller.gap();
    Ok(())
}

/// Copies the log and changes a name in it, of the same length.
fn forge(stage: &TourDirectory) -> Result<(), Surprise> {
    let root = stage.root();
    let copy = RelPath::parse("copy")?;
    root.copy_tree(&RelPath::parse("log")?, &copy)?;
    let segment = RelPath::parse("copy/segments/seg-00000000000000000000.wal")?;
    let mut bytes = root.read(&segment)?;
    let mut forged = 0;
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(b"\"robot\"") {
            bytes[at..at + 7].copy_from_slice(b"\"human\"");
            forged += 1;
        }
    }
    if forged == 0 {
        return Err(Surprise::Wrong(
            "the log does not name the agent".to_owned(),
        ));
    }
    root.write(&segment, bytes)?;
    Ok(())
}

pub(super) fn expect(stage: &TourDirectory, path: &str, content: &str) -> Result<(), Surprise> {
    let found = stage.root().read(&RelPath::parse(path)?)?;
    if found == content.as_bytes() {
        return Ok(());
    }
    Err(Surprise::Wrong(format!(
        "`{path}` was to hold {content:?}, and holds {:?}",
        String::from_utf8_lossy(&found)
    )))
}
