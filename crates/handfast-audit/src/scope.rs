//! What is in scope of a report: path operations with external text in them, and their root.

use std::cell::OnceCell;

use crate::facts::{Facts, bit, chars};
use crate::hazards::Hazard;
use crate::interp::{Event, Interp, Leaf, Sink, SinkKind};
use crate::ir::Span;
use crate::lang::Lang;
use crate::program::Program;
use crate::state::State;
use crate::term::{PartKind, SourceKind, Term, Vid};
use crate::tests_index::{Test, TestIndex};

/// The trusted root of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) vid: Vid,
    pub(crate) label: String,
    /// Where it is defined, where that is known.
    pub(crate) at: Option<Span>,
}

/// One path operation with everything the checklist asks about.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) sink: Sink,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) labels: Vec<String>,
    pub(crate) root: Option<Root>,
    pub(crate) anchor: Option<String>,
    /// The name is new and cannot be guessed.
    pub(crate) is_temp: bool,
    /// Moved here from a name that cannot be guessed.
    pub(crate) from_temp: bool,
    /// Moved here from a temporary file of another directory.
    pub(crate) from_elsewhere: bool,
    /// A date is part of the path.
    pub(crate) has_clock: bool,
    /// An absolute value in the place of a relative one replaces the root.
    pub(crate) discards: bool,
    /// Several segments of one text stand one behind the other, so that none of them is the last.
    pub(crate) is_repeated: bool,
    /// The program itself puts `..` behind segments of the text.
    pub(crate) climbs: bool,
    /// The text was read from a stream or a socket.
    pub(crate) is_read: bool,
    /// External text is the end of the path.
    pub(crate) ends_with_text: bool,
    /// Where the external text was met first.
    pub(crate) source_at: Option<Span>,
    pub(crate) function: String,
}

impl Flow {
    /// What holds of all external text at once.
    pub(crate) fn all(&self, test: impl Fn(&Facts) -> bool) -> bool {
        self.leaves.iter().all(|leaf| test(&leaf.facts))
    }

    /// The root stays the first part of the path, whatever the text is.
    pub(crate) fn keeps_root(&self, facts: &Facts) -> bool {
        !self.discards
            || facts.any(bit::NOT_ABSOLUTE | bit::ROOTED)
            || facts.first & chars("/") == 0
    }

    pub(crate) fn any(&self, bits: u64) -> bool {
        self.leaves.iter().any(|leaf| leaf.facts.any(bits))
    }

    /// The place that established something, on any of the texts.
    pub(crate) fn at(&self, key: u64) -> Option<Span> {
        self.leaves.iter().find_map(|leaf| leaf.facts.at(key))
    }

    pub(crate) fn is_mutation(&self) -> bool {
        match self.sink.kind {
            SinkKind::Open => self.sink.flags.write || self.sink.flags.create,
            SinkKind::Read | SinkKind::Stat | SinkKind::Spawn => false,
            _ => true,
        }
    }

    /// Opens a file, by itself or inside a call that reads or writes a whole one.
    pub(crate) fn opens(&self) -> bool {
        matches!(
            self.sink.kind,
            SinkKind::Open | SinkKind::Read | SinkKind::Create
        ) && !self.sink.flags.directory
    }

    /// Writes a new file, or over an old one.
    pub(crate) fn writes(&self) -> bool {
        match self.sink.kind {
            SinkKind::Create => !self.sink.recursive,
            SinkKind::Open => {
                (self.sink.flags.create || self.sink.flags.truncate) && !self.sink.flags.append
            }
            _ => false,
        }
    }

    pub(crate) fn deletes_or_mutates(&self) -> bool {
        matches!(self.sink.kind, SinkKind::Delete | SinkKind::Mutate)
    }

    /// One external segment directly below the root.
    pub(crate) fn is_one_step(&self) -> bool {
        matches!(self.leaves.as_slice(), [only] if only.facts.is_one_segment())
    }

    /// Works on a name itself, whatever stands there, and follows no final link.
    pub(crate) fn acts_on_name(&self) -> bool {
        match self.sink.kind {
            SinkKind::Mkdir | SinkKind::MoveFrom | SinkKind::MoveTo | SinkKind::Link => true,
            SinkKind::Delete => !self.sink.recursive,
            SinkKind::Open => self.sink.flags.exclusive,
            _ => false,
        }
    }

    pub(crate) fn is_walked(&self) -> bool {
        self.all(|facts| facts.has(bit::WALKED)) || (self.is_one_step() && self.any(bit::LSTAT))
    }

    pub(crate) fn has_no_links(&self) -> bool {
        self.all(|facts| facts.has(bit::WALK_NOT_LINK))
            || (self.is_one_step() && self.any(bit::NOT_LINK))
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.all(|facts| facts.has(bit::FRESH_WALK))
            || (self.is_one_step() && self.any(bit::FRESH_LSTAT))
    }

    pub(crate) fn is_external(&self) -> bool {
        self.leaves.iter().any(|leaf| leaf.kind.is_sure())
    }

    /// Some of the text comes from a request, the command line or a declared field.
    pub(crate) fn has_source(&self) -> bool {
        self.leaves
            .iter()
            .any(|leaf| leaf.kind.is_sure() || leaf.kind == SourceKind::Process)
    }

    /// All of the text is the name of an entry of an archive.
    pub(crate) fn is_archive(&self) -> bool {
        !self.leaves.is_empty()
            && self
                .leaves
                .iter()
                .all(|leaf| leaf.kind == SourceKind::Archive)
    }

    /// Somebody outside can get there. What the user who starts the program names is their own
    /// business, unless the program puts it below a directory of its own choice; what it reads is
    /// not theirs.
    pub(crate) fn is_reachable(&self) -> bool {
        self.root.is_some()
            || self.is_read
            || self
                .leaves
                .iter()
                .any(|leaf| leaf.kind != SourceKind::Process)
    }

    /// Whether every step from source to sink is known.
    pub(crate) fn is_certain(&self) -> bool {
        self.is_known()
            && !self
                .leaves
                .iter()
                .any(|leaf| leaf.through_unknown || leaf.facts.any(bit::UNSEEN_CHECK))
    }

    fn is_known(&self) -> bool {
        // Whether the command line is a boundary of trust is for its caller to say.
        let is_boundary = self
            .leaves
            .iter()
            .any(|leaf| leaf.kind != SourceKind::Process);
        is_boundary
            && !self.sink.is_guess
            && !self.leaves.iter().any(|leaf| {
                matches!(
                    leaf.kind,
                    SourceKind::Guessed | SourceKind::Undeclared | SourceKind::Remote
                )
            })
    }
}

/// Everything one report is about.
pub(crate) struct Scope<'a> {
    pub(crate) program: &'a Program,
    pub(crate) file: u32,
    pub(crate) lang: Lang,
    pub(crate) flows: Vec<Flow>,
    pub(crate) spawns: Vec<Flow>,
    pub(crate) events: Vec<Event>,
    pub(crate) roots: Vec<RootFacts>,
    pub(crate) tests: &'a TestIndex,
    /// Those of them that are about this, once somebody asked.
    pub(crate) about: OnceCell<Vec<&'a Test>>,
    pub(crate) is_windows_only: bool,
    pub(crate) is_damaged: bool,
    pub(crate) controls: Vec<(String, String)>,
    pub(crate) keys: Vec<(Span, Vec<Vid>, bool)>,
    pub(crate) locks: Vec<LockFacts>,
    /// Facts of descriptors as they stood at the end, with their places.
    pub(crate) fds: Vec<(Vid, u64)>,
    pub(crate) fd_places: Vec<(Vid, u64, Span)>,
    /// Everything that is renamed away.
    pub(crate) all_moves: Vec<Vid>,
    /// Mistakes that need no external text.
    pub(crate) hazards: Vec<Hazard>,
}

impl<'a> Scope<'a> {
    /// The flow with a root that stands worst.
    pub(crate) fn flow_of_root(&self, label: &str) -> Option<usize> {
        let flows = self.flows.iter().enumerate();
        flows
            .filter(|(_, flow)| flow.root.as_ref().is_some_and(|root| root.label == label))
            .max_by_key(|(index, flow)| (flow.standing(), std::cmp::Reverse(*index)))
            .map(|(index, _)| index)
    }

    /// The tests of what this is about.
    pub(crate) fn tests(&self) -> &[&'a Test] {
        self.about.get_or_init(|| self.tests.about(self))
    }
}

/// What is known of a root.
#[derive(Clone, Debug)]
pub(crate) struct RootFacts {
    pub(crate) root: Root,
    pub(crate) canonical: Option<Span>,
    /// Canonicalised inside the function that uses it, each time again.
    pub(crate) per_call: bool,
    pub(crate) lexical: Option<Span>,
    pub(crate) held_as_handle: Option<Span>,
    pub(crate) not_link: Option<Span>,
    pub(crate) after_canonical: Option<Span>,
}

/// A lock and what was known when it was taken.
#[derive(Clone, Debug)]
pub(crate) struct LockFacts {
    pub(crate) at: Span,
    pub(crate) scoped: bool,
    /// Something is validated later that was not yet when the lock was taken.
    pub(crate) too_early: bool,
}

impl Interp<'_> {
    /// The leading, trusted part of a path.
    pub(crate) fn root_of(&mut self, vid: Vid, depth: usize) -> Option<Root> {
        if depth > 12 {
            return None;
        }
        match self.terms.get(vid).clone() {
            Term::Join { parts, .. } => {
                let first = *parts.first()?;
                let known = self.root_of(first, depth + 1);
                let mut root = known.or_else(|| self.first_part(&parts, true))?;
                // Constant parts that follow belong to it.
                for part in parts.iter().skip(1) {
                    match self.terms.string(*part) {
                        Some(text) => {
                            root.label = format!(
                                "{}/{}",
                                root.label.trim_end_matches('/'),
                                text.trim_matches('/')
                            )
                        }
                        None => break,
                    }
                }
                Some(root)
            }
            Term::Concat(parts) => {
                let known = self.root_of(*parts.first()?, depth + 1);
                known.or_else(|| self.first_part(&parts, false))
            }
            Term::Norm { of, .. } => {
                let inner = self.root_of(of, depth + 1)?;
                Some(Root {
                    vid: if self.is_plain(of) { vid } else { inner.vid },
                    ..inner
                })
            }
            Term::Part {
                kind: PartKind::Text | PartKind::Strip | PartKind::Parent,
                of,
                ..
            } => self.root_of(of, depth + 1),
            Term::Part { .. } => None,
            Term::Phi(parts) => parts.iter().find_map(|part| self.root_of(*part, depth + 1)),
            named @ (Term::Str(_)
            | Term::Config { .. }
            | Term::Global { .. }
            | Term::Param { .. }
            | Term::Undefined(_)
            | Term::Field(..)
            | Term::Index(..)) => self.named_root(vid, named, depth),
            Term::Temp { dir: None, at } => Some(Root {
                vid,
                label: "temporary directory".to_owned(),
                at: Some(at),
            }),
            Term::Temp { dir: Some(dir), .. } => self.root_of(dir, depth + 1),
            Term::Handle { of, at, .. } => {
                let label = self
                    .root_of(of, depth + 1)
                    .map_or_else(|| self.label(of), |root| root.label);
                Some(Root {
                    vid,
                    label,
                    at: Some(at),
                })
            }
            Term::Fd(index) => {
                let open = self.opens.get(index as usize)?.clone();
                match open.dirfd {
                    Some(dirfd) => self.root_of(dirfd, depth + 1),
                    None => self.root_of(open.path, depth + 1),
                }
            }
            Term::Payload(of) | Term::Proj(of, 0) | Term::Variant(_, of) => {
                self.root_of(of, depth + 1)
            }
            Term::Call { name, args, .. } => {
                // A call over nothing external: decided by the program itself.
                let external = args.iter().any(|arg| self.external_base(*arg, 0).is_some());
                if external || args.is_empty() && &*name == "?" {
                    return None;
                }
                for arg in &args {
                    if let Some(root) = self.root_of(*arg, depth + 1) {
                        return Some(Root { vid, ..root });
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// The first part of a path is its root, whatever it is made of, as long as text that surely
    /// comes from outside is only in the parts after it.
    fn first_part(&mut self, parts: &[Vid], is_join: bool) -> Option<Root> {
        let (first, rest) = parts.split_first()?;
        let empty = State::default();
        let is_nothing = match self.terms.get(*first) {
            Term::Str(text) => text.trim_matches(['/', '\\']).is_empty(),
            Term::Null | Term::Num(_) => true,
            _ => false,
        };
        let behind: Vec<Leaf> = rest
            .iter()
            .flat_map(|part| self.leaves(*part, &empty))
            .collect();
        if is_nothing || behind.is_empty() {
            return None;
        }
        let inside = self.leaves(*first, &empty);
        let is_call = matches!(self.terms.get(*first), Term::Call { .. });
        if inside.iter().any(|leaf| leaf.kind.is_sure()) && !is_call {
            return None;
        }
        // Names that are glued together are one name, unless something separates them.
        let is_separated = is_join
            || rest.first().is_some_and(|next| {
                self.is_separator(*next)
                    || self
                        .terms
                        .string(*next)
                        .is_some_and(|text| text.starts_with(['/', '\\']))
            });
        if !is_separated && !behind.iter().any(|leaf| leaf.kind.is_sure()) {
            return None;
        }
        // A name of which nothing is known declares nothing.
        if inside
            .iter()
            .any(|leaf| leaf.kind == SourceKind::Undeclared)
            && behind
                .iter()
                .all(|leaf| leaf.kind == SourceKind::Undeclared)
        {
            return None;
        }
        Some(Root {
            vid: *first,
            label: self.label(*first),
            at: None,
        })
    }

    fn is_plain(&self, vid: Vid) -> bool {
        !matches!(self.terms.get(vid), Term::Join { .. } | Term::Concat(_))
    }
}

pub(crate) fn is_handle_type(ty: &str) -> bool {
    let last = ty.rsplit('.').next().unwrap_or(ty);
    matches!(last, "Root" | "Dir" | "RootDir" | "OwnedFd" | "BorrowedFd")
}
