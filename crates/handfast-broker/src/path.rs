//! The door: the text of a path becomes a [`VirtualPath`] here, once per request.

use handfast_session::VirtualPath;

use crate::fault::Fault;
use crate::wire::{PathField, Text};

/// Reads a path. It counts from the top of the namespace, with or without a leading slash.
///
/// # Errors
/// `InvalidParameter` for what is no path.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<VirtualPath, Fault> {
    #[cfg(test)]
    tests::count(bytes);
    let parsed = match bytes.first() {
        Some(b'/') => VirtualPath::parse(bytes),
        _ => VirtualPath::parse([b"/", bytes].concat()),
    };
    parsed.map_err(|error| Fault::parameter(name, error.detail()))
}

/// Reads a path that is in one of two fields.
///
/// # Errors
/// `InvalidParameter` for text that is no path, that is missing or that is given twice.
pub(crate) fn from_fields(
    name: &str,
    text: Option<Text<'_>>,
    base64: Option<String>,
) -> Result<VirtualPath, Fault> {
    match (text, base64) {
        (Some(text), None) => parse(name, text.as_bytes()),
        (text, base64) => {
            let bytes = PathField::bytes(text.map(String::from), base64)
                .map_err(|why| Fault::parameter(name, why))?;
            parse(name, &bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{Acquire, Client, Fence, Rulebook, ServeOptions, bind_socket};

    static PARSED: AtomicU64 = AtomicU64::new(0);

    /// Other tests run beside this one: only its own paths are counted.
    pub(super) fn count(bytes: &[u8]) {
        if bytes.starts_with(b"/counted") {
            PARSED.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_request_parses_each_of_its_paths_once() {
        let dir = std::env::temp_dir().join(format!("hf-parse-{}", std::process::id()));
        for part in ["", "root", "root/counted"] {
            std::fs::create_dir(dir.join(part)).unwrap();
        }
        std::fs::File::create(dir.join("root/counted/a")).unwrap();
        std::os::unix::fs::symlink("a", dir.join("root/counted/link")).unwrap();
        let socket = dir.join("sock/broker.sock");
        let listener = bind_socket(&socket, false).unwrap();
        let rulebook = Rulebook::of_directory(dir.join("root")).unwrap();
        let options = ServeOptions::new(rulebook, dir.join("state")).fence(Fence::Thread);
        let started = std::thread::spawn(move || options.start(listener));
        let running = started.join().unwrap().unwrap();
        let mut client = Client::connect(&socket).unwrap();
        let wanted = Acquire::new(["**"], ["read", "write"]).bind("user");
        let id = client.acquire(&wanted).unwrap().lease_id;
        let mut since = |what: &str, paths: u64, ask: &mut dyn FnMut(&mut Client)| {
            let before = PARSED.load(Ordering::Relaxed);
            ask(&mut client);
            let parsed = PARSED.load(Ordering::Relaxed) - before;
            assert_eq!(parsed, paths, "{what}");
        };
        since("open", 1, &mut |client| {
            client.open(&id, "/counted/a").unwrap();
        });
        since("open through a link", 1, &mut |client| {
            client.open(&id, "/counted/link").unwrap();
        });
        since("stat", 1, &mut |client| {
            client.stat(&id, "/counted/a").unwrap();
        });
        since("list", 1, &mut |client| {
            client.list_dir(&id, "/counted").unwrap();
        });
        // Begun with a path; the commit names none.
        since("write", 1, &mut |client| {
            client.write(&id, "/counted/a", b"new", None).unwrap();
        });
        since("rename", 2, &mut |client| {
            let (from, to) = ("/counted/a", "/counted/b");
            client.rename(&id, from, to, "replace").unwrap();
        });
        drop(client);
        running.stop();
        let top = handfast::Root::open_ambient(std::env::temp_dir()).unwrap();
        let name = dir.file_name().unwrap().as_encoded_bytes();
        top.remove_tree(&handfast::RelPath::parse(name).unwrap())
            .unwrap();
    }

    #[test]
    fn a_leading_slash_makes_no_difference_and_dots_stay_inside() {
        for text in ["/a/b", "a/b", "/../a/./b", "a/x/../b"] {
            let path = parse("path", text.as_bytes()).unwrap();
            assert_eq!(path.to_string(), "/a/b");
        }
        for bad in [&b"a\0b"[..], &[b'x'; 300], &[b'/'; 5000]] {
            assert!(parse("path", bad).is_err());
        }
    }
}
