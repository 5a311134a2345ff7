//! Every verb, as something that can be compared: what it answers, without what differs from tree
//! to tree.

use std::io::Write;

use handfast::files::{Attributes, LastLink, Put, WhatToRemove};
use handfast::{
    Durability, Error, Files, Name, OpenOptions, RelPath, RenameMode, Timestamp, TreeLimits,
    WriteOptions, escape,
};

use crate::tree::target;

/// One verb with everything but its path.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Whether it changes the tree where it succeeds.
    pub changes: bool,
    /// Asks for it.
    pub act: fn(&dyn Files, &RelPath) -> Result<String, Error>,
}

const fn looks(name: &'static str, act: fn(&dyn Files, &RelPath) -> Result<String, Error>) -> Case {
    Case {
        name,
        changes: false,
        act,
    }
}

const fn changes(
    name: &'static str,
    act: fn(&dyn Files, &RelPath) -> Result<String, Error>,
) -> Case {
    Case {
        name,
        changes: true,
        act,
    }
}

/// The table.
pub const CASES: &[Case] = &[
    looks("metadata", |f, p| look(f, p, LastLink::Follow)),
    looks("metadata itself", |f, p| look(f, p, LastLink::Itself)),
    looks("node", |f, p| {
        let node = f.node(p, LastLink::Follow)?;
        Ok(format!("{} {}", node.kind(), f.metadata_of(&node)?.kind))
    }),
    looks("read_link", |f, p| {
        f.read_link(p).map(|text| target(text.as_bytes()))
    }),
    looks("read", |f, p| f.read(p, 1 << 20).map(|data| escape(&data))),
    looks("read small", |f, p| f.read(p, 5).map(|data| escape(&data))),
    looks("read_versioned", |f, p| {
        let (data, version) = f.read_versioned(p, f.read_limit())?;
        Ok(format!("{} {}", escape(&data), version.len()))
    }),
    looks("read_versioned small", |f, p| {
        f.read_versioned(p, 5).map(|(data, _)| escape(&data))
    }),
    looks("version", |f, p| {
        f.version(p, false).map(|version| version.len().to_string())
    }),
    looks("version digest", |f, p| {
        f.version(p, true)
            .map(|version| format!("{:?}", version.digest()))
    }),
    looks("entries", entries),
    looks("walk", |f, p| walk(f, p, TreeLimits::new())),
    looks("walk entries limit", |f, p| {
        walk(f, p, TreeLimits::new().with_entries(3))
    }),
    looks("walk depth limit", |f, p| {
        walk(f, p, TreeLimits::new().with_depth(1))
    }),
    looks("open", |f, p| open(f, p, OpenOptions::new(), |_| Ok(()))),
    looks("open write", |f, p| {
        open(f, p, OpenOptions::new().write(true), |_| Ok(()))
    }),
    changes("open and write", |f, p| {
        open(f, p, OpenOptions::new().write(true), |file| {
            file.write_at(b"XY", 1)?;
            file.set_len(6)?;
            file.sync()
        })
    }),
    changes("open truncate", |f, p| {
        open(f, p, OpenOptions::new().write(true).truncate(true), |_| {
            Ok(())
        })
    }),
    changes("open append", |f, p| {
        open(f, p, OpenOptions::new().append(true), |file| {
            file.write_at(b"!", 0).map(drop)
        })
    }),
    changes("open create", |f, p| {
        let how = OpenOptions::new().write(true).create(true).mode(0o604);
        open(f, p, how, |file| file.write_at(b"C", 0).map(drop))
    }),
    changes("open create-new", |f, p| {
        let how = OpenOptions::new().write(true).create_new(true);
        open(f, p, how, |file| file.write_at(b"N", 0).map(drop))
    }),
    changes("put", |f, p| done(f.put(p, b"new", Put::Replace, fast()))),
    changes("put mode", |f, p| {
        done(f.put(p, b"new", Put::Replace, fast().mode(0o611)))
    }),
    changes("put created mode", |f, p| {
        done(f.put(p, b"new", Put::Replace, fast().created_mode(0o777)))
    }),
    changes("put new", |f, p| done(f.put(p, b"new", Put::New, fast()))),
    changes("put if", |f, p| {
        let version = f.version(p, false)?;
        done(f.put(p, b"new", Put::If(&version), fast()))
    }),
    changes("put if stale", |f, p| {
        let version = f.version(&path("dir/inner"), true)?;
        done(f.put(p, b"new", Put::If(&version), fast()))
    }),
    changes("stage", |f, p| stage(f, p, Put::Replace)),
    changes("stage new", |f, p| stage(f, p, Put::New)),
    changes("stage if", |f, p| {
        let version = f.version(p, false)?;
        stage(f, p, Put::If(&version))
    }),
    changes("stage dropped", |f, p| {
        let mut staged = f.stage(p, fast())?;
        staged.write_all(b"never seen")?;
        Ok(String::new())
    }),
    changes("append", |f, p| done(f.append(p, b"more", fast()))),
    changes("append mode", |f, p| {
        done(f.append(p, b"more", fast().mode(0o622)))
    }),
    changes("append created mode", |f, p| {
        done(f.append(p, b"more", fast().created_mode(0o777)))
    }),
    changes("create_dir", |f, p| unit(f.create_dir(p, 0o751))),
    changes("create_dir_all", |f, p| unit(f.create_dir_all(p, 0o751))),
    changes("symlink", |f, p| unit(f.symlink(b"file", p))),
    changes("symlink up", |f, p| unit(f.symlink(b"../file", p))),
    changes("symlink out", |f, p| unit(f.symlink(b"../../../secret", p))),
    changes("symlink absolute", |f, p| {
        unit(f.symlink(b"/etc/passwd", p))
    }),
    changes("symlink empty", |f, p| unit(f.symlink(b"", p))),
    changes("hard_link from", |f, p| {
        unit(f.hard_link(p, &path("linked")))
    }),
    changes("hard_link to", |f, p| unit(f.hard_link(&path("file"), p))),
    changes("rename from", |f, p| {
        unit(f.rename(p, &path("new"), RenameMode::NoReplace))
    }),
    changes("rename to", |f, p| {
        unit(f.rename(&path("file"), p, RenameMode::Replace))
    }),
    changes("rename to new", |f, p| {
        unit(f.rename(&path("file"), p, RenameMode::NoReplace))
    }),
    changes("rename dir to", |f, p| {
        unit(f.rename(&path("empty"), p, RenameMode::Replace))
    }),
    changes("exchange", |f, p| {
        unit(f.rename(p, &path("file"), RenameMode::Exchange))
    }),
    changes("exchange slash", |f, p| {
        unit(f.rename(&path("sub"), p, RenameMode::Exchange))
    }),
    changes("remove file", |f, p| unit(f.remove(p, WhatToRemove::File))),
    changes("remove file if", |f, p| {
        let version = f.version(p, false)?;
        unit(f.remove(p, WhatToRemove::FileIf(&version)))
    }),
    changes("remove file if stale", |f, p| {
        let version = f.version(&path("dir/inner"), true)?;
        unit(f.remove(p, WhatToRemove::FileIf(&version)))
    }),
    changes("remove dir", |f, p| unit(f.remove(p, WhatToRemove::Dir))),
    changes("remove_tree", |f, p| {
        unit(f.remove_tree(p, TreeLimits::new()))
    }),
    changes("remove_tree depth limit", |f, p| {
        unit(f.remove_tree(p, TreeLimits::new().with_depth(0)))
    }),
    changes("copy from", |f, p| {
        done(f.copy(p, &path("copied"), Put::Replace))
    }),
    changes("copy to", |f, p| {
        done(f.copy(&path("dir/inner"), p, Put::Replace))
    }),
    changes("copy new to", |f, p| {
        done(f.copy(&path("dir/inner"), p, Put::New))
    }),
    changes("copy_tree from", |f, p| {
        unit(f.copy_tree(p, &path("copied"), TreeLimits::new()))
    }),
    changes("copy_tree to", |f, p| {
        unit(f.copy_tree(&path("dir/deep"), p, TreeLimits::new()))
    }),
    changes("copy_tree with a link", |f, p| {
        unit(f.copy_tree(&path("dir"), p, TreeLimits::new()))
    }),
    changes("copy_tree depth limit", |f, p| {
        unit(f.copy_tree(p, &path("copied"), TreeLimits::new().with_depth(0)))
    }),
    changes("set_attributes nothing", |f, p| {
        unit(f.set_attributes(p, &Attributes::new()))
    }),
    changes("set_attributes mode", |f, p| {
        unit(f.set_attributes(p, &Attributes::new().mode(0o711)))
    }),
    changes("set_attributes times", |f, p| {
        unit(f.set_attributes(p, &Attributes::new().times(None, Some(NINE))))
    }),
    changes("set_attributes all", |f, p| {
        let owner = f.metadata(&RelPath::root(), LastLink::Itself)?.uid;
        let all = Attributes::new()
            .owner(Some(owner), None)
            .times(Some(NINE), Some(NINE))
            .mode(0o705);
        unit(f.set_attributes(p, &all))
    }),
    changes("xattr", |f, p| {
        let node = f.node(p, LastLink::Follow)?;
        f.set_xattr_of(&node, "user.conformance", Some(b"value"))?;
        let value = f.xattr_of(&node, "user.conformance")?;
        let names = f.xattrs_of(&node)?;
        f.set_xattr_of(&node, "user.conformance", None)?;
        let after = f.xattr_of(&node, "user.conformance")?;
        Ok(format!("{value:?} {names:?} {after:?}"))
    }),
    changes("xattr of another name", |f, p| {
        let node = f.node(p, LastLink::Follow)?;
        unit(f.set_xattr_of(&node, "security.conformance", Some(b"value")))
    }),
    looks("lookup below a file", |f, p| {
        let node = f.node(p, LastLink::Itself)?;
        let name = Name::parse("inner").expect("a name");
        f.lookup(&node, name.as_ref())
            .map(|node| node.kind().to_string())
    }),
];

const NINE: Timestamp = Timestamp {
    seconds: 9,
    nanoseconds: 9,
};

fn fast() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("the table's paths are valid")
}

fn unit(done: Result<(), Error>) -> Result<String, Error> {
    done.map(|()| String::new())
}

/// The version of a written file can be read.
fn done(written: Result<handfast::Written, Error>) -> Result<String, Error> {
    Ok(written?.version()?.len().to_string())
}

fn look(files: &dyn Files, path: &RelPath, last: LastLink) -> Result<String, Error> {
    let seen = files.metadata(path, last)?;
    let len = if seen.is_file() { seen.len } else { 0 };
    Ok(format!("{} {:o} {len}", seen.kind, seen.mode))
}

fn entries(files: &dyn Files, path: &RelPath) -> Result<String, Error> {
    let mut names = Vec::new();
    for entry in files.entries(path)? {
        let entry = entry?;
        names.push(format!("{} {}", entry.name.escaped(), entry.kind));
    }
    names.sort();
    Ok(names.join(", "))
}

fn walk(files: &dyn Files, path: &RelPath, limits: TreeLimits) -> Result<String, Error> {
    let mut walk = files.walk(path, limits)?;
    let mut seen = Vec::new();
    while let Some(entry) = walk.next_entry()? {
        seen.push(format!("{} {}", entry.path.escaped(), entry.kind));
    }
    Ok(seen.join(", "))
}

fn open(
    files: &dyn Files,
    path: &RelPath,
    how: OpenOptions,
    work: impl FnOnce(&dyn handfast::files::FileHandle) -> Result<(), Error>,
) -> Result<String, Error> {
    let file = files.open(path, how)?;
    work(&*file)?;
    let metadata = file.metadata()?;
    Ok(format!("{} {}", metadata.kind, metadata.len))
}

fn stage(files: &dyn Files, path: &RelPath, put: Put<'_>) -> Result<String, Error> {
    let mut staged = files.stage(path, fast())?;
    staged.write_all(b"staged")?;
    done(staged.publish(put))
}
