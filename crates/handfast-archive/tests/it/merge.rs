//! Archives that are merged into a directory: what is there already, what is refused, and what a merge
//! that died leaves.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use handfast::{Error, RecoveryOutcome, RelPath};
use handfast_archive::{
    Input, Modes, OnRefusal, Options, Overwrite, Report, Rule, Target, extract, list, recover,
};

use crate::support::{Place, verdict, with_links};
use crate::tar_bytes::{Block, Bytes};

/// `out` with a file, a directory and a link in it.
fn place() -> Place {
    let place = Place::new();
    let out = place.inside().join("out");
    std::fs::create_dir_all(out.join("d")).unwrap();
    std::fs::write(out.join("kept"), "kept").unwrap();
    std::fs::write(out.join("d/old"), "old").unwrap();
    symlink(place.dir.path().join("outside"), out.join("link")).unwrap();
    place
}

fn merge(place: &Place, archive: &[u8], options: Options<'_>) -> Result<Report, Error> {
    let out = RelPath::parse("out").unwrap();
    let target = Target::new_dir(&place.root, &out).merged();
    extract(Input::new(archive, &place.scratch), &target, options)
}

fn replacing<'a>() -> Options<'a> {
    let mut options = with_links();
    options.overwrite = Overwrite::Replace;
    options
}

fn archive() -> Vec<u8> {
    Bytes::new()
        .file("d/old", b"new")
        .file("d/fresh", b"fresh")
        .file("e/f/deep", b"deep")
        .file("top", b"top")
        .symlink("e/l", "../top")
        .end()
}

#[test]
fn what_is_there_is_kept_and_what_is_new_is_added() {
    let place = place();
    let before = place.tree();
    let archive = Bytes::new()
        .dir("d")
        .file("d/fresh", b"fresh")
        .file("e/f/deep", b"deep")
        .end();
    let report = merge(&place, &archive, Options::new()).unwrap();
    assert!(report.extracted && report.is_clean());
    let mut expected = before;
    for (name, what) in [
        ("out/d/fresh", "file 644 fresh"),
        ("out/e", "dir 755"),
        ("out/e/f", "dir 755"),
        ("out/e/f/deep", "file 644 deep"),
    ] {
        expected.insert(name.to_owned(), what.to_owned());
    }
    assert_eq!(place.tree(), expected);
}

#[test]
fn a_name_that_is_taken_is_refused_by_default_and_nothing_changes() {
    let place = place();
    let before = place.tree();
    let report = merge(&place, &archive(), with_links()).unwrap();
    assert_eq!(verdict(&report), Some(Rule::Exists));
    assert_eq!(report.refused().count(), 1);
    assert!(!report.extracted);
    assert_eq!(place.tree(), before);
    let mut options = with_links();
    options.on_refusal = OnRefusal::LeaveOut;
    assert!(merge(&place, &archive(), options).unwrap().extracted);
    let tree = place.tree();
    assert_eq!(tree["out/d/old"], "file 644 old");
    assert_eq!(tree["out/d/fresh"], "file 644 fresh");
    assert_eq!(tree["out/e/l"], "-> ../top");
}

#[test]
fn a_file_is_replaced_where_that_is_asked_for() {
    let place = place();
    let mut expected = place.tree();
    assert!(merge(&place, &archive(), replacing()).unwrap().extracted);
    for (name, what) in [
        ("out/d/old", "file 644 new"),
        ("out/d/fresh", "file 644 fresh"),
        ("out/e", "dir 755"),
        ("out/e/f", "dir 755"),
        ("out/e/f/deep", "file 644 deep"),
        ("out/e/l", "-> ../top"),
        ("out/top", "file 644 top"),
    ] {
        expected.insert(name.to_owned(), what.to_owned());
    }
    assert_eq!(place.tree(), expected, "and nothing else is left");
}

#[test]
fn only_files_are_replaced_and_nothing_goes_through_a_link() {
    for (name, archive) in [
        ("a file for a link", Bytes::new().file("link", b"x").end()),
        (
            "a file below a link",
            Bytes::new().file("link/x", b"x").end(),
        ),
        ("a directory for a link", Bytes::new().dir("link").end()),
        ("a file for a directory", Bytes::new().file("d", b"x").end()),
        ("a directory for a file", Bytes::new().dir("kept").end()),
        (
            "a file below a file",
            Bytes::new().file("kept/x", b"x").end(),
        ),
    ] {
        let place = place();
        let before = place.tree();
        let report = merge(&place, &archive, replacing()).unwrap();
        assert_eq!(verdict(&report), Some(Rule::Exists), "{name}");
        assert_eq!(place.tree(), before, "{name}");
    }
    let outward = Bytes::new().symlink("l", "link/secret").end();
    let report = merge(&place(), &outward, replacing()).unwrap();
    assert_eq!(verdict(&report), Some(Rule::LinkTarget), "a link of theirs");
}

#[test]
fn the_list_says_what_a_merge_would_refuse() {
    let place = place();
    let before = place.tree();
    let out = RelPath::parse("out").unwrap();
    let target = Target::new_dir(&place.root, &out).merged();
    let archive = archive();
    let input = || Input::new(&archive[..], &place.scratch);
    let listed = list(input(), Some(&target), with_links()).unwrap();
    assert_eq!(verdict(&listed), Some(Rule::Exists));
    let listed = list(input(), Some(&target), replacing()).unwrap();
    assert!(listed.extracted && listed.is_clean());
    assert_eq!(place.tree(), before);
}

#[test]
fn directories_that_may_not_be_written_are_merged_too() {
    let place = place();
    let mut closed = Block::ustar(b'5', b"e", 0);
    closed.octal(100, 8, 0o555);
    let mut theirs = Block::ustar(b'5', b"d", 0);
    theirs.octal(100, 8, 0o555);
    let archive = Bytes::new()
        .header(&closed)
        .header(&theirs)
        .file("e/x", b"x")
        .file("d/x", b"x")
        .end();
    let mut options = Options::new();
    options.modes = Modes::Exact;
    assert!(merge(&place, &archive, options).unwrap().extracted);
    let tree = place.tree();
    assert_eq!(tree["out/e"], "dir 555");
    assert_eq!(tree["out/e/x"], "file 644 x");
    assert_eq!(tree["out/d"], "dir 755", "what was there keeps its mode");
    assert_eq!(tree["out/d/x"], "file 644 x");
}

/// Writes what a merge leaves that died before its first step; the journal names `target`.
fn died(place: &Place, target: &Path, old: &Path) -> std::path::PathBuf {
    let dir = place.inside().join("out/.handfast-merge-00000000000000aa");
    std::fs::create_dir_all(dir.join("tree/d")).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    for (name, content) in [("tree/d/old", "new"), ("tree/added", "added")] {
        std::fs::write(dir.join(name), content).unwrap();
    }
    let journal = format!(
        "handfast-merge 1 {}\nexchange {} {} 5 d/old\nadd {} - 5 added\nend 2\n",
        object(target),
        object(&dir.join("tree/d/old")),
        object(old),
        object(&dir.join("tree/added")),
    );
    std::fs::write(dir.join("journal"), journal).unwrap();
    dir
}

fn object(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.symlink_metadata().unwrap();
    let born = metadata.created().map_or(0, |born| {
        born.duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_nanos()
    });
    format!("{:x}:{born:x}", metadata.ino())
}

fn outcomes(place: &Place) -> Vec<RecoveryOutcome> {
    let found = recover(&place.root, &RelPath::root()).unwrap();
    found.iter().map(|it| it.outcome).collect()
}

#[test]
fn recover_finishes_a_merge_that_died_and_undoes_one_that_it_cannot_finish() {
    let place = place();
    let out = place.inside().join("out");
    died(&place, &out, &out.join("d/old"));
    assert_eq!(outcomes(&place), [RecoveryOutcome::Finished]);
    let tree = place.tree();
    assert_eq!(tree["out/d/old"], "file 644 new");
    assert_eq!(tree["out/added"], "file 644 added");
    assert!(
        !tree.keys().any(|name| name.contains(".handfast")),
        "{tree:?}"
    );

    let place = self::place();
    let out = place.inside().join("out");
    died(&place, &out, &out.join("d/old"));
    std::fs::write(out.join("added"), "somebody's").unwrap();
    let before = place.tree();
    assert_eq!(outcomes(&place), [RecoveryOutcome::PutBack]);
    let mut expected = before;
    expected.retain(|name, _| !name.contains(".handfast"));
    assert_eq!(place.tree(), expected);
}

#[test]
fn recover_believes_no_journal_that_others_could_have_written() {
    let kept = |spoil: &dyn Fn(&Path)| {
        let place = place();
        let out = place.inside().join("out");
        let dir = died(&place, &out, &out.join("d/old"));
        spoil(&dir);
        let before = place.tree();
        let outcomes = outcomes(&place);
        assert_eq!(place.tree(), before);
        assert!(
            matches!(outcomes[..], [RecoveryOutcome::Kept(_)]),
            "{outcomes:?}"
        );
    };
    kept(&|dir| std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o770)).unwrap());
    kept(&|dir| std::fs::write(dir.join("journal"), "handfast-merge 1 1:1\nend 0").unwrap());
    kept(&|dir| std::fs::remove_dir_all(dir.join("tree")).unwrap());
    kept(&|dir| {
        let journal = std::fs::read_to_string(dir.join("journal")).unwrap();
        let rest = journal.split_once('\n').unwrap().1;
        std::fs::write(dir.join("journal"), format!("handfast-merge 1 1:1\n{rest}")).unwrap();
    });
    // Somebody moved it to another directory, whose entries it says nothing about.
    let place = place();
    let out = place.inside().join("out");
    let dir = died(&place, &out, &out.join("d/old"));
    std::fs::rename(&dir, out.join("d/.handfast-merge-00000000000000aa")).unwrap();
    let before = place.tree();
    assert!(matches!(outcomes(&place)[..], [RecoveryOutcome::Kept(_)]));
    assert_eq!(place.tree(), before);
}

#[test]
fn recover_leaves_a_living_merge_alone() {
    let place = place();
    let out = place.inside().join("out");
    let dir = died(&place, &out, &out.join("d/old"));
    let before = place.tree();
    let held = std::fs::File::open(dir.join("journal")).unwrap();
    held.lock().unwrap();
    assert_eq!(outcomes(&place), [RecoveryOutcome::InUse]);
    assert_eq!(place.tree(), before);
    drop(held);
    assert_eq!(outcomes(&place), [RecoveryOutcome::Finished]);
}

#[test]
fn recover_removes_no_directory_that_somebody_gave_the_name_of_a_merge() {
    // A user who may write the directory can rename what is in it, also what belongs to others.
    let place = place();
    let private = place.inside().join("out/.handfast-merge-00000000000000aa");
    std::fs::create_dir(&private).unwrap();
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(private.join("mine"), "mine").unwrap();
    let link = place.inside().join("out/.handfast-merge-00000000000000bb");
    symlink("d", &link).unwrap();
    let before = place.tree();
    let outcomes = outcomes(&place);
    assert_eq!(outcomes.len(), 2);
    assert!(
        outcomes
            .iter()
            .all(|it| matches!(it, RecoveryOutcome::Kept(_))),
        "{outcomes:?}"
    );
    assert_eq!(place.tree(), before);
}
