//! Who holds a lease: processes that end, that are not the one, that were passed a connection.

use std::process::Stdio;
use std::time::Instant;

use handfast_broker::{Acquire, Code};

use crate::roles::told;
use crate::stage::{Stage, code, until};

#[test]
fn when_the_holder_is_killed_its_lease_is_gone() {
    let stage = Stage::new();
    let mut child = stage.role("hold").stdout(Stdio::piped()).spawn().unwrap();
    let id = told(child.stdout.take().unwrap());
    let mut client = stage.client();
    let lease = client.lookup(&id).unwrap();
    assert_eq!(
        (lease.bind.as_str(), lease.pid),
        ("process", Some(child.id()))
    );
    assert_eq!(lease.outstanding(), 1);
    // The id alone is worth nothing to another process.
    assert_eq!(code(client.open(&id, "src/a.txt")), Code::NoSuchLease);
    child.kill().unwrap();
    let killed = Instant::now();
    until("the end of the lease", || {
        client.list("").unwrap().is_empty()
    });
    // Told, not asserted: a loaded machine is not a broken one.
    println!(
        "the lease was gone {} ms after its holder",
        killed.elapsed().as_millis()
    );
    child.wait().unwrap();
    assert_eq!(code(client.lookup(&id)), Code::LeaseRevoked);
}

#[test]
fn a_lease_of_a_user_is_used_by_who_knows_its_id() {
    let stage = Stage::new();
    let mut client = stage.client();
    let user = stage.lease(&mut client).lease_id;
    let own = client
        .acquire(&Acquire::new(["**"], ["read"]))
        .unwrap()
        .lease_id;
    let use_it = |id: &str| {
        let out = stage.role("use").env("HF_LEASE", id).output().unwrap();
        told(&*out.stdout)
    };
    assert_eq!(use_it(&user), "opened");
    assert_eq!(use_it(&own), "Some(NoSuchLease)");
}

#[test]
fn a_lease_is_acquired_for_another_process_by_its_pidfd() {
    let stage = Stage::new();
    let mut client = stage.client();
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let flags = rustix::process::PidfdFlags::empty();
    let pidfd = rustix::process::pidfd_open(pid, flags).unwrap();
    use std::os::fd::AsFd;
    let wanted = Acquire::new(["**"], ["read"]);
    let lease = client.acquire_for(&wanted, pidfd.as_fd()).unwrap();
    assert_eq!(lease.lease.pid, Some(child.id()));
    assert_eq!(
        code(client.open(&lease.lease_id, "top.txt")),
        Code::NoSuchLease
    );
    // What is no pidfd names nobody.
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(
        code(client.acquire_for(&wanted, file.as_fd())),
        Code::InvalidParameter
    );
    let forged = serde_json::json!({ "paths": ["**"], "verbs": ["read"], "holder": 0 });
    let answer = client.call::<_, serde_json::Value>("Acquire", &forged);
    assert_eq!(code(answer), Code::InvalidParameter);
    child.kill().unwrap();
    child.wait().unwrap();
    until("the end of the lease", || {
        client.list("").unwrap().is_empty()
    });
    // A process that has ended holds nothing.
    assert!(client.acquire_for(&wanted, pidfd.as_fd()).is_err());
}

#[test]
fn a_tethered_lease_ends_with_its_process_and_is_used_by_others() {
    let stage = Stage::new();
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let flags = rustix::process::PidfdFlags::empty();
    let pidfd = rustix::process::pidfd_open(rustix::process::Pid::from_child(&child), flags);
    use std::os::fd::AsFd;
    let mut client = stage.client();
    let wanted = Acquire::new(["**"], ["read"]).bind("user").tethered();
    let lease = client.acquire_for(&wanted, pidfd.unwrap().as_fd()).unwrap();
    client.open(&lease.lease_id, "top.txt").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until("the end of the lease", || {
        client.list("").unwrap().is_empty()
    });
    assert_eq!(
        code(client.open(&lease.lease_id, "top.txt")),
        Code::LeaseRevoked
    );
}

#[test]
fn a_lease_of_a_control_group_is_used_within_it() {
    let stage = Stage::new();
    let mut client = stage.client();
    let wanted = Acquire::new(["**"], ["read"]).bind("cgroup");
    match client.acquire(&wanted) {
        Ok(lease) => {
            // Children of this process are in the same group.
            let out = stage
                .role("use")
                .env("HF_LEASE", &lease.lease_id)
                .output()
                .unwrap();
            assert_eq!(told(&*out.stdout), "opened");
        }
        Err(error) => {
            assert_eq!(error.code(), Some(Code::Denied), "{error}");
            println!("skipped: this kernel does not tell control groups");
        }
    }
}

#[test]
fn b9_a_connection_that_was_passed_on_is_of_no_use_by_default() {
    for (env, expected) in [
        (&[("HF_SENDER", "1")][..], "Some(Denied)"),
        (&[][..], "Some(Denied)"),
        (&[("HF_SENDER", "0")][..], "answered"),
    ] {
        let stage = Stage::with(env);
        let socket = std::os::unix::net::UnixStream::connect(stage.socket()).unwrap();
        let fd: std::os::fd::OwnedFd = socket.try_clone().unwrap().into();
        let out = stage.role("speak").stdin(Stdio::from(fd)).output().unwrap();
        assert_eq!(told(&*out.stdout), expected);
        if expected == "answered" {
            continue;
        }
        // Who connected itself is heard, however early it speaks.
        for _ in 0..300 {
            stage.client().info().unwrap();
        }
    }
}

#[test]
fn what_somebody_else_sent_is_no_part_of_a_message_where_senders_are_checked() {
    for (env, expected) in [
        (&[("HF_SENDER", "1")][..], Some(Code::Denied)),
        (&[("HF_SENDER", "0")][..], None),
    ] {
        let stage = Stage::with(env);
        let socket = std::os::unix::net::UnixStream::connect(stage.socket()).unwrap();
        let mut client = handfast_broker::Client::over(socket.try_clone().unwrap()).unwrap();
        client.info().unwrap();
        let fd: std::os::fd::OwnedFd = socket.into();
        let done = stage.role("interject").stdin(Stdio::from(fd)).output();
        assert!(done.unwrap().status.success());
        let answer = client.info();
        assert_eq!(answer.err().and_then(|error| error.code()), expected);
    }
}

/// The sender of a message is known without a descriptor, so a broker that has none left neither
/// takes the message of another process for the last one's nor turns away the process that connected.
#[test]
fn a_broker_without_descriptors_still_tells_senders_apart() {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let stage = Stage::new();
    let broker = stage.broker.as_ref().unwrap();
    let pid = Some(Pid::from_child(broker));
    let mut other = stage.client();
    let socket = std::os::unix::net::UnixStream::connect(stage.socket()).unwrap();
    let mut client = handfast_broker::Client::over(socket.try_clone().unwrap()).unwrap();
    client.info().unwrap();
    other.info().unwrap();
    // No more than its standard streams. With 0 the kernel would refuse to wait for a connection, too:
    // `poll` takes no more descriptors than a process may have.
    let none = Rlimit {
        current: Some(3),
        ..getrlimit(Resource::Nofile)
    };
    let before = prlimit(pid, Resource::Nofile, none).unwrap();
    let own = other.info();
    let fd: std::os::fd::OwnedFd = socket.into();
    let out = stage.role("speak").stdin(Stdio::from(fd)).output().unwrap();
    let said = told(&*out.stdout);
    prlimit(pid, Resource::Nofile, before).unwrap();
    own.unwrap();
    // The connection is closed behind the answer, and may take the answer with it.
    assert!(["Some(Denied)", "None"].contains(&&*said), "{said}");
    // With descriptors again, who connects is heard.
    stage.client().info().unwrap();
}

/// A connection whose maker has ended.
fn lent(stage: &Stage) -> handfast_broker::Client {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let fd: std::os::fd::OwnedFd = theirs.into();
    let status = stage
        .role("lend")
        .stdin(Stdio::from(fd))
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut part = [std::io::IoSliceMut::new(&mut byte)];
    recvmsg(&ours, &mut part, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    let came = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    handfast_broker::Client::over(came.expect("a connection").into()).unwrap()
}

/// The reaper hears of a holder's end once. If that is before the lease is in the table, nobody
/// would end it: a lease on the user's behalf, tied to a process that is gone, would last.
#[test]
fn a_process_that_has_ended_gets_no_lease_that_outlives_it() {
    let stage = Stage::with(&[("HF_SENDER", "0")]);
    let mut witness = stage.client();
    let mut client = lent(&stage);
    for tied in [
        Acquire::new(["**"], ["read"]).bind("user").tethered(),
        Acquire::new(["**"], ["read"]).bind("process"),
    ] {
        for _ in 0..50 {
            assert_eq!(code(client.acquire(&tied)), Code::Denied);
        }
    }
    assert!(witness.list("").unwrap().is_empty());
    // The same connection may have what ends by time.
    stage.lease(&mut client);
    assert_eq!(witness.list("").unwrap().len(), 1);
}

#[test]
fn a_revocation_kills_everybody_who_got_a_descriptor() {
    let mut stage = Stage::prepare(&[("HF_STAY", "1")]);
    stage.policy(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n\
         [lease]\non_revoke = \"kill\"\n",
    );
    stage.start();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    // Both open the same file, and only the last is remembered as who has it.
    let mut users: Vec<_> = (0..2)
        .map(|_| {
            let mut role = stage.role("use");
            let mut child = role
                .env("HF_LEASE", &id)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            assert_eq!(told(child.stdout.take().unwrap()), "opened");
            child
        })
        .collect();
    // By its handle: who presents the id gives the lease back, and nobody is killed for that.
    let handle = client.lookup(&id).unwrap().handle;
    client.revoke(&handle).unwrap();
    use std::os::unix::process::ExitStatusExt;
    for user in &mut users {
        assert_eq!(user.wait().unwrap().signal(), Some(9));
    }
}

#[test]
fn a_revocation_kills_where_the_policy_says_so() {
    let mut stage = Stage::prepare(&[("HF_BIND", "user")]);
    stage.policy(
        "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n\
         [lease]\non_revoke = \"kill\"\n",
    );
    stage.start();
    let mut child = stage.role("hold").stdout(Stdio::piped()).spawn().unwrap();
    let id = told(child.stdout.take().unwrap());
    let mut client = stage.client();
    let handle = client.lookup(&id).unwrap().handle;
    assert!(child.try_wait().unwrap().is_none());
    client.revoke(&handle).unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    // The process that revoked lives on.
    client.info().unwrap();
}

#[test]
fn b11_outstanding_lists_the_living_and_all_of_them() {
    let stage = Stage::new();
    let mut client = stage.client();
    for number in 0..100 {
        std::fs::write(stage.root(&format!("f{number}")), "").unwrap();
    }
    let lease = stage.lease(&mut client);
    // Opened by a process that ends.
    let mut role = stage.role("use");
    let out = role.env("HF_LEASE", &lease.lease_id).output().unwrap();
    assert_eq!(told(&*out.stdout), "opened");
    let held: Vec<_> = (0..100)
        .map(|number| client.open(&lease.lease_id, format!("f{number}")).unwrap())
        .collect();
    let revoked = client.revoke(&lease.lease.handle).unwrap();
    assert_eq!(revoked.outstanding.len(), 100);
    let own = std::process::id();
    assert!(revoked.outstanding.iter().all(|out| out.pid == Some(own)));
    drop(held);
}
