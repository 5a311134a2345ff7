//! Which files are looked at; each is read through a root.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use handfast::{ErrorKind, Mounts, RelPath, Root, RootOptions};
use handfast_audit::{Input, Lang, MAX_FILE, Skipped, choice};
use ignore::WalkBuilder;

/// Tests of a named file are looked for in at most this many neighbours.
const MAX_NEIGHBOURS: usize = 200;

/// What there is to look at, and what could not be read.
#[derive(Debug, Default)]
pub(super) struct AuditInputs {
    pub(super) inputs: Vec<Input>,
    pub(super) skipped: Vec<Skipped>,
    /// A whole directory was asked for.
    pub(super) has_directory: bool,
}

/// Collects a file with the tests around it, or all files of a directory.
pub(super) fn collect(path: &Path, found: &mut AuditInputs) -> Result<(), String> {
    let options = || {
        RootOptions::new()
            .mounts(Mounts::Allow)
            .read_limit(MAX_FILE as u64 + 1)
    };
    match Root::open_ambient_with(path, options()) {
        Ok(root) => {
            found.has_directory = true;
            directory(&root, path, found);
            Ok(())
        }
        Err(_) => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or_else(|| Path::new("."));
            let name = path.file_name().ok_or("it has no name")?;
            let root =
                Root::open_ambient_with(parent, options()).map_err(|error| error.detail())?;
            let rel = RelPath::parse(name.as_bytes()).map_err(|error| error.detail())?;
            let bytes = root.read(&rel).map_err(|error| error.detail())?;
            found.inputs.push(Input {
                path: shown(path),
                bytes,
                is_named: true,
                is_context: false,
            });
            neighbours(&root, parent, path, &mut found.inputs);
            Ok(())
        }
    }
}

/// The directory of a file, opened, and its name there.
fn place(path: &Path) -> Result<(Root, RelPath), String> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    let name = path.file_name().ok_or("it has no name")?;
    let root = Root::open_ambient_with(parent, RootOptions::new().mounts(Mounts::Allow))
        .map_err(|error| error.detail())?;
    let rel = RelPath::parse(name.as_bytes()).map_err(|error| error.detail())?;
    Ok((root, rel.to_owned()))
}

/// A whole file: a configuration, a baseline.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let (root, name) = place(path)?;
    root.read(&name).map_err(|error| error.detail())
}

/// Writes a whole file at once.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let (root, name) = place(path)?;
    root.write(&name, bytes)
        .map(|_| ())
        .map_err(|error| error.detail())
}

fn directory(root: &Root, base: &Path, found: &mut AuditInputs) {
    let mut names = Vec::new();
    for entry in WalkBuilder::new(base)
        .hidden(true)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .build()
    {
        let Ok(entry) = entry else { continue };
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let shown = shown(entry.path());
        if is_file && choice::may_be_source(&shown) {
            names.push((entry.path().to_owned(), shown));
        }
    }
    for (path, shown) in names {
        let Ok(rel) = path.strip_prefix(base) else {
            continue;
        };
        let Ok(rel) = RelPath::parse(rel.as_os_str().as_bytes()) else {
            continue;
        };
        match root.read(&rel) {
            Ok(bytes) if !choice::is_source(&shown, &bytes) => {}
            Ok(bytes) => found.inputs.push(Input {
                path: shown,
                bytes,
                is_named: false,
                is_context: false,
            }),
            Err(error) => found.skipped.push(Skipped {
                file: shown,
                reason: match error.kind() {
                    ErrorKind::Limit => format!("larger than {} KiB", MAX_FILE / 1024),
                    _ => error.detail(),
                },
            }),
        }
    }
}

/// Siblings and tests near a named file: only looked things up in.
fn neighbours(root: &Root, parent: &Path, named: &Path, inputs: &mut Vec<Input>) {
    let Some(lang) = Lang::of_path(&shown(named)) else {
        return;
    };
    let mut found = Vec::new();
    for entry in WalkBuilder::new(parent)
        .max_depth(Some(2))
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .build()
    {
        let Ok(entry) = entry else { continue };
        if found.len() >= MAX_NEIGHBOURS {
            break;
        }
        let path = entry.path();
        let same = choice::is_neighbour(lang, &shown(path));
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && same
            && path.file_name() != named.file_name()
        {
            found.push(path.to_owned());
        }
    }
    for path in found {
        let Ok(rel) = path.strip_prefix(parent) else {
            continue;
        };
        let Ok(rel) = RelPath::parse(rel.as_os_str().as_bytes()) else {
            continue;
        };
        if let Ok(bytes) = root.read(&rel) {
            inputs.push(Input {
                path: shown(&path),
                bytes,
                is_named: false,
                is_context: true,
            });
        }
    }
}

/// Relative to where we are, with `/`, escaped.
fn shown(path: &Path) -> String {
    let text = handfast::escape(path.as_os_str().as_bytes());
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}
