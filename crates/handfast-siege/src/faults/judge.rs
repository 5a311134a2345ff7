//! Whether what is there is what was answered.

use std::io;
use std::path::Path;

use handfast::{Effect, RelPath, Root};

use super::scenario::{Lasting, Scenario, State};

/// What came back from an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FaultAnswer {
    /// It was done.
    Done,
    /// It failed, with this effect.
    Failed(Effect),
    /// It died before it could answer.
    Died,
}

impl FaultAnswer {
    /// As an exit code: a process whose `write` is masked can still answer.
    pub(super) fn code(result: Result<(), Effect>) -> u8 {
        match result {
            Ok(()) => 0,
            Err(Effect::None) => 10,
            Err(Effect::Visible) => 11,
            Err(_) => 12,
        }
    }

    pub(super) fn of_code(code: Option<i32>) -> Option<Self> {
        Some(match code {
            Some(0) => Self::Done,
            Some(10) => Self::Failed(Effect::None),
            Some(11) => Self::Failed(Effect::Visible),
            Some(12) => Self::Failed(Effect::Unknown),
            None => Self::Died,
            Some(_) => return None,
        })
    }
}

/// Sets a scene: the root, and an outside beside it.
pub(super) fn set(scenario: &Scenario, top: &Path) -> io::Result<()> {
    for dir in ["root", "outside"] {
        std::fs::create_dir_all(top.join(dir))?;
    }
    std::fs::write(top.join("outside/f"), "outside")?;
    (scenario.scene)(&top.join("root"))
}

/// What is wrong, before and after `recover`; nothing if all is well.
pub(super) fn judge(
    scenario: &Scenario,
    top: &Path,
    answer: FaultAnswer,
    power_lost: bool,
) -> Option<String> {
    let root = top.join("root");
    look(scenario, top, answer, power_lost)
        .or_else(|| stray(&root))
        .or_else(|| look(scenario, top, answer, power_lost).map(|why| format!("recovered: {why}")))
}

fn look(scenario: &Scenario, top: &Path, answer: FaultAnswer, power_lost: bool) -> Option<String> {
    let root = top.join("root");
    match std::fs::read(root.join("d/other")) {
        Ok(text) if text == b"other" => {}
        Ok(text) => return Some(format!("another file was changed: {} bytes", text.len())),
        Err(error) => return Some(format!("another file cannot be read: {error}")),
    }
    let outside = names(&top.join("outside"));
    if outside != ["f"] || std::fs::read(top.join("outside/f")).ok().as_deref() != Some(b"outside")
    {
        return Some("something outside was changed".to_owned());
    }
    if let (true, Lasting::Before(check)) = (power_lost, scenario.lasting) {
        return check(&root);
    }
    let state = (scenario.state)(&root);
    let answered = !power_lost || matches!(scenario.lasting, Lasting::Answered);
    let fits = match (&state, answer) {
        (State::Broken(why), _) => return Some(why.clone()),
        (State::Old, FaultAnswer::Done | FaultAnswer::Failed(Effect::Visible)) => !answered,
        (State::New, FaultAnswer::Failed(Effect::None)) => false,
        (State::Part, FaultAnswer::Done) => !answered,
        (State::Part, FaultAnswer::Failed(Effect::None)) => false,
        _ => true,
    };
    (!fits).then(|| format!("{answer:?} was answered, and it is {state:?}"))
}

/// Recovers, and looks for files that `recover` leaves.
fn stray(root: &Path) -> Option<String> {
    let recovered = Root::open_ambient(root).and_then(|root| root.recover(&RelPath::root()));
    if let Err(error) = recovered {
        return Some(format!("it cannot be recovered: {error}"));
    }
    let mut left = Vec::new();
    leftovers(root, &mut left);
    (!left.is_empty()).then(|| format!("left behind: {}", left.join(", ")))
}

fn leftovers(dir: &Path, left: &mut Vec<String>) {
    for name in names(dir) {
        if name.starts_with(".handfast") {
            left.push(handfast::escape(name.as_bytes()));
        }
        let below = dir.join(&name);
        if below.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            leftovers(&below, left);
        }
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::super::scenario;
    use super::*;
    use crate::arena::Arena;

    fn scene(name: &str) -> (Arena, &'static Scenario) {
        let arena = Arena::new(&std::env::temp_dir()).unwrap();
        let scenario = scenario::find(name).unwrap();
        set(scenario, arena.top()).unwrap();
        (arena, scenario)
    }

    #[test]
    fn every_scenario_begins_old_and_ends_new() {
        for scenario in scenario::ALL {
            let (arena, _) = scene(scenario.name);
            let dir = arena.path("root");
            assert_eq!((scenario.state)(&dir), State::Old, "{}", scenario.name);
            let root = Root::open_ambient(&dir).unwrap();
            let version = scenario.prepare(&root).unwrap();
            scenario.act(&root, version.as_ref(), &dir).unwrap();
            assert_eq!((scenario.state)(&dir), State::New, "{}", scenario.name);
            let verdict = judge(scenario, arena.top(), FaultAnswer::Done, false);
            assert_eq!(verdict, None, "{}", scenario.name);
        }
    }

    #[test]
    fn a_lie_is_found_whichever_way_it_goes() {
        let (arena, write) = scene("write");
        let top = arena.top();
        let none = FaultAnswer::Failed(Effect::None);
        assert_eq!(judge(write, top, none, false), None);
        assert!(judge(write, top, FaultAnswer::Done, false).is_some());
        // By this level of durability an answered write may be lost, and by the other not.
        assert_eq!(judge(write, top, FaultAnswer::Done, true), None);
        let full = scenario::find("write-full").unwrap();
        assert!(judge(full, top, FaultAnswer::Done, true).is_some());
        let root = Root::open_ambient(arena.path("root")).unwrap();
        write.act(&root, None, &arena.path("root")).unwrap();
        assert!(judge(write, top, none, false).is_some());
    }

    #[test]
    fn half_a_file_strays_and_touches_outside_are_found() {
        type Harm = fn(&Path) -> io::Result<()>;
        let harms: [Harm; 5] = [
            |top| std::fs::write(top.join("root/d/f"), "new new"),
            |top| std::fs::write(top.join("root/d/f"), ""),
            |top| std::fs::write(top.join("root/d/.handfast-x"), ""),
            |top| std::fs::write(top.join("outside/g"), ""),
            |top| std::fs::remove_file(top.join("root/d/other")),
        ];
        for harm in harms {
            let (arena, write) = scene("write");
            assert_eq!(judge(write, arena.top(), FaultAnswer::Died, false), None);
            harm(arena.top()).unwrap();
            assert!(judge(write, arena.top(), FaultAnswer::Died, false).is_some());
        }
    }
}
