//! Extracts an archive from a stranger: its names go through `RelPath`, links of both kinds are
//! refused, and there are limits for everything it could fill.
//!
//! ```console
//! $ cargo run -p handfast-examples --bin extract-archive -- archive.tar ./out
//! ```
//!
//! Without arguments it makes a hostile archive and extracts that.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::io::Read;

use handfast::{RelPath, Root, WriteOptions};
use tar::{Archive, EntryType};

/// The most that is taken out of an archive.
struct Limits {
    entries: usize,
    bytes: u64,
}

/// Extracts what is harmless; what was left out, and why.
fn extract(
    from: impl Read,
    into: &Root,
    limits: &Limits,
) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut left_out = Vec::new();
    let mut archive = Archive::new(from);
    let mut left = limits.bytes;
    for (number, entry) in archive.entries()?.enumerate() {
        if number >= limits.entries {
            return Err("too many entries".into());
        }
        let mut entry = entry?;
        let name = entry.path_bytes().into_owned();
        if let Err(reason) = extract_one(&mut entry, &name, into, &mut left) {
            left_out.push((handfast::escape(&name), reason.to_string()));
        }
    }
    Ok(left_out)
}

fn extract_one(
    entry: &mut tar::Entry<'_, impl Read>,
    name: &[u8],
    into: &Root,
    left: &mut u64,
) -> Result<(), Box<dyn Error>> {
    // `.` and `//` are folded, as archives have them; `..` and a leading `/` are refused.
    let path = RelPath::clean(name)?;
    match entry.header().entry_type() {
        EntryType::Directory => {
            into.create_dir_all(&path)?;
        }
        EntryType::Regular | EntryType::Continuous => {
            // The header's size is the archive's word; what is read is what counts.
            let mut content = Vec::new();
            entry.take(*left + 1).read_to_end(&mut content)?;
            let size = u64::try_from(content.len())?;
            *left = left.checked_sub(size).ok_or("more bytes than allowed")?;
            if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
                into.create_dir_all(&parent)?;
            }
            // Never over something that is there, and never with the archive's mode.
            into.write_new_with(&path, content, WriteOptions::new().mode(0o644))?;
        }
        _ => return Err("neither a file nor a directory".into()),
    }
    Ok(())
}

/// An archive that tries things.
fn hostile() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |kind: EntryType, name: &[u8], link: &str, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        // Past the checks of the builder, as an attacker would.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_link_name_literal(link)?;
        header.set_size(u64::try_from(content.len()).unwrap_or(0));
        header.set_mode(0o4777);
        header.set_cksum();
        builder.append(&header, content)
    };
    add(EntryType::Regular, b"docs/read.me", "", b"hello\n")?;
    add(EntryType::Regular, b"../escape", "", b"out\n")?;
    add(EntryType::Regular, b"/etc/escape", "", b"out\n")?;
    add(EntryType::Symlink, b"link", "/etc", b"")?;
    add(
        EntryType::Regular,
        b"link/passwd",
        "",
        b"in the place of the link\n",
    )?;
    add(EntryType::Link, b"hard", "/etc/passwd", b"")?;
    add(EntryType::Fifo, b"pipe", "", b"")?;
    add(EntryType::Regular, b"docs/read.me", "", b"again\n")?;
    add(EntryType::Regular, b"bomb", "", &[0; 4096])?;
    Ok(builder.into_inner()?)
}

const LIMITS: Limits = Limits {
    entries: 10_000,
    bytes: 1 << 30,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let left_out = match (arguments.next(), arguments.next()) {
        (Some(archive), Some(dir)) => {
            let archive = std::fs::File::open(archive)?;
            extract(archive, &Root::open_ambient(dir)?, &LIMITS)?
        }
        _ => {
            let dir = tempfile::tempdir()?;
            extract(&*hostile()?, &Root::open_ambient(dir.path())?, &LIMITS)?
        }
    };
    for (name, reason) in left_out {
        println!("left out `{name}`: {reason}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Limits, extract, hostile};
    use handfast::{RelPath, Root};

    #[test]
    fn a_hostile_archive_leaves_what_is_harmless_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open_ambient(dir.path()).unwrap();
        let limits = Limits {
            entries: 100,
            bytes: 1000,
        };
        let left_out = extract(&*hostile().unwrap(), &root, &limits).unwrap();
        let names: Vec<_> = left_out.iter().map(|(name, _)| name.as_str()).collect();
        let refused = [
            "../escape",
            "/etc/escape",
            "link",
            "hard",
            "pipe",
            "docs/read.me",
            "bomb",
        ];
        assert_eq!(names, refused, "{left_out:?}");
        let read = |path: &str| root.read(&RelPath::parse(path).unwrap()).unwrap();
        assert_eq!(read("docs/read.me"), b"hello\n");
        assert_eq!(read("link/passwd"), b"in the place of the link\n");
        let mode = root
            .metadata(&RelPath::parse("docs/read.me").unwrap())
            .unwrap()
            .mode;
        assert_eq!(mode & 0o7000, 0, "set-id bits came out of the archive");
        super::main().unwrap();
    }

    #[test]
    fn the_number_of_entries_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open_ambient(dir.path()).unwrap();
        let limits = Limits {
            entries: 3,
            bytes: 1000,
        };
        assert!(extract(&*hostile().unwrap(), &root, &limits).is_err());
    }
}
