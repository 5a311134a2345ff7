//! What ends an identity before its lease: keys that are taken back, and for files that are open too.

use std::io::{BufReader, Write};
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use handfast_broker::{Acquire, Client, Code};
use serde_json::json;

use crate::roles::{tell, told};
use crate::spiffe::{bundle, claims, signed, with_file};
use crate::stage::{Stage, code};
use crate::svids::svid;

fn wanted() -> Acquire {
    Acquire::new(["**"], ["read"]).bind("user")
}

/// An operator whose authority was stolen and who has no other yet publishes a bundle with no key.
#[test]
fn b12_a_bundle_without_keys_takes_all_of_them_back() {
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let mut by_token = Client::connect(stage.socket()).unwrap();
    by_token.identify(&signed(Some("one"), &claims())).unwrap();
    let mut by_root = Client::connect(stage.socket()).unwrap();
    by_root.identify_x509(&svid("p256")).unwrap();
    let lease = by_root.acquire(&wanted()).unwrap().lease_id;
    std::fs::write(stage.dir.join("bundle.json"), "{\"keys\":[]}").unwrap();
    running.read_bundle().unwrap();
    assert_eq!(code(by_token.acquire(&wanted())), Code::Denied);
    assert_eq!(code(by_root.open(&lease, "top.txt")), Code::Denied);
    let again = by_token.identify(&signed(Some("one"), &claims()));
    assert_eq!(code(again), Code::Denied);
    assert_eq!(code(by_root.identify_x509(&svid("p256"))), Code::Denied);
    // And given again.
    std::fs::write(stage.dir.join("bundle.json"), bundle().to_string()).unwrap();
    running.read_bundle().unwrap();
    assert_eq!(code(by_token.acquire(&wanted())), Code::Denied);
    by_token.identify(&signed(Some("one"), &claims())).unwrap();
    by_token.acquire(&wanted()).unwrap();
    drop((by_token, by_root));
    running.stop();
}

/// A bundle that has a key of a new kind in the place of one that was stolen is read.
#[test]
fn b12_a_key_of_an_unknown_kind_keeps_no_other_in_force() {
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let mut client = Client::connect(stage.socket()).unwrap();
    client.identify(&signed(Some("one"), &claims())).unwrap();
    for (unknown, stays) in [
        (json!({ "kty": "OKP", "crv": "Ed25519", "x": "AAAA" }), true),
        (json!({ "kty": "EC", "crv": "P-521", "x": "AAAA" }), true),
        (json!({ "kty": "later" }), false),
    ] {
        let mut unknown = unknown;
        unknown["use"] = json!("jwt-svid");
        unknown["kid"] = json!("two");
        let mut changed = bundle();
        match stays {
            true => changed["keys"].as_array_mut().unwrap().push(unknown),
            false => changed["keys"][1] = unknown,
        }
        std::fs::write(stage.dir.join("bundle.json"), changed.to_string()).unwrap();
        running.read_bundle().unwrap();
        assert_eq!(client.acquire(&wanted()).is_ok(), stays, "{changed}");
    }
    drop(client);
    running.stop();
}

/// Whatever has the name of the bundle, it is not waited for, and only a file with a bundle counts.
#[test]
fn b12_what_is_no_file_changes_nothing() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let mut client = Client::connect(stage.socket()).unwrap();
    client.identify(&signed(Some("one"), &claims())).unwrap();
    let path = stage.dir.join("bundle.json");
    let pipe = |path: &std::path::Path| {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    };
    let put: [&dyn Fn(); 6] = [
        &|| {},
        &|| std::fs::create_dir(&path).unwrap(),
        &|| pipe(&path),
        &|| std::os::unix::fs::symlink(&path, &path).unwrap(),
        &|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
        &|| std::fs::write(&path, vec![b' '; 5 << 20]).unwrap(),
    ];
    for (number, put) in put.iter().enumerate() {
        std::fs::remove_file(&path)
            .or_else(|_| std::fs::remove_dir(&path))
            .unwrap_or_else(|error| assert_eq!(number, 1, "{error}"));
        put();
        assert!(running.read_bundle().is_err(), "{number}");
        client.acquire(&wanted()).unwrap();
    }
    // Cut anywhere, as by a writer that is not done, it is none.
    let whole = bundle().to_string();
    for end in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(running.read_bundle().is_err(), "{end}");
    }
    client.acquire(&wanted()).unwrap();
    // A link to a bundle is one: some systems change files like that.
    let mut other = bundle();
    other["keys"].as_array_mut().unwrap().pop();
    std::fs::write(stage.dir.join("other.json"), other.to_string()).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("other.json", &path).unwrap();
    running.read_bundle().unwrap();
    assert_eq!(code(client.acquire(&wanted())), Code::Denied);
    drop(client);
    running.stop();
}

/// Two keys have one id: tokens of both are good, and another's are not.
#[test]
fn b12_keys_with_one_id_are_all_tried() {
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let mut twice = bundle();
    let mut other = twice["keys"][1].clone();
    // A point of the curve: its base point.
    other["x"] = json!("axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY");
    other["y"] = json!("T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU");
    twice["keys"].as_array_mut().unwrap().insert(1, other);
    std::fs::write(stage.dir.join("bundle.json"), twice.to_string()).unwrap();
    running.read_bundle().unwrap();
    let mut client = Client::connect(stage.socket()).unwrap();
    client.identify(&signed(Some("one"), &claims())).unwrap();
    twice["keys"].as_array_mut().unwrap().remove(2);
    std::fs::write(stage.dir.join("bundle.json"), twice.to_string()).unwrap();
    running.read_bundle().unwrap();
    let refused = client.identify(&signed(Some("one"), &claims()));
    assert_eq!(code(refused), Code::Denied);
    drop(client);
    running.stop();
}

/// Mounts what its proof gives it, opens a file there, and writes and reads it when it is told to.
pub(crate) fn mounted(dir: &std::path::Path) {
    let mut client = Client::connect(dir.join("sock/broker.sock")).unwrap();
    client.identify(&std::env::var("HF_SVID").unwrap()).unwrap();
    let both = Acquire::new(["**"], ["read", "write"]).bind("user");
    let id = client.acquire(&both).unwrap().lease_id;
    let at = dir.join("view");
    std::fs::create_dir(&at).unwrap();
    if let Err(error) = client.mount(&id, &at) {
        return tell(&format!("no mount: {error}"));
    }
    let mut how = std::fs::OpenOptions::new();
    let file = how.read(true).write(true).open(at.join("top.txt")).unwrap();
    let mut bytes = [0; 3];
    file.read_exact_at(&mut bytes, 0).unwrap();
    tell(str::from_utf8(&bytes).unwrap());
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let said = |done: std::io::Result<()>| match done {
        Ok(()) => "done".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    // Written first: the kernel asks nothing else before it, as it does before it reads.
    let written = said(file.write_all_at(b"new", 0));
    let read = said(file.read_exact_at(&mut bytes, 0));
    tell(&format!("{written} {read}"));
}

#[test]
fn b12_a_proof_that_is_over_is_over_for_files_that_are_open_through_a_mount() {
    for (stays, expected) in [
        (true, "done done"),
        (false, "PermissionDenied PermissionDenied"),
    ] {
        let stage = Stage::prepare(&[]);
        let running = with_file(&stage);
        let mut role = stage.role("mounted");
        role.env("HF_SVID", signed(Some("one"), &claims()));
        role.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = role.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let first = told(&mut said);
        if first.starts_with("no mount") {
            // Not a silent pass: the reason is printed, and root can always.
            assert!(!rustix::process::geteuid().is_root(), "{first}");
            println!("skipped: {first}");
            child.wait().unwrap();
            return;
        }
        assert_eq!(first, "top");
        if !stays {
            let mut other = bundle();
            other["keys"].as_array_mut().unwrap().pop();
            std::fs::write(stage.dir.join("bundle.json"), other.to_string()).unwrap();
            running.read_bundle().unwrap();
        }
        writeln!(child.stdin.as_mut().unwrap()).unwrap();
        assert_eq!(told(&mut said), expected);
        child.wait().unwrap();
        let content = std::fs::read_to_string(stage.root("top.txt")).unwrap();
        assert_eq!(content, if stays { "new" } else { "top" });
        running.stop();
    }
}

/// A key that a bundle lists twice is one key: when it is gone, so is what either entry vouched for.
#[test]
fn a_key_that_was_listed_twice_vouches_for_nobody_once_it_is_gone() {
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let path = stage.dir.join("bundle.json");
    let write = |keys: &[&serde_json::Value]| {
        std::fs::write(&path, json!({ "keys": keys }).to_string()).unwrap();
        running.read_bundle().unwrap();
    };
    let all = bundle();
    let (root, token) = (&all["keys"][0], &all["keys"][1]);
    write(&[root, root, token, token]);
    let mut by_token = Client::connect(stage.socket()).unwrap();
    by_token.identify(&signed(Some("one"), &claims())).unwrap();
    let mut by_root = Client::connect(stage.socket()).unwrap();
    by_root.identify_x509(&svid("p256")).unwrap();
    write(&[root, token]);
    by_token.acquire(&wanted()).unwrap();
    by_root.acquire(&wanted()).unwrap();
    write(&[]);
    for client in [&mut by_token, &mut by_root] {
        assert_eq!(code(client.acquire(&wanted())), Code::Denied);
    }
    drop((by_token, by_root));
    running.stop();
}

/// Whatever a token says of its own end.
#[test]
fn a_token_proves_an_id_for_a_day_at_most() {
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let mut client = Client::connect(stage.socket()).unwrap();
    let mut long = claims();
    long["exp"] = json!(4_000_000_000_u64);
    let asked = json!({ "svid": signed(Some("one"), &long) });
    let said: serde_json::Value = client.call("Identify", &asked).unwrap();
    assert_eq!(said["ttl"], 24 * 3600, "{said}");
    drop(client);
    running.stop();
}
