//! Extracts an archive from a stranger: judged to its last byte before anything is seen, with limits for
//! everything it could fill.
//!
//! ```console
//! $ cargo run -p handfast-examples --bin extract-archive -- archive.tar ./uploads
//! ```
//!
//! Without arguments it makes a hostile archive and extracts that.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::io::Read;

use handfast::{RelPath, Root};
use handfast_archive::{Input, Options, Report, Target, extract};
use tar::EntryType;

/// Extracts into `new`, a directory that appears whole or not at all.
fn extract_upload(from: impl Read, into: &Root) -> Result<Report, handfast::Error> {
    let mut options = Options::new();
    options.limits.entries = 10_000;
    options.limits.bytes = 64 << 20;
    let path = RelPath::parse("new")?;
    extract(
        Input::new(from, into),
        &Target::new_dir(into, &path),
        options,
    )
}

/// An archive that tries things.
fn hostile() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |kind: EntryType, name: &[u8], link: &str| {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        // Past the checks of the builder, as an attacker would.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_link_name_literal(link)?;
        header.set_size(0);
        header.set_mode(0o4777);
        header.set_cksum();
        builder.append(&header, &b""[..])
    };
    add(EntryType::Regular, b"docs/read.me", "")?;
    add(EntryType::Regular, b"../escape", "")?;
    add(EntryType::Regular, b"/etc/escape", "")?;
    add(EntryType::Symlink, b"link", "/etc")?;
    add(EntryType::Link, b"hard", "/etc/passwd")?;
    add(EntryType::Fifo, b"pipe", "")?;
    add(EntryType::Regular, b"docs/READ.ME", "")?;
    Ok(builder.into_inner()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let report = match (arguments.next(), arguments.next()) {
        (Some(archive), Some(dir)) => {
            let archive = std::fs::File::open(archive)?;
            extract_upload(archive, &Root::open_ambient(dir)?)?
        }
        _ => {
            let dir = tempfile::tempdir()?;
            extract_upload(&*hostile()?, &Root::open_ambient(dir.path())?)?
        }
    };
    for (verdict, refusal) in report.refused() {
        println!("refused `{}`: {refusal}", handfast::escape(&verdict.name));
    }
    println!("extracted: {}", report.extracted);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{extract_upload, hostile};
    use handfast::Root;

    #[test]
    fn a_hostile_archive_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open_ambient(dir.path()).unwrap();
        let report = extract_upload(&*hostile().unwrap(), &root).unwrap();
        let rules: Vec<_> = report
            .refused()
            .map(|(_, refusal)| refusal.rule.name())
            .collect();
        assert_eq!(
            rules,
            ["climbs", "absolute", "link", "link", "special", "collision"]
        );
        assert!(!report.extracted);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        super::main().unwrap();
    }
}
