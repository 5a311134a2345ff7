//! What a tree holds, as lines that can be compared.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use handfast::files::LastLink;
use handfast::{FileKind, Files, Metadata, OpenOptions, RelPath, TreeLimits, escape};

/// A tree as its files tell it: through handles alone.
#[must_use]
pub fn tree_by_handles(files: &dyn Files) -> Vec<String> {
    let mut walk = files
        .walk(&RelPath::root(), TreeLimits::new())
        .expect("the tree can be walked");
    let mut lines = Vec::new();
    while let Some(entry) = walk.next_entry().expect("the tree can be walked") {
        let node = entry.node.expect("nothing in the tree is hidden");
        let metadata = files
            .metadata_of(&node)
            .expect("an object can be looked at");
        let content = match node.kind() {
            FileKind::File => {
                let file = files
                    .open_node(&node, OpenOptions::new())
                    .expect("readable");
                let mut data = vec![0; 4096];
                let got = file.read_at(&mut data, 0).expect("readable");
                escape(&data[..got])
            }
            FileKind::Symlink => target(files.link_of(&node).expect("a link").as_bytes()),
            _ => String::new(),
        };
        lines.push(line(&entry.path.escaped(), &metadata, &content));
    }
    lines.sort();
    // The top itself: nothing may change it.
    let top = files
        .metadata(&RelPath::root(), LastLink::Itself)
        .expect("the top can be looked at");
    lines.push(format!("top {:o}", top.mode & 0o7777));
    lines
}

fn line(path: &str, metadata: &Metadata, content: &str) -> String {
    // Times differ from tree to tree, but for the one that a case sets.
    let is_set = metadata.modified.seconds == 9;
    format!(
        "{path} {} {:o} {}:{} {} {} {content}",
        metadata.kind,
        metadata.mode & 0o7777,
        metadata.uid,
        metadata.gid,
        if metadata.is_dir() { 0 } else { metadata.nlink },
        if is_set { "9" } else { "-" },
    )
}

/// A tree as the disk has it: names, kinds, modes and contents.
#[must_use]
pub fn tree_on_disk(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(at) = dirs.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_file() {
                escape(&std::fs::read(&path).unwrap())
            } else if metadata.is_symlink() {
                target(std::fs::read_link(&path).unwrap().as_os_str().as_bytes())
            } else {
                String::new()
            };
            let name = path.strip_prefix(dir).unwrap().as_os_str().as_bytes();
            lines.push(format!(
                "{} {:o} {}:{} {content}",
                escape(name),
                metadata.mode(),
                metadata.uid(),
                metadata.gid()
            ));
            if metadata.is_dir() {
                dirs.push(path);
            }
        }
    }
    lines.sort();
    lines
}

/// Absolute targets name the scene, which differs.
pub(crate) fn target(text: &[u8]) -> String {
    match text.first() {
        Some(b'/') => "/".to_owned(),
        _ => escape(text),
    }
}
