//! The verbs as a state machine: whatever is done in whatever order, answers and tree are those of
//! the model, and nothing outside changes.

use std::collections::BTreeMap;
use std::path::Path;

use handfast::files::{LastLink, Put, WhatToRemove};
use handfast::{
    BackendChoice, Durability, Error, ErrorKind, Files, Links, RelPath, RenameMode, Root,
    RootOptions, TreeLimits, WriteOptions,
};

use super::bytes::Choices;
use super::model::Model;

/// Steps of one run at most.
const STEPS: u32 = 40;

/// One call.
#[derive(Clone, Debug)]
pub enum Step {
    Read(Vec<String>),
    Kind(Vec<String>),
    KindItself(Vec<String>),
    ReadLink(Vec<String>),
    List(Vec<String>),
    Write(Vec<String>, Vec<u8>),
    WriteNew(Vec<String>, Vec<u8>),
    WriteIf(Vec<String>, Vec<u8>),
    WriteIfStale(Vec<String>, Vec<u8>),
    Append(Vec<String>, Vec<u8>),
    CreateDir(Vec<String>),
    CreateDirAll(Vec<String>),
    Rename(Vec<String>, Vec<String>, RenameMode),
    RemoveFile(Vec<String>),
    RemoveDir(Vec<String>),
    RemoveTree(Vec<String>),
    Symlink(String, Vec<String>),
    HardLink(Vec<String>, Vec<String>),
    Copy(Vec<String>, Vec<String>),
    CopyTree(Vec<String>, Vec<String>),
}

impl Step {
    fn choose(from: &mut Choices<'_>) -> Self {
        let kind = from.below(32);
        let path = from.path();
        match kind {
            0 => Self::Read(path),
            1 => Self::Kind(path),
            2 => Self::KindItself(path),
            3 | 21 => Self::ReadLink(path),
            4 => Self::List(path),
            5 | 6 => Self::Write(path, vec![from.byte()]),
            7 => Self::WriteNew(path, vec![from.byte()]),
            8 => Self::WriteIf(path, vec![from.byte()]),
            9 => Self::WriteIfStale(path, vec![from.byte()]),
            10 => Self::Append(path, vec![from.byte()]),
            11 | 12 => Self::CreateDir(path),
            13 | 14 => Self::CreateDirAll(path),
            15 => Self::Rename(path, from.path(), RenameMode::Replace),
            16 => Self::Rename(path, from.path(), RenameMode::NoReplace),
            17 => Self::Rename(path, from.path(), RenameMode::Exchange),
            18 => Self::RemoveFile(path),
            19 => Self::RemoveDir(path),
            20 => Self::RemoveTree(path),
            28..=31 => Self::Symlink(from.target(), path),
            22 | 23 => Self::HardLink(path, from.path()),
            24 | 25 => Self::Copy(path, from.path()),
            _ => Self::CopyTree(path, from.path()),
        }
    }
}

/// How often each kind of step succeeded.
pub type Succeeded = BTreeMap<String, u64>;

/// Runs the steps that the bytes choose in an empty directory, on one backend.
pub fn check(directory: &Path, backend: BackendChoice, bytes: &[u8], succeeded: &mut Succeeded) {
    let open = |links| {
        let options = RootOptions::new().backend(backend).links(links);
        Root::open_ambient_with(directory, options).expect("the root opens")
    };
    let root_links = Choices::new(bytes).pick(&POLICIES);
    let root = open(root_links);
    let listing = || {
        let mut real = Vec::new();
        list(directory, "", &mut real);
        real.sort();
        real
    };
    check_files(&root, Model::new(root_links), &listing, bytes, succeeded);
}

const POLICIES: [Links; 2] = [Links::Refuse, Links::Beneath];

/// The policy for links that the bytes choose.
pub fn links_of(bytes: &[u8]) -> Links {
    Choices::new(bytes).pick(&POLICIES)
}

/// Runs the steps that the bytes choose in files that are empty. `listing` tells what is there, as
/// [`Model::listing`] does.
pub fn check_files(
    files: &dyn Files,
    mut model: Model,
    listing: &dyn Fn() -> Vec<String>,
    bytes: &[u8],
    succeeded: &mut Succeeded,
) {
    let mut choices = Choices::new(bytes);
    let links = choices.pick(&POLICIES);
    let mut history = Vec::new();
    for _ in 0..STEPS {
        if choices.is_spent() {
            break;
        }
        let step = Step::choose(&mut choices);
        history.push(step.clone());
        let expected = model.answer(&step);
        match (perform(files, &step), expected) {
            (Ok(answer), Ok(expected)) => {
                assert_eq!(answer, expected, "{links:?} {history:?}");
                let kind = format!("{step:?}");
                let kind = kind.split('(').next().unwrap_or_default();
                *succeeded.entry(kind.to_owned()).or_default() += 1;
            }
            (Err(error), Err(kinds)) => assert!(
                kinds.contains(&error.kind()),
                "{error}, expected {kinds:?}, {links:?} {history:?}"
            ),
            (answer, expected) => {
                panic!("{answer:?}, expected {expected:?}, {links:?} {history:?}")
            }
        }
        assert_eq!(listing(), model.listing(), "{links:?} {history:?}");
    }
}

/// Asks the files, and again where others on this machine rename: the kernel's counters are
/// system-wide.
fn perform(files: &dyn Files, step: &Step) -> Result<String, Error> {
    for _ in 0..100 {
        match call(files, step) {
            Err(error) if error.kind() == ErrorKind::Raced => {}
            answer => return answer,
        }
    }
    call(files, step)
}

fn call(files: &dyn Files, step: &Step) -> Result<String, Error> {
    let fast = WriteOptions::new().durability(Durability::None);
    let path = |names: &[String]| RelPath::parse(names.join("/"));
    let done = |()| String::new();
    let put = |names: &[String], data: &[u8], put: Put<'_>| {
        let written = files.put(&path(names)?, data, put, fast);
        written.map(|_| String::new())
    };
    let whole = TreeLimits::new();
    match step {
        Step::Read(names) => files
            .read(&path(names)?, 1 << 20)
            .map(|data| handfast::escape(&data)),
        Step::Kind(names) => files
            .metadata(&path(names)?, LastLink::Follow)
            .map(|m| m.kind.to_string()),
        Step::KindItself(names) => files
            .metadata(&path(names)?, LastLink::Itself)
            .map(|m| m.kind.to_string()),
        Step::ReadLink(names) => files.read_link(&path(names)?).map(|text| text.to_string()),
        Step::List(names) => {
            let mut found = Vec::new();
            for entry in files.entries(&path(names)?)? {
                found.push(entry?.name.to_string());
            }
            found.sort();
            Ok(found.join(" "))
        }
        Step::Write(names, data) => put(names, data, Put::Replace),
        Step::WriteNew(names, data) => put(names, data, Put::New),
        Step::WriteIf(names, data) => {
            let version = files.version(&path(names)?, false)?;
            put(names, data, Put::If(&version))
        }
        Step::WriteIfStale(names, data) => {
            let version = files.version(&path(names)?, false)?;
            put(names, data, Put::Replace)?;
            put(names, b"never", Put::If(&version))
        }
        Step::Append(names, data) => files
            .append(&path(names)?, data, fast)
            .map(|_| String::new()),
        Step::CreateDir(names) => files.create_dir(&path(names)?, 0o777).map(done),
        Step::CreateDirAll(names) => files.create_dir_all(&path(names)?, 0o777).map(done),
        Step::Rename(from, to, mode) => files.rename(&path(from)?, &path(to)?, *mode).map(done),
        Step::RemoveFile(names) => files.remove(&path(names)?, WhatToRemove::File).map(done),
        Step::RemoveDir(names) => files.remove(&path(names)?, WhatToRemove::Dir).map(done),
        Step::RemoveTree(names) => files.remove_tree(&path(names)?, whole).map(done),
        Step::Symlink(target, names) => files.symlink(target.as_bytes(), &path(names)?).map(done),
        Step::HardLink(from, to) => files.hard_link(&path(from)?, &path(to)?).map(done),
        Step::Copy(from, to) => files
            .copy(&path(from)?, &path(to)?, Put::Replace)
            .map(|_| String::new()),
        Step::CopyTree(from, to) => files.copy_tree(&path(from)?, &path(to)?, whole).map(done),
    }
}

/// What files show, as [`Model::listing`] lists the model.
pub fn shown(files: &dyn Files) -> Vec<String> {
    let mut walk = files
        .walk(&RelPath::root(), TreeLimits::new())
        .expect("the tree can be walked");
    let mut lines = Vec::new();
    while let Some(entry) = walk.next_entry().expect("the tree can be walked") {
        let node = entry.node.expect("nothing is hidden");
        let path = entry.path.escaped();
        lines.push(match entry.kind {
            handfast::FileKind::Symlink => {
                format!("/{path} link {}", files.link_of(&node).expect("a link"))
            }
            handfast::FileKind::Dir => format!("/{path} dir"),
            _ => {
                let content = files.read(&entry.path, 1 << 20).expect("a file");
                let names = node.metadata().nlink;
                format!("/{path} file {names} {}", handfast::escape(&content))
            }
        });
    }
    lines.sort();
    lines
}

/// The real tree, as [`Model::listing`] lists the model.
fn list(dir: &Path, above: &str, lines: &mut Vec<String>) {
    use std::os::unix::fs::MetadataExt;
    for entry in std::fs::read_dir(dir).expect("our own directory").flatten() {
        let name = entry.file_name();
        let path = format!("{above}/{}", name.to_str().expect("from the alphabet"));
        let meta = entry.metadata().expect("nobody else is here");
        if meta.is_symlink() {
            let target = std::fs::read_link(entry.path()).expect("a link");
            lines.push(format!("{path} link {}", target.display()));
        } else if meta.is_dir() {
            lines.push(format!("{path} dir"));
            list(&entry.path(), &path, lines);
        } else {
            let content = std::fs::read(entry.path()).expect("a file");
            let names = meta.nlink();
            lines.push(format!(
                "{path} file {names} {}",
                handfast::escape(&content)
            ));
        }
    }
}
