//! What a mount's rules say: about a path, and about a file that is open.

use handfast::{ErrorKind, Metadata, ObjectJudge, RelPath, Root};

use crate::error::{Error, ProtectedBy};
use crate::folding;
use crate::other_names::OtherNames;
use crate::rules::{Access, Protect, Rule, Rules, Shape};

/// The rules of one mount. The library asks it about every file of the base that is opened or
/// changed in place, so a file is judged by all its names, whichever of them was used.
pub(crate) struct MountJudge {
    pub(crate) rules: Rules,
    other_names: OtherNames,
    /// The base without this judge, to look for other names in.
    plain: Root,
}

impl MountJudge {
    pub(crate) fn new(protect: &Protect, plain: Root) -> Result<Self, Error> {
        Ok(Self {
            rules: Rules::compile(protect)?,
            other_names: OtherNames::default(),
            plain,
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

/// The error of a rule.
pub(crate) fn protected_by(rule: &Rule) -> Error {
    Error::refused(ErrorKind::Denied, format!("protected by {rule}"))
        .because(ProtectedBy(rule.to_string()))
}
