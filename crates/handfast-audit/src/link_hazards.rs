//! Mistakes with links that need no external text: files in the directories of other users, files
//! beside what an archive brought, and trees that are walked or written through links.

use crate::hazards::{Hazard, HazardKind};
use crate::interp::{Event, Interp, Sink, SinkKind};
use crate::ir::Span;
use crate::term::{Term, Vid};

/// Fields that hold the directory of a user, by how they end.
const HOMES: [&str; 5] = ["home", "homedir", "home_dir", "homedirectory", "pw_dir"];

impl Interp<'_> {
    /// The first such mistake about an operation.
    pub(crate) fn link_hazard(&self, sink: &Sink, sinks: &[Sink]) -> Option<Hazard> {
        self.foreign_home(sink)
            .or_else(|| self.beside_entries(sink, sinks))
            .or_else(|| self.looked_then_written(sink))
            .or_else(|| self.followed_walk(sink, sinks))
    }

    fn link(&self, sink: &Sink, kind: HazardKind, before: Option<Span>) -> Hazard {
        let item = match kind {
            HazardKind::LookedThenWritten => "C5",
            HazardKind::FollowedWalk => "C1",
            _ => "D2",
        };
        Hazard {
            kind,
            at: sink.at,
            before,
            function: sink.function,
            sink: sink.name.to_string(),
            item,
        }
    }

    /// A fixed name in the directory of some user, who may have made it a link.
    fn foreign_home(&self, sink: &Sink) -> Option<Hazard> {
        let opens = matches!(
            sink.kind,
            SinkKind::Open | SinkKind::Read | SinkKind::Create | SinkKind::Mutate
        );
        let refuses = sink.flags.no_follow || sink.flags.exclusive || sink.dirfd.is_some();
        if !opens || refuses {
            return None;
        }
        let (first, rest) = match self.terms.get(sink.path) {
            Term::Join { parts, .. } | Term::Concat(parts) => parts.split_first()?,
            _ => return None,
        };
        let is_fixed =
            !rest.is_empty() && rest.iter().all(|part| self.terms.string(*part).is_some());
        (is_fixed && self.is_home_of_user(*first) || self.is_below_homes(*first, rest))
            .then(|| self.link(sink, HazardKind::ForeignHome, None))
    }

    /// The directory of all homes, a user, and a fixed name below that.
    fn is_below_homes(&self, first: Vid, rest: &[Vid]) -> bool {
        let is_homes = match self.terms.get(first) {
            Term::Str(text) => matches!(text.trim_end_matches('/'), "/home" | "/Users"),
            Term::Param { name, .. } => name.eq_ignore_ascii_case("homes"),
            Term::Join { parts, .. } | Term::Concat(parts) => match parts.split_first() {
                // Joined step by step.
                Some((first, user)) => {
                    return self.is_below_homes(*first, &[user, rest].concat());
                }
                None => false,
            },
            _ => false,
        };
        let is_name = |vid: &Vid| self.terms.string(*vid).is_some();
        is_homes
            && rest.len() >= 2
            && rest.first().is_some_and(|user| !is_name(user))
            && rest.last().is_some_and(is_name)
    }

    /// A field with the directory of a user that was looked up or is one of several; the directory
    /// of the user who runs the program is their own.
    fn is_home_of_user(&self, vid: Vid) -> bool {
        let Term::Field(of, name) = self.terms.get(vid) else {
            return false;
        };
        let name = name.to_ascii_lowercase();
        if !HOMES.contains(&name.as_str()) {
            return false;
        }
        match self.terms.get(*of) {
            Term::Call { name, .. } => {
                let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
                last.starts_with("lookup") || last.starts_with("getpw")
            }
            Term::Elem(_) => true,
            // Only an entry of the list of users has such a field.
            Term::Param { .. } => name == "pw_dir",
            _ => false,
        }
    }

    /// A fixed name in a directory that an archive was unpacked into: the archive may bring it.
    fn beside_entries(&self, sink: &Sink, sinks: &[Sink]) -> Option<Hazard> {
        let creates = match sink.kind {
            SinkKind::Create => true,
            SinkKind::Open => sink.flags.create,
            _ => false,
        };
        if !creates || sink.flags.exclusive || sink.flags.no_follow {
            return None;
        }
        let Term::Join { parts, .. } = self.terms.get(sink.path) else {
            return None;
        };
        let (last, dir) = parts.split_last()?;
        self.terms.string(*last)?;
        let unpacked = sinks.iter().find(|other| {
            other.entry == sink.entry
                && other.at != sink.at
                && matches!(other.kind, SinkKind::Create)
                && self.is_archive_below(other.path, dir)
        });
        let is_dir = |vid: Vid| match self.terms.get(vid) {
            Term::Join { parts, .. } => parts == dir,
            _ => dir == [vid],
        };
        // Also where the names were checked: a plain name is a good one.
        let by_library = || {
            self.events.iter().find_map(|event| match event {
                Event::Unpacked { at, dir } if is_dir(*dir) => Some(*at),
                _ => None,
            })
        };
        let at = unpacked.map(|unpacked| unpacked.at).or_else(by_library)?;
        Some(self.link(sink, HazardKind::BesideEntries, Some(at)))
    }

    fn is_archive_below(&self, vid: Vid, dir: &[Vid]) -> bool {
        let Term::Join { parts, .. } = self.terms.get(vid) else {
            return false;
        };
        let is_entry = |vid: &Vid| {
            matches!(
                self.terms.get(*vid),
                Term::Source {
                    kind: crate::term::SourceKind::Archive,
                    ..
                }
            )
        };
        parts.len() == dir.len() + 1 && parts.starts_with(dir) && parts.last().is_some_and(is_entry)
    }

    /// The kind of what stands there is asked without following, and then it is written through:
    /// a second name of another file looks like any file.
    fn looked_then_written(&self, sink: &Sink) -> Option<Hazard> {
        let creates = match sink.kind {
            SinkKind::Create => !sink.recursive,
            SinkKind::Open => sink.flags.truncate || sink.flags.create,
            SinkKind::Mutate => self.follows_by_name(sink),
            _ => false,
        };
        if !creates || sink.flags.exclusive || sink.flags.no_follow || sink.dirfd.is_some() {
            return None;
        }
        if self.program.file(sink.function.0).lang.family() == "c" {
            return None;
        }
        let is_path = |path: Vid| path == sink.path;
        let asked = self.events.iter().find_map(|event| match event {
            Event::Asked {
                at,
                path,
                follow: false,
                ..
            } if is_path(*path) => Some(*at),
            _ => None,
        })?;
        let counts_links = (0..self.terms.len()).any(|vid| match self.terms.get(vid) {
            Term::StatField(stat, name) if name.contains("nlink") => {
                !matches!(self.terms.get(*stat), Term::Stat { of, .. } if !is_path(*of))
            }
            // What a failed look is replaced by hides what it was a look at.
            Term::Field(_, name) => name.contains("nlink"),
            _ => false,
        });
        (!counts_links).then(|| self.link(sink, HazardKind::LookedThenWritten, Some(asked)))
    }

    /// A tree is gone through and things in it are deleted or changed, and whether something is a
    /// directory is asked with links followed.
    fn followed_walk(&self, sink: &Sink, sinks: &[Sink]) -> Option<Hazard> {
        if sink.kind != SinkKind::Read || !self.is_listing(&sink.name) {
            return None;
        }
        let changes = sinks.iter().any(|other| {
            other.function == sink.function
                && matches!(other.kind, SinkKind::Delete | SinkKind::Mutate)
                && self.is_listed(other.path, 0)
        });
        if !changes {
            return None;
        }
        let asked = self.events.iter().find_map(|event| match event {
            Event::Asked {
                at,
                path,
                follow: true,
                function,
                is_access: false,
            } if *function == sink.function && self.is_listed(*path, 0) => Some(*at),
            _ => None,
        })?;
        Some(self.link(sink, HazardKind::FollowedWalk, Some(asked)))
    }
}
