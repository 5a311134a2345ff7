//! The order of a commit.
//!
//! First everything that is done in the base's old places, deepest first: so that a directory is
//! removed or moved only when all below it has been dealt with, and every path still means what
//! it meant. Then everything in the new places, parents first.

use crate::overlay::items::{Item, What};
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
    /// Modes of directories, last of all: a directory may lose its write permission.
    pub(super) modes: Vec<(Vec<u8>, u32)>,
}

impl Plan {
    pub(super) fn new(items: &[Item]) -> Self {
        let mut plan = Self {
            early: Vec::new(),
            late: Vec::new(),
            modes: Vec::new(),
        };
        for (slot, item) in items.iter().enumerate() {
            plan.add(slot, item);
        }
        // Stable: what has the same depth keeps its order.
        plan.early
            .sort_by_key(|(_, step)| std::cmp::Reverse(depth(step.at())));
        plan.late.sort_by_key(|(path, _)| depth(path));
        plan
    }

    fn add(&mut self, slot: usize, item: &Item) {
        let path = || item.path.clone();
        // A file over a file is exchanged for it; everything else makes way first.
        let replaces = matches!((&item.what, &item.was), (What::File { .. }, Was::File(_)));
        if !replaces && let Some(home) = &item.home {
            self.remove(&item.path, home, &item.was);
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

    fn bring(&mut self, slot: usize, item: &Item, from: &[u8], version: Option<String>) {
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

    /// Removes what the overlay covered, and nothing else.
    fn remove(&mut self, item: &[u8], home: &[u8], was: &Was) {
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
            self.early.push((item.to_vec(), step));
        }
    }

    /// Whether anything has to lie between two places for a while.
    pub(super) fn needs_staging(&self) -> bool {
        self.early
            .iter()
            .any(|(_, step)| matches!(step, Early::Lift { .. } | Early::Link { .. }))
    }
}

fn depth(path: &[u8]) -> usize {
    path.iter().filter(|byte| **byte == b'/').count()
}
