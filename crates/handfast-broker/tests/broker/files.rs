//! Files under a lease: reading, listing, names, links, protected patterns, resume.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use handfast::ErrorKind;
use handfast_broker::{Acquire, Client, ClientError, Code};

use crate::stage::{Stage, code, text};

fn names(entries: &[handfast_broker::Entry]) -> Vec<String> {
    let text = |entry: &handfast_broker::Entry| String::from_utf8(entry.name()).unwrap();
    entries.iter().map(text).collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Option<ErrorKind> {
    result.unwrap_err().fault().expect("a refusal").kind()
}

#[test]
fn every_verb_does_its_work() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    client.append(&id, "src/a.txt", b" and more").unwrap();
    assert_eq!(text(&stage.root("src/a.txt")), "alpha and more");
    client.mkdir(&id, "new/deep/er", true).unwrap();
    assert!(stage.root("new/deep/er").is_dir());
    assert_eq!(
        kind(client.mkdir(&id, "new", false)),
        Some(ErrorKind::Exists)
    );
    client
        .rename(&id, "src/a.txt", "new/moved.txt", "no-replace")
        .unwrap();
    assert_eq!(
        kind(client.rename(&id, "top.txt", "new/moved.txt", "no-replace")),
        Some(ErrorKind::Exists)
    );
    client
        .rename(&id, "top.txt", "new/moved.txt", "exchange")
        .unwrap();
    assert_eq!(text(&stage.root("new/moved.txt")), "top");
    let stat = client.stat(&id, "new/moved.txt").unwrap();
    assert_eq!((stat.kind.as_str(), stat.size()), ("file", 3));
    assert!(stat.version.is_some());
    assert_eq!(
        names(&client.list_dir(&id, "new").unwrap()),
        ["deep", "moved.txt"]
    );
    let mut walked = names(&client.walk(&id, "/").unwrap());
    walked.sort();
    assert_eq!(
        walked,
        [
            ".env",
            "new",
            "new/deep",
            "new/deep/er",
            "new/moved.txt",
            "src",
            "src/b.txt",
            "top.txt"
        ]
    );
    assert_eq!(
        kind(client.remove(&id, "new", "dir")),
        Some(ErrorKind::NotEmpty)
    );
    client.remove(&id, "new", "tree").unwrap();
    client.remove(&id, "src/b.txt", "file").unwrap();
    client.remove(&id, "src", "dir").unwrap();
    assert!(!stage.root("new").exists() && !stage.root("src").exists());
    assert_eq!(kind(client.open(&id, "gone")), Some(ErrorKind::NotFound));
}

#[test]
fn a_lease_shows_what_it_covers_and_the_way_there() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.root("other/deep")).unwrap();
    let mut client = stage.client();
    let id = client
        .acquire(&Acquire::new(["/src/a.txt"], ["read"]))
        .unwrap()
        .lease_id;
    assert_eq!(names(&client.list_dir(&id, "").unwrap()), ["src"]);
    assert_eq!(names(&client.list_dir(&id, "/src").unwrap()), ["a.txt"]);
    assert_eq!(names(&client.walk(&id, "/").unwrap()), ["src", "src/a.txt"]);
    client.stat(&id, "src").unwrap();
    for path in ["other", "top.txt", "src/b.txt"] {
        assert_eq!(code(client.stat(&id, path)), Code::Denied, "{path}");
    }
    assert_eq!(code(client.list_dir(&id, "other")), Code::Denied);
}

#[test]
fn protected_files_stay_protected_whatever_the_lease_says() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    assert_eq!(code(client.open(&id, ".env")), Code::Denied);
    assert_eq!(
        code(client.write(&id, "sub/.env", b"x", None)),
        Code::Denied
    );
    assert_eq!(
        code(client.rename(&id, ".env", "plain", "no-replace")),
        Code::Denied
    );
    assert_eq!(
        code(client.rename(&id, "top.txt", "x.pem", "no-replace")),
        Code::Denied
    );
    assert_eq!(
        code(client.append(&id, ".git/hooks/pre-commit", b"x")),
        Code::Denied
    );
    assert_eq!(text(&stage.root(".env")), "SECRET=1");
}

#[test]
fn links_lead_where_the_lease_reaches_and_nowhere_else() {
    let stage = Stage::new();
    symlink("src/a.txt", stage.root("inside")).unwrap();
    symlink("../top.txt", stage.root("src/up")).unwrap();
    symlink("src", stage.root("dir")).unwrap();
    symlink("../outside.txt", stage.root("out")).unwrap();
    symlink("/etc/passwd", stage.root("abs")).unwrap();
    symlink(".env", stage.root("src/secret")).unwrap();
    symlink("../.env", stage.root("src/secret2")).unwrap();
    symlink("loop", stage.root("loop")).unwrap();
    let mut client = stage.client();
    let all = stage.lease(&mut client).lease_id;
    let read = |client: &mut Client, id: &str, path: &str| {
        client.open(id, path).map(|mut opened| {
            let mut text = String::new();
            opened.file.read_to_string(&mut text).unwrap();
            text
        })
    };
    assert_eq!(read(&mut client, &all, "inside").unwrap(), "alpha");
    assert_eq!(read(&mut client, &all, "dir/b.txt").unwrap(), "beta");
    assert_eq!(read(&mut client, &all, "dir/up").unwrap(), "top");
    for path in ["out", "abs"] {
        assert_eq!(
            kind(read(&mut client, &all, path)),
            Some(ErrorKind::Escape),
            "{path}"
        );
    }
    assert_eq!(kind(read(&mut client, &all, "loop")), Some(ErrorKind::Link));
    assert_eq!(code(read(&mut client, &all, "src/secret2")), Code::Denied);
    // The path that a link leads to must be covered, not only the link.
    let src = client
        .acquire(&Acquire::new(["src/**"], ["read", "write"]))
        .unwrap()
        .lease_id;
    assert_eq!(code(read(&mut client, &src, "src/up")), Code::Denied);
    assert_eq!(code(client.write(&src, "src/up", b"x", None)), Code::Denied);
    assert_eq!(code(read(&mut client, &src, "inside")), Code::Denied);
    assert_eq!(text(&stage.root("top.txt")), "top");
    // Removing and renaming mean the link itself.
    client.remove(&all, "out", "file").unwrap();
    assert_eq!(text(&stage.dir.join("outside.txt")), "outside");
}

#[test]
fn every_step_of_a_link_is_judged_by_the_lease() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.root("lib/deep")).unwrap();
    std::fs::create_dir(stage.root("hidden")).unwrap();
    std::fs::write(stage.root("hidden/h.txt"), "hidden").unwrap();
    symlink("../../src/a.txt", stage.root("lib/deep/across")).unwrap();
    symlink("../hidden/../src/a.txt", stage.root("src/around")).unwrap();
    symlink("../missing/../src/a.txt", stage.root("src/around2")).unwrap();
    symlink("../hidden", stage.root("src/door")).unwrap();
    let mut client = stage.client();
    let wanted = Acquire::new(["/src/**", "/lib/deep/**"], ["read", "write"]);
    let id = client.acquire(&wanted).unwrap().lease_id;
    // Directories on the way to what is covered are passed, also by the `..` of a link.
    let mut text = String::new();
    let mut opened = client.open(&id, "lib/deep/across").unwrap().file;
    opened.read_to_string(&mut text).unwrap();
    assert_eq!(text, "alpha");
    // Others are not, whether they exist or not: a link is no way to find out.
    assert_eq!(code(client.open(&id, "src/around")), Code::Denied);
    assert_eq!(code(client.open(&id, "src/around2")), Code::Denied);
    assert_eq!(code(client.list_dir(&id, "src/door")), Code::Denied);
    assert_eq!(code(client.walk(&id, "src/door")), Code::Denied);
    assert_eq!(code(client.stat(&id, "src/door/h.txt")), Code::Denied);
    // Both ends of a rename are judged behind links.
    let rename = |client: &mut Client, from: &str, to: &str| {
        code(client.rename(&id, from, to, "no-replace"))
    };
    assert_eq!(
        rename(&mut client, "src/a.txt", "src/door/a.txt"),
        Code::Denied
    );
    assert_eq!(
        rename(&mut client, "src/door/h.txt", "src/h.txt"),
        Code::Denied
    );
    assert_eq!(
        code(client.remove(&id, "src/door/h.txt", "file")),
        Code::Denied
    );
    assert_eq!(
        std::fs::read_dir(stage.root("hidden")).unwrap().count(),
        1,
        "nothing came or went"
    );
}

#[test]
fn tricks_with_paths_stay_inside() {
    let stage = Stage::new();
    let outside = stage.dir.join("outside.txt");
    std::fs::hard_link(&outside, stage.root("hard")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        stage.root("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    // Dots fold in the namespace: there is nothing above its top.
    for path in [
        "../outside.txt",
        "/../../outside.txt",
        "src/../../outside.txt",
    ] {
        assert_eq!(
            kind(client.open(&id, path)),
            Some(ErrorKind::NotFound),
            "{path}"
        );
    }
    for path in ["top.txt/", "top.txt/x"] {
        assert_eq!(code(client.open(&id, path)), Code::Failed, "{path}");
    }
    for path in [&b"a\0b"[..], &[b'a'; 300], &[b'a'; 5000]] {
        assert_eq!(code(client.open(&id, path)), Code::InvalidParameter);
    }
    assert_eq!(kind(client.open(&id, "fifo")), Some(ErrorKind::Kind));
    assert_eq!(
        kind(client.append(&id, "hard", b"x")),
        Some(ErrorKind::HardLink)
    );
    // A commit gives the name a fresh file and leaves the other name alone.
    client.write(&id, "hard", b"fresh", None).unwrap();
    assert_eq!(text(&outside), "outside");
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\n");
    client.write(&id, odd.as_bytes(), b"odd", None).unwrap();
    assert_eq!(std::fs::read(stage.root("").join(odd)).unwrap(), b"odd");
    let listed = client.list_dir(&id, "").unwrap();
    assert!(listed.iter().any(|entry| entry.name() == odd.as_bytes()));
}

#[test]
fn large_directories_come_in_pages() {
    let stage = Stage::new();
    std::fs::create_dir(stage.root("many")).unwrap();
    for number in 0..1_203 {
        std::fs::write(stage.root(&format!("many/{number:05}")), "").unwrap();
    }
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let listed = names(&client.list_dir(&id, "many").unwrap());
    assert_eq!(listed.len(), 1_203);
    assert!(listed.is_sorted());
    assert_eq!(client.walk(&id, "many").unwrap().len(), 1_203);
    let asked = serde_json::json!({ "lease": id, "path": "many" });
    let answer = client.call::<_, serde_json::Value>("Walk", &asked);
    assert_eq!(code(answer), Code::ExpectedMore);
}

#[test]
fn long_names_and_paths_come_in_more_pages_and_not_in_longer_messages() {
    let stage = Stage::new();
    // In JSON such a name takes six times its length.
    std::fs::create_dir(stage.root("odd")).unwrap();
    for number in 0..400 {
        let name = format!("odd/{}{number:03}", "\u{1}".repeat(252));
        std::fs::write(stage.root(&name), "").unwrap();
    }
    let deep = format!("deep/{}", vec!["d".repeat(200); 10].join("/"));
    std::fs::create_dir_all(stage.root(&deep)).unwrap();
    for number in 0..400 {
        std::fs::write(stage.root(&format!("{deep}/{number:03}")), "").unwrap();
    }
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    assert_eq!(client.list_dir(&id, "odd").unwrap().len(), 400);
    assert_eq!(client.walk(&id, "odd").unwrap().len(), 400);
    assert_eq!(client.walk(&id, "deep").unwrap().len(), 410);
}

#[test]
fn resume_gives_the_same_object_or_says_what_differs() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let seen = client.open_versioned(&id, "src/a.txt").unwrap();
    let version = seen.version.clone().unwrap();
    let again = client
        .resume(&id, "src/a.txt", &seen.handle, &version)
        .unwrap();
    assert_eq!(again.handle, seen.handle);
    let differs = |result: Result<handfast_broker::Opened, ClientError>| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Some(Code::Stale), "{error}");
        error.fault().unwrap().differs().unwrap().to_owned()
    };
    // The same length, at once: only the content tells.
    std::fs::write(stage.root("src/a.txt"), "ALPHA").unwrap();
    assert_eq!(
        differs(client.resume(&id, "src/a.txt", &seen.handle, &version)),
        "content"
    );
    // Another object with the same content under the name.
    std::fs::write(stage.root("copy"), "alpha").unwrap();
    std::fs::rename(stage.root("copy"), stage.root("src/a.txt")).unwrap();
    assert_eq!(
        differs(client.resume(&id, "src/a.txt", &seen.handle, &version)),
        "object"
    );
    std::fs::remove_file(stage.root("src/a.txt")).unwrap();
    assert_eq!(
        differs(client.resume(&id, "src/a.txt", &seen.handle, &version)),
        "gone"
    );
    let nonsense = client.resume(&id, "src/b.txt", &seen.handle, "v1.x");
    assert_eq!(code(nonsense), Code::InvalidParameter);
}
