//! The order of a commit.
//!
//! First everything that is done in the base's old places, deepest first: so that a directory is
//! removed or moved only when all below it has been dealt with, and every path still means what
//! it meant. Then everything in the new places, parents first.

use super::git::GitPaths;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::{Was, join};

/// Done in an old place of the base.
#[derive(Clone, Debug)]
pub(super) enum Early {
    /// Remove a file that is still this version.
    File { at: Vec<u8>, version: String },
    /// Remove a link that still has this target.
    Link { at: Vec<u8>, target: Vec<u8> },
    /// Remove an empty directory.
    Dir { at: Vec<u8> },
    /// Move something straight to its new place, which is free. A file must be this version.
    Move {
        from: Vec<u8>,
        to: Vec<u8>,
        version: Option<String>,
    },
    /// Take something out of the way, to be put in its new place later. A file must be this
    /// version.
    Lift {
        from: Vec<u8>,
        slot: usize,
        version: Option<String>,
    },
}

impl Early {
    pub(super) fn at(&self) -> &[u8] {
        match self {
            Self::File { at, .. } | Self::Link { at, .. } | Self::Dir { at } => at,
            Self::Move { from, .. } | Self::Lift { from, .. } => from,
        }
    }
}

/// Done in a new place.
#[derive(Clone, Debug)]
pub(super) enum Late {
    Dir {
        mode: Option<u32>,
    },
    /// Put what was lifted here.
    Place {
        slot: usize,
        back: Vec<u8>,
    },
    File {
        object: u64,
        expected: Option<String>,
    },
    Link {
        target: Vec<u8>,
    },
}

pub(super) struct Plan {
    /// With the path of the item each belongs to.
    pub(super) early: Vec<(Vec<u8>, Early)>,
    pub(super) late: Vec<(Vec<u8>, Late)>,
    /// Objects of git that go: only when nothing leads to them any more.
    pub(super) last: Vec<(Vec<u8>, Early)>,
    /// Modes of directories, last of all: a directory may lose its write permission.
    pub(super) modes: Vec<(Vec<u8>, u32)>,
}

impl Plan {
    pub(super) fn new(items: &[ChangedName], git: GitPaths) -> Self {
        let mut plan = Self {
            early: Vec::new(),
            late: Vec::new(),
            last: Vec::new(),
            modes: Vec::new(),
        };
        for (slot, item) in items.iter().enumerate() {
            plan.add(slot, item, git);
        }
        // Stable: what has the same depth keeps its order.
        plan.early
            .sort_by_key(|(_, step)| std::cmp::Reverse(depth(step.at())));
        plan.last
            .sort_by_key(|(_, step)| std::cmp::Reverse(depth(step.at())));
        // What leads to git's objects comes after them.
        plan.late.sort_by_key(|(path, step)| {
            let leads = !matches!(step, Late::Dir { .. }) && git.is_name_of_objects(path);
            (leads, depth(path))
        });
        plan
    }

    fn add(&mut self, slot: usize, item: &ChangedName, git: GitPaths) {
        let path = || item.path.clone();
        // A file over a file is exchanged for it; everything else makes way first.
        let replaces = matches!((&item.what, &item.was), (What::File { .. }, Was::File(_)));
        if !replaces && let Some(home) = &item.home {
            let steps = removal(&item.path, home, &item.was);
            match item.what == What::Delete && git.is_object(home) {
                true => self.last.extend(steps),
                false => self.early.extend(steps),
            }
        }
        match &item.what {
            What::Delete => {}
            What::NewDir { mode } => self.late.push((path(), Late::Dir { mode: *mode })),
            What::DirMode { mode, .. } => self.modes.push((path(), *mode)),
            What::MoveDir { from, mode, .. } => {
                self.bring(slot, item, from, None);
                self.modes.extend(mode.map(|mode| (path(), mode)));
            }
            What::MoveFile { from, version } => {
                self.bring(slot, item, from, Some(version.clone()));
            }
            What::File { object, moved } => {
                if let Some((from, version)) = moved {
                    let step = Early::File {
                        at: from.clone(),
                        version: version.clone(),
                    };
                    self.early.push((path(), step));
                }
                let expected = match &item.was {
                    Was::File(version) => Some(version.clone()),
                    _ => None,
                };
                let object = *object;
                self.late.push((path(), Late::File { object, expected }));
            }
            What::Link { target } => {
                let target = target.clone();
                self.late.push((path(), Late::Link { target }));
            }
        }
    }

    fn bring(&mut self, slot: usize, item: &ChangedName, from: &[u8], version: Option<String>) {
        let path = || item.path.clone();
        let (from, back) = (from.to_vec(), from.to_vec());
        // Nothing was there, and the directory is where it was: it can go there at once.
        let is_free = item.covered == Was::Absent && item.home.as_ref() == Some(&item.path);
        if is_free {
            let to = path();
            self.early.push((path(), Early::Move { from, to, version }));
        } else {
            let lift = Early::Lift {
                from,
                slot,
                version,
            };
            self.early.push((path(), lift));
            self.late.push((path(), Late::Place { slot, back }));
        }
    }

    /// Whether anything has to lie between two places for a while.
    pub(super) fn needs_staging(&self) -> bool {
        let steps = self.early.iter().chain(&self.last);
        steps
            .into_iter()
            .any(|(_, step)| matches!(step, Early::Lift { .. } | Early::Link { .. }))
    }
}

/// Removes what the overlay covered, and nothing else.
fn removal(item: &[u8], home: &[u8], was: &Was) -> Vec<(Vec<u8>, Early)> {
    let mut steps = Vec::new();
    let mut pending = vec![(home.to_vec(), was)];
    while let Some((at, was)) = pending.pop() {
        let step = match was {
            Was::File(version) => Early::File {
                at,
                version: version.clone(),
            },
            Was::Link(target) => Early::Link {
                at,
                target: target.clone(),
            },
            Was::Dir(entries) => {
                for (name, was) in entries {
                    pending.push((join(&at, name), was));
                }
                Early::Dir { at }
            }
            Was::Absent | Was::Kept | Was::Moved(_) => continue,
        };
        steps.push((item.to_vec(), step));
    }
    steps
}

fn depth(path: &[u8]) -> usize {
    path.iter().filter(|byte| **byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_git_come_before_what_leads_to_them_and_go_after_it() {
        let item = |path: &str, was: Was, what: What| ChangedName {
            path: path.as_bytes().to_vec(),
            home: Some(path.as_bytes().to_vec()),
            covered: was.clone(),
            was,
            what,
        };
        let file = |object| What::File {
            object,
            moved: None,
        };
        let old = || Was::File("v1.x".to_owned());
        let all = [
            item(".git/HEAD", old(), file(1)),
            item("a", old(), file(2)),
            item(".git/objects/ab", Was::Absent, What::NewDir { mode: None }),
            item(".git/objects/ab/cd", Was::Absent, file(3)),
            item(".git/objects/old", old(), What::Delete),
            item("gone", old(), What::Delete),
        ];
        let plan = Plan::new(&all, GitPaths::default());
        let paths = |steps: &mut dyn Iterator<Item = &Vec<u8>>| -> Vec<String> {
            steps
                .map(|path| String::from_utf8(path.clone()).unwrap())
                .collect()
        };
        assert_eq!(paths(&mut plan.early.iter().map(|step| &step.0)), ["gone"]);
        assert_eq!(
            paths(&mut plan.late.iter().map(|step| &step.0)),
            ["a", ".git/objects/ab", ".git/objects/ab/cd", ".git/HEAD"]
        );
        assert_eq!(
            paths(&mut plan.last.iter().map(|step| &step.0)),
            [".git/objects/old"]
        );
    }
}
