//! A scratch writer for many tenants that trust neither each other nor the names they send.
//!
//! Every tenant has a directory of its own below one pinned root. `handfast audit` answers every
//! item of its checklist for this file; CI makes sure of it.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use handfast::{RelPath, Root};

/// What a tenant sends.
struct Request {
    tenant: String,
    name: String,
    body: Vec<u8>,
}

#[derive(Debug)]
enum Refusal {
    /// A tenant or a file that cannot be named so.
    Name,
    /// The library's reason.
    Files(handfast::Error),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name => f.write_str("a name is 1 to 64 letters, digits and dashes"),
            Self::Files(error) => error.fmt(f),
        }
    }
}

impl Error for Refusal {}

impl From<handfast::Error> for Refusal {
    fn from(error: handfast::Error) -> Self {
        Self::Files(error)
    }
}

// handfast: root=scratch input=tenant input=name
/// Writes one file of one tenant.
fn write_scratch(scratch: &Root, request: &Request) -> Result<(), Refusal> {
    check(&request.tenant)?;
    check(&request.name)?;
    let tenant = RelPath::parse(&request.tenant)?;
    scratch.create_dir_all(&tenant)?;
    let path = RelPath::parse(format!("{}/{}", request.tenant, request.name))?;
    // Atomic, through the pinned directory; a link at any component is refused.
    scratch.write(&path, &request.body)?;
    Ok(())
}

fn check(name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.len() > 64 {
        return Err(Refusal::Name);
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Err(Refusal::Name);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let scratch = Root::open_ambient(dir.path())?;
    for (tenant, name) in [
        ("acme", "report"),
        ("acme", "../globex/report"),
        ("globex", "report"),
    ] {
        let request = Request {
            tenant: tenant.to_owned(),
            name: name.to_owned(),
            body: b"hello".to_vec(),
        };
        match write_scratch(&scratch, &request) {
            Ok(()) => println!("{tenant} {name}: written"),
            Err(refusal) => println!("{tenant} {name}: {refusal}"),
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "tests look at the tree from outside"
)]
mod tests {
    use super::{Request, write_scratch};
    use handfast::Root;
    use std::os::unix::fs::symlink;
    use tempfile::{TempDir, tempdir};

    fn try_write(dir: &TempDir, tenant: &str, name: &str) -> bool {
        let root = Root::open_ambient(dir.path()).unwrap();
        let request = Request {
            tenant: tenant.to_owned(),
            name: name.to_owned(),
            body: b"new".to_vec(),
        };
        write_scratch(&root, &request).is_ok()
    }

    #[test]
    fn writes_where_it_should() {
        let dir = tempdir().unwrap();
        assert!(try_write(&dir, "acme", "report"));
        assert_eq!(
            std::fs::read(dir.path().join("acme/report")).unwrap(),
            b"new"
        );
        super::main().unwrap();
    }

    #[test]
    fn refuses_dot_dot() {
        let dir = tempdir().unwrap();
        assert!(!try_write(&dir, "..", "report"));
        assert!(!try_write(&dir, "acme", "../report"));
    }

    #[test]
    fn refuses_a_symlinked_root() {
        let dir = tempdir().unwrap();
        let linked_root = dir.path().join("linked_root");
        symlink(dir.path(), &linked_root).unwrap();
        assert!(Root::open_ambient(&linked_root).is_err());
    }

    #[test]
    fn refuses_a_symlink_at_a_component() {
        let dir = tempdir().unwrap();
        symlink("/tmp", dir.path().join("acme")).unwrap();
        assert!(!try_write(&dir, "acme", "report"));
    }

    #[test]
    fn refuses_a_dangling_symlink() {
        let dir = tempdir().unwrap();
        std::fs::create_dir(dir.path().join("acme")).unwrap();
        symlink("nowhere", dir.path().join("acme/report")).unwrap();
        assert!(!try_write(&dir, "acme", "report"));
    }

    #[test]
    fn refuses_a_file_as_an_intermediate_component() {
        let dir = tempdir().unwrap();
        std::fs::write(dir.path().join("acme"), b"file").unwrap();
        assert!(!try_write(&dir, "acme", "report"));
    }

    #[test]
    fn leaves_the_other_names_of_a_hard_link_alone() {
        let dir = tempdir().unwrap();
        std::fs::create_dir(dir.path().join("acme")).unwrap();
        std::fs::write(dir.path().join("victim"), b"old").unwrap();
        std::fs::hard_link(dir.path().join("victim"), dir.path().join("acme/report")).unwrap();
        assert!(try_write(&dir, "acme", "report"));
        assert_eq!(std::fs::read(dir.path().join("victim")).unwrap(), b"old");
    }

    #[test]
    fn refuses_a_link_planted_between_validation_and_write() {
        let dir = tempdir().unwrap();
        assert!(try_write(&dir, "acme", "first"));
        std::fs::rename(dir.path().join("acme"), dir.path().join("moved")).unwrap();
        symlink("moved", dir.path().join("acme")).unwrap();
        assert!(!try_write(&dir, "acme", "report"));
    }
}
