//! Fields, indices and slices.

use crate::interp::expr::source_kind;

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Expr, Span, Sym};
use crate::kb::Role;
use crate::lang::Lang;
use crate::state::State;
use crate::term::{SourceKind, Term, Vid};

/// `char::is_alphanumeric`: a function of a type that the language has.
fn is_primitive(dotted: &str) -> bool {
    ["char.", "u8.", "str."]
        .iter()
        .any(|start| dotted.starts_with(start))
}

impl Interp<'_> {
    pub(super) fn eval_field(
        &mut self,
        whole: &Expr,
        base: &Expr,
        name: &Sym,
        state: &mut State,
    ) -> Vid {
        let at = whole.span;
        if let Some(dotted) = whole.dotted() {
            let first = dotted.split('.').next().unwrap_or("");
            let bound = state.env.get(first).copied();
            let is_free = bound.is_none_or(|vid| {
                matches!(
                    self.terms.get(vid),
                    Term::Param { .. } | Term::Unknown(_) | Term::Undefined(_)
                )
            });
            let file = self.here().0;
            if is_free {
                let qualified = self.program.qualify(file, &dotted);
                if let Some(row) = self
                    .family()
                    .field(&qualified)
                    .or_else(|| self.family().field(&dotted))
                {
                    return self.field_row(row, &dotted, at, state);
                }
                let is_flag = name.starts_with("O_")
                    || name.starts_with("RESOLVE_")
                    || qualified.contains("OFlags.")
                    || qualified.contains("ResolveFlags.")
                    || qualified.contains("OFlag.");
                if is_flag {
                    return self.terms.make(Term::Flags(vec![name.clone()]));
                }
                let of_source = self.has_known_prefix(file, &dotted);
                if bound.is_none() && !of_source && self.program.import(file, first).is_some() {
                    if let Some(vid) = self.module_global(file, &qualified) {
                        return vid;
                    }
                    let term = Term::Config {
                        label: Sym::from(qualified.as_str()),
                        at: Span::default(),
                    };
                    return self.terms.make(term);
                }
                if bound.is_none()
                    && matches!(self.lang().family(), "rust" | "c")
                    && whole
                        .dotted()
                        .is_some_and(|d| d.starts_with(char::is_uppercase) || is_primitive(&d))
                {
                    return self.terms.make(Term::Config {
                        label: Sym::from(dotted.as_str()),
                        at: Span::default(),
                    });
                }
            }
        }
        let vid = self.eval(base, state);
        self.field(vid, name, at, state)
    }

    /// `request.query.name`: the first parts are known.
    fn has_known_prefix(&self, file: u32, dotted: &str) -> bool {
        let mut rest = dotted;
        while let Some((prefix, _)) = rest.rsplit_once('.') {
            let known = |name: &str| self.family().field(name).is_some();
            if prefix.contains('.') && (known(prefix) || known(&self.program.qualify(file, prefix)))
            {
                return true;
            }
            rest = prefix;
        }
        false
    }

    pub(super) fn module_global(&mut self, file: u32, qualified: &str) -> Option<Vid> {
        let (module, last) = qualified.rsplit_once('.')?;
        let next = self.program.module_file(file, module)?;
        if next == file {
            return None;
        }
        self.global(next, last)
    }

    pub(super) fn field_row(
        &mut self,
        row: usize,
        label: &str,
        at: Span,
        state: &mut State,
    ) -> Vid {
        self.hits.insert(row);
        let entry = &self.family().rows[row];
        let shown = if entry.label.is_empty() {
            label
        } else {
            &entry.label
        };
        let term = match entry.role {
            Role::Source => Term::Source {
                label: Sym::from(shown),
                kind: source_kind(&entry.what),
                at: Span::default(),
            },
            Role::Random => Term::Random(at),
            Role::Clock => Term::Clock(at),
            Role::Config if entry.what == "text" => Term::Str(Sym::from(shown)),
            _ => Term::Config {
                label: Sym::from(shown),
                at: Span::default(),
            },
        };
        let returns = entry.returns.clone();
        let vid = self.terms.make(term);
        let _ = state;
        self.met.entry(vid).or_insert(at);
        self.terms.typed(vid, &returns)
    }

    pub(super) fn field(&mut self, base: Vid, name: &Sym, at: Span, state: &mut State) -> Vid {
        if self.is_verdict(base, name, state) {
            return self.terms.make(Term::Field(base, name.clone()));
        }
        let base = self.deref(base, state);
        if let Some(vid) = state.get_field(base, name) {
            return vid;
        }
        if let Some(vid) = self.property(base, name, at, state) {
            return vid;
        }
        if let Some(vid) = self.class_attribute(base, name) {
            return vid;
        }
        if let Some(ty) = self.terms.ty(base).map(str::to_owned) {
            let qualified = format!("{ty}.{name}");
            if let Some(row) = self.family().field(&qualified) {
                let entry = &self.family().rows[row];
                if entry.role == Role::Part || entry.role == Role::Coll {
                    self.hits.insert(row);
                    let what = entry.what.clone();
                    return self.part(&what, base, at, state);
                }
                let shown = match self.terms.get(base) {
                    Term::Param { .. } => format!("{}.{name}", self.label(base)),
                    _ => qualified,
                };
                return self.field_row(row, &shown, at, state);
            }
            // The parser of addresses folds `..` away.
            if ty == "URL" && matches!(&**name, "pathname" | "href") {
                let part = self.part("text", base, at, state);
                state.add(part, bit::ROOTED, at);
                return part;
            }
        }
        if let Some(vid) = self.field_of_term(base, name, at, state) {
            return vid;
        }
        if let Some(vid) = self.parsed_field(base, name, at, state) {
            return vid;
        }
        // Rust: the one thing in a wrapper.
        if &**name == "0"
            && self.lang() == Lang::Rust
            && !matches!(
                self.terms.get(base),
                Term::Object { .. } | Term::Param { .. }
            )
        {
            return base;
        }
        // Properties of paths that are no calls: `p.name`, `p.parent`, `p.parts`.
        if let Some(row) = self.family().field(&format!("*.{name}")) {
            let entry = &self.family().rows[row];
            if self.is_pathish(base) || entry.what.starts_with("length") {
                self.hits.insert(row);
                let what = entry.what.clone();
                return self.part(&what, base, at, state);
            }
        }
        // A request that a framework's context carries.
        if matches!(&**name, "URL" | "Header" | "Form" | "RequestURI")
            && matches!(self.terms.get(base), Term::Field(_, of) if matches!(&**of, "Req" | "Request" | "req" | "request"))
        {
            let label = format!("{}.{name}", self.label(base));
            let vid = self.terms.make(Term::Source {
                label: Sym::from(label.as_str()),
                kind: SourceKind::Request,
                at: Span::default(),
            });
            self.met.entry(vid).or_insert(at);
            return vid;
        }
        // A name that only one kind of thing has.
        if let Some(row) = self.family().field(&format!("any:{name}")) {
            let shown = format!("{}.{name}", self.label(base));
            return self.field_row(row, &shown, at, state);
        }
        if self.is_of_framework(base, name) {
            let label = Sym::from(format!("{}.{name}", self.label(base)).as_str());
            let at = Span::default();
            return self.terms.make(Term::Config { label, at });
        }
        // Where a server put an upload is its own choice.
        if matches!(
            &**name,
            "filepath" | "tempFilePath" | "temporary_file_path" | "tmp_name"
        ) && self.external_base(base, 0).is_some()
        {
            return self.terms.make(Term::Random(at));
        }
        if matches!(&**name, "path" | "destination" | "tmpPath")
            && self.external_base(base, 0).is_some()
            && self.label(base).starts_with("req")
            && self.label(base).contains(".file")
        {
            return self.terms.make(Term::Random(at));
        }
        let vid = self.terms.make(Term::Field(base, name.clone()));
        if let Term::Object {
            class: Some(class), ..
        } = self.terms.get(base).clone()
        {
            let file = self.here().0;
            if matches!(&**name, "path" | "headers" | "rfile" | "request" | "kwargs")
                && self.answers_requests(file, &class)
            {
                let term = Term::Source {
                    label: Sym::from(format!("self.{name}").as_str()),
                    kind: SourceKind::Request,
                    at: Span::default(),
                };
                return self.terms.make(term);
            }
            self.type_field(vid, &class, name);
        } else if let Some(class) = self.terms.ty(base).map(str::to_owned)
            && matches!(self.lang().family(), "rust" | "go" | "java")
        {
            // A parameter whose type is declared: an application's state.
            self.type_field(vid, &class, name);
        }
        vid
    }

    /// What a framework hangs on a request for the handlers' use: its settings, its log.
    fn is_of_framework(&self, base: Vid, name: &str) -> bool {
        const OWN: [&str; 8] = [
            "app", "server", "settings", "registry", "config", "log", "logger", "db",
        ];
        let is_request = match self.terms.get(base) {
            Term::Param { .. } => self.external_base(base, 0).is_some(),
            Term::Source { label, .. } => matches!(&**label, "request" | "req" | "self.request"),
            _ => false,
        };
        is_request && OWN.contains(&name)
    }

    /// A field of something that was made in sight: a record, a list, a look at a file.
    fn field_of_term(&mut self, base: Vid, name: &Sym, at: Span, state: &mut State) -> Option<Vid> {
        match self.terms.get(base).clone() {
            Term::Dict(pairs) => {
                let named = pairs.iter().find(|(key, _)| key == name);
                if let Some((_, vid)) = named {
                    return Some(*vid);
                }
                if let Some((_, rest)) = pairs.iter().rev().find(|(key, _)| &**key == "%rest") {
                    return Some(self.field(*rest, name, at, state));
                }
            }
            Term::Stat { .. } => return Some(self.terms.make(Term::StatField(base, name.clone()))),
            Term::StatField(..) | Term::CommonPath(_) => return Some(base),
            // `m.groups.name`
            Term::Pred(crate::term::Pred::Match { .. }) => {
                if &**name == "groups" {
                    return Some(base);
                }
                let which = self.terms.make(Term::Str(name.clone()));
                if let Some(piece) = self.captured(base, Some(which), at, state) {
                    return Some(piece);
                }
            }
            Term::Phi(parts) => {
                let values: Vec<Vid> = parts
                    .iter()
                    .filter_map(|part| {
                        state
                            .get_field(*part, name)
                            .or_else(|| match self.terms.get(*part) {
                                Term::Dict(pairs) => pairs
                                    .iter()
                                    .find(|(key, _)| key == name)
                                    .map(|(_, value)| *value),
                                _ => None,
                            })
                    })
                    .collect();
                if let Some((first, rest)) = values.split_first() {
                    return Some(
                        rest.iter()
                            .fold(*first, |all, one| self.terms.phi(all, *one)),
                    );
                }
            }
            // A field of one of several things that are listed.
            Term::Elem(of) => {
                let of = match self.terms.get(of) {
                    Term::Global { of, .. } => *of,
                    _ => of,
                };
                if let Term::List(parts) = self.terms.get(of).clone()
                    && parts.len() <= 32
                    && parts.iter().any(|part| self.is_record(*part))
                {
                    let mut values: Vec<Vid> = Vec::new();
                    for part in parts {
                        values.push(self.field(part, name, at, state));
                    }
                    return Some(self.any_of(values, base));
                }
            }
            // A record without names for its fields: a function in it is what is called.
            Term::List(parts) => {
                let functions: Vec<Vid> = parts
                    .iter()
                    .copied()
                    .filter(|part| self.is_function(*part))
                    .collect();
                if let [only] = functions.as_slice() {
                    return Some(*only);
                }
            }
            // The address of a file is its path in another spelling.
            Term::Join { .. } | Term::Norm { .. } if matches!(&**name, "href") => {
                return Some(base);
            }
            Term::Fd(_) if matches!(&**name, "name") => return Some(base),
            Term::Temp { .. } if matches!(&**name, "name") => return Some(base),
            _ => {}
        }
        None
    }

    /// A field by which a function tells its ways out apart: `{ ok: true, value }`.
    fn is_verdict(&self, vid: Vid, name: &str, state: &State) -> bool {
        let Term::Outcome(call) = *self.terms.get(vid) else {
            return false;
        };
        let mut said = self.way_values(call, state).into_iter().map(|value| {
            let Term::Dict(pairs) = self.terms.get(value) else {
                return None;
            };
            let (_, part) = pairs.iter().find(|(key, _)| **key == *name)?;
            match self.terms.get(*part) {
                Term::Bool(value) => Some(*value),
                _ => None,
            }
        });
        let Some(Some(first)) = said.next() else {
            return false;
        };
        let rest: Vec<Option<bool>> = said.collect();
        rest.iter().all(Option::is_some) && rest.contains(&Some(!first))
    }

    fn is_record(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Object { .. } | Term::Dict(_) => true,
            Term::List(parts) => parts.iter().any(|part| self.is_function(*part)),
            _ => false,
        }
    }

    /// A function as a value: a closure, or one that has a name.
    pub(super) fn is_function(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Closure { .. } => true,
            Term::Undefined(name) | Term::Config { label: name, .. } => {
                self.program.free_function(self.here().0, name).is_some()
            }
            // Go: a method as a function of its receiver.
            Term::Field(object, name) => {
                let Term::Undefined(class) = self.terms.get(*object) else {
                    return false;
                };
                self.program.method(self.here().0, class, name).is_some()
            }
            _ => false,
        }
    }

    /// A function, or one of several.
    pub(super) fn is_any_function(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Phi(parts) => parts.iter().all(|part| self.is_function(*part)),
            Term::Closure { .. } => true,
            Term::Index(of, _) => {
                let parts = self.entries_of(*of);
                !parts.is_empty() && parts.iter().all(|part| self.is_function(*part))
            }
            _ => false,
        }
    }

    /// Python: what the class itself sets is what its objects have.
    fn class_attribute(&mut self, base: Vid, name: &str) -> Option<Vid> {
        let Term::Object {
            class: Some(class), ..
        } = self.terms.get(base)
        else {
            return None;
        };
        if self.lang() != Lang::Python {
            return None;
        }
        let (of, known) = self.program.class(self.here().0, class)?;
        known.fields.iter().find(|(field, _)| **field == *name)?;
        self.global(of, name)
    }

    /// Python: a method that is read like a field.
    fn property(&mut self, base: Vid, name: &str, at: Span, state: &mut State) -> Option<Vid> {
        let Term::Object {
            class: Some(class), ..
        } = self.terms.get(base)
        else {
            return None;
        };
        if !matches!(self.lang().family(), "python" | "javascript") {
            return None;
        }
        let id = self.program.method(self.here().0, class, name)?;
        let is_property = self
            .program
            .function(id)
            .decorators
            .iter()
            .any(|decorator| {
                let last = decorator.dotted().unwrap_or_default();
                last.ends_with("property")
            });
        is_property.then(|| {
            let args = crate::interp::call::Args::default();
            self.invoke(id, Some(base), &args, None, at, state)
        })
    }

    /// Gives a field the type that its class declares for it.
    pub(super) fn type_field(&mut self, vid: Vid, class: &str, name: &str) {
        let file = self.here().0;
        let ty = self.program.field_type(file, class, name);
        if let Some((of, ty)) = ty.map(|(of, ty)| (of, ty.clone())) {
            let ty = self.type_name(of, ty.trim_start_matches([':', ' ']));
            self.terms.typed(vid, &ty);
        }
    }
}
