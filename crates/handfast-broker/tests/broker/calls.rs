//! How many system calls the broker makes for one call of a client.

use std::process::{Command, Stdio};

use crate::stage::{Stage, until};

/// The system calls of one request, from its receipt to its answer.
fn traced(stage: &Stage, ask: impl FnOnce()) -> Option<Vec<String>> {
    let trace = stage.dir.join("trace");
    let broker = stage.broker.as_ref().unwrap().id().to_string();
    let strace = Command::new("strace")
        .args(["-f", "-qq", "-s", "4096", "-p", &broker, "-o"])
        .arg(&trace)
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut strace) = strace else {
        assert!(std::env::var_os("CI").is_none(), "there is no strace");
        println!("skipped: there is no strace");
        return None;
    };
    // It has attached to every thread when the calls of a request are seen.
    until("strace sees the broker", || {
        stage.client().info().unwrap();
        std::fs::read_to_string(&trace).is_ok_and(|text| text.contains("sendmsg("))
    });
    ask();
    let seen = || std::fs::read_to_string(&trace).unwrap();
    until("the answer is seen", || {
        let text = seen();
        text.rfind("Broker.Open")
            .is_some_and(|at| text[at..].contains("sendmsg("))
    });
    let id = rustix::process::Pid::from_child(&strace);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    strace.wait().unwrap();
    let text = seen();
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines
        .iter()
        .rposition(|line| line.contains("Broker.Open"))?;
    let thread = lines[begin].split_whitespace().next()?;
    let calls = lines[begin + 1..]
        .iter()
        .filter(|line| line.starts_with(thread))
        .map(|line| line[thread.len()..].trim().to_owned())
        .take_while(|call| !call.starts_with("sendmsg("))
        // A call that another thread's came between is there twice.
        .filter(|call| !call.starts_with("<... "));
    Some(calls.collect())
}

/// The path is asked for once, whole; after that everything is done with what was opened.
#[test]
fn an_open_asks_for_its_path_once() {
    if std::env::var("HANDFAST_EXPECT_BACKEND").is_ok_and(|backend| backend == "walk") {
        println!("skipped: calls are counted on the kernel backend");
        return;
    }
    let stage = Stage::new();
    std::fs::create_dir_all(stage.root("one/two/three")).unwrap();
    std::fs::write(stage.root("one/two/three/file"), "deep").unwrap();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let path = "/one/two/three/file";
    // A file that changed a moment ago may have lost a name in that moment: its name is looked at twice.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    // What is done once for a connection and a lease is done.
    client.open(&id, path).unwrap();
    let Some(calls) = traced(&stage, || drop(client.open(&id, path).unwrap())) else {
        return;
    };
    let named: Vec<_> = calls.iter().filter(|call| call.contains("one")).collect();
    let whole: Vec<_> = named
        .iter()
        .filter(|call| call.starts_with("openat2(") && call.contains("\"one/two/three/file\""))
        .collect();
    // The event in the log names the path too: that is a write, and no lookup.
    let looked_up = named.iter().filter(|call| !call.contains("write"));
    // On ext4 a call on the open file tells whether it lost a name; elsewhere its name is looked at again,
    // once, in its directory.
    let again = usize::from(calls.iter().any(|call| call.starts_with("renameat2(")));
    assert_eq!(
        (whole.len(), looked_up.count()),
        (1, 1 + again),
        "{calls:#?}"
    );
    println!("{} system calls: {calls:#?}", calls.len());
    assert!(
        calls.len() <= 12 + 5 * again,
        "{} system calls: {calls:#?}",
        calls.len()
    );
}
