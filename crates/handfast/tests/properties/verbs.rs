//! The verbs as a state machine: whatever is done in whatever order, answers and tree are those of
//! the model, and nothing outside changes.

use std::collections::BTreeMap;
use std::path::Path;

use handfast::{
    BackendChoice, Durability, Error, ErrorKind, Links, RelPath, RenameMode, Root, RootOptions,
    WriteOptions,
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
    let mut choices = Choices::new(bytes);
    let links = choices.pick(&[Links::Refuse, Links::Beneath]);
    let options = RootOptions::new().backend(backend).links(links);
    let root = Root::open_ambient_with(directory, options).expect("the root opens");
    let mut model = Model::new(links);
    let mut history = Vec::new();
    for _ in 0..STEPS {
        if choices.is_spent() {
            break;
        }
        let step = Step::choose(&mut choices);
        history.push(step.clone());
        let expected = model.answer(&step);
        match (perform(&root, &step), expected) {
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
        let mut real = Vec::new();
        list(directory, "", &mut real);
        real.sort();
        assert_eq!(real, model.listing(), "{links:?} {history:?}");
    }
}

/// Calls the library, and again where others on this machine rename: the kernel's counters are
/// system-wide.
fn perform(root: &Root, step: &Step) -> Result<String, Error> {
    for _ in 0..100 {
        match call(root, step) {
            Err(error) if error.kind() == ErrorKind::Raced => {}
            answer => return answer,
        }
    }
    call(root, step)
}

fn call(root: &Root, step: &Step) -> Result<String, Error> {
    let fast = WriteOptions::new().durability(Durability::None);
    let path = |names: &[String]| RelPath::parse(names.join("/"));
    let done = |()| String::new();
    match step {
        Step::Read(names) => root.read(&path(names)?).map(|data| handfast::escape(&data)),
        Step::Kind(names) => root.metadata(&path(names)?).map(|m| m.kind.to_string()),
        Step::KindItself(names) => root
            .symlink_metadata(&path(names)?)
            .map(|m| m.kind.to_string()),
        Step::ReadLink(names) => root.read_link(&path(names)?).map(|text| text.to_string()),
        Step::List(names) => {
            let mut listed = root.read_dir(&path(names)?)?;
            let mut found = Vec::new();
            while let Some(entry) = listed.next_entry()? {
                found.push(entry.name().to_string());
            }
            found.sort();
            Ok(found.join(" "))
        }
        Step::Write(names, data) => root
            .write_with(&path(names)?, data, fast)
            .map(|_| String::new()),
        Step::WriteNew(names, data) => root
            .write_new_with(&path(names)?, data, fast)
            .map(|_| String::new()),
        Step::WriteIf(names, data) => {
            let version = root.version(&path(names)?)?;
            root.write_if_with(&path(names)?, &version, data, fast)
                .map(|_| String::new())
        }
        Step::WriteIfStale(names, data) => {
            let version = root.version(&path(names)?)?;
            root.write_with(&path(names)?, data, fast)?;
            root.write_if_with(&path(names)?, &version, "never", fast)
                .map(|_| String::new())
        }
        Step::Append(names, data) => root.append(&path(names)?, data).map(|_| String::new()),
        Step::CreateDir(names) => root.create_dir(&path(names)?).map(|_| String::new()),
        Step::CreateDirAll(names) => root.create_dir_all(&path(names)?).map(|_| String::new()),
        Step::Rename(from, to, mode) => root.rename(&path(from)?, &path(to)?, *mode).map(done),
        Step::RemoveFile(names) => root.remove_file(&path(names)?).map(done),
        Step::RemoveDir(names) => root.remove_dir(&path(names)?).map(done),
        Step::RemoveTree(names) => root.remove_tree(&path(names)?).map(done),
        Step::Symlink(target, names) => root.symlink(target, &path(names)?).map(done),
        Step::HardLink(from, to) => root.hard_link(&path(from)?, &path(to)?).map(done),
        Step::Copy(from, to) => root
            .copy_with(&path(from)?, &path(to)?, fast)
            .map(|_| String::new()),
        Step::CopyTree(from, to) => root.copy_tree(&path(from)?, &path(to)?).map(done),
    }
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
