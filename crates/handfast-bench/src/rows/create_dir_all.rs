//! Create a directory and its parents: none of them there, or all of them.
#![expect(
    clippy::disallowed_methods,
    reason = "what a batch needs is made by path: the scratch directory is ours alone"
)]

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, mkdirat, openat};
use rustix::io::Errno;

use super::LEFTOVERS;
use crate::Failure;
use crate::raw::{Components, Lookup, Openat2, PIN, Pin, RawPath, status};
use crate::row::{BatchSetup, Case, Row, Work};
use crate::site::Site;
use crate::sys;

#[derive(Clone, Copy, Eq, PartialEq)]
enum Before {
    Nothing,
    Everything,
}

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [
        ("new", "none there", Before::Nothing),
        ("existing", "all there", Before::Everything),
    ]
    .into_iter()
    .map(|(id, title, before)| {
        Row::new(
            format!("create-dir-all/{id}"),
            format!("create-dir-all of 4 levels, {title}"),
            move |site| work(site, before),
        )
    })
}

fn work(site: &Site, before: Before) -> Result<Work, Failure> {
    let count = match before {
        Before::Nothing => LEFTOVERS,
        Before::Everything => 1,
    };
    let tops: Vec<String> = (0..count).map(|index| format!("new-{index:03}")).collect();
    let texts: Vec<String> = tops.iter().map(|top| format!("{top}/b/c/d")).collect();
    let stage = Levels {
        tops: tops.iter().map(|top| site.path(top)).collect(),
        last: site.path(&texts[0]),
        before,
    };
    let floor = vec![
        floor(Openat2, site, &texts)?,
        floor(Components, site, &texts)?,
    ];
    let batch = match before {
        Before::Nothing => LEFTOVERS,
        Before::Everything => usize::MAX,
    };
    let work = Work::new(site, floor, |contender| contender.create_dir_all(&texts))?;
    Ok(work.staged(batch, stage))
}

/// One lookup answers if everything is there; otherwise each level is made in the held one above.
fn floor<L: Lookup>(lookup: L, site: &Site, texts: &[String]) -> Result<Case, Failure> {
    let dir = site.dir();
    let paths = RawPath::all(texts)?;
    Ok(Case::new(L::COLUMN, move |index| {
        let path = &paths[index % paths.len()];
        match lookup.pin(dir.as_fd(), path, Pin::Dir) {
            Ok(_) => return Ok(1),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        // All levels are held until the last one is there, so that they could be taken back.
        let mut levels: [Option<OwnedFd>; 4] = [const { None }; 4];
        for (level, name) in path.parts().enumerate() {
            let above = match level.checked_sub(1) {
                Some(above) => levels[above].as_ref().map(AsFd::as_fd),
                None => None,
            };
            let above = above.unwrap_or(dir.as_fd());
            mkdirat(above, name, Mode::from_raw_mode(0o777))?;
            let fd = openat(above, name, PIN, Mode::empty())?;
            // The directory that was made, and not one that somebody put in its place.
            if status(&fd)?.stx_uid != sys::making_user() {
                return Err("a foreign directory has the name".into());
            }
            levels[level] = Some(fd);
        }
        Ok(1)
    }))
}

/// The directories are there, or not, whenever a batch begins.
struct Levels {
    tops: Vec<PathBuf>,
    last: PathBuf,
    before: Before,
}

impl BatchSetup for Levels {
    fn prepare(&self, _count: usize) -> Result<(), Failure> {
        if self.before == Before::Everything {
            std::fs::create_dir_all(&self.last)?;
        }
        Ok(())
    }

    fn verify_one(&self) -> Result<(), Failure> {
        if std::fs::symlink_metadata(&self.last)?.is_dir() {
            return Ok(());
        }
        Err("the directory was not created".into())
    }

    fn clean(&self, count: usize) -> Result<(), Failure> {
        for top in self.tops.iter().take(count) {
            std::fs::remove_dir_all(top)?;
        }
        Ok(())
    }
}
