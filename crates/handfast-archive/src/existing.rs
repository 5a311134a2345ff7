//! What is there already, where an archive is merged into a directory.

use handfast::files::LastLink;
use handfast::{Error, FileKind, Files, Node, RelPath};

use crate::merge::{IN_THE_WAY, find, may_replace};
use crate::options::Overwrite;
use crate::refusal::{Refusal, Rule};
use crate::target::Target;

/// The directory that is merged into.
pub(crate) struct Existing<'a> {
    files: &'a dyn Files,
    top: Node,
}

impl<'a> Existing<'a> {
    pub(crate) fn of(target: &Target<'a>) -> Result<Option<Self>, Error> {
        if !target.merges {
            return Ok(None);
        }
        let files = target.files();
        let top = files.node(target.path, LastLink::Follow)?;
        Ok(Some(Self { files, top }))
    }

    /// Whether something can go to a path. It is asked once more when the tree is published; this is for
    /// the list of verdicts.
    pub(crate) fn check(
        &self,
        path: &RelPath,
        new: FileKind,
        overwrite: Overwrite,
    ) -> Result<(), Refusal> {
        let mut at = self.top.clone();
        let mut rest = path.depth();
        for name in path.segments() {
            rest -= 1;
            let below = find(self.files, &at, &RelPath::from(name))
                .map_err(|error| Refusal::new(Rule::Policy, error.detail()))?;
            let Some(node) = below else { return Ok(()) };
            let is_fine = match (node.kind(), rest) {
                (FileKind::Dir, 1..) => true,
                (_, 1..) => false,
                (FileKind::Dir, 0) if new == FileKind::Dir => true,
                (there, 0) => overwrite == Overwrite::Replace && may_replace(there, new),
            };
            if !is_fine {
                return Err(Refusal::new(Rule::Exists, IN_THE_WAY));
            }
            at = node;
        }
        Ok(())
    }
}
