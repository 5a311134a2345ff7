//! The directories of a staging tree.

use std::collections::HashMap;

use handfast::files::{At, Attributes};
use handfast::{Error, ErrorKind, Files, Name, Node, RelPath};

use super::{object, require_same};

/// The directories that were made, and those that are held now: the way to the last one that was used.
/// Members mostly come directory by directory, so few are looked up twice, and never more are held than a
/// name is deep.
pub(super) struct Dirs {
    top: Node,
    way: Vec<(Name, Node)>,
    made: HashMap<Box<[u8]>, (u64, u64)>,
    later: Vec<(RelPath, Attributes)>,
}

/// The mode of a directory that has no member of its own.
const IMPLIED: u32 = 0o755;

impl Dirs {
    pub(super) fn new(top: Node) -> Self {
        Self {
            top,
            way: Vec::new(),
            made: HashMap::new(),
            later: Vec::new(),
        }
    }

    pub(super) fn top(&self) -> &Node {
        &self.top
    }

    /// The directory that a path lies in, made as far as it is missing, and the last name.
    pub(super) fn place(
        &mut self,
        files: &dyn Files,
        path: &RelPath,
    ) -> Result<(&Node, Name), Error> {
        let Some((above, name)) = path.as_ref().split_last() else {
            return Err(Error::refused(ErrorKind::Invalid, "the top has no name"));
        };
        let dir = self.enter(files, &above.to_path(), IMPLIED)?;
        Ok((dir, name.to_name()))
    }

    /// Enters a directory, making what is missing: itself with this mode.
    pub(super) fn enter(
        &mut self,
        files: &dyn Files,
        path: &RelPath,
        mode: u32,
    ) -> Result<&Node, Error> {
        let shared = path
            .segments()
            .zip(&self.way)
            .take_while(|(segment, (name, _))| segment.as_bytes() == name.as_bytes())
            .count();
        self.way.truncate(shared);
        let depth = path.depth();
        let mut len = path
            .segments()
            .take(shared)
            .map(|it| it.as_bytes().len() + 1)
            .sum::<usize>();
        for (number, segment) in path.segments().enumerate().skip(shared) {
            len += segment.as_bytes().len();
            let so_far = &path.as_bytes()[..len];
            len += 1;
            let name = segment.to_name();
            let mode = if number + 1 == depth { mode } else { IMPLIED };
            let above = self.way.last().map_or(&self.top, |(_, node)| node);
            let node = match self.made.get(so_far) {
                Some(made) => {
                    let node = files.lookup(above, segment)?;
                    require_same(&node.metadata().identity, *made)?;
                    node
                }
                None => {
                    let node = files.create_dir_at(At::new(above, &name), mode)?;
                    self.made
                        .insert(so_far.into(), object(&node.metadata().identity));
                    node
                }
            };
            self.way.push((name, node));
        }
        Ok(self.way.last().map_or(&self.top, |(_, node)| node))
    }

    /// Remembers attributes for the end: a directory that may not be written is filled first, and filling
    /// changes its times.
    pub(super) fn finish_later(&mut self, path: RelPath, attributes: Attributes) {
        self.later.push((path, attributes));
    }

    /// Gives the directories their attributes, the deepest first. Where they will be moved one by one, the
    /// owner may write them until then; the answer is what they get afterwards.
    pub(super) fn finish(
        &mut self,
        files: &dyn Files,
        is_moved: bool,
    ) -> Result<Vec<(RelPath, u32)>, Error> {
        let mut later = std::mem::take(&mut self.later);
        // The last attributes that the archive gives a directory count; within one depth the order
        // does not matter.
        later.sort_by_key(|(path, _)| std::cmp::Reverse(path.depth()));
        let mut modes = Vec::new();
        for (path, mut attributes) in later {
            if let Some(mode) = attributes.mode
                && is_moved
                && mode & 0o700 != 0o700
            {
                attributes.mode = Some(mode | 0o700);
                modes.push((path.clone(), mode));
            }
            let dir = self.enter(files, &path, IMPLIED)?;
            files.set_attributes_of(dir, &attributes)?;
            // What is held is what it was before; the next one looks again.
            self.way.pop();
        }
        Ok(modes)
    }
}
