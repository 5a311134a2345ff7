//! The walk answers what the kernel answers, for any tree and any path.

use std::path::Path;

use handfast::{BackendChoice, ErrorKind, Links, RelPath, Root, RootOptions};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::bytes::Choices;

/// Builds a tree in an empty directory and asks both backends and the kernel itself for paths.
/// `directory` must lie where `openat2` works.
pub fn check(directory: &Path, bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    for _ in 0..1 + choices.below(12) {
        plant(directory, &mut choices);
    }
    let mut queries = Vec::new();
    for _ in 0..1 + choices.below(10) {
        let mut text = choices.names(5).join("/");
        text.push_str(choices.pick(&["", "/", "/."]));
        queries.push(RelPath::clean(&text).expect("names from the alphabet"));
    }
    for links in [Links::Refuse, Links::Beneath, Links::InRoot] {
        let [kernel, walk] = [BackendChoice::Kernel, BackendChoice::Walk].map(|backend| {
            let options = RootOptions::new().backend(backend).links(links);
            Root::open_ambient_with(directory, options).expect("the root opens")
        });
        for path in &queries {
            for nofollow in [false, true] {
                let expected = oracle(&kernel, path, links, nofollow);
                for root in [&kernel, &walk] {
                    let found = patiently(|| match nofollow {
                        true => root.symlink_metadata(path),
                        false => root.metadata(path),
                    });
                    let found = found.map(|status| status.identity.inode);
                    assert_eq!(
                        found,
                        expected,
                        "{path} {links:?} {:?}",
                        root.enforcement().backend
                    );
                }
            }
        }
    }
}

/// A path leads to the same object in every spelling.
pub fn check_spellings(directory: &Path, backend: BackendChoice, bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    for _ in 0..1 + choices.below(9) {
        plant(directory, &mut choices);
    }
    std::os::unix::fs::symlink(".", directory.join("here")).expect("a free name");
    let options = RootOptions::new().backend(backend).links(Links::Beneath);
    let root = Root::open_ambient_with(directory, options).expect("the root opens");
    let names = choices.names(4);
    let reached = |text: String| {
        let path = RelPath::clean(text).expect("names from the alphabet");
        patiently(|| root.metadata(&path)).map(|status| status.identity.inode)
    };
    let plain = reached(names.join("/"));
    for other in [
        format!("./{}", names.join("/./")),
        names.join("//"),
        format!("here/{}", names.join("/")),
    ] {
        assert_eq!(reached(other), plain, "{names:?}");
    }
}

/// Puts something somewhere, never through a link.
fn plant(directory: &Path, choices: &mut Choices<'_>) {
    let names = choices.names(3);
    let mut place = directory.to_owned();
    for name in &names[..names.len() - 1] {
        place.push(name);
        drop(std::fs::create_dir(&place));
        if !std::fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) {
            return;
        }
    }
    place.push(&names[names.len() - 1]);
    match choices.below(6) {
        0 => drop(std::fs::File::create_new(&place)),
        1 | 2 => drop(std::fs::create_dir(&place)),
        _ => {
            let mut target = choices.target();
            match choices.below(8) {
                0 => target.insert(0, '/'),
                1 => target.push('/'),
                _ => {}
            }
            drop(std::os::unix::fs::symlink(target, &place));
        }
    }
}

/// What a bare `openat2` says, in our words.
pub fn oracle(root: &Root, path: &RelPath, links: Links, nofollow: bool) -> Result<u64, ErrorKind> {
    let resolve = ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    let resolve = resolve
        | match links {
            Links::Refuse => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
            Links::Beneath => ResolveFlags::BENEATH,
            Links::InRoot => ResolveFlags::IN_ROOT,
        };
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if nofollow {
        flags |= OFlags::NOFOLLOW;
    }
    if path.must_be_dir() {
        flags |= OFlags::DIRECTORY;
    }
    let mut loops = 0;
    loop {
        return match rustix::fs::openat2(root, path.as_bytes(), flags, Mode::empty(), resolve) {
            Ok(fd) => Ok(rustix::fs::fstat(fd).expect("a held descriptor").st_ino),
            Err(Errno::AGAIN) => continue,
            Err(Errno::XDEV) => Err(ErrorKind::Escape),
            // A lookup that the kernel began again goes on counting links.
            Err(Errno::LOOP) if loops < 3 => {
                loops += 1;
                continue;
            }
            Err(Errno::LOOP) => Err(ErrorKind::Link),
            Err(Errno::NOENT) => Err(ErrorKind::NotFound),
            Err(Errno::NOTDIR) => Err(ErrorKind::NotADirectory),
            Err(errno) => panic!("{path}: {errno}"),
        };
    }
}

/// The kernel's counters of renames are system-wide: what others do is felt here as `Raced`.
pub fn patiently<T>(look: impl Fn() -> Result<T, handfast::Error>) -> Result<T, ErrorKind> {
    for _ in 0..100 {
        match look() {
            Err(error) if error.kind() == ErrorKind::Raced => {}
            result => return result.map_err(|error| error.kind()),
        }
    }
    Err(ErrorKind::Raced)
}
