//! What is done while the machine fails, and how old, new and neither are distinguished.

use std::io::{self, Write};
use std::path::Path;

use handfast::{Durability, Effect, Error, RelPath, RenameMode, Root, Version, WriteOptions};

/// What the tree says: nothing was done, all was done, a part that may stand alone was done, or
/// content that no process wrote.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum State {
    Old,
    New,
    Part,
    Broken(String),
}

/// What an answer promises after a power loss.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lasting {
    /// An answered change is there.
    Answered,
    /// Whole-old or whole-new.
    Whole,
    /// Only what was there before, if this finds nothing wrong with it.
    Before(fn(&Path) -> Option<String>),
}

/// One operation in a small tree.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Whether this is the naive writer, which must come to harm.
    pub(super) control: bool,
    /// Fills the root.
    pub(super) scene: fn(&Path) -> io::Result<()>,
    /// What is asked before the operation begins.
    prepare: fn(&Root) -> Result<Option<Version>, Error>,
    act: fn(&Root, Option<&Version>, &Path) -> Result<(), Effect>,
    pub(super) state: fn(&Path) -> State,
    pub(super) lasting: Lasting,
}

impl Scenario {
    /// Everything before the operation itself.
    pub(super) fn prepare(&self, root: &Root) -> Result<Option<Version>, Error> {
        (self.prepare)(root)
    }

    /// The operation.
    pub(super) fn act(
        &self,
        root: &Root,
        version: Option<&Version>,
        dir: &Path,
    ) -> Result<(), Effect> {
        (self.act)(root, version, dir)
    }
}

/// Every scenario; the control last.
pub(super) static ALL: &[Scenario] = &[
    Scenario {
        name: "write",
        act: |root, _, _| effect(root.write(&path("d/f")?, new())),
        ..WRITE
    },
    Scenario {
        name: "write-full",
        act: |root, _, _| {
            let full = WriteOptions::new().durability(Durability::Full);
            effect(root.write_with(&path("d/f")?, new(), full))
        },
        lasting: Lasting::Answered,
        ..WRITE
    },
    Scenario {
        name: "write-if",
        prepare: |root| root.version(&RelPath::parse("d/f")?).map(Some),
        act: |root, version, _| match version {
            Some(version) => effect(root.write_if(&path("d/f")?, version, new())),
            None => Err(Effect::None),
        },
        ..WRITE
    },
    Scenario {
        name: "append",
        act: |root, _, _| effect(root.append(&path("d/f")?, more())),
        state: |dir| {
            let text = std::fs::read(dir.join("d/f")).unwrap_or_default();
            match text.strip_prefix(old().as_slice()) {
                Some(b"") => State::Old,
                Some(text) if text == more() => State::New,
                _ => State::Broken(format!("the file has {} bytes", text.len())),
            }
        },
        // What is added is not synced: it may be missing, or have a length and no content.
        lasting: Lasting::Before(|dir| {
            let text = std::fs::read(dir.join("d/f")).unwrap_or_default();
            (!text.starts_with(&old())).then(|| "what was there before is lost".to_owned())
        }),
        ..WRITE
    },
    Scenario {
        name: "exchange",
        act: |root, _, _| effect(root.rename(&path("d/f")?, &path("d/g")?, RenameMode::Exchange)),
        state: |dir| {
            let read = |name: &str| std::fs::read(dir.join(name)).unwrap_or_default();
            match (read("d/f") == old(), read("d/g") == old()) {
                (true, false) if read("d/g") == b"g" => State::Old,
                (false, true) if read("d/f") == b"g" => State::New,
                _ => State::Broken("a file is lost or doubled".to_owned()),
            }
        },
        scene: |dir| {
            (WRITE.scene)(dir)?;
            std::fs::write(dir.join("d/g"), "g")
        },
        ..WRITE
    },
    Scenario {
        name: "create-dir-all",
        act: |root, _, _| effect(root.create_dir_all(&path("d/a/b/c")?)),
        state: |dir| steps(dir, &["d/a", "d/a/b", "d/a/b/c"]),
        ..WRITE
    },
    Scenario {
        name: "copy-tree",
        act: |root, _, _| effect(root.copy_tree(&path("t")?, &path("copy")?)),
        state: |dir| {
            if let Some(broken) = tree(&dir.join("t")) {
                return State::Broken(format!("the source: {broken}"));
            }
            match dir.join("copy").symlink_metadata() {
                Err(_) => State::Old,
                Ok(_) => tree(&dir.join("copy")).map_or(State::New, State::Broken),
            }
        },
        lasting: Lasting::Before(|dir| tree(&dir.join("t"))),
        ..WRITE
    },
    Scenario {
        name: "remove-tree",
        act: |root, _, _| effect(root.remove_tree(&path("t")?)),
        state: |dir| match dir.join("t").symlink_metadata() {
            Err(_) => State::New,
            Ok(_) => tree(&dir.join("t")).map_or(State::Old, |_| State::Part),
        },
        ..WRITE
    },
    Scenario {
        name: "naive-write",
        control: true,
        act: |_, _, dir| naive(dir).map_err(|_| Effect::Unknown),
        ..WRITE
    },
];

const WRITE: Scenario = Scenario {
    name: "",
    control: false,
    scene: |dir| {
        std::fs::create_dir_all(dir.join("d"))?;
        std::fs::create_dir_all(dir.join("t/sub"))?;
        std::fs::write(dir.join("d/f"), old())?;
        std::fs::write(dir.join("d/other"), "other")?;
        std::fs::write(dir.join("t/one"), old())?;
        std::fs::write(dir.join("t/sub/two"), old())
    },
    prepare: |_| Ok(None),
    act: |_, _, _| Ok(()),
    state: |dir| match std::fs::read(dir.join("d/f")) {
        Ok(text) if text == old() => State::Old,
        Ok(text) if text == new() => State::New,
        Ok(text) => State::Broken(format!("neither old nor new: {} bytes", text.len())),
        Err(error) => State::Broken(format!("the file cannot be read: {error}")),
    },
    lasting: Lasting::Whole,
};

/// More than a few pages, so that a part of it can be missing.
fn old() -> Vec<u8> {
    b"old ".repeat(5000)
}

fn new() -> Vec<u8> {
    b"new ".repeat(8000)
}

fn more() -> Vec<u8> {
    b"more".repeat(3000)
}

/// Empties the file, looks up what it should say, and adds that piece by piece, as a program does that writes in
/// place does.
fn naive(dir: &Path) -> io::Result<()> {
    let place = dir.join("d/f");
    let emptied = std::fs::File::create(&place)?;
    std::fs::read(dir.join("d/other"))?;
    drop(emptied);
    for piece in new().chunks(4096) {
        let mut file = std::fs::File::options().append(true).open(&place)?;
        file.write_all(piece)?;
    }
    Ok(())
}

/// Directories that are made one after another.
fn steps(dir: &Path, names: &[&str]) -> State {
    let made: Vec<_> = names.iter().map(|name| dir.join(name).is_dir()).collect();
    match made.iter().filter(|made| **made).count() {
        0 => State::Old,
        count if count == names.len() => State::New,
        _ => State::Part,
    }
}

/// What is wrong with a copy of the small tree.
fn tree(dir: &Path) -> Option<String> {
    for name in ["one", "sub/two"] {
        match std::fs::read(dir.join(name)) {
            Ok(text) if text == old() => {}
            Ok(text) => return Some(format!("{name} has {} bytes", text.len())),
            Err(_) => return Some(format!("{name} is missing")),
        }
    }
    None
}

fn path(text: &str) -> Result<RelPath, Effect> {
    RelPath::parse(text).map_err(|_| Effect::None)
}

fn effect<T>(result: Result<T, Error>) -> Result<(), Effect> {
    result.map(drop).map_err(|error| error.effect())
}

pub(super) fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}
