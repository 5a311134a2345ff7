//! An agent works in a project, and a person takes half of what it did.

use handfast::RelPath;

use super::Surprise;
use super::stage::TourDirectory;
use super::story::expect;
use super::teller::Teller;
use crate::exit::Exit;

/// What works like an agent.
const AGENT: &str = "\
echo 'timeout = 5' > settings.toml
echo 'trace: all' > debug.log
cat .env
true
";

const PROJECT: &str = "sample";
const BEFORE: &str = "timeout = 30\n";

pub(super) fn show(stage: &TourDirectory, teller: &mut Teller<'_>) -> Result<(), Surprise> {
    teller.heading("An agent in your project");
    teller.say(
        "`agent.sh` is an ordinary program in a sample project. It changes the settings, leaves a \
         file behind, and tries to read a secret. In a run, what it changes waits until somebody \
         has looked at it.",
    );
    // The temporary directory may lie in another project: the nearest mark decides.
    stage.put("sample/.git/HEAD", "ref: refs/heads/main\n")?;
    stage.put("sample/settings.toml", BEFORE)?;
    stage.put("sample/.env", "TOKEN=secret\n")?;
    stage.put("sample/agent.sh", AGENT)?;
    let ran = teller.try_in(stage, PROJECT, "run --session agent -- sh agent.sh")?;
    if ran.ended_with(Exit::CannotTell) {
        return Err(Surprise::NotHere(ran.first_words()));
    }
    ran.must_end(Exit::Yes)?;
    ran.must_say(".env: Permission denied")?;
    expect(stage, "sample/settings.toml", BEFORE)?;
    teller.gap();
    teller.say("The project is as it was. A person takes the settings, and not the other file:");
    teller
        .run(stage, "session diff --names agent", None, Exit::Yes)?
        .must_say("/debug.log")?;
    let commit = "session commit --yes agent /settings.toml";
    teller.run(stage, commit, None, Exit::Yes)?;
    expect(stage, "sample/settings.toml", "timeout = 5\n")?;
    teller.run(stage, "session discard --yes agent", None, Exit::Yes)?;
    let left = RelPath::parse("sample/debug.log")?;
    if stage.root().metadata_optional(&left)?.is_some() {
        let what = "`debug.log` was not committed, and is in the project";
        return Err(Surprise::Wrong(what.to_owned()));
    }
    teller.gap();
    Ok(())
}
