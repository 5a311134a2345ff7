//! Handfast, with either backend.

use std::io::{Read, Write};

use handfast::{
    BackendChoice, Durability, Error, Links, OpenOptions, RelPath, RenameMode, Root, RootOptions,
    WriteOptions,
};

use super::{Contender, Offered, Prepared, Sync, does};
use crate::buffer::Buffer;
use crate::column::Column;
use crate::site::Site;
use crate::tally::{Ask, entry, read, whole};

/// A root with the default options.
pub(super) struct Handfast {
    column: Column,
    root: Root,
    /// The same directory, with links that stay beneath.
    following: Box<dyn Fn() -> Result<Root, Error>>,
}

impl Handfast {
    pub(super) fn kernel(site: &Site) -> Prepared {
        Self::made(site, Column::Kernel, BackendChoice::Kernel)
    }

    pub(super) fn walk(site: &Site) -> Prepared {
        Self::made(site, Column::Walk, BackendChoice::Walk)
    }

    fn made(site: &Site, column: Column, backend: BackendChoice) -> Prepared {
        let path = site.path("");
        let options = RootOptions::new().backend(backend);
        let root = Root::open_ambient_with(&path, options.clone())?;
        let following =
            move || Root::open_ambient_with(&path, options.clone().links(Links::Beneath));
        Ok(Box::new(Self {
            column,
            root,
            following: Box::new(following),
        }))
    }

    fn open_below(&self, root: Root, paths: &[String]) -> Offered {
        let paths = parsed(paths)?;
        let mut buffer = Buffer::new();
        does(self.column, move |index| {
            let mut file = root.open(&paths[index % paths.len()])?;
            let got = file.read(&mut buffer)?;
            Ok(read(&buffer, got, file.metadata().len))
        })
    }
}

fn parsed(paths: &[String]) -> Result<Vec<RelPath>, Error> {
    paths.iter().map(RelPath::parse).collect()
}

impl Contender for Handfast {
    fn column(&self) -> Column {
        self.column
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        self.open_below(self.root.clone(), paths)
    }

    fn open_linked(&self, path: &str) -> Offered {
        self.open_below((self.following)()?, &[path.to_owned()])
    }

    fn open_parsed(&self, path: &str) -> Offered {
        let (root, text) = (self.root.clone(), path.to_owned());
        let mut buffer = Buffer::new();
        does(self.column, move |_| {
            let path = RelPath::parse(&text)?;
            let mut file = root.open(&path)?;
            let got = file.read(&mut buffer)?;
            Ok(read(&buffer, got, file.metadata().len))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let (root, path) = (self.root.clone(), RelPath::parse(path)?);
        does(self.column, move |_| Ok(whole(&root.read(&path)?)))
    }

    fn stat(&self, path: &str) -> Offered {
        let (root, path) = (self.root.clone(), RelPath::parse(path)?);
        does(self.column, move |_| Ok(root.metadata(&path)?.len))
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let (root, names) = (self.root.clone(), parsed(names)?);
        does(self.column, move |index| {
            let (from, to) = (&names[index % 2], &names[(index + 1) % 2]);
            root.rename(from, to, RenameMode::Replace)?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (root, paths, data) = (self.root.clone(), parsed(paths)?, Buffer::filled());
        let options = OpenOptions::new().read(false).write(true).create_new(true);
        does(self.column, move |index| {
            let mut file = root.open_with(&paths[index % paths.len()], options)?;
            Ok(file.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (root, path, data) = (self.root.clone(), RelPath::parse(path)?, Buffer::filled());
        let options = WriteOptions::new().durability(match sync {
            Sync::No => Durability::None,
            Sync::Full => Durability::Full,
        });
        does(self.column, move |_| {
            root.write_with(&path, &*data, options)?;
            Ok(data.len() as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let (root, paths) = (self.root.clone(), parsed(paths)?);
        does(self.column, move |index| {
            root.create_dir_all(&paths[index % paths.len()])?;
            Ok(1)
        })
    }

    fn read_dir(&self, path: &str, ask: Ask) -> Offered {
        let (root, path) = (self.root.clone(), RelPath::parse(path)?);
        does(self.column, move |_| {
            let mut seen = 0;
            let mut entries = root.read_dir(&path)?;
            while let Some(found) = entries.next_entry()? {
                seen += entry(found.name().as_bytes());
                if ask == Ask::Metadata {
                    seen += found.metadata()?.len;
                }
            }
            Ok(seen)
        })
    }

    fn walk(&self, path: &str, ask: Ask) -> Offered {
        let (root, path) = (self.root.clone(), RelPath::parse(path)?);
        does(self.column, move |_| {
            let mut seen = 0;
            let mut walk = root.walk(&path)?;
            while let Some(found) = walk.next_entry()? {
                seen += entry(found.name().as_bytes());
                if ask == Ask::Metadata {
                    let metadata = found.metadata()?;
                    if metadata.is_file() {
                        seen += metadata.len;
                    }
                }
            }
            Ok(seen)
        })
    }

    fn remove_tree(&self, path: &str) -> Offered {
        let (root, path) = (self.root.clone(), RelPath::parse(path)?);
        does(self.column, move |_| {
            root.remove_tree(&path)?;
            Ok(1)
        })
    }

    fn copy_tree(&self, from: &str, to: &str) -> Offered {
        let (root, from, to) = (
            self.root.clone(),
            RelPath::parse(from)?,
            RelPath::parse(to)?,
        );
        does(self.column, move |_| {
            root.copy_tree(&from, &to)?;
            Ok(1)
        })
    }
}
