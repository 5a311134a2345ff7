//! Known calls that act on a path.

use crate::interp::call::Args;
use crate::interp::{Interp, OpenFlags, SinkKind};
use crate::ir::{Span, Sym};
use crate::kb::{Row, Slot};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    pub(super) fn builder(&mut self, entry: &Row, args: &Args, shown: &str) -> Vid {
        if entry.what == "new" {
            return self.terms.make(Term::Builder {
                ty: Sym::from(entry.returns.as_str()),
                flags: Vec::new(),
            });
        }
        let Some(receiver) = args.receiver else {
            return self.terms.unknown();
        };
        let mut flags = match self.terms.get(receiver) {
            Term::Builder { flags, .. } => flags.clone(),
            _ => Vec::new(),
        };
        let name = shown.rsplit('.').next().unwrap_or(shown);
        let value = args
            .at(0)
            .unwrap_or_else(|| self.terms.make(Term::Bool(true)));
        flags.retain(|(known, _)| **known != *name);
        flags.push((Sym::from(name), value));
        let ty = entry.returns.clone();
        let vid = self.terms.make(Term::Builder {
            ty: Sym::from(ty.as_str()),
            flags,
        });
        self.terms.typed(vid, &ty)
    }

    pub(super) fn spawn(
        &mut self,
        entry: &Row,
        args: &Args,
        shown: &str,
        at: Span,
        state: &mut State,
    ) -> Vid {
        self.may_throw(state);
        let mut values = Vec::new();
        for vid in args.all() {
            match self.terms.get(vid) {
                Term::List(items) => values.extend(items.iter().copied()),
                _ => values.push(vid),
            }
        }
        let is_shell = entry.what == "shell" || self.option_is_true("shell", args);
        if !is_shell && args.receiver.is_none() {
            self.started(&values, shown, at, state);
        }
        if entry.what == "program" {
            let vid = self.terms.make(Term::Call {
                name: Sym::from(shown),
                args: values,
                at,
            });
            return self.terms.typed(vid, &entry.returns);
        }
        let dashes = values
            .iter()
            .position(|vid| self.terms.string(*vid) == Some("--"));
        for (index, value) in values.iter().enumerate() {
            if self.leaves(*value, state).is_empty() {
                continue;
            }
            let mut sink = self.new_sink(SinkKind::Spawn, shown, *value, at, false, state);
            sink.is_shell = is_shell;
            sink.has_separator = dashes.is_some_and(|dash| dash < index)
                || args
                    .receiver
                    .is_some_and(|receiver| self.has_dashes(receiver, 0));
            self.sink(sink);
        }
        state.age();
        let list = args.all();
        let vid = self.terms.make(Term::Call {
            name: Sym::from(shown),
            args: list,
            at,
        });
        self.terms.typed(vid, &entry.returns)
    }

    /// The program that is started is a file too, where its path is put together.
    fn started(&mut self, values: &[Vid], shown: &str, at: Span, state: &State) {
        let Some(first) = values.first() else {
            return;
        };
        let program = self.deref(*first, state);
        let is_path = match self.terms.get(program) {
            Term::Join { .. } => true,
            Term::Concat(parts) => parts.iter().any(|part| {
                self.terms
                    .string(*part)
                    .is_some_and(|text| text.contains('/'))
            }),
            _ => false,
        };
        if is_path {
            let sink = self.new_sink(SinkKind::Read, shown, program, at, false, state);
            self.sink(sink);
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one call, all that is known of it"
    )]
    pub(super) fn apply_sink(
        &mut self,
        entry: &Row,
        args: &Args,
        subject: Option<Vid>,
        shown: &str,
        at: Span,
        is_guess: bool,
        state: &mut State,
    ) -> Vid {
        let Some(path) = subject else {
            // `std::ifstream in;`: opened later.
            let vid = self.terms.unknown();
            let ty = entry.call.first().map_or("", String::as_str);
            return self.terms.typed(vid, ty);
        };
        let real = self.deref(path, state);
        let is_built = matches!(
            self.terms.get(real),
            Term::Join { .. } | Term::Concat(_) | Term::Norm { .. } | Term::Phi(_)
        );
        let is_path = |ty: &str| matches!(ty, "java.File" | "java.Path");
        if entry.what == "sent" && !self.terms.ty(real).is_some_and(is_path)
            || entry.what == "load" && !is_built
        {
            return self.terms.unknown();
        }
        // A file sender that is given its root keeps the name below it.
        if let ("read", Some(Slot::Named(_))) = (&*entry.what, &entry.other)
            && entry
                .other
                .as_ref()
                .and_then(|slot| self.slot(slot, args))
                .is_some()
        {
            return self.terms.unknown();
        }
        let flags = self.sink_flags(entry, args, state);
        let dirfd = entry.dirfd.as_ref().and_then(|slot| self.slot(slot, args));
        let dirfd = dirfd.map(|vid| self.deref(vid, state));
        let dirfd = dirfd.filter(|vid| {
            !matches!(self.terms.get(*vid), Term::Null)
                && self
                    .name_of(*vid)
                    .is_none_or(|n| !matches!(n, "AT_FDCWD" | "CWD"))
        });
        let recursive = entry.fixed.iter().any(|name| name == "recursive");
        let Some(kinds) = self.sink_kinds(entry, args, path, at, state) else {
            return self.terms.unknown();
        };
        let last = shown.rsplit('.').next().unwrap_or(shown);
        if matches!(last, "Walk" | "WalkDir" | "walk") {
            for (_, vid) in &args.list {
                if let Term::Closure { of, .. } = self.terms.get(*vid) {
                    self.visitors.insert(*of);
                }
            }
        }
        let opens = entry.what == "open";
        let origin = self.deref(path, state);
        let fd = opens.then(|| self.open(path, flags, dirfd, at, state));
        for (kind, path) in kinds {
            let mut sink = self.new_sink(kind, shown, path, at, is_guess, state);
            sink.flags = flags;
            sink.recursive = recursive;
            sink.dirfd = dirfd;
            sink.anchored.clone_from(&entry.anchored);
            sink.fd = fd;
            sink.tolerates_existing = self.tolerates(args);
            sink.handle = args.receiver.filter(|_| entry.anchored.is_some());
            sink.from = (kind == SinkKind::MoveTo).then_some(origin);
            self.sink(sink);
            if matches!(kind, SinkKind::Create) && entry.fixed.iter().any(|name| name == "parents")
            {
                let sink = self.new_sink(SinkKind::MkdirAll, shown, path, at, is_guess, state);
                self.sink(sink);
            }
        }
        self.may_throw(state);
        let vid = fd.unwrap_or_else(|| {
            let list = args.all();
            self.terms.make(Term::Call {
                name: Sym::from("io"),
                args: list.into_iter().take(0).collect(),
                at,
            })
        });
        if entry.what == "read" && !entry.returns.is_empty() {
            self.read_from.insert(vid, origin);
            return self.terms.typed(vid, &entry.returns);
        }
        if entry.returns == "handle" {
            // An anchored directory opened below an anchored one.
            let ty = entry.anchored.clone().unwrap_or_default();
            return self.terms.typed(vid, &ty);
        }
        vid
    }

    /// What an operation does, and to which paths. `None`: a guard stands in its arguments.
    fn sink_kinds(
        &mut self,
        entry: &Row,
        args: &Args,
        path: Vid,
        at: Span,
        state: &mut State,
    ) -> Option<Vec<(SinkKind, Vid)>> {
        let kinds = match entry.what.as_str() {
            "open" => vec![(SinkKind::Open, path)],
            "read" => vec![(SinkKind::Read, path)],
            "create" | "sent" => vec![(SinkKind::Create, path)],
            "mutate" => vec![(SinkKind::Mutate, path)],
            "delete" => vec![(SinkKind::Delete, path)],
            "mkdir" => vec![(SinkKind::Mkdir, path)],
            "mkdir_rec" => vec![(SinkKind::MkdirAll, path)],
            "stat" => vec![(SinkKind::Stat, path)],
            "link" => {
                let mut out = vec![(SinkKind::Link, path)];
                // Where a link leads to is a path as well.
                if matches!(&entry.arg, Slot::At(1))
                    && let Some(target) = args.at(0)
                {
                    out.push((SinkKind::Link, target));
                }
                out
            }
            // Where it stands, and where it leads to.
            "link_to" => {
                let target = entry.other.as_ref().and_then(|slot| self.slot(slot, args));
                let target = target.map(|target| (SinkKind::Link, target));
                std::iter::once((SinkKind::Link, path))
                    .chain(target)
                    .collect()
            }
            // Everything in an archive, below a directory, by the names it brings.
            "extract" => {
                let dir = self.deref(path, state);
                if self.muted == 0 {
                    self.events.push(crate::interp::Event::Unpacked { at, dir });
                }
                // A list of members is a guard if something was asked of them.
                let members = args.named("members").is_some_and(|list| {
                    let leaves = self.leaves(list, state);
                    leaves.is_empty() || leaves.iter().any(|leaf| !leaf.facts.anchors.is_empty())
                });
                let filter = args.named("filter");
                if members || filter.is_some_and(|filter| !self.trusts_all(filter)) {
                    return None;
                }
                let names = self.entry_names();
                // One member that something was asked about.
                let file = entry.other.as_ref().and_then(|slot| self.slot(slot, args));
                let given = match &entry.arg {
                    Slot::Either(1, _) if file.is_none() => args.at(0),
                    _ => None,
                };
                let names = match given {
                    Some(member) => {
                        let name = self.field(member, &Sym::from("name"), at, state);
                        let is_entry = !self.leaves(name, state).is_empty();
                        if is_entry { name } else { names }
                    }
                    None => self
                        .looked_through(args.receiver, file, state)
                        .unwrap_or(names),
                };
                let below = self.join_paths(vec![path, names], true, state);
                vec![(SinkKind::Create, below)]
            }
            "move" | "copy" => {
                let from = match entry.what.as_str() {
                    "move" => SinkKind::MoveFrom,
                    _ => SinkKind::Read,
                };
                // What comes out of a stream is no path.
                let is_typed = entry.fixed.iter().any(|name| name == "typed");
                let real = self.deref(path, state);
                let mut out = Vec::new();
                if !is_typed || self.is_pathish(real) {
                    out.push((from, path));
                }
                if let Some(to) = entry.other.as_ref().and_then(|slot| self.slot(slot, args)) {
                    out.push((
                        if entry.what == "move" {
                            SinkKind::MoveTo
                        } else {
                            SinkKind::Create
                        },
                        to,
                    ));
                }
                out
            }
            _ => vec![(SinkKind::Read, path)],
        };
        Some(kinds)
    }

    /// The flags that an operation has by itself, and those it is given.
    fn sink_flags(&mut self, entry: &Row, args: &Args, state: &State) -> OpenFlags {
        let mut flags = OpenFlags::default();
        for name in &entry.fixed {
            flags.set(name);
            if name.len() == 1 {
                flags.set_mode(name);
            }
        }
        if matches!(&entry.flags, Some(Slot::Named(all)) if all == "*") {
            let given: Vec<Vid> = args.list.iter().skip(1).map(|(_, vid)| *vid).collect();
            self.fold_options(&given, &mut flags);
        } else if let Some(given) = entry.flags.as_ref().and_then(|slot| self.slot(slot, args)) {
            let given = self.deref(given, state);
            self.fold_flags(given, &mut flags);
            self.struct_flags(given, state, &mut flags);
        }
        flags
    }

    /// A command that was given `--` before.
    pub(super) fn has_dashes(&self, vid: Vid, depth: usize) -> bool {
        match self.terms.get(vid) {
            Term::Call { args, .. } if depth < 16 => args.iter().any(|arg| {
                self.terms.string(*arg) == Some("--") || self.has_dashes(*arg, depth + 1)
            }),
            _ => false,
        }
    }

    /// "Already there" is accepted by an option.
    pub(super) fn tolerates(&self, args: &Args) -> bool {
        self.option_is_true("exist_ok", args)
    }

    /// `struct open_how`, `OpenHow`: fields of an object.
    pub(super) fn struct_flags(&self, vid: Vid, state: &State, flags: &mut OpenFlags) {
        for field in ["flags", "resolve", "Flags", "Resolve"] {
            if let Some(value) = state.get_field(vid, field) {
                self.fold_flags(value, flags);
                flags.unknown = false;
            }
        }
    }
}
