//! A lease answers like a root: the table that every implementation of `Files` is held against.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::{ErrorKind, Files, Links, Root, RootOptions};
use handfast_broker::{
    Acquire, Client, Fence, LeaseFiles, MemoryStore, Rulebook, Running, ServeOptions, bind_socket,
};
use handfast_conformance::{Layer, Refusal, compare};
use handfast_session::Policy;

/// A root's own ways.
struct Own;

impl Layer for Own {
    fn name(&self) -> String {
        "root".to_owned()
    }

    fn open(&self, root: &Path, links: Links) -> Box<dyn Files> {
        let options = RootOptions::new().links(links);
        Box::new(Root::open_ambient_with(root, options).unwrap())
    }
}

/// A lease on everything, of a broker of its own.
#[derive(Default)]
struct Leased {
    /// Brokers that may still be used: two trees are there at a time.
    running: Mutex<VecDeque<(Running, PathBuf)>>,
}

const REFUSALS: &[Refusal] = &[
    Refusal {
        case: "open write",
        path: None,
        kind: ErrorKind::Denied,
        why: "the policy takes writes by commit",
    },
    Refusal {
        case: "open and write",
        path: None,
        kind: ErrorKind::Denied,
        why: "the policy takes writes by commit",
    },
    Refusal::verb("open truncate", "files are replaced by commits"),
    Refusal::verb("open append", "the broker appends by itself"),
    Refusal::verb("open create", "files are created with whole content"),
    Refusal::verb("symlink", "the broker makes no links"),
    Refusal::verb("hard_link", "the broker makes no links"),
    Refusal::verb("set_attributes", "the broker changes no attributes"),
    Refusal::verb("xattr", "the broker tells no extended attributes"),
    Refusal::verb("copy_tree", "attributes of the copies cannot be set"),
];

impl Layer for Leased {
    fn name(&self) -> String {
        "lease".to_owned()
    }

    fn open(&self, root: &Path, links: Links) -> Box<dyn Files> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hf-lease-{}-{number}", std::process::id());
        // Hundreds of brokers, each with a log that is synced: in memory, where there is room for that.
        let dir = Path::new("/dev/shm").join(&name);
        let beside = || root.parent().unwrap().parent().unwrap().join(&name);
        let dir = match std::fs::create_dir(&dir) {
            Ok(()) => dir,
            Err(_) => beside(),
        };
        std::fs::create_dir_all(&dir).unwrap();
        let links = match links {
            Links::Refuse => "refuse",
            _ => "beneath",
        };
        let text = format!(
            "version = 1\n[[root]]\nname = \"ws\"\npath = {root:?}\nmount = \"/\"\n\
             mode = \"read-write\"\nlinks = \"{links}\"\n"
        );
        std::fs::write(dir.join("policy.toml"), &text).unwrap();
        let policy = Policy::read_ambient(dir.join("policy.toml")).unwrap();
        let rulebook = Rulebook::of_policy(&policy, text.as_bytes(), false).unwrap();
        let socket = dir.join("sock/broker.sock");
        let listener = bind_socket(&socket, false).unwrap();
        let options = ServeOptions::new(rulebook, dir.join("state"))
            .fence(Fence::Thread)
            .store(Arc::new(MemoryStore::new()));
        // A thread of its own: the wall stays around the thread that raises it.
        let running = std::thread::spawn(move || options.start(listener));
        let running = running.join().unwrap().unwrap();
        let mut all = self.running.lock().unwrap();
        all.push_back((running, dir));
        if all.len() > 2 {
            let (running, dir) = all.pop_front().unwrap();
            running.stop();
            std::fs::remove_dir_all(dir).unwrap();
        }
        let mut client = Client::connect(socket).unwrap();
        let wanted = Acquire::new(["**"], ["read", "write"]).bind("user");
        let lease = client.acquire(&wanted).unwrap().lease_id;
        Box::new(LeaseFiles::new(client, lease).unwrap())
    }

    fn refusals(&self) -> &[Refusal] {
        REFUSALS
    }

    fn shown(&self, path: &str) -> String {
        match path {
            "" => String::new(),
            "." => "/".to_owned(),
            path => format!("/{path}"),
        }
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        for (running, dir) in self.running.lock().unwrap().drain(..) {
            running.stop();
            drop(std::fs::remove_dir_all(dir));
        }
    }
}

fn answers_like_a_root(links: Links) {
    let report = compare(&Own, &Leased::default(), links);
    assert!(report.compared > 5_000 && report.done > 400, "{report:?}");
}

#[test]
fn a_lease_answers_like_a_root_where_links_are_refused() {
    answers_like_a_root(Links::Refuse);
}

#[test]
fn a_lease_answers_like_a_root_where_links_are_followed() {
    answers_like_a_root(Links::Beneath);
}
