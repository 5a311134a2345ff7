//! What a rule keeps from the base until somebody names it.
//!
//! In an overlay a read-only name may be written, and a denied one that the base does not have may be
//! made. A commit takes such a change only if its own path is named: not with the directory above it,
//! not with everything, not with the rest of a git directory. The same holds for a link whose target
//! leads outside, because other programs will follow it there; and, where rules protect what lies in
//! `.git`, for a file of that name: it leads git to a repository elsewhere, whose settings name programs to run.

use std::collections::BTreeSet;

use handfast::escape;

use super::Conflict;
use super::choice::{Relations, source};
use crate::error::Error;
use crate::moved_names;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::{Was, base_path, join};
use crate::place::Guard;

/// The items that a commit takes, and those that wait to be named.
pub(super) fn hold_back(
    chosen: Vec<ChangedName>,
    named: &[Vec<u8>],
    guard: &Guard<'_>,
) -> Result<(Vec<ChangedName>, Vec<Conflict>), Error> {
    let is_plain = |item: &ChangedName| {
        !matches!(item.what, What::MoveDir { .. }) && leads_outside(item).is_none()
    };
    if guard.mount.rules().is_empty() && chosen.iter().all(is_plain) {
        return Ok((chosen, Vec::new()));
    }
    let named: BTreeSet<&[u8]> = named.iter().map(Vec::as_slice).collect();
    let mut held = Vec::new();
    let mut reasons: Vec<Option<String>> = Vec::with_capacity(chosen.len());
    let mut asked: BTreeSet<&[u8]> = BTreeSet::new();
    for item in &chosen {
        let rules = rules_of(item, guard)?;
        let unnamed = rules.iter().find(|(path, _)| !named.contains(&**path));
        if !rules.is_empty() && unnamed.is_none() {
            asked.insert(&item.path);
        }
        reasons.push(unnamed.map(|(path, rule)| match *path == item.path {
            true => rule.clone(),
            // It goes with the directory, and has to be named beside it.
            false => format!("{rule} speaks of `{}`, which is not named", escape(path)),
        }));
    }
    for (item, reason) in chosen.iter().zip(&mut reasons) {
        // A new directory comes with what is named in it.
        let is_new = matches!(item.what, What::NewDir { .. }) && item.covered == Was::Absent;
        if is_new && reason.is_some() && is_above_any(&item.path, &asked) {
            *reason = None;
        }
    }
    drop(asked);
    let relations = Relations::new(&chosen);
    loop {
        let stuck: Vec<usize> = (0..chosen.len())
            .filter(|index| reasons[*index].is_none())
            .filter(|index| {
                let mut needed = relations.needed_by(&chosen[*index]).into_iter();
                needed.any(|other| reasons[other].is_some())
            })
            .collect();
        if stuck.is_empty() {
            break;
        }
        for index in stuck {
            reasons[index] = Some("what it goes with waits to be named".to_owned());
        }
    }
    drop(relations);
    let mut taken = Vec::new();
    for (item, reason) in chosen.into_iter().zip(reasons) {
        match reason {
            None => taken.push(item),
            Some(why) => held.push(Conflict {
                path: item.path,
                why,
            }),
        }
    }
    Ok((taken, held))
}

/// The names of an item that a rule speaks of, as the session calls them: its own, where it lies in
/// the base, where it comes from, what goes with a directory that it replaces or removes, and what
/// comes along in one that it moves. Each with the rule, in words.
fn rules_of(item: &ChangedName, guard: &Guard<'_>) -> Result<Vec<(Vec<u8>, String)>, Error> {
    let rule_of = |path: &[u8]| {
        let rule = guard.mount.holds_back(&base_path(path).ok()?)?;
        Some(rule.to_string())
    };
    let places = [
        Some(item.path.as_slice()),
        item.home.as_deref(),
        source(item),
    ];
    let mut found: Vec<(Vec<u8>, String)> = (places.into_iter().flatten())
        .find_map(rule_of)
        .or_else(|| leads_outside(item))
        .or_else(|| leads_git(item, guard))
        .map(|rule| (item.path.clone(), rule))
        .into_iter()
        .collect();
    if let What::MoveDir { from, .. } = &item.what
        && found.is_empty()
    {
        let to: Vec<&[u8]> = places[..2].iter().copied().flatten().collect();
        let inside = moved_names::look(guard.mount, from, &to)?;
        found.extend(inside.map(|inside| (item.path.clone(), inside.to_string())));
    }
    let mut pending = vec![(item.path.clone(), item.home.clone(), &item.covered)];
    while let Some((path, home, was)) = pending.pop() {
        let Was::Dir(entries) = was else {
            continue;
        };
        for (name, was) in entries {
            let (path, home) = (
                join(&path, name),
                home.as_ref().map(|home| join(home, name)),
            );
            let rule = rule_of(&path).or_else(|| rule_of(home.as_deref()?));
            found.extend(rule.map(|rule| (path.clone(), rule)));
            pending.push((path, home, was));
        }
    }
    Ok(found)
}

/// Why a link waits, if its target leads out of the base.
fn leads_outside(item: &ChangedName) -> Option<String> {
    let What::Link { target } = &item.what else {
        return None;
    };
    let error = handfast::check_symlink_target(target, &base_path(&item.path).ok()?).err()?;
    Some(error.detail())
}

/// Why a file or a link waits whose name is kept for a directory: git takes the repository that a file
/// `.git` names for the one of its directory.
fn leads_git(item: &ChangedName, guard: &Guard<'_>) -> Option<String> {
    let leads = matches!(
        item.what,
        What::MoveFile { .. } | What::File { .. } | What::Link { .. }
    );
    let path = base_path(&item.path).ok()?;
    let is_kept = leads && guard.mount.rules().keeps_for_a_directory(&path);
    is_kept.then(|| "a file of this name leads git away from its protected settings".to_owned())
}

/// Whether a path of a set lies below a directory.
fn is_above_any(dir: &[u8], paths: &BTreeSet<&[u8]>) -> bool {
    let first = join(dir, b"");
    let next = paths.range(first.as_slice()..).next();
    next.is_some_and(|path| path.starts_with(&first))
}
