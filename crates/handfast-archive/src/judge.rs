//! Whether one member is accepted, and where it goes.

use handfast::{RelPath, check_symlink_target};

use crate::existing::Existing;
use crate::member::{Member, MemberKind};
use crate::names::{check_portable, path_of};
use crate::options::{LinkPolicy, Names, Options, Overwrite};
use crate::refusal::{Refusal, Rule};
use crate::report::Outcome;
use crate::target::PathJudge;
use crate::tree::{Planted, Tree};

/// Judges members in the order in which they come.
pub(crate) struct Judge<'a> {
    tree: Tree,
    /// The target's own rules, asked about final paths.
    policy: Option<PathJudge<'a>>,
    /// Where the tree will lie below the target's top.
    top: RelPath,
    /// The directory that the tree is merged into. Then a link has to lead to a member: anything else may
    /// be a link of that directory.
    existing: Option<Existing<'a>>,
    /// Symbolic links, by the number of their verdicts; judged once more when the tree is whole.
    links: Vec<(usize, RelPath)>,
}

/// What was decided about a member.
pub(crate) struct Judged {
    pub(crate) path: Option<RelPath>,
    /// For a hard link: the file that it names.
    pub(crate) source: Option<RelPath>,
    pub(crate) outcome: Outcome,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        names: Names,
        policy: Option<PathJudge<'a>>,
        top: RelPath,
        existing: Option<Existing<'a>>,
    ) -> Self {
        Self {
            tree: Tree::new(names),
            policy,
            top,
            existing,
            links: Vec::new(),
        }
    }

    /// The size of the planned tree: names, and bytes of names.
    pub(crate) fn size(&self) -> (u64, u64) {
        self.tree.size()
    }

    /// Judges a member; an accepted one is part of the tree from then on.
    pub(crate) fn judge(
        &mut self,
        number: usize,
        member: &Member,
        options: &Options<'_>,
    ) -> Judged {
        let mut judged = Judged {
            path: None,
            source: None,
            outcome: Outcome::LeftOut,
        };
        judged.outcome = match self.place(number, member, options, &mut judged) {
            Ok(true) => Outcome::Accepted,
            Ok(false) => Outcome::LeftOut,
            Err(refusal) => Outcome::Refused(refusal),
        };
        judged
    }

    fn place(
        &mut self,
        number: usize,
        member: &Member,
        options: &Options<'_>,
        judged: &mut Judged,
    ) -> Result<bool, Refusal> {
        let named = path_of(&member.name, member.kind, &options.limits)?;
        let is_wanted =
            options.only.is_empty() || options.only.iter().any(|it| named.starts_with(it));
        if !is_wanted {
            return Ok(false);
        }
        let Some(path) = strip(&named, options.strip_components) else {
            return Ok(false);
        };
        judged.path = Some(path.clone());
        if options.names == Names::Portable {
            check_portable(&path)?;
        }
        let planted = self.planted(member, &path, options, judged)?;
        // A hard link gives a file another name, and takes none that is taken.
        let overwrite = match judged.source {
            Some(_) => Overwrite::Refuse,
            None => options.overwrite,
        };
        self.tree.check(&path, &planted, overwrite)?;
        self.ask_policy(&path, &planted)?;
        if let Some(existing) = &self.existing {
            existing.check(&path, planted.kind(), options.overwrite)?;
        }
        if let Planted::Symlink(_) = planted {
            self.links.push((number, path.clone()));
        }
        if !path.is_root() {
            self.tree.plant(&path, planted);
        }
        Ok(true)
    }

    fn planted(
        &self,
        member: &Member,
        path: &RelPath,
        options: &Options<'_>,
        judged: &mut Judged,
    ) -> Result<Planted, Refusal> {
        let is_link = matches!(member.kind, MemberKind::Symlink | MemberKind::HardLink);
        if is_link && options.links == LinkPolicy::Refuse {
            return Err(Refusal::new(Rule::Link, "links are refused"));
        }
        match member.kind {
            MemberKind::File => Ok(Planted::File),
            MemberKind::Dir => Ok(Planted::Dir),
            MemberKind::Special => Err(Refusal::new(
                Rule::Special,
                "a device, a FIFO or a socket is never made",
            )),
            MemberKind::Symlink => {
                check_symlink_target(&member.target, path)
                    .map_err(|error| Refusal::new(Rule::LinkTarget, error.detail()))?;
                Ok(Planted::Symlink(member.target.clone()))
            }
            MemberKind::HardLink => {
                judged.source = Some(self.hard_link_source(member, options)?);
                Ok(Planted::File)
            }
        }
    }

    /// The file that a hard link names: one that this archive gave before, and nothing else.
    fn hard_link_source(&self, member: &Member, options: &Options<'_>) -> Result<RelPath, Refusal> {
        let refused = |why: String| Refusal::new(Rule::HardLinkTarget, why);
        let named = path_of(&member.target, MemberKind::File, &options.limits)
            .map_err(|refusal| refused(format!("of the hard link's target: {}", refusal.detail)))?;
        strip(&named, options.strip_components)
            .filter(|path| self.tree.at(path.as_bytes()) == Some(&Planted::File))
            .ok_or_else(|| {
                refused("the hard link names no file that the archive gave before".to_owned())
            })
    }

    fn ask_policy(&self, path: &RelPath, planted: &Planted) -> Result<(), Refusal> {
        let Some(policy) = self.policy else {
            return Ok(());
        };
        policy(&self.top.join(path), planted.kind())
            .map_err(|error| Refusal::new(Rule::Policy, error.detail()))
    }

    /// Judges the links once more, now that the tree is whole: which verdicts change, and why.
    pub(crate) fn judge_links(&self) -> Vec<(usize, Refusal)> {
        let mut refused = Vec::new();
        let mut work = 0;
        for (number, path) in &self.links {
            let Some(Planted::Symlink(target)) = self.tree.at(path.as_bytes()) else {
                continue;
            };
            match self.tree.follow(path, target, &mut work) {
                Ok(is_member) if is_member || self.existing.is_none() => {}
                Ok(_) => refused.push((
                    *number,
                    Refusal::new(
                        Rule::LinkTarget,
                        "the link leads to no member of the archive",
                    ),
                )),
                Err(refusal) => refused.push((*number, refusal)),
            }
        }
        refused
    }
}

/// Takes leading segments off; `None` if nothing is left.
fn strip(path: &RelPath, count: usize) -> Option<RelPath> {
    if count == 0 {
        return Some(path.clone());
    }
    let mut rest = path.as_ref();
    for _ in 0..count {
        (_, rest) = rest.split_first()?;
    }
    (!rest.is_root()).then(|| rest.to_path())
}
