#![expect(
    clippy::disallowed_methods,
    reason = "the user outside of the broker has paths"
)]

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use handfast::files::{FileHandle, Files, Node};
use handfast::{FileKind, Name, OpenOptions, Verb};
use handfast_session::{Scope, VirtualPath};
use rustix::event::{PollFd, PollFlags, poll};

use super::Mounted;
use super::known::KnownPages;
use super::view::LeaseView;
use crate::caller::{Caller, Claim};
use crate::identity::{ExeReader, Peer};
use crate::server::{Running, bind_socket};
use crate::start::{Fence, ServeOptions};
use crate::{Acquire, Client, Rulebook};

/// A broker in this process, and what it serves to a mount: everything but the kernel.
struct UnmountedView {
    dir: PathBuf,
    running: Running,
    claim: Claim,
    view: LeaseView,
    /// What the kernel is told.
    told: std::io::PipeReader,
}

impl UnmountedView {
    fn new(name: &str, rules: &str, allow: &str) -> Self {
        let name = format!("hf-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(dir.join("root/d")).unwrap();
        for file in ["a", "k", "d/in"] {
            std::fs::File::create(dir.join("root").join(file)).unwrap();
        }
        let socket = dir.join("sock/broker.sock");
        let listener = bind_socket(&socket, false).unwrap();
        let rulebook = rulebook(&dir, "read-write", rules, allow);
        let options = ServeOptions::new(rulebook, dir.join("state")).fence(Fence::Thread);
        let started = std::thread::spawn(move || options.start(listener));
        let running = started.join().unwrap().unwrap();
        let wanted = Acquire::new(["**"], ["read", "write"]).bind("user");
        let mut client = Client::connect(&socket).unwrap();
        let id = client.acquire(&wanted).unwrap().lease_id;
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let peer = Peer::of(ours.as_fd(), &ExeReader::none()).unwrap();
        let mut caller = Caller::new(Arc::new(peer), false);
        let broker = &running.broker;
        let claim = caller
            .claim(broker, &id, Verb::Metadata, &VirtualPath::root())
            .unwrap();
        let (told, device) = std::io::pipe().unwrap();
        let mounted = Arc::new(Mounted {
            uid: claim.peer.uid,
            device: OwnedFd::from(device),
            known: Arc::new(KnownPages::default()),
        });
        let handle = &claim.lease.record.handle;
        assert!(broker.mounts.add(handle, Arc::clone(&mounted)));
        let view = LeaseView::new(Arc::downgrade(broker), claim.clone(), mounted);
        Self {
            dir,
            running,
            claim,
            view,
            told,
        }
    }

    fn reload(&self, mode: &str, rules: &str, allow: &str) {
        let rulebook = rulebook(&self.dir, mode, rules, allow);
        assert_eq!(self.running.broker.reload(rulebook).unwrap(), 0);
    }

    fn node(&self, name: &str) -> Node {
        let top = self.view.top().unwrap();
        let name = Name::parse(name).unwrap();
        self.view.lookup(&top, name.as_ref()).unwrap()
    }

    fn open(&self, name: &str, how: OpenOptions) -> Box<dyn FileHandle> {
        self.view.open_node(&self.node(name), how).unwrap()
    }

    fn end(self) {
        drop(self.view);
        let _lost = self.running.stop();
        let top = handfast::Root::open_ambient(std::env::temp_dir()).unwrap();
        let name = self.dir.file_name().unwrap().as_encoded_bytes();
        let name = handfast::RelPath::parse(name).unwrap();
        top.remove_tree(&name).unwrap();
    }
}

fn rulebook(dir: &std::path::Path, mode: &str, rules: &str, allow: &str) -> Rulebook {
    let text = format!(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"root\"\nmount = \"/\"\nmode = \"{mode}\"\n\
         {rules}\n[[allow]]\nuid = {}\nverbs = [\"read\", \"write\"]\n{allow}\n",
        rustix::process::geteuid().as_raw()
    );
    Rulebook::parse(text.as_bytes(), dir, false).unwrap()
}

/// Another rule that changes nothing.
fn again() -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("[[allow]]\nuid = {uid}\nverbs = [\"read\"]")
}

const WRITE: OpenOptions = OpenOptions::new().write(true);

fn is_refused<T>(done: Result<T, handfast::Error>) -> bool {
    done.is_err()
}

#[test]
fn rules_that_are_read_again_count_for_files_that_are_open() {
    for (mode, rules) in [
        ("read-write", "read_only = [\"a\"]\ndeny = [\"k\"]"),
        ("read-only", "deny = [\"k\"]"),
    ] {
        let scene = UnmountedView::new(&format!("open-{mode}"), "", "");
        let (a, k) = (scene.open("a", WRITE), scene.open("k", OpenOptions::new()));
        let (free, reading) = (scene.open("a", OpenOptions::new()), &mut [0; 8][..]);
        assert_eq!(a.write_at(b"before", 0).unwrap(), 6);
        assert_eq!(k.read_at(reading, 0).unwrap(), 0);
        // Another policy with the same roots: everything goes on.
        scene.reload("read-write", "", &again());
        assert_eq!(a.write_at(b"before", 0).unwrap(), 6);
        scene.reload(mode, rules, "");
        assert!(is_refused(a.write_at(b"after!", 0)), "{mode}");
        assert!(is_refused(a.set_len(1)), "{mode}");
        assert!(is_refused(k.read_at(reading, 0)), "{mode}");
        assert!(is_refused(k.metadata()), "{mode}");
        assert_eq!(free.read_at(reading, 0).unwrap(), 6);
        let content = std::fs::read(scene.dir.join("root/a"));
        assert_eq!(content.unwrap(), b"before", "{mode}");
        // What is granted again is of use again.
        scene.reload("read-write", "", "");
        assert_eq!(a.write_at(b"after!", 0).unwrap(), 6);
        assert_eq!(k.read_at(reading, 0).unwrap(), 0);
        drop((a, k, free));
        scene.end();
    }
}

/// The file that is open counts, not what its name leads to by now.
#[test]
fn an_open_file_is_not_judged_by_another_one_under_its_name() {
    let scene = UnmountedView::new("moved", "", "");
    let a = scene.open("a", WRITE);
    let root = scene.dir.join("root");
    std::fs::rename(root.join("a"), root.join("secret")).unwrap();
    std::fs::write(root.join("a"), "harmless").unwrap();
    // The same roots: nothing is to be judged by them.
    scene.reload("read-write", "", &again());
    assert_eq!(a.write_at(b"known", 0).unwrap(), 5);
    scene.reload("read-write", "deny = [\"secret\"]", "");
    assert!(is_refused(a.read_at(&mut [0; 8], 0)));
    assert!(is_refused(a.write_at(b"again", 0)));
    let secret = std::fs::read(root.join("secret"));
    assert_eq!(secret.unwrap(), b"known");
    drop(a);
    scene.end();
}

#[test]
fn the_kernel_forgets_its_pages_when_rules_are_read_again() {
    let mut scene = UnmountedView::new("forgets", "", "");
    let k = scene.open("k", OpenOptions::new());
    assert_eq!(k.read_at(&mut [0; 8], 0).unwrap(), 0);
    let number = k.opened_metadata().identity.inode;
    scene.reload("read-write", "deny = [\"k\"]", "");
    let mut message = [0; 40];
    // A thread tells it. The numbers of the mount itself follow.
    let patience = rustix::event::Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    let mut waiting = [PollFd::new(&scene.told, PollFlags::IN)];
    assert_eq!(
        poll(&mut waiting, Some(&patience)),
        Ok(1),
        "nothing is told"
    );
    scene.told.read_exact(&mut message).unwrap();
    assert_eq!(message[4..8], 2_i32.to_ne_bytes());
    assert_eq!(message[16..24], number.to_ne_bytes());
    // The rest of them, so that no thread waits for a reader.
    for _ in 0..4096 {
        scene.told.read_exact(&mut message).unwrap();
    }
    drop(k);
    scene.end();
}

#[test]
fn a_list_shows_what_the_policy_grants_now() {
    let scene = UnmountedView::new("lists", "", "");
    let names = || -> Vec<String> {
        let top = scene.view.top().unwrap();
        let entries = scene.view.entries_of(&top).unwrap();
        let names = entries.map(|entry| entry.unwrap().name.to_string());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["a", "d", "k"]);
    scene.reload("read-write", "", "paths = [\"d/**\"]");
    assert_eq!(names(), ["d"]);
    // A name that only a directory could have on the way to something is not shown for a file.
    scene.reload("read-write", "", "paths = [\"*/in\"]");
    assert_eq!(names(), ["d"]);
    let scope = scene.running.broker.scope(&scene.claim, Verb::Walk);
    let path = |text: &str| VirtualPath::parse(text).unwrap();
    assert!(scope.shows(&path("/d/in"), FileKind::File));
    assert!(!scope.shows(&path("/d/out"), FileKind::File));
    scene.end();
}
