//! What this program does when it is started by one of its own tests.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use handfast::Files;
use handfast::files::{LastLink, read_whole};
use handfast_broker::{Acquire, Client, Fence, Limits, Rulebook, ServeOptions, bind_socket};
use handfast_session::Policy;

/// Not a test of its own: the other process of the tests that need one.
#[test]
fn another_process() {
    let Ok(role) = std::env::var("HF_ROLE") else {
        return;
    };
    // Gone with the test, however that ends.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    let dir = PathBuf::from(std::env::var_os("HF_DIR").expect("HF_DIR"));
    match role.as_str() {
        "serve" => serve(&dir),
        "hold" => hold(&dir),
        "use" => use_lease(&dir),
        "speak" => speak(),
        "interject" => interject(),
        "lend" => lend(&dir),
        "crowd" => crowd(&dir),
        "honest" => honest(&dir),
        "witness" => {
            let socket = handfast_broker::witness_socket_from_stdin().unwrap();
            let policy = std::env::var_os("HF_POLICY").map(PathBuf::from);
            handfast_broker::serve_witness(socket, policy.as_deref()).unwrap();
        }
        "ask" => {
            if std::env::var_os("HF_UID").is_some() {
                become_user();
            }
            let mut client = Client::connect(dir.join("sock/broker.sock")).unwrap();
            let wanted = Acquire::new(["**"], ["read"]).bind("user");
            let asked = client.acquire(&wanted);
            tell(&match asked {
                Ok(_) => "given".to_owned(),
                Err(error) => match error.code() {
                    Some(code) => format!("{code:?}"),
                    None => error.to_string(),
                },
            });
        }
        "flood" => flood(&dir),
        "reopen" => reopen(&dir),
        other => crate::more_role(other, &dir),
    }
}

/// A process that tells a broker which programs others run.
fn witness() -> handfast_broker::ExeReader {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let theirs: std::os::fd::OwnedFd = theirs.into();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "roles::another_process",
            "--exact",
            "--nocapture",
            "--quiet",
        ])
        .env("HF_ROLE", "witness")
        .stdin(std::process::Stdio::from(theirs))
        .spawn()
        .unwrap();
    // It ends when the broker does.
    std::mem::forget(child);
    handfast_broker::ExeReader::witness(ours).unwrap()
}

fn serve(dir: &std::path::Path) {
    let witness = std::env::var_os("HF_WITNESS").map(|_| witness());
    let rulebook = match std::env::var_os("HF_POLICY") {
        Some(path) => {
            let text = std::fs::read(&path).unwrap();
            let policy = Policy::read_ambient(&path).unwrap();
            Rulebook::of_policy(&policy, &text, witness.is_some()).unwrap()
        }
        None => Rulebook::of_directory(dir.join("root")).unwrap(),
    };
    let socket = dir.join("sock/broker.sock");
    let listener = bind_socket(&socket, rulebook.is_for_others()).unwrap();
    let mut limits = Limits::default();
    if let Ok(text) = std::env::var("HF_CONNECTIONS") {
        limits.connections_per_user = text.parse().unwrap();
    }
    if std::env::var_os("HF_IMPATIENT").is_some() {
        limits.patience = Duration::from_millis(300);
    }
    let mut options = ServeOptions::new(rulebook, dir.join("state"))
        .fence(Fence::Thread)
        .limits(limits);
    if let Ok(text) = std::env::var("HF_SENDER") {
        options = options.check_sender(text == "1");
    }
    if let Some(exe) = witness {
        options = options.exe(exe);
    }
    let running = options
        .probe(|text| {
            // An injected call: whatever a bug could make the broker open.
            let path: String = serde_json::from_str(text).unwrap_or_default();
            match std::fs::File::open(&path) {
                Ok(_) => "opened".to_owned(),
                Err(error) => format!("{:?}", error.raw_os_error()),
            }
        })
        .start(listener)
        .unwrap();
    running.wait();
}

/// Acquires a lease for itself, tells its id, and waits to be ended.
fn hold(dir: &std::path::Path) {
    let mut client = Client::connect(dir.join("sock/broker.sock")).unwrap();
    let bind = std::env::var("HF_BIND").unwrap_or_else(|_| "process".to_owned());
    let wanted = Acquire::new(["**"], ["read", "write"]).bind(bind);
    let lease = client.acquire(&wanted).unwrap();
    let opened = client.open(&lease.lease_id, "src/a.txt").unwrap();
    tell(&lease.lease_id);
    // The connection need not stay for the lease to last.
    drop(client);
    std::thread::sleep(Duration::from_secs(600));
    drop(opened);
}

/// Becomes another user, makes as many connections as it is told to, and says nothing on them.
fn crowd(dir: &std::path::Path) {
    become_user();
    let crowd: Vec<_> = (0..connections())
        .filter_map(|_| std::os::unix::net::UnixStream::connect(dir.join("sock/broker.sock")).ok())
        .collect();
    tell(&format!("{} connected", crowd.len()));
    std::thread::sleep(Duration::from_secs(600));
    drop(crowd);
}

/// Becomes another user, and works over several connections at once.
fn honest(dir: &std::path::Path) {
    become_user();
    let mut clients: Vec<_> = (0..connections())
        .map(|_| Client::connect(dir.join("sock/broker.sock")).unwrap())
        .collect();
    let answered = clients.iter_mut().filter_map(|client| client.info().ok());
    tell(&format!("{} answered", answered.count()));
}

fn connections() -> usize {
    std::env::var("HF_CONNECTIONS").unwrap().parse().unwrap()
}

/// Becomes another user, and presents lease ids that it made up.
fn flood(dir: &std::path::Path) {
    become_user();
    let mut client = Client::connect(dir.join("sock/broker.sock")).unwrap();
    let count: u32 = std::env::var("HF_COUNT").unwrap().parse().unwrap();
    for number in 0..count {
        let id = format!("u1/t/{number:032x}");
        assert!(client.open(&id, format!("/ws/{number}")).is_err());
    }
    tell("flooded");
}

/// Becomes another user, opens a file to read it, and tries to write through the descriptor.
fn reopen(dir: &std::path::Path) {
    use std::os::fd::AsRawFd;
    become_user();
    let mut client = Client::connect(dir.join("sock/broker.sock")).unwrap();
    let wanted = Acquire::new(["**"], ["read"]).bind("user");
    let id = client.acquire(&wanted).unwrap().lease_id;
    let opened = match client.open_versioned(&id, "/ws/wide") {
        Ok(opened) => opened,
        Err(error) => return tell(&format!("{:?}", error.code().unwrap())),
    };
    let text = std::io::read_to_string(&opened.file).unwrap();
    let again = format!("/proc/self/fd/{}", opened.file.as_raw_fd());
    let wrote = std::fs::OpenOptions::new()
        .write(true)
        .open(again)
        .and_then(|mut file| file.write_all(b"X"));
    // The owner's way to the same end; what comes of it shows in the tree.
    let wider = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    drop(opened.file.set_permissions(wider));
    let how = match wrote {
        Ok(()) => "wrote",
        Err(_) => "could not write",
    };
    // The client's own files take a copy for the file that it is of.
    let files = handfast_broker::LeaseFiles::new(client, id).unwrap();
    let path = handfast::RelPath::parse("ws/wide").unwrap();
    let node = files.node(&path, LastLink::Itself).unwrap();
    let held = files
        .open_node(&node, handfast::OpenOptions::new())
        .unwrap();
    assert_eq!(read_whole(&*held, 100).unwrap(), text.as_bytes());
    let (bytes, version) = files.read_versioned(&path, 100).unwrap();
    assert_eq!(bytes, text.as_bytes());
    assert_eq!(Some(version.to_string()), opened.version);
    tell(&format!("read {text}, {how}"));
}

pub(crate) fn become_user() {
    let uid: u32 = std::env::var("HF_UID").unwrap().parse().unwrap();
    let uid = rustix::process::Uid::from_raw(uid);
    rustix::thread::set_thread_uid(uid).unwrap();
}

/// Uses a lease that somebody else acquired.
fn use_lease(dir: &std::path::Path) {
    let id = std::env::var("HF_LEASE").unwrap();
    let mut client = Client::connect(dir.join("sock/broker.sock")).unwrap();
    let opened = client.open(&id, "src/a.txt");
    match &opened {
        Ok(_) => tell("opened"),
        Err(error) => tell(&format!("{:?}", error.code())),
    }
    if std::env::var_os("HF_STAY").is_some() {
        std::thread::sleep(Duration::from_secs(600));
    }
    drop(opened);
}

/// Connects, passes the connection on to who holds the other end of its standard input, and ends.
fn lend(dir: &std::path::Path) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::os::fd::AsFd;
    let socket = std::os::unix::net::UnixStream::connect(dir.join("sock/broker.sock")).unwrap();
    // The broker knows who connected before that is nobody any more.
    let mut client = Client::over(socket.try_clone().unwrap()).unwrap();
    client.info().unwrap();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [socket.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let part = [std::io::IoSlice::new(b"x")];
    sendmsg(std::io::stdin(), &part, &mut control, SendFlags::empty()).unwrap();
}

/// Speaks over a connection that it inherited as standard input.
fn speak() {
    use std::os::fd::AsFd;
    let fd = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let mut client = Client::over(fd.into()).unwrap();
    match client.info() {
        Ok(_) => tell("answered"),
        Err(error) => tell(&format!("{:?}", error.code())),
    }
}

/// Puts a space, which JSON does not mind, and a descriptor before what is sent next over a
/// connection that it inherited as standard input.
fn interject() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::os::fd::AsFd;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let input = std::io::stdin();
    let fds = [input.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let part = [std::io::IoSlice::new(b" ")];
    sendmsg(&input, &part, &mut control, SendFlags::empty()).unwrap();
}

/// One line for the test; the harness prints others.
pub(crate) fn tell(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "\nTELL {text}").unwrap();
    out.flush().unwrap();
}

/// The line that a role told.
pub(crate) fn told(out: impl std::io::Read) -> String {
    use std::io::BufRead;
    std::io::BufReader::new(out)
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("TELL ").map(str::to_owned))
        .expect("the other process told nothing")
}
