//! Pairs of a mistake and its repair that were written without a look at the rules: the mistake is
//! found at its place, and after the repair the flow is gone or is advice; where the repair is weak
//! itself, what is left is lower.
//!
//! What is not understood stands in `pairs/open.txt` with its cause, and must fail.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use handfast_audit::{Classification, Finding, Input, Knowledge, Options, Severity, audit};

struct Sheet {
    name: &'static str,
    text: &'static str,
}

/// `name: cause` of each pair that is not understood.
const OPEN: &str = include_str!("pairs/open.txt");

macro_rules! sheets {
    ($dir:literal: $($name:literal)*) => {
        [$(Sheet {
            name: $name,
            text: include_str!(concat!("pairs/", $dir, "/", $name, ".txt")),
        }),*]
    };
}

const MECHANISMS: [Sheet; 8] = sheets! { "mechanisms":
    "c" "cpp" "go" "java" "javascript" "python" "rust" "typescript"
};

const CASES: [Sheet; 6] = sheets! { "cases":
    "archive" "guard" "race" "root" "source" "validator"
};

/// Written after the others, measured once before anything was repaired for them.
const FRESH: [Sheet; 8] = sheets! { "fresh":
    "c" "cpp" "go" "java" "javascript" "python" "rust" "typescript"
};

/// Small servers as projects have them, measured once before anything was repaired for them.
const SERVERS: [Sheet; 6] = sheets! { "servers":
    "c" "go" "java" "javascript" "python" "rust"
};

/// Handlers, archives, loaders and races in the style of real repairs, measured once before anything
/// was repaired for them.
const LATER: [Sheet; 7] = sheets! { "later":
    "c" "go" "java" "javascript" "python" "rust" "typescript"
};

/// Whole handlers, stores, archives and loaders as projects write them, measured once before anything was
/// repaired for them.
const WORLD: [Sheet; 8] = sheets! { "world":
    "c" "cpp" "go" "java" "javascript" "python" "rust" "typescript"
};

/// Programs of 60 to 130 lines with code around that has nothing to do with the mistake, measured once
/// before anything was repaired for them.
const PROJECTS: [Sheet; 8] = sheets! { "projects":
    "c" "cpp" "go" "java" "javascript" "python" "rust" "typescript"
};

/// One source and one operation each: whether a library is known.
const SOURCES: [Sheet; 5] = sheets! { "sources":
    "go" "java" "javascript" "python" "rust"
};

#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    Both,
    Mistaken,
    Repaired,
}

struct Pair<'s> {
    name: &'s str,
    about: &'s str,
    /// File, mistaken text, repaired text.
    files: Vec<(&'s str, String, String)>,
}

fn pairs(sheet: &str) -> Vec<Pair<'_>> {
    let mut out: Vec<Pair<'_>> = Vec::new();
    let mut part = Part::Both;
    for line in sheet.lines() {
        if let Some(rest) = line.strip_prefix("@@ ") {
            let words: Vec<&str> = rest.split(' ').collect();
            out.push(Pair {
                name: words[0],
                about: "",
                files: vec![(words[2], String::new(), String::new())],
            });
            part = Part::Both;
            continue;
        }
        let Some(pair) = out.last_mut() else {
            continue;
        };
        if let Some(about) = line.strip_prefix("@! ") {
            pair.about = about;
            continue;
        }
        if let Some(file) = line.strip_prefix("@@+ ") {
            let file = file.split(' ').next().unwrap();
            pair.files.push((file, String::new(), String::new()));
            part = Part::Both;
            continue;
        }
        part = match line.trim_end() {
            "<<V" => Part::Mistaken,
            "==F" => Part::Repaired,
            ">>" => Part::Both,
            _ => {
                let (_, mistaken, repaired) = pair.files.last_mut().unwrap();
                if part != Part::Repaired {
                    mistaken.push_str(line);
                    mistaken.push('\n');
                }
                if part != Part::Mistaken {
                    repaired.push_str(line);
                    repaired.push('\n');
                }
                continue;
            }
        };
    }
    out
}

fn findings(pair: &Pair<'_>, is_repaired: bool) -> Vec<Finding> {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    let knowledge = KNOWLEDGE.get_or_init(|| Knowledge::new(&[]).unwrap());
    let inputs = pair.files.iter().map(|(path, a, b)| Input {
        path: (*path).to_owned(),
        bytes: if is_repaired { b } else { a }.clone().into_bytes(),
        is_named: pair.files.len() == 1,
        is_context: false,
    });
    let outcome = audit(inputs.collect(), knowledge, &Options::default());
    let all = outcome
        .reports
        .into_iter()
        .flat_map(|report| report.findings);
    all.filter(|finding| {
        matches!(
            finding.classification,
            Classification::Confirmed | Classification::Likely
        )
    })
    .collect()
}

fn rank(finding: &Finding) -> (bool, Severity) {
    (
        finding.classification == Classification::Confirmed,
        finding.severity,
    )
}

/// Whether a finding names a line that is marked `sink:1` or `guard:1`.
fn is_at_mark(pair: &Pair<'_>, finding: &Finding) -> bool {
    let marks = |path: &str, line: u32| {
        let text = pair.files.iter().find(|(known, ..)| *known == path);
        text.and_then(|(_, text, _)| text.lines().nth(line.saturating_sub(1) as usize))
            .is_some_and(|line| line.contains("sink:1") || line.contains("guard:1"))
    };
    (finding.line..=finding.end_line).any(|line| marks(&finding.file, line))
        || finding.trace.iter().any(|step| {
            (step.guard.is_some() || step.note.starts_with("reaches"))
                && marks(&step.file, step.line)
        })
}

fn is_same_flow(one: &Finding, two: &Finding) -> bool {
    one.sink == two.sink
        && (one.file == two.file && one.function == two.function || one.source == two.source)
}

/// What is found before and after a repair.
struct Answers {
    before: Vec<Finding>,
    after: Vec<Finding>,
}

impl Answers {
    fn of(pair: &Pair<'_>) -> Self {
        Self {
            before: findings(pair, false),
            after: findings(pair, true),
        }
    }

    fn hits(&self, pair: &Pair<'_>) -> Vec<&Finding> {
        let hits = self.before.iter();
        hits.filter(|one| is_at_mark(pair, one)).collect()
    }

    /// What is left of the flows of the mistake.
    fn left(&self, pair: &Pair<'_>) -> Vec<&Finding> {
        let hits = self.hits(pair);
        // What was there before at another place is another flow: the repair is not about it. Lines
        // move, so such flows are counted: one more than there were is the one that was repaired.
        let is_beside = |one: &Finding| {
            let alike = |known: &&Finding| known.id == one.id && rank(known) == rank(one);
            let elsewhere = self.before.iter().filter(alike);
            let elsewhere = elsewhere.filter(|known| !is_at_mark(pair, known)).count();
            self.after.iter().filter(alike).count() <= elsewhere
        };
        let left = self.after.iter().filter(|one| !is_beside(one));
        left.filter(|one| hits.iter().any(|hit| is_same_flow(one, hit)))
            .collect()
    }

    /// What is wrong, where advice counts as found.
    fn by_kind(&self, pair: &Pair<'_>) -> Option<&'static str> {
        if pair.about.contains("repair=none") {
            let mut all = self.before.iter().chain(&self.after);
            return all
                .any(|one| !one.is_advice())
                .then_some("found where nothing is");
        }
        let Some(worst) = self.hits(pair).into_iter().map(rank).max() else {
            return Some("not found at its place");
        };
        let left = self.left(pair);
        if pair.about.contains("repair=weak") {
            let is_as_bad = left.iter().any(|one| rank(one) >= worst);
            return is_as_bad.then_some("not lower");
        }
        left.iter()
            .any(|one| !one.is_advice())
            .then_some("still found when repaired")
    }

    /// Whether the mistake fails the gate for a named file, and nothing of its flow does after the
    /// repair. Where the repair is weak, what is left is lower.
    fn is_told_by_the_gate(&self, pair: &Pair<'_>) -> bool {
        if pair.about.contains("repair=none") {
            return self.by_kind(pair).is_none();
        }
        if !self.hits(pair).iter().any(|one| one.blocks()) {
            return false;
        }
        match pair.about.contains("repair=weak") {
            true => self.by_kind(pair).is_none(),
            false => !self.left(pair).iter().any(|one| one.blocks()),
        }
    }
}

fn open() -> BTreeMap<&'static str, &'static str> {
    OPEN.lines()
        .map(|line| line.split_once(": ").expect("name: cause"))
        .collect()
}

/// At least so many are understood, and the gate for a named file tells so many from their repair.
fn check(sheets: &[Sheet], least: usize, least_by_gate: usize) {
    let open = open();
    let mut wrong = Vec::new();
    let mut understood = 0;
    let mut by_gate = 0;
    for sheet in sheets {
        for pair in pairs(sheet.text) {
            let name = format!("{} in {}", pair.name, sheet.name);
            let answers = Answers::of(&pair);
            by_gate += usize::from(answers.is_told_by_the_gate(&pair));
            match (answers.by_kind(&pair), open.contains_key(pair.name)) {
                (None, false) => understood += 1,
                (None, true) => wrong.push(format!("{name}: understood now, take the mark away")),
                (Some(why), false) => wrong.push(format!("{name}: {why}")),
                (Some(_), true) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(understood >= least, "only {understood} are understood");
    assert!(
        by_gate >= least_by_gate,
        "the gate tells only {by_gate} from their repair"
    );
}

#[test]
fn mechanisms_are_told_from_their_repairs() {
    check(&MECHANISMS, 265, 227);
}

#[test]
fn cases_are_told_from_their_repairs() {
    check(&CASES, 90, 77);
}

#[test]
fn fresh_pairs_are_told_from_their_repairs() {
    check(&FRESH, 40, 40);
}

#[test]
fn servers_are_told_from_their_repairs() {
    check(&SERVERS, 27, 26);
}

#[test]
fn later_pairs_are_told_from_their_repairs() {
    check(&LATER, 41, 41);
}

#[test]
fn sources_are_told_from_their_repairs() {
    check(&SOURCES, 47, 47);
}

#[test]
fn pairs_of_the_world_are_told_from_their_repairs() {
    check(&WORLD, 50, 50);
}

#[test]
fn pairs_of_projects_are_told_from_their_repairs() {
    check(&PROJECTS, 40, 40);
}

#[test]
fn every_mark_is_of_a_pair() {
    let sheets = MECHANISMS
        .iter()
        .chain(&CASES)
        .chain(&FRESH)
        .chain(&SERVERS)
        .chain(&LATER)
        .chain(&WORLD)
        .chain(&PROJECTS)
        .chain(&SOURCES);
    let known: BTreeSet<String> = sheets
        .flat_map(|sheet| pairs(sheet.text))
        .map(|pair| pair.name.to_owned())
        .collect();
    for name in open().keys() {
        assert!(known.contains(*name), "{name} is the mark of nothing");
    }
}
