//! Which tests there are, and what each of them shows.
//!
//! Tests are found by convention and judged by what they do (they make a link, they write `..`) or
//! say they do in their name. They are never run.

use std::sync::OnceLock;

use crate::ir::{Function, Module, Span};
use crate::lower::lower;
use crate::program::{Program, SourceFile};
use crate::scope::Scope;

/// What a regression test can show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shows {
    DotDot,
    RootLink,
    Link,
    DanglingLink,
    FileInTheWay,
    HardLink,
    PlantedLater,
    OtherBranch,
    LockReleased,
}

/// One test.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) at: Span,
    name: String,
    text: String,
    pub(crate) shared_dir: Option<Span>,
    pub(crate) private_dir: Option<Span>,
    pub(crate) frozen_clock: Option<Span>,
}

impl Test {
    pub(crate) fn shows(&self, what: Shows) -> Option<Span> {
        let text = self.text.as_str();
        let name = self.name.as_str();
        let says = |words: &[&str]| {
            words
                .iter()
                .any(|word| name.contains(word) || text.contains(word))
        };
        let links = says(&["symlink", "Symlink", "symlink_to"]);
        let found = match what {
            Shows::DotDot => text.contains("..") && says(&["../", "..\"", "..'", "\"..", "'.."]),
            Shows::RootLink => {
                links
                    && says(&["root", "Root"])
                    && says(&[
                        "root_link",
                        "root_is",
                        "link_root",
                        "root as",
                        "linked_root",
                        "rootLink",
                        "RootLink",
                        "root that is",
                        "RootIs",
                    ])
            }
            Shows::Link => links,
            Shows::DanglingLink => {
                links
                    && says(&[
                        "dangling",
                        "Dangling",
                        "nowhere",
                        "missing_target",
                        "does-not-exist",
                        "nonexistent",
                    ])
            }
            Shows::FileInTheWay => says(&[
                "file_in_the_way",
                "intermediate",
                "Intermediate",
                "not_a_directory",
                "ENOTDIR",
                "fileInTheWay",
                "FileInTheWay",
                "NotADirectory",
                "file in the way",
            ]),
            Shows::HardLink => {
                says(&[
                    "os.link(",
                    "hard_link",
                    "hardlink",
                    "linkSync",
                    "os.Link(",
                    "Hardlink",
                    "HardLink",
                ]) || text.contains(" link(")
            }
            Shows::PlantedLater => {
                links && says(&["planted", "Planted", "between", "swap", "race", "later"])
            }
            Shows::OtherBranch => says(&[
                "branch",
                "Branch",
                "exists_already",
                "if_missing",
                "reset",
                "both_ways",
            ]),
            Shows::LockReleased => {
                says(&["lock", "Lock", "mutex"])
                    && says(&[
                        "released", "not_held", "free", "Released", "NotHeld", "unlocked",
                        "locked()",
                    ])
            }
        };
        found.then_some(self.at)
    }
}

/// All tests in sight. Files of tests are parsed when a report is about what they name.
#[derive(Debug, Default)]
pub(crate) struct TestIndex {
    files: Vec<(u32, OnceLock<Vec<Test>>)>,
}

/// Whether a file holds tests, by its path.
pub(crate) fn is_test_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let in_dir = path
        .split('/')
        .any(|part| matches!(part, "tests" | "test" | "__tests__" | "testing" | "spec"));
    in_dir
        || name.starts_with("test_")
        || name.contains("_test.")
        || name.contains(".test.")
        || name.contains(".spec.")
        || matches!(name, "conftest.py" | "tests.rs")
}

impl TestIndex {
    pub(crate) fn new(program: &Program) -> Self {
        let mut files = Vec::new();
        for (index, file) in program.files.iter().enumerate() {
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            if file.is_test {
                files.push((number, OnceLock::new()));
            } else if file.module.functions.iter().any(|one| one.is_test) {
                let found = tests_in(file, &file.module);
                files.push((number, OnceLock::from(found)));
            }
        }
        Self { files }
    }

    /// The tests that touch what a report is about: they name one of its functions or its file.
    pub(crate) fn about<'i>(&'i self, scope: &Scope<'_>) -> Vec<&'i Test> {
        let file = scope.program.file(scope.file);
        let stem = file
            .stem()
            .trim_start_matches("test_")
            .trim_end_matches("_test");
        let mut names: Vec<&str> = scope
            .flows
            .iter()
            .map(|flow| flow.function.rsplit('.').next().unwrap_or(""))
            .collect();
        for flow in &scope.flows {
            for (id, _) in &flow.sink.calls {
                names.push(&scope.program.function(*id).name);
            }
        }
        names.sort_unstable();
        names.dedup();
        names.retain(|name| name.len() > 2 && !name.starts_with('<'));
        let mut out: Vec<&Test> = Vec::new();
        for (number, tests) in &self.files {
            let there = scope.program.file(*number);
            if there.lang.family() != file.lang.family() {
                continue;
            }
            let bare = there
                .stem()
                .trim_start_matches("test_")
                .trim_end_matches("_test");
            let same = *number == scope.file || there.is_test && bare == stem;
            if !same && !names.iter().any(|name| there.text.contains(name)) {
                continue;
            }
            let whole = same || there.text.contains(stem);
            let found = tests.get_or_init(|| {
                let module = lower(there.lang, *number, &there.text).unwrap_or_default();
                tests_in(there, &module)
            });
            let about = found
                .iter()
                .filter(|test| whole || names.iter().any(|name| test.text.contains(name)));
            out.extend(about);
        }
        out
    }
}

fn tests_in(file: &SourceFile, module: &Module) -> Vec<Test> {
    let mut around = None;
    let mut out = Vec::new();
    for function in &module.functions {
        let closure_test =
            file.is_test && function.name.starts_with('<') && function.parent.is_some();
        if function.is_test || closure_test {
            let around = around.get_or_insert_with(|| Around::new(&file.text));
            out.push(describe(&file.text, around, function));
        }
    }
    out
}

const FIXED: [&str; 4] = ["\"/tmp/", "'/tmp/", "'/var/tmp", "\"/var/tmp"];
// The system's directory for temporary files, and a name that everybody knows below it.
const SHARED: [&str; 4] = [
    "gettempdir()",
    "os.tmpdir()",
    "os.TempDir()",
    "env::temp_dir()",
];
const UNIQUE: [&str; 10] = [
    "mkdtemp",
    "XXXXXX",
    "MkdirTemp",
    "mkstemp",
    "uuid",
    "process::id",
    "getpid",
    "random",
    "TempDir::",
    "tempfile::tempdir",
];

/// What a whole file says about all of its tests, asked once.
struct Around {
    private: bool,
    fixed: bool,
    frozen: bool,
}

impl Around {
    fn new(text: &str) -> Self {
        let file_has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let private = file_has(&["beforeEach", "setUp", "SetUp"])
            && file_has(&["mkdtemp", "tmp_path", "TemporaryDirectory"]);
        let frozen = file_has(&[
            "freeze_time",
            "time_machine",
            "useFakeTimers",
            "freezegun",
            "setSystemTime",
            "time::pause",
            "synctest",
            "clockwork",
            "clock.NewMock",
            "MockDate",
            "__wrap_time",
            "FixedClock",
            "fakeclock",
            "fixed_clock",
            "FakeClock",
            "fake_now",
        ]);
        Self {
            private,
            fixed: (file_has(&FIXED) || file_has(&SHARED)) && !file_has(&UNIQUE),
            frozen,
        }
    }
}

fn describe(text: &str, around: &Around, function: &Function) -> Test {
    let from = function.span.start as usize;
    let to = (function.span.end as usize).min(text.len());
    let mut body = text.get(from..to).unwrap_or_default().to_owned();
    // A closure's name is the string before it: `it("refuses a link", () => …)`.
    if function.name.starts_with('<') {
        let start = text[..from].rfind(['\n', ';']).map_or(0, |at| at + 1);
        body = text.get(start..to).unwrap_or_default().to_owned();
    }
    let at = function.span;
    let has = |words: &[&str]| words.iter().any(|word| body.contains(word));
    let private = has(&[
        "tmp_path",
        "t.TempDir",
        "b.TempDir",
        "TempDir::",
        "tmpdir)",
        "tmpdir,",
        "tempdir",
        "mkdtemp",
        "MkdirTemp",
        "TemporaryDirectory",
        "Scratch",
        "temp_dir_for",
    ]) || around.private;
    let fixed = (has(&FIXED) || has(&SHARED)) && !has(&UNIQUE) || !private && around.fixed;
    Test {
        at,
        name: function.name.to_string(),
        text: body,
        shared_dir: fixed.then_some(at),
        private_dir: (private && !fixed).then_some(at),
        frozen_clock: around.frozen.then_some(at),
    }
}
