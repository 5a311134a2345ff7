//! Where an archive is read from: a file of the target, or standard input.

use std::ffi::OsStr;
use std::io::{self, Read};

use handfast::files::FileHandle;
use handfast::{Error, FileKind, OpenOptions, RelPath, Root};
use handfast_archive::Target as Goal;
use handfast_session::{Session, VirtualPath, Wanted};

use crate::failure::Failure;
use crate::fs::asked::Asked;
use crate::fs::input::stdin;
use crate::fs::target::Target;
use crate::output::Output;

/// Opens the archive that was asked for; `-` is standard input.
pub(super) fn open<'a>(
    asked: &Asked<'a>,
    out: &mut Output,
) -> Result<Box<dyn Read + 'a>, Box<Failure>> {
    if asked.path_bytes() == b"-" {
        return Ok(Box::new(stdin(out)));
    }
    let path = asked.path()?;
    let file = asked.files().open(&path, OpenOptions::new());
    let file = file.map_err(|error| asked.failed(&error))?;
    Ok(Box::new(Sequential { file, offset: 0 }))
}

/// The system's temporary directory, for the private copy of a zip.
pub(super) fn scratch(asked: &Asked<'_>) -> Result<Root, Box<Failure>> {
    Root::open_ambient(std::env::temp_dir()).map_err(|error| {
        let detail = format!("the temporary directory cannot be used: {}", error.detail());
        asked.refused(error.kind(), &detail)
    })
}

/// The directory that an archive's name suggests: without what says its format.
pub(super) fn suggested(archive: &OsStr) -> Option<&str> {
    let name = archive.to_str()?;
    let endings = [
        ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".tbz2", ".txz", ".tzst", ".tar",
        ".zip", ".whl", ".crate", ".jar",
    ];
    let bare = endings
        .iter()
        .find_map(|ending| name.strip_suffix(ending))?;
    (!bare.is_empty() && !bare.ends_with('/')).then_some(bare)
}

/// Where an archive goes.
pub(super) fn goal<'a>(target: &'a Target, to: &'a RelPath) -> Goal<'a> {
    match target {
        Target::Root(root) => Goal::new_dir(root, to),
        Target::Session(session) => Goal::new_dir_in(session, to),
        #[cfg(feature = "broker")]
        Target::Lease(lease) => Goal::new_dir_in(lease, to),
    }
}

/// Asks a session's rules about a final path: what is written lies elsewhere until it is published.
pub(super) fn judge(session: &Session, path: &RelPath, kind: FileKind) -> Result<(), Error> {
    let verb = match kind {
        FileKind::Dir => handfast::Verb::CreateDir,
        FileKind::Symlink => handfast::Verb::Symlink,
        _ => handfast::Verb::WriteNew,
    };
    let said = session.explain(VirtualPath::from(path.clone()), Wanted(verb))?;
    match said.allowed {
        true => Ok(()),
        false => Err(Error::refused(handfast::ErrorKind::Denied, said.why)),
    }
}

/// A file that is read from its beginning to its end.
struct Sequential {
    file: Box<dyn FileHandle>,
    offset: u64,
}

impl Read for Sequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self
            .file
            .read_at(buffer, self.offset)
            .map_err(io::Error::from)?;
        self.offset += got as u64;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::suggested;

    #[test]
    fn a_directory_is_named_after_its_archive() {
        let named = |name: &'static str| suggested(name.as_ref());
        assert_eq!(named("a/b-1.0.tar.gz"), Some("a/b-1.0"));
        assert_eq!(named("x.tgz"), Some("x"));
        assert_eq!(named("/up/x.zip"), Some("/up/x"));
        for none in ["x", "x.gz", ".tar", "-", "a/.zip"] {
            assert_eq!(named(none), None, "{none}");
        }
    }
}
