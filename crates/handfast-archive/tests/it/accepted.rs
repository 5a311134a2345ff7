//! What is accepted comes out as it went in.

use handfast_archive::{Modes, OnRefusal, Options, Outcome, Overwrite};

use crate::support::{Place, verdict, with_links};
use crate::tar_bytes::{Block, Bytes};

#[test]
fn a_plain_tree_is_extracted_with_its_content() {
    let place = Place::new();
    let archive = Bytes::new()
        .dir("a/")
        .file("a/one", b"1")
        .file("./a/./b//two", &[b'x'; 700])
        .file("empty", b"")
        .end();
    let report = place.extract(&archive, Options::new()).unwrap();
    assert!(report.extracted && report.is_clean(), "{report:?}");
    assert_eq!(report.bytes, 701);
    let tree = place.tree();
    assert_eq!(tree["out/a/one"], "file 644 1");
    assert_eq!(tree["out/a/b/two"], format!("file 644 {}", "x".repeat(700)));
    assert_eq!(tree["out/empty"], "file 644 ");
    assert_eq!(tree.len(), 6, "{tree:?}");
}

#[test]
fn links_that_stay_inside_are_made_when_asked_for() {
    let place = Place::new();
    let archive = Bytes::new()
        .symlink("a/up", "../b/file")
        .file("b/file", b"content")
        .hard_link("b/second", "b/file")
        .symlink("dangling", "nowhere")
        .end();
    let report = place.extract(&archive, with_links()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let tree = place.tree();
    assert_eq!(tree["out/a/up"], "-> ../b/file");
    assert_eq!(tree["out/b/second"], "file 644 content");
    assert_eq!(tree["out/dangling"], "-> nowhere");
    use std::os::unix::fs::MetadataExt as _;
    let second = std::fs::metadata(place.inside().join("out/b/second")).unwrap();
    assert_eq!(second.nlink(), 2);
}

#[test]
fn pax_and_gnu_names_are_read() {
    let place = Place::new();
    let long = format!("{}/file", "d".repeat(200));
    let archive = Bytes::new()
        .global(&[("comment", b"0123abcd")])
        .pax(&[
            ("path", long.as_bytes()),
            ("mtime", b"12.5"),
            ("size", b"3"),
        ])
        .file("short", b"pax")
        .end();
    assert!(place.extract(&archive, Options::new()).unwrap().is_clean());
    assert_eq!(place.tree()[&format!("out/{long}")], "file 644 pax");

    let place = Place::new();
    let archive = Bytes::new()
        .long(b'L', format!("{long}\0").as_bytes())
        .header(&Block::gnu(b'0', b"short", 3))
        .content(b"gnu")
        .end();
    assert!(place.extract(&archive, Options::new()).unwrap().is_clean());
    assert_eq!(place.tree()[&format!("out/{long}")], "file 644 gnu");
}

#[test]
fn headers_without_a_magic_are_read_as_release_archives_have_them() {
    let place = Place::new();
    let mut dir = Block::ustar(b'5', b"d/", 0);
    let mut file = Block::ustar(b'0', b"d/file", 1);
    let archive = Bytes::new()
        .header(dir.put(257, &[0; 8]).octal(100, 8, 0o755))
        .header(file.put(257, &[0; 8]).put(329, b"0000000\x000000000\0"))
        .content(b"x")
        .end();
    assert!(place.extract(&archive, Options::new()).unwrap().is_clean());
    assert_eq!(place.tree()["out/d/file"], "file 644 x");
}

#[test]
fn a_prefix_of_posix_is_part_of_the_name() {
    let place = Place::new();
    let mut block = Block::ustar(b'0', b"file", 1);
    block.put(345, b"some/where");
    let archive = Bytes::new().header(&block).content(b"x").end();
    assert!(place.extract(&archive, Options::new()).unwrap().is_clean());
    assert_eq!(place.tree()["out/some/where/file"], "file 644 x");
}

#[test]
fn modes_are_safe_exact_or_ignored_and_never_set_id() {
    let archive = |mode| {
        let mut file = Block::ustar(b'0', b"d/file", 0);
        let mut dir = Block::ustar(b'5', b"d", 0);
        Bytes::new()
            .header(file.octal(100, 8, mode))
            .header(dir.octal(100, 8, mode))
            .end()
    };
    for (modes, told, file, dir) in [
        (Modes::Safe, 0o7777, "file 755 ", "dir 755"),
        (Modes::Safe, 0o0000, "file 600 ", "dir 700"),
        (Modes::Exact, 0o6777, "file 777 ", "dir 777"),
        (Modes::Exact, 0o0500, "file 500 ", "dir 500"),
        (Modes::Ignore, 0o6777, "file 644 ", "dir 755"),
    ] {
        let place = Place::new();
        let mut options = Options::new();
        options.modes = modes;
        let report = place.extract(&archive(told), options).unwrap();
        assert!(report.is_clean(), "{report:?}");
        let mode = |name: &str| {
            let text = std::process::Command::new("stat")
                .args(["-c", "%a"])
                .arg(place.inside().join(name))
                .output()
                .unwrap();
            String::from_utf8(text.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(mode("out/d"), dir.split(' ').nth(1).unwrap(), "{modes:?}");
        assert_eq!(
            mode("out/d/file"),
            file.split(' ').nth(1).unwrap(),
            "{modes:?}"
        );
    }
}

#[test]
fn times_are_the_archives_when_asked_for() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    let archive = Bytes::new()
        .dir("d")
        .pax(&[("mtime", b"-1.25")])
        .file("d/old", b"")
        .file("d/new", b"")
        .end();
    let mut options = Options::new();
    options.times = true;
    assert!(place.extract(&archive, options).unwrap().is_clean());
    let time = |name: &str| {
        let found = std::fs::metadata(place.inside().join(name)).unwrap();
        (found.mtime(), found.mtime_nsec())
    };
    assert_eq!(time("out/d/old"), (-2, 750_000_000));
    assert_eq!(time("out/d/new"), (1_700_000_000, 0));
    assert_eq!(time("out/d"), (1_700_000_000, 0));
}

#[test]
fn segments_are_stripped_and_only_what_is_asked_for_is_extracted() {
    let place = Place::new();
    let archive = Bytes::new()
        .dir("top")
        .file("top/src/a", b"a")
        .hard_link("top/src/b", "top/src/a")
        .file("top/doc/c", b"c")
        .file("loose", b"l")
        .end();
    let mut options = with_links();
    options.strip_components = 1;
    options.only = vec![handfast::RelPath::parse("top/src").unwrap()];
    let report = place.extract(&archive, options).unwrap();
    assert!(report.is_clean());
    let left_out = report
        .verdicts
        .iter()
        .filter(|it| it.outcome == Outcome::LeftOut);
    assert_eq!(left_out.count(), 3);
    let names: Vec<_> = place.tree().into_keys().collect();
    assert_eq!(names, ["out", "out/src", "out/src/a", "out/src/b"]);
}

#[test]
fn one_refusal_refuses_all_unless_asked_otherwise() {
    let archive = Bytes::new()
        .file("good", b"1")
        .file("../bad", b"2")
        .file("fine", b"3")
        .end();
    let place = Place::new();
    let report = place.extract(&archive, Options::new()).unwrap();
    assert!(!report.extracted);
    assert_eq!(report.verdicts.len(), 3);
    assert!(place.is_untouched());

    let mut options = Options::new();
    options.on_refusal = OnRefusal::LeaveOut;
    let report = place.extract(&archive, options).unwrap();
    assert!(report.extracted && !report.is_clean());
    let names: Vec<_> = place.tree().into_keys().collect();
    assert_eq!(names, ["out", "out/fine", "out/good"]);
}

#[test]
fn a_later_member_replaces_an_earlier_one_only_when_asked() {
    let archive = Bytes::new()
        .file("a", b"1")
        .hard_link("kept", "a")
        .file("a", b"2")
        .end();
    let place = Place::new();
    let report = place.extract(&archive, with_links()).unwrap();
    assert_eq!(verdict(&report), Some(handfast_archive::Rule::Duplicate));
    let mut options = with_links();
    options.overwrite = Overwrite::Replace;
    assert!(place.extract(&archive, options).unwrap().is_clean());
    assert_eq!(place.tree()["out/a"], "file 644 2");
    assert_eq!(place.tree()["out/kept"], "file 644 1");
}

#[test]
fn a_hard_link_takes_no_place_that_is_taken() {
    for name in ["b", "a"] {
        let archive = Bytes::new()
            .file("a", b"1")
            .file("b", b"2")
            .hard_link(name, "a")
            .end();
        let place = Place::new();
        let mut options = with_links();
        options.overwrite = Overwrite::Replace;
        let report = place.extract(&archive, options).unwrap();
        assert_eq!(verdict(&report), Some(handfast_archive::Rule::Duplicate));
        assert!(place.is_untouched());
    }
}

#[test]
fn a_target_that_is_there_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.inside().join("out")).unwrap();
    let archive = Bytes::new().file("a", b"1").end();
    let error = place.extract(&archive, Options::new()).unwrap_err();
    assert_eq!(error.kind(), handfast::ErrorKind::Exists);
    assert_eq!(place.tree().len(), 1);
}
