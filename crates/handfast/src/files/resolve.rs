//! From a path to handles: one name at a time, every step judged.

use crate::error::{Error, ErrorKind, Fault};
use crate::options::Links;
use crate::path::{Limits, Name, NameRef, RelPath};
use crate::verb::Verb;

use super::interface::Files;
use super::itinerary::{Itinerary, Move, Origin, origin};
use super::node::Node;

/// What to do with a link as the last name of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LastLink {
    /// Follow it, where the files' policy allows.
    Follow,
    /// The link itself is meant.
    Itself,
}

/// Where a path leads.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The directory that holds the last name; `None` if the path leads to the top.
    pub dir: Option<Node>,
    /// The last name; `None` if the path leads to a directory by `..` or to the top.
    pub name: Option<Name>,
    /// The object, if there is one.
    pub node: Option<Node>,
    /// Whether the last name of the path was a link that was followed. Nothing may be created then.
    pub through_link: bool,
    /// Whether a directory was asked for, by the path or by a link.
    pub must_be_dir: bool,
}

/// One step of a walk, before it is taken: a name that is entered, or a link that is followed.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The directory.
    pub dir: &'a Node,
    /// The name in it.
    pub name: NameRef<'a>,
    /// The object under the name.
    pub node: &'a Node,
    /// Whether the step follows a link.
    pub is_link: bool,
}

/// Walks a path. The judge is asked for every directory that is entered and every link that is
/// followed, and may refuse; the last object is left for the verb to judge.
pub(super) fn resolve<F: Files + ?Sized>(
    files: &F,
    path: &RelPath,
    last: LastLink,
    judge: &mut dyn FnMut(Step<'_>) -> Result<(), Error>,
) -> Result<Resolved, Error> {
    let mut walk = Itinerary::new(path.as_ref());
    let mut held = vec![files.top()?];
    while let Some(step) = walk.next() {
        let here = held.last().expect("the top stays").clone();
        let name = match step {
            Move::Stay => continue,
            Move::Up => {
                if held.len() == 1 || here.is_boundary() {
                    return Err(escape());
                }
                held.pop();
                continue;
            }
            Move::Down(name) => NameRef::check(&name, &LIMITS).map_err(bare)?.to_name(),
        };
        let node = match files.lookup(&here, name.as_ref()) {
            Err(error) if error.kind() == ErrorKind::NotFound && walk.is_done() => {
                return Ok(ended(path, &walk, here, name, None));
            }
            node => node?,
        };
        let is_link = node.metadata().is_symlink();
        if walk.is_done() && (!is_link || last == LastLink::Itself) {
            return Ok(ended(path, &walk, here, name, Some(node)));
        }
        if is_link && files.links() == Links::Refuse {
            return Err(Error::refused(
                ErrorKind::Link,
                "a symbolic link is in the way",
            ));
        }
        judge(Step {
            dir: &here,
            name: name.as_ref(),
            node: &node,
            is_link,
        })?;
        if is_link {
            follow(files, &mut walk, &mut held, &node)?;
        } else if node.metadata().is_dir() {
            held.push(node);
        } else {
            return Err(Error::refused(
                ErrorKind::NotADirectory,
                "something on the way is not a directory",
            ));
        }
    }
    Ok(Resolved {
        dir: None,
        name: None,
        node: held.pop(),
        through_link: walk.through_link(),
        must_be_dir: true,
    })
}

/// What names in link targets may add up to.
const LIMITS: Limits = Limits::DEFAULT;

fn ended(
    path: &RelPath,
    walk: &Itinerary<'_>,
    dir: Node,
    name: Name,
    node: Option<Node>,
) -> Resolved {
    Resolved {
        dir: Some(dir),
        name: Some(name),
        node,
        through_link: walk.through_link(),
        must_be_dir: path.must_be_dir() || walk.must_be_dir(),
    }
}

fn follow<F: Files + ?Sized>(
    files: &F,
    walk: &mut Itinerary<'_>,
    held: &mut Vec<Node>,
    link: &Node,
) -> Result<(), Error> {
    let target = files.link_of(link)?;
    let target = target.as_bytes();
    if origin(target) == Origin::Here {
        return walk.splice(target).map_err(bare);
    }
    let link = files.absolute_link(target)?.ok_or_else(escape)?;
    *held = link.way;
    walk.splice(&link.rest).map_err(bare)
}

/// An error of a step; whoever asked for the path puts it in.
fn bare(fault: Fault) -> Error {
    Error::new(Verb::Resolve, "", fault)
}

fn escape() -> Error {
    Error::refused(ErrorKind::Escape, "a link leads outside the root")
}
