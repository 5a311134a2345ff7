//! From a path to handles: one name at a time, every step judged.

use crate::error::{Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::options::Links;
use crate::path::{Limits, Name, NameRef, RelPath};
use crate::resolve::itinerary::{
    Itinerary, Move, Origin, check_held, escape, link_in_the_way, not_a_directory_on_the_way,
    origin,
};
use crate::verb::Verb;

use super::interface::Files;
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
    /// The directory that holds the last name; `None` if there is none: see `name`.
    pub dir: Option<Node>,
    /// The last name; `None` if the path leads to a directory by `..` or to the top, or if its last
    /// name is a link that leads into nothing.
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
    let mut held = vec![files.top()?];
    walk_from(files, &mut held, path, last, judge)
}

/// Whether the way to the directory that holds the last name leads through a directory.
pub(super) fn leads_through<F: Files + ?Sized>(
    files: &F,
    path: &RelPath,
    directory: &Identity,
) -> Result<bool, Error> {
    let mut held = vec![files.top()?];
    let is_it = |node: &Node| node.metadata().identity.same_object(directory);
    if is_it(&held[0]) {
        return Ok(true);
    }
    if files.links() == Links::Refuse {
        // The spelling decides.
        return Ok(false);
    }
    walk_from(files, &mut held, path, LastLink::Itself, &mut |_| Ok(()))?;
    Ok(held.iter().any(is_it))
}

/// Walks a path; `held` are the directories from the top down to the current one.
fn walk_from<F: Files + ?Sized>(
    files: &F,
    held: &mut Vec<Node>,
    path: &RelPath,
    last: LastLink,
    judge: &mut dyn FnMut(Step<'_>) -> Result<(), Error>,
) -> Result<Resolved, Error> {
    let mut walk = Itinerary::new(path.as_ref());
    while let Some(step) = walk.next() {
        let here = held.last().expect("the top stays").clone();
        let name = match step {
            Move::Stay => {
                files.require_search(&here)?;
                continue;
            }
            Move::Up => {
                if here.is_boundary() {
                    return Err(bare(escape()));
                }
                files.require_search(&here)?;
                match held.len() {
                    // In the top, `..` is the top where links are taken from it.
                    1 if files.links() == Links::InRoot => {}
                    1 => return Err(bare(escape())),
                    _ => drop(held.pop()),
                }
                continue;
            }
            Move::Down(name) => NameRef::check(&name, &LIMITS).map_err(bare)?.to_name(),
        };
        let node = match files.lookup(&here, name.as_ref()) {
            Err(error) if error.kind() == ErrorKind::NotFound && walk.is_done() => {
                return Ok(ended(path, &walk, here, name, None));
            }
            // The last name is a link, and already the way that it leads ends.
            Err(error) if error.kind() == ErrorKind::NotFound && walk.through_link() => {
                return Ok(Resolved {
                    dir: None,
                    name: None,
                    node: None,
                    through_link: true,
                    must_be_dir: path.must_be_dir(),
                });
            }
            node => node?,
        };
        let is_link = node.metadata().is_symlink();
        if walk.is_done() && (!is_link || last == LastLink::Itself) {
            return Ok(ended(path, &walk, here, name, Some(node)));
        }
        if is_link && files.links() == Links::Refuse {
            return Err(bare(link_in_the_way()));
        }
        judge(Step {
            dir: &here,
            name: name.as_ref(),
            node: &node,
            is_link,
        })?;
        if is_link {
            follow(files, &mut walk, held, &node)?;
        } else if node.metadata().is_dir() {
            enter(files, held, node)?;
        } else {
            return Err(bare(not_a_directory_on_the_way()));
        }
    }
    Ok(Resolved {
        dir: None,
        name: None,
        node: held.last().cloned(),
        through_link: walk.through_link(),
        must_be_dir: true,
    })
}

/// What one name in the target of a link may be.
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

/// Goes one directory down. What was above it is kept only where a link's `..` may ask for it.
fn enter<F: Files + ?Sized>(files: &F, held: &mut Vec<Node>, dir: Node) -> Result<(), Error> {
    if files.links() == Links::Refuse {
        held.clear();
    }
    check_held(held.len()).map_err(bare)?;
    held.push(dir);
    Ok(())
}

fn follow<F: Files + ?Sized>(
    files: &F,
    walk: &mut Itinerary<'_>,
    held: &mut Vec<Node>,
    link: &Node,
) -> Result<(), Error> {
    walk.count_link().map_err(bare)?;
    // It was a link when it was looked up: what is none by now was replaced meanwhile.
    let target = files
        .link_to_follow(link)
        .map_err(|error| match error.kind() {
            ErrorKind::Kind => Error::refused(ErrorKind::Raced, "the link was replaced"),
            _ => error,
        })?;
    let target = target.as_bytes();
    if origin(target) == Origin::Here {
        walk.splice(target);
        return Ok(());
    }
    let link = files.absolute_link(target)?.ok_or_else(|| bare(escape()))?;
    if link.way.is_empty() {
        return Err(Error::refused(
            ErrorKind::Invalid,
            "an absolute link has to begin at a directory",
        ));
    }
    check_held(link.way.len()).map_err(bare)?;
    *held = link.way;
    walk.splice(&link.rest);
    Ok(())
}

/// An error of a step; the caller, who knows the path, puts it in.
pub(super) fn bare(fault: Fault) -> Error {
    Error::new(Verb::Resolve, "", fault)
}
