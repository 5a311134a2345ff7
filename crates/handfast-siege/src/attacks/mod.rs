//! The attacks, one file each; what the layers promise beyond staying inside is one table.

mod dangling_plant;
mod directory_swap;
mod dotdot_links;
mod endless_directory;
mod hard_link_plant;
mod inner_swap;
mod leaf_swap;
mod moved_parent;
mod owners;
mod promises;
mod replaced_lock;
mod root_swap;
mod special_plant;

use std::io;
use std::path::{Path, PathBuf};

use crate::attacker::{Swap, Way};
use crate::controls::Control;
use crate::field::Field;
pub(crate) use crate::pace::Pace;
use crate::scenarios;

/// What is done to the tree, to whom, and how it is known to be strong enough.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What the attackers do, in a sentence.
    pub(crate) does: &'static str,
    /// What counts as harm.
    pub(crate) harm: &'static str,
    /// The attackers, for an arena and the name that is swapped.
    pub(crate) swaps: fn(&Path, &str) -> Vec<Swap>,
    /// How long attackers pause.
    pub(crate) pace: Pace,
    /// How attackers run.
    pub(crate) ways: &'static [Way],
    pub(crate) run: fn(&'static Attack, &mut Field<'_>) -> io::Result<()>,
    pub(crate) control: Control,
}

/// Attackers as threads and as processes.
pub(crate) const BOTH_WAYS: &[Way] = &[Way::Thread, Way::Process];
pub(crate) const THREADS: &[Way] = &[Way::Thread];

/// Every attack, scenarios last.
pub(crate) static ALL: &[&Attack] = &[
    &directory_swap::ATTACK,
    &inner_swap::ATTACK,
    &leaf_swap::ATTACK,
    &dangling_plant::ATTACK,
    &root_swap::ATTACK,
    &moved_parent::ATTACK,
    &dotdot_links::ATTACK,
    &hard_link_plant::ATTACK,
    &special_plant::ATTACK,
    &endless_directory::ATTACK,
    &replaced_lock::ATTACK,
    &promises::DENIED_SWAP,
    &promises::DENIED_NAME,
    &promises::PROTECTED_SWAP,
    &promises::PROTECTED_MOVE,
    &promises::VERSION_SWAP,
    &owners::FOREIGN_OWNER,
    &owners::WIDER_ACCESS,
    &scenarios::SHARED_ROOT,
    &scenarios::GIT,
    &scenarios::BUILD,
];

pub(crate) fn find(name: &str) -> Option<&'static Attack> {
    ALL.iter().find(|attack| attack.name == name).copied()
}

/// Puts an ordinary file and something else under a name, in turn. `bad` makes the other thing
/// under a name of its own; it then takes the place in one step, so that the name is never free.
pub(crate) fn take_turns(
    place: PathBuf,
    mut bad: impl FnMut(&Path) -> bool + Send + 'static,
) -> Swap {
    let aside = place.with_extension("aside");
    let mut is_bad = false;
    Box::new(move || {
        is_bad = !is_bad;
        drop(std::fs::remove_file(&aside));
        let made = if is_bad {
            bad(&aside)
        } else {
            // Empty: some filesystems write a file out when it replaces another.
            std::fs::File::create(&aside).is_ok()
        };
        made && std::fs::rename(&aside, &place).is_ok()
    })
}

/// Makes a name free. Where a victim did so before, it is free all the same: an attacker that only
/// counted its plants would be met just after a plant each time.
pub(crate) fn frees(place: &Path) -> bool {
    match std::fs::remove_file(place) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

pub(crate) fn is_dir(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

pub(crate) fn is_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_unique_and_attacks_are_found() {
        for attack in super::ALL {
            let found = super::find(attack.name).map(|found| found.does);
            assert_eq!(found, Some(attack.does));
            assert!(!attack.does.ends_with('.') && !attack.harm.ends_with('.'));
        }
    }
}
