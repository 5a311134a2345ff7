//! The policy: who may ask for what, and what is refused at the start.

use handfast_broker::{Acquire, Code, Fence, Rulebook, ServeOptions, StartError, bind_socket};

use crate::stage::{Stage, code, text};

const ROOT: &str = "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/ws\"\nmode = \"read-write\"\n";

fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}

#[test]
fn a_rule_limits_verbs_and_paths_at_every_use() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(&format!(
        "{ROOT}[[allow]]\nuid = {}\nroots = [\"ws\"]\npaths = [\"src/**\"]\nverbs = [\"read\"]\n",
        uid()
    ));
    stage.start();
    let mut client = stage.client();
    assert_eq!(
        code(client.acquire(&Acquire::new(["**"], ["write"]))),
        Code::Denied
    );
    assert_eq!(
        code(client.acquire(&Acquire::new(["/ws/top.txt"], ["read"]))),
        Code::Denied
    );
    let id = client
        .acquire(&Acquire::new(["**"], ["read"]))
        .unwrap()
        .lease_id;
    client.open(&id, "/ws/src/a.txt").unwrap();
    assert_eq!(code(client.open(&id, "/ws/top.txt")), Code::Denied);
    assert_eq!(code(client.open(&id, "/elsewhere")), Code::Denied);
    client.list_dir(&id, "/ws").unwrap();
}

#[test]
fn somebody_else_gets_nothing() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(&format!(
        "{ROOT}[[allow]]\nuid = {}\n",
        uid().wrapping_add(1)
    ));
    stage.start();
    let mut client = stage.client();
    assert_eq!(
        code(client.acquire(&Acquire::new(["**"], ["read"]))),
        Code::Denied
    );
}

#[test]
fn direct_writes_only_where_the_policy_says_so() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    assert_eq!(code(client.open_direct(&id, "top.txt")), Code::Denied);
    let mut direct = Stage::prepare(&[]);
    direct.policy(&format!("{ROOT}[lease]\nwrites = \"direct\"\n"));
    direct.start();
    let mut client = direct.client();
    let id = direct.lease(&mut client).lease_id;
    let opened = client.open_direct(&id, "/ws/top.txt").unwrap();
    std::os::unix::fs::FileExt::write_all_at(&opened.file, b"TOP", 0).unwrap();
    assert_eq!(text(&direct.root("top.txt")), "TOP");
    let out = client.revoke(&id).unwrap().outstanding;
    assert_eq!((out.len(), out[0].mode.as_str()), (1, "write"));
}

#[test]
fn a_policy_that_cannot_be_kept_is_refused_at_the_start() {
    for (policy, says) in [
        (ROOT.replace("read-write", "overlay"), "overlay"),
        (
            format!("{ROOT}[[allow]]\nuser = \"nobody-of-this-name\"\n"),
            "no user",
        ),
        (format!("{ROOT}[[allow]]\nexe = \"/bin/sh\"\n"), "witness"),
        (
            format!("{ROOT}[[allow]]\nspiffe_id = \"spiffe://a/b\"\n"),
            "spiffe_id",
        ),
    ] {
        let mut stage = Stage::prepare(&[]);
        stage.policy(&policy);
        let out = stage.role("serve").output().unwrap();
        assert!(!out.status.success(), "{policy}");
        let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(said.contains(says), "{says}: {said}");
    }
}

#[test]
fn b4_kill_on_revoke_is_refused_where_it_could_end_nobody() {
    let stage = Stage::prepare(&[]);
    let root = stage.root("").display().to_string();
    let text = format!(
        "{ROOT}[lease]\non_revoke = \"kill\"\n[[allow]]\nuid = {}\n",
        uid().wrapping_add(1)
    );
    let text = text.replace("ROOT", root.trim_end_matches('/'));
    let policy = handfast_session::Policy::parse(&text, &stage.dir).unwrap();
    let rulebook = Rulebook::of_policy(&policy, text.as_bytes(), false).unwrap();
    let listener = bind_socket(&stage.socket(), true).unwrap();
    let options = ServeOptions::new(rulebook, stage.dir.join("state")).fence(Fence::Thread);
    let started = std::thread::spawn(move || {
        // As a broker with a user of its own: this thread alone gives up the right.
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::KILL);
        set_capabilities(None, sets).unwrap();
        options.start(listener)
    });
    match started.join().unwrap() {
        Err(StartError::Config(why)) => assert!(why.contains("on_revoke"), "{why}"),
        other => panic!("it was started: {other:?}"),
    }
}

#[test]
fn b11_paths_of_rules_count_from_the_mount_or_from_the_root() {
    for paths in ["/ws/src/**", "/src/**", "src/**"] {
        let mut stage = Stage::prepare(&[]);
        stage.policy(&format!(
            "{ROOT}[[allow]]\nuid = {}\npaths = [\"{paths}\"]\nverbs = [\"read\"]\n",
            uid()
        ));
        stage.start();
        let mut client = stage.client();
        let wanted = Acquire::new(["/ws/**"], ["read"]);
        let id = client.acquire(&wanted).unwrap().lease_id;
        client.open(&id, "/ws/src/a.txt").expect(paths);
        assert_eq!(
            code(client.open(&id, "/ws/top.txt")),
            Code::Denied,
            "{paths}"
        );
    }
    // A path in a root that the rule does not name could never match.
    let text = "version = 1\n[[root]]\nname = \"a\"\npath = \".\"\nmount = \"/a\"\nmode = \"read-only\"\n\
        [[root]]\nname = \"b\"\npath = \".\"\nmount = \"/b\"\nmode = \"read-only\"\n\
        [[allow]]\nuid = 1\nroots = [\"a\"]\npaths = [\"/b/src/**\"]\n";
    let policy = handfast_session::Policy::parse(text, &std::env::temp_dir()).unwrap();
    let refused = Rulebook::of_policy(&policy, text.as_bytes(), false).unwrap_err();
    assert!(refused.to_string().contains("never match"), "{refused}");
}

/// The right program under its path, and another one that a mount namespace shows there.
#[test]
fn b7_a_program_is_the_file_that_runs_and_not_its_path() {
    use std::process::Command;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root has mount namespaces to play with");
        return;
    }
    let mut stage = Stage::prepare(&[("HF_WITNESS", "1")]);
    let allowed = stage.dir.join("allowed");
    let own = std::env::current_exe().unwrap();
    std::fs::copy(&own, &allowed).unwrap();
    stage.policy(&format!(
        "{ROOT}[[allow]]\nexe = {allowed:?}\nverbs = [\"read\"]\n"
    ));
    stage.start();
    let ask = |mut program: Command| {
        let role = stage.role("ask");
        let env = role
            .get_envs()
            .filter_map(|(key, value)| Some((key, value?)));
        program.args(role.get_args()).envs(env);
        let out = program.output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success(), "{text}");
        text
    };
    assert!(
        ask(Command::new(&allowed)).contains("given"),
        "the program itself"
    );
    assert!(ask(Command::new(&own)).contains("Denied"), "another path");
    let mut spoofed = Command::new("unshare");
    spoofed
        .args([
            "-m",
            "sh",
            "-c",
            "mount --bind \"$1\" \"$2\" && shift && exec \"$@\"",
            "sh",
        ])
        .args([&own, &allowed]);
    assert!(
        ask(spoofed).contains("Denied"),
        "another program under the path"
    );
}

#[test]
fn b11_a_lease_on_everything_shows_what_is_granted() {
    let mut stage = Stage::prepare(&[]);
    stage.policy(&format!(
        "{ROOT}[[allow]]\nuid = {}\npaths = [\"src/**\", \"*.md\"]\nverbs = [\"read\"]\n",
        uid()
    ));
    stage.start();
    let mut client = stage.client();
    let acquired = client.acquire(&Acquire::new(["**"], ["read"])).unwrap();
    assert_eq!(acquired.lease.paths, ["/ws/src/**", "/ws/**/*.md"]);
    std::fs::write(stage.root("deep.md"), "deep").unwrap();
    for path in ["/ws/src/a.txt", "/ws/deep.md"] {
        client.open(&acquired.lease_id, path).expect(path);
    }
    let refused = client.open(&acquired.lease_id, "/ws/top.txt");
    assert_eq!(code(refused), Code::Denied);
}
