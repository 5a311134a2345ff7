//! The comparison.

use std::collections::BTreeSet;

use handfast::{ErrorKind, Files, Links, RelPath};

use crate::cases::{CASES, Case};
use crate::layer::{Layer, Refusal};
use crate::scene::{Scene, paths};
use crate::tree::{tree_by_handles, tree_on_disk};

/// How often a case is repeated if the answer is that another process changed the tree: on some
/// kernels any rename on the machine causes this answer.
const MAX_TRIES: u32 = 64;

/// What a comparison found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// How many answers were compared.
    pub compared: u64,
    /// How many of them were of things that were done.
    pub done: u64,
    /// How many the layer refused and may refuse.
    pub refused: u64,
    /// How many the layer answered otherwise and may.
    pub different: u64,
}

/// Compares a layer with another, which is the model, in every case.
///
/// # Panics
/// If an answer or a tree differs, or if something that is listed as refused works.
pub fn compare(model: &dyn Layer, layer: &dyn Layer, links: Links) -> Report {
    let mut used = Used::default();
    let report = ask_everything(model, layer, links, &mut used);
    used.require_all(layer);
    report
}

/// As [`compare`], under both policies for links. What a layer lists must be met under one of them.
///
/// # Panics
/// As [`compare`].
pub fn compare_both(model: &dyn Layer, layer: &dyn Layer) -> [Report; 2] {
    let mut used = Used::default();
    let reports =
        [Links::Refuse, Links::Beneath].map(|links| ask_everything(model, layer, links, &mut used));
    used.require_all(layer);
    reports
}

fn ask_everything(model: &dyn Layer, layer: &dyn Layer, links: Links, used: &mut Used) -> Report {
    let mut report = Report::default();
    let mut differences = Vec::new();
    for case in CASES {
        let mut sides = Sides::plant(model, layer, links);
        for path in paths() {
            if let Err(what) = sides.ask(case, &path, &mut report, used) {
                differences.push(what);
                sides = Sides::plant(model, layer, links);
            }
        }
        if let Err(what) = sides.compare_trees() {
            differences.push(format!("{} at its end: {what}", case.name));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differs from {} in {} answers:\n{}",
        layer.name(),
        model.name(),
        differences.len(),
        differences.join("\n")
    );
    println!("{} {links:?}: {report:?}", layer.name());
    report
}

/// Entries of a layer's lists that were met.
#[derive(Default)]
struct Used {
    refusals: BTreeSet<usize>,
    differences: BTreeSet<usize>,
}

impl Used {
    /// A list that says more than is true is not one.
    fn require_all(&self, layer: &dyn Layer) {
        for (index, refusal) in layer.refusals().iter().enumerate() {
            assert!(
                self.refusals.contains(&index),
                "{}: `{}` is listed as refused ({}) and was not",
                layer.name(),
                refusal.case,
                refusal.why
            );
        }
        for (index, listed) in layer.differences().iter().enumerate() {
            assert!(
                self.differences.contains(&index),
                "{}: `{}` is listed as answered otherwise and was not: {listed:?}",
                layer.name(),
                listed.case,
            );
        }
    }
}

/// An answer, in a form that can be compared.
type CaseResult = Result<String, CaseError>;

#[derive(Clone, Debug, Eq, PartialEq)]
struct CaseError {
    kind: ErrorKind,
    effect: handfast::Effect,
    verb: handfast::Verb,
    path: String,
    destination: Option<String>,
}

struct Side<'a> {
    layer: &'a dyn Layer,
    // Before the scene: what it keeps open goes first.
    files: Box<dyn Files>,
    scene: Scene,
    outside: Vec<String>,
}

impl<'a> Side<'a> {
    fn plant(layer: &'a dyn Layer, links: Links) -> Self {
        let scene = Scene::plant();
        Self {
            layer,
            files: layer.open(&scene.root(), links),
            outside: tree_on_disk(&scene.outside()),
            scene,
        }
    }

    fn ask(&self, case: &Case, path: &RelPath) -> CaseResult {
        for _ in 0..MAX_TRIES {
            match (case.act)(&*self.files, path) {
                Err(error) if error.kind() == ErrorKind::Raced => {}
                answer => {
                    return answer.map_err(|error| CaseError {
                        kind: error.kind(),
                        effect: error.effect(),
                        verb: error.verb(),
                        path: error.path().to_owned(),
                        destination: error.destination().map(str::to_owned),
                    });
                }
            }
        }
        panic!(
            "{}: {} {path} is always raced",
            self.layer.name(),
            case.name
        );
    }
}

struct Sides<'a> {
    model: Side<'a>,
    layer: Side<'a>,
    links: Links,
}

impl<'a> Sides<'a> {
    fn plant(model: &'a dyn Layer, layer: &'a dyn Layer, links: Links) -> Self {
        Self {
            model: Side::plant(model, links),
            layer: Side::plant(layer, links),
            links,
        }
    }

    fn ask(
        &mut self,
        case: &Case,
        path: &RelPath,
        report: &mut Report,
        used: &mut Used,
    ) -> Result<(), String> {
        let what = format!("{} {path} {:?}", case.name, self.links);
        let expected = self.model.ask(case, path).map_err(|told| CaseError {
            path: self.layer.layer.shown(&told.path),
            destination: told.destination.map(|path| self.layer.layer.shown(&path)),
            ..told
        });
        let answer = self.layer.ask(case, path);
        report.compared += 1;
        report.done += u64::from(expected.is_ok());
        let changed = match &expected {
            Ok(_) => case.changes,
            Err(told) => told.effect != handfast::Effect::None,
        };
        match (self.refusal(case, path), &answer) {
            (Some((_, refusal)), Ok(_)) => {
                return Err(format!(
                    "{what}: works, and is listed as refused ({})",
                    refusal.why
                ));
            }
            (Some((index, refusal)), Err(told)) if told.kind == refusal.kind => {
                report.refused += 1;
                // Only what would have worked shows that the refusal is one.
                if expected.is_ok() {
                    used.refusals.insert(index);
                    *self = Self::plant(self.model.layer, self.layer.layer, self.links);
                }
                return Ok(());
            }
            _ if answer != expected => {
                if let Some(index) = self.difference(case, path, &expected, &answer) {
                    report.different += 1;
                    used.differences.insert(index);
                    *self = Self::plant(self.model.layer, self.layer.layer, self.links);
                    return Ok(());
                }
                return Err(format!("{what}: {answer:?}, and not {expected:?}"));
            }
            _ => {}
        }
        if changed {
            if let Err(told) = self.compare_trees() {
                // Both did it, and the layer shows something else afterwards.
                let listed = self.difference(case, path, &expected, &answer);
                let index = listed.ok_or_else(|| format!("{what}: {told}"))?;
                report.different += 1;
                used.differences.insert(index);
            }
            *self = Self::plant(self.model.layer, self.layer.layer, self.links);
        }
        Ok(())
    }

    /// The refusal that is listed for this.
    fn refusal(&self, case: &Case, path: &RelPath) -> Option<(usize, Refusal)> {
        let shown = path.to_string();
        let listed = self.layer.layer.refusals().iter().copied().enumerate();
        listed
            .into_iter()
            .find(|(_, refusal)| refusal.covers(case.name, &shown))
    }

    /// The difference that is listed for this.
    fn difference(
        &self,
        case: &Case,
        path: &RelPath,
        expected: &CaseResult,
        answer: &CaseResult,
    ) -> Option<usize> {
        let shown = path.to_string();
        let kind = |answer: &CaseResult| answer.as_ref().err().map(|told| told.kind);
        let (root, layer) = (kind(expected), kind(answer));
        self.layer
            .layer
            .differences()
            .iter()
            .position(|listed| listed.covers((case.name, &shown), root, layer))
    }

    /// Both trees are equal, and nothing outside was changed.
    fn compare_trees(&self) -> Result<(), String> {
        let [model, layer] = [&self.model, &self.layer];
        same(
            "by handles",
            &tree_by_handles(&*layer.files),
            &tree_by_handles(&*model.files),
        )?;
        if layer.layer.is_on_disk() {
            let on_disk = |side: &Side<'_>| tree_on_disk(&side.scene.root());
            same("on disk", &on_disk(layer), &on_disk(model))?;
        }
        for side in [model, layer] {
            same(
                "outside",
                &tree_on_disk(&side.scene.outside()),
                &side.outside,
            )?;
        }
        Ok(())
    }
}

fn same(what: &str, is: &[String], wanted: &[String]) -> Result<(), String> {
    let missing: Vec<_> = wanted.iter().filter(|line| !is.contains(line)).collect();
    let extra: Vec<_> = is.iter().filter(|line| !wanted.contains(line)).collect();
    match missing.is_empty() && extra.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the tree {what} has {extra:?}, and lacks {missing:?}"
        )),
    }
}
