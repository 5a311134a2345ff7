//! A disk that is full at a commit or at an undo: small filesystems in a mount namespace of the test's
//! own, with every number of free pages from none to enough.
//!
//! Whatever is full: an answer without effect left the base as it was, every path is old or new, the session shows
//! what it showed (unless the commit is said to be unfinished), and once there is space again the work is done.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use handfast::{Effect, RenameMode};
use handfast_session::{
    Catalogue, CommitOptions, Committed, Error, MountSpec, OnConflict, Session, SessionSpec,
};

use super::support::*;

const CHILD: &str = "HANDFAST_FULL_DISK";
/// What the script answers if nothing can be mounted here.
const CANNOT: i32 = 77;
const PAGE: u64 = 4096;
type Tree = BTreeMap<String, String>;

/// Runs a test again where two small filesystems are mounted. Where they are, in that run.
fn mounted(test: &str) -> Option<PathBuf> {
    if let Some(top) = std::env::var_os(CHILD) {
        return Some(top.into());
    }
    let scratch = Scratch::new();
    let top = &scratch.top;
    for name in ["one", "two"] {
        std::fs::create_dir(top.join(name)).unwrap();
    }
    let script = format!(
        "for d in one two; do mount -t tmpfs -o size=1m,mode=0700 tmpfs \"$1/$d\" || exit {CANNOT}; done
        exec \"$2\" --exact full::{test} --test-threads=1 --nocapture"
    );
    let how = match rustix::process::geteuid().is_root() {
        true => "-m",
        false => "-Urm",
    };
    let output = Command::new("unshare")
        .args([
            how,
            "--propagation",
            "private",
            "--",
            "sh",
            "-c",
            &script,
            "sh",
        ])
        .arg(top)
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, top)
        .output();
    let what = "a full disk";
    match output {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("pages:"), "it ran: {said}");
            for line in said.lines().filter(|line| line.contains("pages:")) {
                println!("{line}");
            }
        }
        Ok(output) if output.status.code() == Some(CANNOT) => {
            skip(what, "nothing can be mounted here");
        }
        Ok(output) if String::from_utf8_lossy(&output.stderr).starts_with("unshare:") => {
            skip(what, "there are no namespaces here");
        }
        Ok(output) => panic!(
            "{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(_) => skip(what, "unshare is not installed"),
    }
    None
}

/// Where base and state lie, and which filesystem is filled.
struct Scene {
    base: PathBuf,
    state: PathBuf,
    full: PathBuf,
}

impl Scene {
    fn all(top: &Path) -> [(&'static str, Self); 3] {
        let [one, two] = ["one", "two"].map(|name| top.join(name));
        let scene = |base: &Path, state: &Path, full: &Path| Self {
            base: base.join("base"),
            state: state.join("state"),
            full: full.join("filler"),
        };
        [
            ("base", scene(&one, &two, &one)),
            ("state", scene(&one, &two, &two)),
            ("both", scene(&one, &one, &one)),
        ]
    }

    fn open(&self) -> Session {
        let catalogue = Catalogue::open_ambient(&self.state).unwrap();
        catalogue.open("s", me()).unwrap()
    }

    /// A base, and a session with every kind of change.
    fn furnish(&self) -> Session {
        std::fs::create_dir(&self.base).unwrap();
        for (path, content) in [
            ("a", "a".repeat(9000)),
            ("b", "b".repeat(100)),
            ("deleted", "d".repeat(5000)),
            ("moved", "m".repeat(3000)),
            ("dir/f", "f".repeat(10)),
            ("x", "x".into()),
            ("y", "y".into()),
        ] {
            let at = self.base.join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, content).unwrap();
        }
        let catalogue = Catalogue::open_ambient(&self.state).unwrap();
        let mount = MountSpec::new(&self.base, v("/"));
        catalogue
            .create("s", &SessionSpec::new().mount(mount))
            .unwrap();
        let session = self.open();
        session.write("/a", "A".repeat(20_000)).unwrap();
        session.write("/b", "B".repeat(200)).unwrap();
        session.remove_file("/deleted").unwrap();
        session.create_dir("/fresh").unwrap();
        for number in 0..6 {
            let path = format!("/fresh/{number}");
            session.write(path, "n".repeat(700 * number)).unwrap();
        }
        session
            .rename("/moved", "/fresh/moved", RenameMode::Replace)
            .unwrap();
        session
            .rename("/dir", "/renamed", RenameMode::Replace)
            .unwrap();
        session.rename("/x", "/y", RenameMode::Exchange).unwrap();
        session
    }

    /// Leaves so many pages.
    fn fill(&self, pages: u64) {
        let mut filler = std::fs::File::create(&self.full).unwrap();
        let page = vec![0; usize::try_from(PAGE).unwrap()];
        let mut len: u64 = 0;
        while filler.write_all(&page).is_ok() {
            len += PAGE;
        }
        filler.set_len(len.saturating_sub(pages * PAGE)).unwrap();
    }

    fn clear(&self) {
        std::fs::remove_file(&self.full).unwrap();
    }

    fn remove(&self) {
        std::fs::remove_dir_all(&self.base).unwrap();
        std::fs::remove_dir_all(&self.state).unwrap();
    }

    /// What must hold while the disk is full, whatever was answered.
    fn require(&self, answer: &Result<Committed, Error>, old: &Tree, new: &Tree, shown: &Tree) {
        let now = tree_of(&self.base);
        match answer {
            Ok(report) if report.conflicts.is_empty() => assert_eq!(&now, new, "it is done"),
            Ok(report) => {
                for (path, why) in &report.conflicts {
                    let is_clear = why.contains("space") || why.contains("its directory is in");
                    assert!(is_clear, "{path}: {why}");
                }
            }
            Err(error) => {
                let said = error.to_string().to_lowercase();
                assert!(said.contains("space"), "the cause is said: {said}");
                if error.effect() == Effect::None {
                    assert_eq!(&now, old, "nothing was changed: {said}");
                } else {
                    let is_clear = said.contains("next") || said.contains("finish");
                    assert!(is_clear, "how it goes on is said: {said}");
                }
            }
        }
        for (path, facts) in now.iter().filter(|(path, _)| !path.contains(".handfast-")) {
            let is_whole = [old, new].iter().any(|tree| tree.get(path) == Some(facts));
            assert!(is_whole, "{path} is old or new: {facts:.80}");
        }
        if matches!(answer, Err(error) if error.effect() != Effect::None) {
            // What was moved in the base already is missing in the view until the commit is finished.
            return;
        }
        let again = self.open();
        let mut view = tree_in(&again);
        view.retain(|path, _| !path.contains(".handfast-"));
        assert_eq!(&view, shown, "what the session shows: {answer:?}");
    }

    /// What must hold once there is space: nothing is left beside what was asked for.
    fn require_tidy(&self, session: &Session, base: &Tree) {
        assert_eq!(&tree_of(&self.base), base);
        session.mend().unwrap();
        let usage = session.usage().unwrap();
        drop(usage);
    }
}

fn commit(session: &Session, on_conflict: OnConflict) -> Result<Committed, Error> {
    let options = CommitOptions {
        on_conflict,
        ..CommitOptions::default()
    };
    session.commit(&options, &mut |_, _| {})
}

#[test]
fn a_full_disk_at_a_commit_loses_nothing_and_is_said() {
    let Some(top) = mounted("a_full_disk_at_a_commit_loses_nothing_and_is_said") else {
        return;
    };
    for (what, scene) in Scene::all(&top) {
        let (mut refused, mut partly, mut begun, mut done) = (0, 0, 0, 0);
        for pages in 0..48 {
            let session = scene.furnish();
            let (old, shown) = (tree_of(&scene.base), tree_in(&session));
            scene.fill(pages);
            for _ in 0..2 {
                let answer = commit(&session, OnConflict::Refuse);
                match &answer {
                    Ok(report) if report.conflicts.is_empty() => done += 1,
                    Ok(_) => partly += 1,
                    Err(error) if error.effect() == Effect::None => refused += 1,
                    Err(_) => begun += 1,
                }
                println!("{what} {pages}: {answer:?}");
                scene.require(&answer, &old, &shown, &shown);
                if !matches!(&answer, Err(error) if error.effect() == Effect::None) {
                    break;
                }
            }
            drop(session);
            scene.clear();
            let session = scene.open();
            session.mend().unwrap();
            if !commit(&session, OnConflict::Refuse)
                .unwrap()
                .conflicts
                .is_empty()
            {
                // What was moved aside and put back counts as changed until somebody says otherwise.
                let report = commit(&session, OnConflict::Overwrite).unwrap();
                assert_eq!(report.conflicts, []);
            }
            scene.require_tidy(&session, &shown);
            assert_eq!(diff(&session), [] as [&str; 0]);
            scene.remove();
        }
        println!(
            "pages: {what} full: {refused} refused, {begun} begun, {partly} partly, {done} done"
        );
        assert!(refused > 0 && done > 0, "{what}: {refused} {done}");
    }
}

#[test]
fn a_full_disk_at_an_undo_loses_nothing_and_is_said() {
    let Some(top) = mounted("a_full_disk_at_an_undo_loses_nothing_and_is_said") else {
        return;
    };
    for (what, scene) in Scene::all(&top) {
        let (mut refused, mut partly, mut begun, mut done) = (0, 0, 0, 0);
        for pages in 0..48 {
            let session = scene.furnish();
            let (old, shown) = (tree_of(&scene.base), tree_in(&session));
            assert_eq!(commit(&session, OnConflict::Refuse).unwrap().conflicts, []);
            let id = session.past_commits().unwrap().remove(0).id;
            scene.fill(pages);
            let answer = session.undo(id);
            match &answer {
                Ok(report) if report.conflicts.is_empty() => done += 1,
                Ok(_) => partly += 1,
                Err(error) if error.effect() == Effect::None => refused += 1,
                Err(_) => begun += 1,
            }
            println!("{what} {pages}: {answer:?}");
            scene.require(&answer, &shown, &old, &shown);
            drop(session);
            scene.clear();
            let session = scene.open();
            session.mend().unwrap();
            match session.past_commits().unwrap().first() {
                Some(past) => assert_eq!(session.undo(past.id).unwrap().conflicts, []),
                None => {
                    // Paths that could not go back are changes that are still to be made there.
                    let left = tree_of(&scene.base) != old;
                    assert_eq!(
                        left,
                        matches!(&answer, Ok(report) if !report.conflicts.is_empty())
                    );
                }
            }
            assert_eq!(tree_in(&session), shown);
            if !matches!(&answer, Ok(report) if !report.conflicts.is_empty()) {
                scene.require_tidy(&session, &old);
            }
            scene.remove();
        }
        println!(
            "pages: {what} full: {refused} refused, {begun} begun, {partly} partly, {done} done"
        );
        assert!(refused > 0 && done > 0, "{what}: {refused} {done}");
    }
}
