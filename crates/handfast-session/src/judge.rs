//! What a mount's rules say: about a path, and about a file that is open.

use handfast::{ErrorKind, Metadata, ObjectJudge, RelPath, Root};

use crate::error::{Error, ProtectedBy};
use crate::folding;
use crate::other_names::OtherNames;
use crate::rules::{ASK, Access, Protect, Rule, Rules, Shape};

/// The rules of one mount. The library asks it about every file of the base that is opened or
/// changed in place, so a file is judged by all its names, whichever of them was used.
pub(crate) struct MountJudge {
    pub(crate) rules: Rules,
    /// What a person is asked about.
    pub(crate) ask: Rules,
    /// The same, one pattern at a time: an answer is about one pattern, so each of them asks.
    each_ask: Vec<AskPattern>,
    other_names: OtherNames,
    /// The base without this judge, to look for other names in.
    plain: Root,
    /// Whether there is a pattern that denies or asks.
    pub(crate) denies_or_asks: bool,
}

/// A pattern that a person is asked about.
struct AskPattern {
    pattern: String,
    rules: Rules,
    other_names: OtherNames,
}

impl MountJudge {
    pub(crate) fn new(protect: &Protect, plain: Root) -> Result<Self, Error> {
        let one = |pattern: &String| {
            Ok(AskPattern {
                pattern: pattern.clone(),
                rules: Rules::compile_ask(&Protect::new().with_ask(pattern.clone()))?,
                other_names: OtherNames::default(),
            })
        };
        Ok(Self {
            rules: Rules::compile(protect)?,
            ask: Rules::compile_ask(protect)?,
            each_ask: protect.ask.iter().map(one).collect::<Result<_, Error>>()?,
            other_names: OtherNames::default(),
            plain,
            denies_or_asks: !protect.deny.is_empty() || !protect.ask.is_empty(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rule that forbids an access to a path of the base.
    pub(crate) fn forbids_in_base(&self, path: &RelPath, access: Access) -> Option<Rule> {
        let folds = || folding::folds(&self.plain, path);
        self.rules.decide(path, access, Shape::File, folds)
    }

    /// Judges a file with several names by what else it is called.
    pub(crate) fn check_other_names(&self, file: &Metadata, access: Access) -> Result<(), Error> {
        #[cfg(handfast_sabotage)]
        if handfast::sabotage::is("judge-names") {
            return Ok(());
        }
        if !file.has_other_names() || self.is_empty() {
            return Ok(());
        }
        let rule_of = |path: &RelPath| self.forbids_in_base(path, Access::Change);
        self.other_names.check(&self.plain, rule_of, file, access)
    }

    /// Every rule that asks about a path, in the order of the patterns.
    pub(crate) fn asks(
        &self,
        path: &RelPath,
        shape: Shape,
        folds: impl Fn() -> bool + Copy,
    ) -> Vec<Rule> {
        // The usual answer comes from one look.
        if (self.ask.decide(path, Access::Read, shape, folds)).is_none() {
            return Vec::new();
        }
        let found = |one: &&AskPattern| {
            let rule = one.rules.decide(path, Access::Read, shape, folds);
            rule.is_some()
        };
        let all = self.each_ask.iter().filter(found);
        all.map(|one| asking(one.pattern.clone())).collect()
    }

    /// The rules that ask about a file because of any of its names.
    ///
    /// # Errors
    /// `Denied` if not all names of the file could be found.
    pub(crate) fn asks_by_other_names(&self, file: &Metadata) -> Result<Vec<Rule>, Error> {
        if !file.has_other_names() || self.ask.is_empty() {
            return Ok(Vec::new());
        }
        let mut rules = Vec::new();
        for one in &self.each_ask {
            let rule_of = |path: &RelPath| {
                let folds = || folding::folds(&self.plain, path);
                one.rules.decide(path, Access::Read, Shape::File, folds)
            };
            let checked = one
                .other_names
                .check(&self.plain, rule_of, file, Access::Read);
            match checked {
                Ok(()) => {}
                Err(error) if error.cause::<ProtectedBy>().is_some() => {
                    rules.push(asking(one.pattern.clone()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rules)
    }

    /// How well other names of protected files are known, in words.
    pub(crate) fn how_well(&self) -> &'static str {
        self.other_names.how_well()
    }
}

impl ObjectJudge for MountJudge {
    fn judge(&self, file: &Metadata, change: bool) -> Result<(), Error> {
        let access = match change {
            true => Access::Change,
            false => Access::Read,
        };
        self.check_other_names(file, access)
    }
}

/// The rule of a pattern that a person is asked about.
pub(crate) fn asking(pattern: String) -> Rule {
    Rule { list: ASK, pattern }
}

/// The error of a rule.
pub(crate) fn protected_by(rule: &Rule) -> Error {
    Error::refused(ErrorKind::Denied, format!("protected by {rule}"))
        .because(ProtectedBy(rule.to_string()))
}
