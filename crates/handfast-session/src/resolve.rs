//! Links below a mount, read one at a time and put into the path.
//!
//! This only ever produces another path. The layer below still refuses every link, so whatever
//! happens between reading a link and using the path, nothing is followed that was not decided on.

use handfast::{ErrorKind, Limits, Links, Name, RelPath};

use crate::error::{Error, Reason};
use crate::mount::MountTable;
use crate::pipeline::{Last, MAX_LINKS, Place, decide};
use crate::rules::{Access, Shape};

/// One thing still to be done.
enum Step {
    Name(Name),
    /// `..` in a link's target.
    Up,
}

/// Puts the targets of links in their place, until there are none on the way. `None` if there are
/// none to begin with, or links are not followed here.
///
/// # Security
/// A path that a link leads to lies in the mount of the link, where another directory is not
/// mounted over it; or in another mount, if the link names that one's directory of the host. What
/// it leads to is decided on by the rules of the mount it lies in.
pub(crate) fn settle<'a>(
    mounts: &'a MountTable,
    place: Place<'a>,
    last: Last,
    access: Access,
) -> Result<Option<Place<'a>>, Error> {
    if !place.follows_links() {
        return Ok(None);
    }
    let mut pending: Vec<Step> = place
        .path
        .segments()
        .rev()
        .map(|name| Step::Name(name.to_name()))
        .collect();
    // Names that were looked at and are no links: `..` after them is their parent by name too.
    let mut at = Vec::new();
    let mut mount = place.mount;
    let mut links = 0;
    let mut must_be_dir = place.path.must_be_dir();
    let mut through_link = place.through_link;
    while let Some(step) = pending.pop() {
        let name = match step {
            Step::Up => {
                at.pop().ok_or_else(escape)?;
                continue;
            }
            Step::Name(name) => name,
        };
        if pending.is_empty() && last == Last::Itself {
            at.push(name);
            break;
        }
        let here = path_of(&at, Some(&name))?;
        let is_link = match mount.layer.symlink_metadata(&here) {
            Ok(status) => status.is_symlink(),
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            // The operation itself names what is missing or in the way.
            Err(_) => false,
        };
        if !is_link {
            at.push(name);
            continue;
        }
        if mount.links != Links::Beneath {
            let why = "a link leads to a mount where links are not followed";
            return Err(Error::new(ErrorKind::Link, why));
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Error::new(ErrorKind::Link, "too many links, or a loop"));
        }
        // The link stands under a name of its own, and may be protected by it.
        let link = Place {
            mount,
            path: here,
            through_link: false,
        };
        if !mounts.shows(link.mount, &link.path) {
            return Err(covered());
        }
        decide(&link, access, Shape::MaybeDir)?;
        let text = mount.layer.read_link(&link.path)?;
        let mut target = text.as_slice();
        if target.first() == Some(&b'/') {
            // An absolute target in a mount's directory is taken from its top.
            (mount, target) = std::iter::once(mount)
                .chain(mounts.iter())
                .find_map(|mount| Some((mount, mount.below_host(target)?)))
                .ok_or_else(escape)?;
            at.clear();
        }
        if pending.is_empty() {
            through_link = true;
            must_be_dir |= target.ends_with(b"/");
        }
        for segment in target.split(|byte| *byte == b'/').rev() {
            match segment {
                b"" | b"." => {}
                b".." => pending.push(Step::Up),
                name => pending.push(Step::Name(Name::parse(name)?)),
            }
        }
    }
    if links == 0 {
        return Ok(None);
    }
    let mut path = path_of(&at, None)?;
    if must_be_dir && !path.is_root() {
        let mut text = path.as_bytes().to_vec();
        text.push(b'/');
        path = RelPath::clean_with(text, &LIMITS)?;
    }
    if !mounts.shows(mount, &path) {
        return Err(covered());
    }
    Ok(Some(Place {
        mount,
        path,
        through_link,
    }))
}

/// What links may add up to.
const LIMITS: Limits = Limits::new().with_total(8192).with_depth(512);

fn path_of(at: &[Name], name: Option<&Name>) -> Result<RelPath, Error> {
    let names: Vec<&[u8]> = at.iter().chain(name).map(Name::as_bytes).collect();
    if names.is_empty() {
        return Ok(RelPath::root());
    }
    Ok(RelPath::parse_with(names.join(&b'/'), &LIMITS)?)
}

fn escape() -> Error {
    Error::new(ErrorKind::Escape, "a link leads outside the mounts")
}

fn covered() -> Error {
    let why = "a link leads to where another directory is mounted";
    Error::new(ErrorKind::Escape, why).because(Reason::MountPoint)
}
