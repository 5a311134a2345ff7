//! A private directory with a root in it, and what is found there afterwards.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use handfast::{BackendChoice, Error, Links, RelPath, Root, RootOptions};
use handfast_archive::{Input, LinkPolicy, Options, Report, Rule, Target, extract};

/// `inside` is the root; `outside` holds what nobody may touch.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) root: Root,
    pub(crate) scratch: Root,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::on(BackendChoice::Auto)
    }

    pub(crate) fn on(backend: BackendChoice) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["inside", "outside", "scratch"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("outside/secret"), "secret").unwrap();
        let options = RootOptions::new().links(Links::Refuse).backend(backend);
        let root = Root::open_ambient_with(dir.path().join("inside"), options).unwrap();
        let scratch = Root::open_ambient(dir.path().join("scratch")).unwrap();
        Self { dir, root, scratch }
    }

    pub(crate) fn inside(&self) -> std::path::PathBuf {
        self.dir.path().join("inside")
    }

    /// Extracts to `out`.
    pub(crate) fn extract(&self, archive: &[u8], options: Options<'_>) -> Result<Report, Error> {
        let out = RelPath::parse("out").unwrap();
        let input = Input::new(archive, &self.scratch);
        extract(input, &Target::new_dir(&self.root, &out), options)
    }

    /// Everything below `inside`: kind, mode and content by path.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        tree(&self.inside())
    }

    /// Nothing was left, and nobody touched what lies outside.
    pub(crate) fn is_untouched(&self) -> bool {
        let outside = tree(&self.dir.path().join("outside"));
        self.tree().is_empty()
            && outside.len() == 1
            && std::fs::read(self.dir.path().join("outside/secret")).unwrap() == b"secret"
            && tree(&self.dir.path().join("scratch")).is_empty()
    }
}

pub(crate) fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(dir, "", &mut found);
    found
}

fn collect(dir: &Path, above: &str, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        let metadata = entry.path().symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let what = if metadata.is_dir() {
            collect(&entry.path(), &format!("{name}/"), found);
            format!("dir {mode:o}")
        } else if metadata.is_symlink() {
            format!("-> {}", std::fs::read_link(entry.path()).unwrap().display())
        } else {
            let content = std::fs::read(entry.path()).unwrap();
            format!("file {mode:o} {}", String::from_utf8_lossy(&content))
        };
        found.insert(name, what);
    }
}

/// Options that take links.
pub(crate) fn with_links<'a>() -> Options<'a> {
    let mut options = Options::new();
    options.links = LinkPolicy::Inside;
    options
}

/// The first rule that refused something: the archive's own, or that of the first refused member.
pub(crate) fn verdict(report: &Report) -> Option<Rule> {
    let whole = report.refusal.as_ref().map(|refusal| refusal.rule);
    whole.or_else(|| report.refused().next().map(|(_, refusal)| refusal.rule))
}

/// An attack by name, its bytes, and the rule that has to refuse it.
pub(crate) type Case = (&'static str, Vec<u8>, Rule);

/// `"name" => Rule, bytes;` for each attack.
macro_rules! cases {
    ($($name:literal => $rule:ident, $bytes:expr;)+) => {
        vec![$(($name, $bytes, handfast_archive::Rule::$rule)),+]
    };
}
pub(crate) use cases;

/// Every attack gets its verdict and leaves nothing. Says how many there were.
pub(crate) fn check(cases: Vec<Case>, options: impl Fn() -> Options<'static>) -> usize {
    let mut place = Place::new();
    let mut wrong = Vec::new();
    for (name, archive, expected) in &cases {
        let report = place.extract(archive, options()).unwrap();
        if verdict(&report) != Some(*expected) || report.extracted || !place.is_untouched() {
            let refused = report.refused().next();
            wrong.push(format!(
                "{name}: wanted {expected:?}, got {:?} {refused:?}",
                report.refusal
            ));
            place = Place::new();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    cases.len()
}
