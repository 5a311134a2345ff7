//! Objects that are made, and what types and routes say about them.

use crate::interp::Interp;
use crate::ir::{Arg, ExprKind, Function, Span, Sym};
use crate::kb::Role;
use crate::lang::Lang;
use crate::state::State;
use crate::term::{FnId, Term, Vid};

impl Interp<'_> {
    /// An object of a class of the program.
    pub(super) fn construct(
        &mut self,
        dotted: &str,
        args: &[Arg],
        is_new: bool,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let file = self.here().0;
        let qualified = self.program.qualify(file, dotted);
        if matches!(qualified.as_str(), "Ok" | "Err" | "Some") {
            let value = args.first().map(|arg| self.eval(&arg.value, state));
            let value = value.unwrap_or_else(|| self.terms.make(Term::Null));
            return Some(
                self.terms
                    .make(Term::Variant(Sym::from(qualified.as_str()), value)),
            );
        }
        let own = self.program.function(self.here()).class.clone();
        let qualified = match (qualified.as_str(), own) {
            ("Self", Some(class)) => class.to_string(),
            _ => qualified,
        };
        // A struct that is declared elsewhere, with its fields by name.
        let by_name = is_new && !args.is_empty() && args.iter().all(|arg| arg.name.is_some());
        if by_name && self.program.class(file, &qualified).is_none() {
            let object = self.make_object(None);
            for arg in args {
                let value = self.eval(&arg.value, state);
                if let Some(field) = &arg.name {
                    state.set_field(object, field.clone(), value);
                }
            }
            return Some(object);
        }
        let (of, class) = self.program.class(file, &qualified)?;
        let name = class.name.clone();
        let declared: Vec<Sym> = class
            .fields
            .iter()
            .map(|(field, _)| field.clone())
            .collect();
        if self.lang().family() == "rust"
            && !is_new
            && qualified
                .rsplit('.')
                .next()
                .is_none_or(|last| *last != *name)
        {
            return None;
        }
        let object = self.make_object(Some(name.clone()));
        let by_name = is_new && args.iter().any(|arg| arg.name.is_some());
        if by_name || matches!(self.lang().family(), "go" | "rust") {
            for (index, arg) in args.iter().enumerate() {
                let value = self.eval(&arg.value, state);
                let by_place = declared.get(index).filter(|_| self.lang() == Lang::Go);
                let field = arg
                    .name
                    .clone()
                    .or_else(|| by_place.cloned())
                    .unwrap_or_else(|| Sym::from(index.to_string().as_str()));
                state.set_field(object, field, value);
            }
            return Some(object);
        }
        let mut ctors = self.program.constructors(of, &name);
        ctors.retain(|ctor| &*self.program.function(*ctor).name != "__post_init__");
        let args = self.eval_args(args, Some(object), state);
        if let Some(ctor) = ctors.first() {
            self.invoke(*ctor, Some(object), &args, None, at, state);
        } else {
            for (index, (field, value)) in args.list.iter().enumerate() {
                let is_plain = matches!(self.lang(), Lang::Cpp | Lang::Python);
                let by_place = is_plain.then(|| declared.get(index)).flatten();
                if let Some(field) = field.as_ref().or(by_place) {
                    state.set_field(object, field.clone(), *value);
                }
            }
            // Python: what a class of data does once its fields are set.
            if let Some(after) = self.program.method(of, &name, "__post_init__") {
                let none = super::call::Args::default();
                self.invoke(after, Some(object), &none, None, at, state);
            }
        }
        Some(object)
    }

    /// `T::default()` where nobody wrote it: an object with nothing in it.
    pub(super) fn made_empty(&mut self, file: u32, dotted: &str, args: &[Arg]) -> Option<Vid> {
        let (class, "default") = dotted.rsplit_once('.')? else {
            return None;
        };
        if !args.is_empty() {
            return None;
        }
        let full = self.program.qualify(file, class);
        let (_, class) = self.program.class(file, &full)?;
        let name = class.name.clone();
        Some(self.make_object(Some(name)))
    }

    /// A table that is written down.
    pub(super) fn is_table(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Dict(pairs) => !pairs.is_empty(),
            Term::List(parts) => !parts.is_empty() && self.lang() == Lang::Java,
            Term::Global { of, .. } => self.is_table(*of),
            _ => false,
        }
    }

    /// `Slug::parse`, `Slug.parse`: a function of a class of the program.
    pub(super) fn associated(&self, file: u32, dotted: &str) -> Option<FnId> {
        let (class, name) = dotted.rsplit_once('.')?;
        let own = self.program.function(self.here()).class.clone();
        let class = match (class, &own) {
            ("Self", Some(class)) => class.to_string(),
            _ => self.program.qualify(file, class),
        };
        self.program.class(file, &class)?;
        self.program.method(file, &class, name)
    }

    /// Rust: `Args::parse()` of a struct that nobody wrote a parser for takes the command line.
    pub(super) fn parsed_arguments(
        &mut self,
        file: u32,
        dotted: &str,
        args: &[Arg],
    ) -> Option<Vid> {
        let (class, "parse") = dotted.rsplit_once('.')? else {
            return None;
        };
        if self.lang() != Lang::Rust || !args.is_empty() {
            return None;
        }
        self.program.class(file, class)?;
        if self.program.method(file, class, "parse").is_some() {
            return None;
        }
        let args = self.terms.make(Term::Source {
            label: Sym::from("args"),
            kind: crate::term::SourceKind::Process,
            at: Span::default(),
        });
        Some(self.terms.typed(args, class))
    }

    /// A function that a framework calls with a request.
    pub(super) fn is_route(&self, function: &Function, id: FnId) -> bool {
        let family = self.knowledge.family(self.program.file(id.0).lang);
        function.decorators.iter().any(|decorator| {
            let name = match &decorator.kind {
                ExprKind::Call { callee, .. } => callee.dotted(),
                _ => decorator.dotted(),
            };
            let Some(name) = name else { return false };
            let last = name.rsplit('.').next().unwrap_or(&name);
            family
                .call(&format!("*.{last}"))
                .iter()
                .any(|row| family.rows[*row].role == Role::Route)
        })
    }

    /// A parameter type that a framework fills from a request.
    pub(super) fn source_type(&self, ty: &str) -> Option<usize> {
        let family = self.family();
        let bare = ty.trim_start_matches(['&', '*', ' ']);
        let bare = bare.replace("::", ".");
        let head = bare.split('<').next().unwrap_or(&bare).trim();
        let full = self.program.qualify(self.here().0, head);
        if !bare.contains('<') && self.lang() == Lang::Rust {
            let is_known = full.contains('.');
            return family.field(&format!("param:{full}")).filter(|_| is_known);
        }
        family
            .field(&format!("param:{head}"))
            .or_else(|| family.field(&format!("param:{full}")))
    }
}
