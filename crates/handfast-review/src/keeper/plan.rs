//! What a commit would be about, to the last path, before anybody agrees to it.

use std::collections::{BTreeMap, BTreeSet};

use handfast::ErrorKind;
use handfast_session::change::Hunk;
use handfast_session::{Change, DiffKind, Error, ReviewOptions, Session, Shown, VirtualPath};

use super::seal::{Seal, Sealing};
use super::{Keeper, MAX_PLANS, change, key_of, listing, path_of, seal, stale, text};
use crate::protocol::{KeeperReply, LINE, MAX_PLAN, Pick, PlanView};

/// What was sent to be agreed to.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seal: Seal,
    pub(super) session: String,
    /// The paths that were marked.
    pub(super) paths: Vec<VirtualPath>,
    /// What stays in the session though it lies below them.
    pub(super) leave_out: Vec<VirtualPath>,
    /// What the session is to compare with.
    pub(super) shown: Shown,
    /// The hunks that were marked.
    pub(super) hunks: Vec<String>,
}

impl Plan {
    /// Whether a commit of the one does what a commit of the other does. The three parts say different
    /// things: the seal is what the person saw of the chosen changes; what is left out decides whether a
    /// file that came later below a marked directory would go along; the work also has what no page shows,
    /// such as the directories that are made on the way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.seal == other.seal
            && self.leave_out == other.leave_out
            && self.shown.is_same_work(&other.shown)
    }
}

/// Everything that a plan is about, as the session has it now.
pub(super) struct Looked {
    pub(super) plan: Plan,
    marked: Vec<Change>,
    needed: Vec<Change>,
    hunks: Vec<(VirtualPath, Hunk)>,
}

impl Keeper {
    pub(super) fn plan(
        &mut self,
        name: &str,
        picks: &[Pick],
        hunks: &[String],
        all: bool,
    ) -> Result<KeeperReply, Error> {
        let session = self.open(name)?;
        let mut wanted = BTreeMap::new();
        for pick in picks {
            wanted.insert(path_of(&pick.path)?, Seal::claimed(&pick.seal));
        }
        let (paths, waits) = match all {
            true => everything(&session)?,
            false => marked(&session, wanted.keys().cloned().collect())?,
        };
        if paths.is_empty() && hunks.is_empty() {
            let why = match waits.is_empty() {
                true => "nothing was marked",
                false => "a rule protects every change that is left: mark each one by itself",
            };
            return Err(Error::refused(ErrorKind::Invalid, why));
        }
        if paths.len() + hunks.len() > MAX_PLAN {
            return Err(Error::refused(
                ErrorKind::Limit,
                format!(
                    "more than {MAX_PLAN} changes are not shown in one plan; \
                     `handfast session commit {name}` commits any number"
                ),
            ));
        }
        let looked = look(name, &session, paths, hunks)?;
        if looked.marked.is_empty()
            && looked.needed.is_empty()
            && looked.hunks.is_empty()
            && let Some((path, why)) = waits.first()
        {
            let why = format!(
                "nothing of it can be committed yet: `{path}` waits to be marked itself: {why}"
            );
            return Err(Error::refused(ErrorKind::Invalid, why));
        }
        for change in &looked.marked {
            // A mark is about what was on the page where it was made.
            if let Some(claimed) = wanted.get(&change.path)
                && seal::of_change(name, change).as_ref() != Some(claimed)
            {
                return Err(stale(format!("`{}`", change.path)));
            }
        }
        for id in hunks {
            self.require_sent(&seal::of_hunk(name, id))?;
        }
        let comments = listing::comments(&session)?;
        let Looked {
            plan,
            marked,
            needed,
            hunks,
        } = looked;
        let mut room = text::Room::of_page();
        let view = PlanView {
            session: name.to_owned(),
            plan: plan.seal.as_str().to_owned(),
            items: marked
                .iter()
                .map(|change| self.item(name, change, &comments))
                .collect(),
            needed: needed
                .iter()
                .map(|change| self.item(name, change, &comments))
                .collect(),
            waits: waits
                .into_iter()
                .map(|(path, why)| (path.to_string(), why))
                .collect(),
            hunks: hunks
                .iter()
                .map(|(path, hunk)| {
                    let view = text::hunk(hunk, 0..hunk.lines.len(), LINE, &mut room);
                    (path.to_string(), key_of(path), view)
                })
                .collect(),
        };
        self.plans.retain(|known| known.seal != plan.seal);
        if self.plans.len() >= MAX_PLANS {
            self.plans.pop_front();
        }
        self.plans.push_back(plan);
        Ok(KeeperReply::Plan(Box::new(view)))
    }
}

/// Paths for a plan, and those that wait because a rule protects them and they are not marked; each
/// with the rule.
type PathsAndWaiting = (Vec<VirtualPath>, Vec<(VirtualPath, String)>);

/// All changes but those that the base's ignore files name, and those that a commit takes only if they
/// are named one by one: "everything" names none of them.
fn everything(session: &Session) -> Result<PathsAndWaiting, Error> {
    let ignored = session.ignored(&[])?;
    let waits = session.held_back(&[], &ignored)?;
    let mut out: BTreeSet<VirtualPath> = ignored.into_iter().collect();
    out.extend(waits.iter().map(|(path, _)| path.clone()));
    let all = session.diff()?.into_iter().map(|change| change.path);
    let mut paths: Vec<VirtualPath> = all.filter(|path| !out.contains(path)).collect();
    paths.dedup();
    Ok((paths, waits))
}

/// The paths that were marked, and what waits below them.
fn marked(session: &Session, paths: Vec<VirtualPath>) -> Result<PathsAndWaiting, Error> {
    let waits = match paths.is_empty() {
        true => Vec::new(),
        false => session
            .held_back(&paths, &[])
            .map_err(change::missing_is_stale)?,
    };
    Ok((paths, waits))
}

/// Looks at everything that a commit of these would be about.
pub(super) fn look(
    name: &str,
    session: &Session,
    paths: Vec<VirtualPath>,
    hunks: &[String],
) -> Result<Looked, Error> {
    let marked: BTreeSet<&VirtualPath> = paths.iter().collect();
    let changes = session.diff()?;
    let gone: BTreeSet<&VirtualPath> = changes
        .iter()
        .filter(|change| change.kind == DiffKind::Deleted && marked.contains(&change.path))
        .map(|change| &change.path)
        .collect();
    let mut leave_out = Vec::new();
    for change in &changes {
        let path = &change.path;
        // What is in a directory that goes cannot stay.
        let goes = change.kind == DiffKind::Deleted && is_below(path, |above| gone.contains(above));
        if !marked.contains(path) && !goes && is_below(path, |above| marked.contains(above)) {
            leave_out.push(path.clone());
        }
    }
    let (chosen, mut shown) = match paths.is_empty() {
        true => (Vec::new(), Shown::default()),
        false => session
            .chosen(&paths, &leave_out)
            .map_err(change::missing_is_stale)?,
    };
    let chosen: BTreeSet<VirtualPath> = chosen.into_iter().collect();
    let mut found = (Vec::new(), Vec::new(), Vec::new());
    let mut left: BTreeSet<&str> = hunks.iter().map(String::as_str).collect();
    let options = ReviewOptions {
        text_limit: match hunks.is_empty() {
            true => ReviewOptions::USUAL,
            false => ReviewOptions::FULL,
        },
        ..ReviewOptions::default()
    };
    let mut sealing = Sealing::new("plan", name);
    session.review(&options, &mut |change| {
        for hunk in change.hunks() {
            if left.remove(hunk.id.as_str()) {
                sealing.text(hunk.id.as_bytes());
                found.2.push((change.path.clone(), hunk.clone()));
            }
        }
        if !is_among(&change, &chosen) {
            return Ok(());
        }
        let seal = seal::of_change(name, &change).ok_or_else(|| {
            Error::refused(
                ErrorKind::Denied,
                format!("`{}` may not be shown, so it is not committed", change.path),
            )
        })?;
        sealing.text(seal.as_str().as_bytes());
        shown.note(&change);
        match marked.contains(&change.path) {
            true => found.0.push(change),
            false => found.1.push(change),
        }
        Ok(())
    })?;
    if !left.is_empty() {
        return Err(stale("a hunk"));
    }
    drop(marked);
    Ok(Looked {
        plan: Plan {
            seal: sealing.done(),
            session: name.to_owned(),
            paths,
            leave_out,
            shown,
            hunks: hunks.to_vec(),
        },
        marked: found.0,
        needed: found.1,
        hunks: found.2,
    })
}

/// Whether a change is one that was chosen, or goes with a directory that was.
fn is_among(change: &Change, chosen: &BTreeSet<VirtualPath>) -> bool {
    let goes = || change.kind == DiffKind::Deleted;
    chosen.contains(&change.path)
        || goes() && is_below(&change.path, |above| chosen.contains(above))
}

/// Whether one of the directories above a path is such a one.
fn is_below(path: &VirtualPath, is_such: impl Fn(&VirtualPath) -> bool) -> bool {
    let mut above = path.parent();
    while let Some(path) = above {
        if is_such(&path) {
            return true;
        }
        above = path.parent();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_session::{Caller, Catalogue, Mode, MountSpec, SessionSpec};

    /// Each of the three parts alone makes a plan another one.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a directory for the test")]
    fn every_part_of_a_plan_counts() {
        let name = format!("handfast-plan-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(dir.join("base")).unwrap();
        let mount = MountSpec::new(dir.join("base"), VirtualPath::root()).mode(Mode::Overlay);
        let catalogue = Catalogue::open_ambient(dir.join("state")).unwrap();
        catalogue
            .create("s", &SessionSpec::new().mount(mount))
            .unwrap();
        let session = catalogue.open("s", Caller::new("robot")).unwrap();
        session.create_dir("/d").unwrap();
        session.write("/d/in", "one\n").unwrap();
        session.write("/d/out", "out\n").unwrap();
        let plan = |paths: &[&str]| {
            let paths = paths.iter().map(|path| VirtualPath::parse(path).unwrap());
            look("s", &session, paths.collect(), &[]).unwrap().plan
        };
        let known = plan(&["/d", "/d/in"]);
        assert!(plan(&["/d", "/d/in"]).is_same(&known));

        // A file that comes below a marked directory: nothing that was shown is another, but what must
        // stay is.
        session.write("/d/late", "late\n").unwrap();
        let late = plan(&["/d", "/d/in"]);
        assert_eq!(late.seal, known.seal);
        assert!(late.shown.is_same_work(&known.shown));
        assert!(!late.is_same(&known));

        // The other two, each with the rest as it was.
        session.write("/d/in", "two\n").unwrap();
        let other = plan(&["/d", "/d/in"]);
        let seal = Plan {
            seal: other.seal.clone(),
            ..known.clone()
        };
        assert!(!seal.is_same(&known));
        let work = Plan {
            shown: other.shown.clone(),
            ..known.clone()
        };
        assert!(!work.is_same(&known));
        assert!(!other.is_same(&known));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
