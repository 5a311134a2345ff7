//! Functions that are given as values, and what calls them: promises, callbacks, threads.

use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Span, Sym};
use crate::state::State;
use crate::term::{CollKind, PartKind, Term, Vid};

impl Interp<'_> {
    /// Calls a value with arguments, if it is known what it stands for.
    pub(super) fn apply_value(
        &mut self,
        function: Vid,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let function = self.deref(function, state);
        let file = self.here().0;
        match self.terms.get(function).clone() {
            Term::Closure { of, env } => {
                Some(self.invoke(of, args.receiver, args, Some(env), at, state))
            }
            // A method that is bound to its object: `self.look`.
            Term::Field(object, name) => {
                // Go: a method as a function of its receiver: `(*task).run`.
                if let Term::Undefined(class) = self.terms.get(object).clone()
                    && let Some((first, rest)) = args.list.split_first()
                    && let Some(id) = self.program.method(file, &class, &name)
                {
                    let rest = Args {
                        receiver: Some(first.1),
                        list: rest.to_vec(),
                        places: args.places.get(1..).unwrap_or_default().to_vec(),
                    };
                    return Some(self.invoke(id, Some(first.1), &rest, None, at, state));
                }
                let class = match self.terms.get(object) {
                    Term::Object { class, .. } => class.clone(),
                    _ => self.terms.ty(object).map(Sym::from),
                };
                let id = self.program.method(file, &class?, &name)?;
                Some(self.invoke(id, Some(object), args, None, at, state))
            }
            // A function of a module by its name: `os.path.realpath`.
            Term::Config { label, .. } | Term::Undefined(label) => {
                let name = self.canonical_name(&label);
                let full = self.canonical_name(&self.program.qualify(file, &label));
                let name = match self.first_row(&name, &[]) {
                    Some(_) => name,
                    None => full,
                };
                if let Some(row) = self.fitting_row(&name, args) {
                    return Some(self.apply(row, args, &label, at, false, state));
                }
                let id = self.program.free_function(file, &label);
                let Some(id) = id.or_else(|| self.associated(file, &label)) else {
                    return self.apply_method(&label, args, at, state);
                };
                Some(self.invoke(id, None, args, None, at, state))
            }
            Term::Global { of, .. } => self.apply_value(of, args, at, state),
            // One of several functions of a table.
            Term::Phi(parts) if parts.iter().all(|part| self.is_function(*part)) => {
                self.apply_each(&parts, args, at, state)
            }
            Term::Index(of, _) | Term::Elem(of) => {
                let parts = self.entries_of(of);
                let is_table = !parts.is_empty()
                    && parts.len() <= 8
                    && parts.iter().all(|part| self.is_function(*part));
                is_table.then(|| self.apply_each(&parts, args, at, state))?
            }
            Term::Object {
                class: Some(class), ..
            } => {
                let id = ["__call__", "operator()"]
                    .iter()
                    .find_map(|name| self.program.method(file, &class, name))?;
                Some(self.invoke(id, Some(function), args, None, at, state))
            }
            _ => None,
        }
    }

    /// Rust: a method by its name, `char::is_alphanumeric`: the first argument is what it is called on.
    fn apply_method(
        &mut self,
        label: &str,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let last = label.rsplit('.').next().unwrap_or(label);
        let ((_, first), rest) = args.list.split_first()?;
        if self.lang() != crate::lang::Lang::Rust {
            return None;
        }
        let on_it = Args {
            receiver: Some(*first),
            list: rest.to_vec(),
            places: args.places.get(1..).unwrap_or_default().to_vec(),
        };
        let row = self.fitting_row(&format!("*.{last}"), &on_it)?;
        Some(self.apply(row, &on_it, label, at, true, state))
    }

    /// Calls each of several functions, as any of them may be meant.
    fn apply_each(
        &mut self,
        functions: &[Vid],
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let mut result = None;
        let mut end: Option<State> = None;
        let mark = self.terms.len();
        for function in functions {
            let mut inner = state.clone();
            let one = self.apply_value(*function, args, at, &mut inner);
            result = match (result, one) {
                (Some(all), Some(one)) => Some(self.terms.phi(all, one)),
                (all, one) => all.or(one),
            };
            match &mut end {
                Some(end) => end.join(inner, &mut self.terms, mark),
                None => end = Some(inner),
            }
        }
        *state = end?;
        state.age();
        result
    }

    /// What a table or a list holds, as it is written down.
    pub(super) fn entries_of(&self, vid: Vid) -> Vec<Vid> {
        match self.terms.get(vid) {
            Term::Global { of, .. } => self.entries_of(*of),
            Term::Dict(pairs) => pairs.iter().map(|(_, value)| *value).collect(),
            Term::List(parts) => parts.clone(),
            _ => Vec::new(),
        }
    }

    /// The objects of the program that a value can be: one of several, an entry of a table.
    pub(super) fn objects_in(&self, vid: Vid) -> Vec<Vid> {
        let held = match self.terms.get(vid) {
            Term::Phi(parts) => parts.clone(),
            Term::Index(of, _) | Term::Elem(of) => self.entries_of(*of),
            _ => return Vec::new(),
        };
        let is_object =
            |vid: &Vid| matches!(self.terms.get(*vid), Term::Object { class: Some(_), .. });
        if (1..=8).contains(&held.len()) && held.iter().all(is_object) {
            held
        } else {
            Vec::new()
        }
    }

    /// Calls a method of each of several objects, as any of them may be meant.
    pub(super) fn call_each(
        &mut self,
        objects: &[Vid],
        method: &str,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let file = self.here().0;
        let mut result: Option<Vid> = None;
        let mut end: Option<State> = None;
        let mark = self.terms.len();
        for object in objects {
            let class = self.terms.ty(*object).map(str::to_owned)?;
            let id = self.program.method(file, &class, method)?;
            let mut inner = state.clone();
            let one = self.invoke(id, Some(*object), args, None, at, &mut inner);
            result = Some(match result {
                Some(all) => self.terms.phi(all, one),
                None => one,
            });
            match &mut end {
                Some(end) => end.join(inner, &mut self.terms, mark),
                None => end = Some(inner),
            }
        }
        *state = end?;
        result
    }

    /// `to_thread(f, x)`, `submit(f, x)`: the function is one argument, what it gets are the next.
    pub(super) fn apply_rest(
        &mut self,
        function: Vid,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let index = args.list.iter().position(|(_, vid)| *vid == function)?;
        let rest = Args {
            receiver: None,
            list: args.list[index + 1..].to_vec(),
            places: args.places[index + 1..].to_vec(),
        };
        state.age();
        self.apply_value(function, &rest, at, state)
    }

    /// `promise.then(f)`, `promise.catch(f)`.
    pub(super) fn chained(&mut self, what: &str, args: &Args, at: Span, state: &mut State) -> Vid {
        let Some(value) = args.receiver else {
            return self.terms.unknown();
        };
        state.age();
        let Some(function) = args.at(0) else {
            return value;
        };
        match what {
            "then" => {
                let given = one_argument(value);
                let result = self.apply_value(function, &given, at, state);
                result.unwrap_or(value)
            }
            // The handler runs instead of what follows, if it runs.
            _ => {
                let error = self.terms.unknown();
                let mut failed = state.clone();
                let mark = self.terms.len();
                let given = match self.terms.get(function) {
                    Term::Closure { of, .. } if self.program.function(*of).params.is_empty() => {
                        Args::default()
                    }
                    _ => one_argument(error),
                };
                let result = self.apply_value(function, &given, at, &mut failed);
                if failed.dead {
                    return value;
                }
                state.join(failed, &mut self.terms, mark);
                match result {
                    Some(result) => self.terms.phi(value, result),
                    None => value,
                }
            }
        }
    }

    /// Node: the last argument is called with an error or the result.
    pub(super) fn call_back(
        &mut self,
        shown: &str,
        args: &Args,
        result: Vid,
        at: Span,
        state: &mut State,
    ) {
        if self.lang().family() != "javascript" || state.dead || !shown.contains("fs") {
            return;
        }
        let Some((_, last)) = args.list.last() else {
            return;
        };
        let Term::Closure { of, env } = *self.terms.get(*last) else {
            return;
        };
        if self.program.function(of).params.is_empty() {
            return;
        }
        let error = self.terms.unknown();
        let given = Args {
            receiver: None,
            list: vec![(None, error), (None, result)],
            places: vec![None, None],
        };
        state.age();
        // What it does with the file happens later; the code after the call knows nothing of it.
        let mut later = state.clone();
        self.invoke(of, None, &given, Some(env), at, &mut later);
    }

    /// `list.append(x)`: the list holds what it is given, with what is known of it now.
    pub(super) fn append(&mut self, args: &Args, at: Span, state: &mut State) -> Option<Vid> {
        let list = args.receiver?;
        let value = args.at(0)?;
        let held = match self.terms.get(list).clone() {
            Term::List(parts) => parts,
            Term::Mapped { element, .. } => vec![element],
            Term::Phi(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    match self.terms.get(part) {
                        Term::List(inner) => all.extend(inner.iter().copied()),
                        Term::Mapped { element, .. } => all.push(*element),
                        _ => return None,
                    }
                }
                all
            }
            _ => return None,
        };
        let value = self.deref(value, state);
        let kept = self.keep(value, at, state);
        let new = if self.is_in_loop() || held.len() > 16 {
            let element = held.iter().fold(kept, |all, one| self.terms.phi(all, *one));
            self.terms.make(Term::Mapped {
                element,
                coll: list,
            })
        } else {
            let mut parts = held;
            parts.push(kept);
            self.terms.make(Term::List(parts))
        };
        Some(new)
    }

    /// `list.pop(0)`, `list.remove(0)`, `list.shift()`: what is left, and what was taken.
    pub(super) fn taken(&mut self, what: &str, args: &Args) -> Option<(Vid, Vid)> {
        let list = args.receiver?;
        let Term::List(mut parts) = self.terms.get(list).clone() else {
            return None;
        };
        let given = args.at(0).map(|vid| self.terms.number(vid));
        let index = match (what, given) {
            ("shift", None) => 0,
            (_, None) => parts.len().checked_sub(1)?,
            (_, Some(index)) => usize::try_from(index?).ok()?,
        };
        if index >= parts.len() {
            return None;
        }
        let taken = parts.remove(index);
        Some((self.terms.make(Term::List(parts)), taken))
    }

    /// The same value at this place, with what is known of it here, whatever becomes of it later.
    pub(super) fn keep(&mut self, value: Vid, at: Span, state: &mut State) -> Vid {
        if !matches!(
            self.terms.get(value),
            Term::Elem(_) | Term::Phi(_) | Term::Part { .. }
        ) {
            return value;
        }
        let facts = self.facts_of(value, state);
        let place = Span {
            file: at.file,
            line: at.line,
            start: at.start,
            ..Span::default()
        };
        let kept = self.terms.make(Term::Part {
            kind: PartKind::Text,
            of: value,
            at: place,
        });
        *state.edit(kept) = facts;
        kept
    }

    /// `list.filter(f)`: those elements for which it holds.
    pub(super) fn filtered(&mut self, args: &Args, at: Span, state: &mut State) -> Vid {
        let Some(receiver) = args.receiver else {
            return self.terms.unknown();
        };
        let function = args.at(0).map(|vid| self.terms.get(vid).clone());
        let Some(Term::Closure { of, env }) = function else {
            return receiver;
        };
        let coll = self.as_collection(receiver);
        let element = match self.terms.get(coll) {
            Term::Mapped { element, .. } => *element,
            _ => self.terms.make(Term::Elem(coll)),
        };
        let mut inner = state.clone();
        let given = one_argument(element);
        let holds = self.invoke(of, None, &given, Some(env), at, &mut inner);
        self.assume(holds, true, &mut inner, at);
        if inner.dead {
            return receiver;
        }
        let kept = self.keep(element, at, &mut inner);
        if let Some(facts) = inner.own(kept).cloned() {
            *state.edit(kept) = facts;
        }
        // What was asked of a field of each element holds of that field of what is left.
        let fields: Vec<(Sym, crate::facts::Facts)> = inner
            .facts
            .iter()
            .filter_map(|(vid, facts)| match self.terms.get(vid) {
                Term::Field(of, name) if *of == element => Some((name.clone(), (**facts).clone())),
                _ => None,
            })
            .collect();
        for (name, facts) in fields {
            let field = self.terms.make(Term::Field(kept, name));
            state.edit(field).and(&facts);
        }
        self.terms.make(Term::Mapped {
            element: kept,
            coll,
        })
    }

    fn is_characters(&self, coll: Vid) -> bool {
        matches!(
            self.terms.get(coll),
            Term::Coll {
                kind: CollKind::Chars,
                ..
            }
        )
    }

    /// `append(list, more…)`: a new list.
    pub(super) fn appended(&mut self, args: &Args, at: Span, state: &mut State) -> Vid {
        let mut parts = Vec::new();
        for (index, (_, vid)) in args.list.iter().enumerate() {
            match self.terms.get(*vid).clone() {
                Term::List(inner) => parts.extend(inner),
                Term::Coll { .. } => parts.push(self.terms.make(Term::Elem(*vid))),
                Term::Mapped { element, .. } => parts.push(element),
                _ if index == 0 => {}
                _ => {
                    let real = self.deref(*vid, state);
                    parts.push(self.keep(real, at, state));
                }
            }
        }
        parts.truncate(16);
        self.terms.make(Term::List(parts))
    }

    /// `[a, b].join("/")`, `"/".join([a, b])`.
    pub(super) fn list_join(&mut self, subject: Vid, args: &Args, state: &mut State) -> Vid {
        let other = args.all().into_iter().find(|vid| *vid != subject);
        let is_list = |vid: Vid| match self.terms.get(vid) {
            Term::List(_) | Term::Mapped { .. } | Term::Coll { .. } => true,
            Term::Phi(parts) => parts
                .iter()
                .any(|part| matches!(self.terms.get(*part), Term::List(_) | Term::Mapped { .. })),
            _ => false,
        };
        let (list, sep) = match other {
            Some(other) if is_list(other) && !is_list(subject) => (other, Some(subject)),
            _ => (subject, other),
        };
        let parts = match self.terms.get(list).clone() {
            Term::List(parts) => parts,
            // Taken apart and put together again.
            Term::Coll { of, .. } => return of,
            // Character by character: what is left of the alphabet.
            Term::Mapped { element, coll } if self.is_characters(coll) => {
                let facts = self.facts_of(element, state);
                let made = self.terms.make(Term::Part {
                    kind: PartKind::Replace,
                    of: coll,
                    at: Span::default(),
                });
                if facts.chars != crate::facts::ANY {
                    let at = facts.at(crate::facts::AT_CHARS).unwrap_or_default();
                    state.edit(made).narrow_chars(facts.chars, at);
                }
                return made;
            }
            _ => vec![list],
        };
        if sep.is_some_and(|sep| self.is_separator(sep)) {
            return self.join_paths(parts, false, state);
        }
        self.concat(parts, state)
    }
}

fn one_argument(value: Vid) -> Args {
    Args {
        receiver: None,
        list: vec![(None, value)],
        places: vec![None],
    }
}
