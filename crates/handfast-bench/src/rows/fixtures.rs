//! Files to work on. They are made once for each site.
#![expect(
    clippy::disallowed_methods,
    reason = "the scratch directory is ours alone"
)]

use std::fs;
use std::io;
use std::path::Path;

use crate::Failure;
use crate::buffer::Buffer;
use crate::site::Site;

/// Directories of a path of that depth, and a last component: `d1/d2/d3/name`.
pub(super) fn path(depth: usize, name: &str) -> String {
    let mut text = String::new();
    for level in 1..depth {
        text += &format!("d{level}/");
    }
    text + name
}

/// As [`path`]; its directories are there.
pub(super) fn free(site: &Site, depth: usize, name: &str) -> Result<String, Failure> {
    let text = path(depth, name);
    if let Some(parent) = site.path(&text).parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(text)
}

/// As [`path`], with a small file.
pub(super) fn file(site: &Site, depth: usize, name: &str) -> Result<String, Failure> {
    let text = free(site, depth, name)?;
    fs::write(site.path(&text), &*Buffer::filled())?;
    Ok(text)
}

/// A small file through a link that stays inside: `here/file`, where `here` is `d1/d2/d3`.
pub(super) fn linked(site: &Site) -> Result<String, Failure> {
    let text = file(site, 4, "file")?;
    let target = Path::new(&text).parent().ok_or("the file has no parent")?;
    let link = site.path("here");
    match std::os::unix::fs::symlink(target, link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok("here/file".to_owned()),
    }
}

/// A directory with many files.
pub(super) fn wide(site: &Site) -> Result<String, Failure> {
    fill(&site.path("wide"), site.scale().wide)?;
    Ok("wide".to_owned())
}

/// Directories with files.
pub(super) fn tree(site: &Site) -> Result<String, Failure> {
    grow(&site.path("tree"), site.scale().tree)?;
    Ok("tree".to_owned())
}

/// The same, smaller.
pub(super) fn small_tree(site: &Site) -> Result<String, Failure> {
    grow(&site.path("small-tree"), site.scale().small_tree)?;
    Ok("small-tree".to_owned())
}

/// A directory with very many files of that length, none of which takes any space, and some of
/// their names: spread evenly, and as many at every size.
pub(super) fn crowd(site: &Site, files: usize) -> Result<Vec<String>, Failure> {
    let dir = format!("crowd-{files}");
    let top = site.path(&dir);
    fs::create_dir_all(&top)?;
    for file in 0..files {
        fs::File::create(top.join(name(file)))?.set_len(64)?;
    }
    let asked = files.min(100);
    let step = files / asked;
    let path = |index| format!("{dir}/{}", name(index * step));
    Ok((0..asked).map(path).collect())
}

/// Directories with a hundred files each, so many in all.
pub(super) fn forest(site: &Site, files: usize) -> Result<String, Failure> {
    let text = format!("forest-{files}");
    let each = files.min(100);
    grow(&site.path(&text), (files / each, each))?;
    Ok(text)
}

/// Makes directories with files.
pub(super) fn grow(top: &Path, (dirs, files): (usize, usize)) -> Result<(), Failure> {
    fs::create_dir_all(top)?;
    for dir in 0..dirs {
        fill(&top.join(format!("dir-{dir:03}")), files)?;
    }
    Ok(())
}

fn fill(dir: &Path, files: usize) -> Result<(), Failure> {
    fs::create_dir_all(dir)?;
    for file in 0..files {
        // Content and no holes, which are copied in another way.
        fs::write(dir.join(name(file)), &b"content"[..file % 7])?;
    }
    Ok(())
}

fn name(file: usize) -> String {
    format!("file-{file:05}.txt")
}
