//! The contenders, who do the work: one file for each, with everything it is asked to do.
//!
//! A contender does what its own documentation recommends. What it does not offer it says, with
//! the reason, and its cell stays empty. The floor is no contender: it is beside the work it
//! is the floor of, in [`rows`](crate::rows).

#[cfg(feature = "peers")]
mod cap_std;
mod handfast;
#[cfg(feature = "peers")]
mod jail_guard;
#[cfg(feature = "peers")]
mod jail_join;
#[cfg(feature = "peers")]
mod pathrs;
mod std;
#[cfg(feature = "peers")]
mod strict_path;

use crate::Failure;
use crate::column::Column;
use crate::row::Case;
use crate::site::Site;
use crate::tally::Ask;

/// A way to do the work, or why there is none.
#[derive(Debug)]
pub enum Offer {
    /// It does it so.
    Does(Case),
    /// It does not, because.
    Lacks(&'static str),
}

/// What a contender answers.
pub(crate) type Offered = Result<Offer, Failure>;

/// The work is done by this operation.
pub(crate) fn does(
    column: Column,
    operation: impl FnMut(usize) -> Result<u64, Failure> + Send + 'static,
) -> Offered {
    Ok(Offer::Does(Case::new(column, operation)))
}

/// The work is not done, because.
pub(crate) fn lacks(reason: &'static str) -> Offered {
    Ok(Offer::Lacks(reason))
}

/// Whether an answered write waits for the disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sync {
    /// It does not.
    No,
    /// The content is synced before the name points to it, and then the directory.
    Full,
}

/// Somebody who can be asked to do the work. All paths are relative to the site; where there are
/// several, operation number `n` takes path `n`, over and over.
pub trait Contender {
    /// Where it is in the tables.
    fn column(&self) -> Column;

    /// Opens a small file and reads it into the caller's buffer.
    ///
    /// # Errors
    /// Whatever stops the preparation, here and below.
    fn open_read(&self, paths: &[String]) -> Offered;

    /// As [`Contender::open_read`], through a link that stays inside.
    ///
    /// # Errors
    /// As above.
    fn open_linked(&self, path: &str) -> Offered {
        self.open_read(&[path.to_owned()])
    }

    /// As [`Contender::open_read`], beginning with text each time. Most do that anyway.
    ///
    /// # Errors
    /// As above.
    fn open_parsed(&self, path: &str) -> Offered {
        self.open_read(&[path.to_owned()])
    }

    /// Reads a whole file into fresh memory.
    ///
    /// # Errors
    /// As above.
    fn read_whole(&self, path: &str) -> Offered;

    /// Tells a file's length.
    ///
    /// # Errors
    /// As above.
    fn stat(&self, path: &str) -> Offered;

    /// Renames forth, and back, and forth.
    ///
    /// # Errors
    /// As above.
    fn rename(&self, names: &[String; 2]) -> Offered;

    /// Creates files under free names and writes to them.
    ///
    /// # Errors
    /// As above.
    fn create_write(&self, paths: &[String]) -> Offered;

    /// Replaces a file so that others see it whole, old or new.
    ///
    /// # Errors
    /// As above.
    fn replace(&self, path: &str, sync: Sync) -> Offered;

    /// Creates directories and all above them.
    ///
    /// # Errors
    /// As above.
    fn create_dir_all(&self, paths: &[String]) -> Offered;

    /// Lists a directory.
    ///
    /// # Errors
    /// As above.
    fn read_dir(&self, path: &str, ask: Ask) -> Offered;

    /// Lists a tree.
    ///
    /// # Errors
    /// As above.
    fn walk(&self, path: &str, ask: Ask) -> Offered;

    /// Removes a tree.
    ///
    /// # Errors
    /// As above.
    fn remove_tree(&self, path: &str) -> Offered;

    /// Copies a tree to a free name.
    ///
    /// # Errors
    /// As above.
    fn copy_tree(&self, from: &str, to: &str) -> Offered;
}

/// A contender that works on a site.
pub(crate) type Prepared = Result<Box<dyn Contender>, Failure>;

type Maker = fn(&Site) -> Prepared;

/// How each contender of this build is made.
pub(crate) const MAKERS: &[(Column, Maker)] = &[
    (Column::Std, std::Std::made),
    (Column::Kernel, handfast::Handfast::kernel),
    (Column::Walk, handfast::Handfast::walk),
    #[cfg(feature = "peers")]
    (Column::CapStd, cap_std::CapStd::made),
    #[cfg(feature = "peers")]
    (Column::Pathrs, pathrs::Pathrs::made),
    #[cfg(feature = "peers")]
    (Column::JailGuard, jail_guard::JailGuard::made),
    #[cfg(feature = "peers")]
    (Column::JailJoin, jail_join::JailJoin::made),
    #[cfg(feature = "peers")]
    (Column::StrictPath, strict_path::Strict::made),
];

/// The name under which those without unnamed files write what shall replace `path`.
fn draft_of(path: &str) -> String {
    format!("{path}.draft")
}

/// The directory that a path's last component is in.
#[cfg(feature = "peers")]
fn parent_of(path: &str) -> String {
    path.rsplit_once('/')
        .map_or(".", |(parent, _)| parent)
        .to_owned()
}
