//! Methods: of objects of the program, of functions as objects, of containers, of known types.

use crate::interp::Interp;
use crate::interp::call::place_of;
use crate::ir::{Arg, Expr, ExprKind, Span, Sym};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{Term, Vid};

/// What asks all ways out of a call at once, whether one is an error or nothing.
const ASKS: [&str; 19] = [
    "is_err",
    "is_ok",
    "is_some",
    "is_none",
    "unwrap",
    "expect",
    "ok",
    "map_err",
    "context",
    "with_context",
    "wrap_err",
    "wrap_err_with",
    "chain_err",
    "inspect_err",
    "ok_or",
    "ok_or_else",
    "unwrap_or",
    "unwrap_or_else",
    "unwrap_or_default",
];

/// A call of a method, with what it is called on.
struct MethodCall<'e> {
    callee: &'e Expr,
    base: &'e Expr,
    method: &'e Sym,
    /// The name by which the knowledge knows it.
    name: String,
    args: &'e [Arg],
    at: Span,
    receiver: Vid,
    /// The receiver, as far as the ways to here say which one it is.
    real: Vid,
    class: Option<Sym>,
}

impl Interp<'_> {
    pub(super) fn method_call(
        &mut self,
        callee: &Expr,
        base: &Expr,
        method: &Sym,
        args: &[Arg],
        at: Span,
        state: &mut State,
    ) -> Vid {
        let file = self.here().0;
        if let Some((id, object)) = self.inherited(base, method, state) {
            let args = self.eval_args(args, Some(object), state);
            return self.invoke(id, Some(object), &args, None, at, state);
        }
        let receiver = self.eval(base, state);
        if state.dead {
            return receiver;
        }
        let real = self.deref(receiver, state);
        self.note_lookup(real, method, args, at, state);
        let mut call = MethodCall {
            callee,
            base,
            method,
            name: self.canonical_name(method),
            args,
            at,
            receiver,
            real,
            class: None,
        };
        if let Some(result) = self.held_call(&call, state) {
            return result;
        }
        call.class = match self.terms.get(real) {
            Term::Object { class, .. } => class.clone(),
            _ => self.terms.ty(real).map(Sym::from),
        };
        if let Some(class) = &call.class
            && let Some(id) = self.program.method(file, class, method)
        {
            let args = self.eval_args(args, Some(real), state);
            return self.invoke(id, Some(real), &args, None, at, state);
        }
        if let Some(result) = self.container_call(&call, state) {
            return result;
        }
        if let Some(result) = self.known_method(&call, state) {
            return result;
        }
        let is_open = call
            .class
            .as_deref()
            .is_none_or(|class| !class.contains('.'));
        // Go: what a request holds are tables with methods of their own.
        let is_table_of_request = self.lang() == Lang::Go
            && matches!(&**method, "Get" | "Set" | "Add" | "Del" | "Has" | "Values")
            && self.external_base(real, 0) == Some(crate::term::SourceKind::Request);
        let is_open = is_open && !is_table_of_request;
        if is_open
            && !matches!(self.terms.get(real), Term::Config { .. } | Term::Str(_))
            && let Some(id) = self.program.unique_method(file, method)
            && !self.program.function(id).body.is_empty()
        {
            let args = self.eval_args(args, Some(real), state);
            return self.invoke(id, Some(real), &args, None, at, state);
        }
        let args = self.eval_args(args, Some(real), state);
        let shown = callee
            .dotted()
            .map(|dotted| self.program.qualify(file, &dotted));
        self.unknown_call(
            &shown.unwrap_or_else(|| method.to_string()),
            &args,
            at,
            state,
        )
    }

    /// The method is a function that the object holds, or the object is one.
    fn held_call(&mut self, call: &MethodCall<'_>, state: &mut State) -> Option<Vid> {
        let MethodCall {
            method,
            args,
            at,
            real,
            ..
        } = *call;
        // A field that holds a function, an object of a class of the program.
        if let Some(value) = state.get_field(real, method)
            && let Term::Closure { of, env } = *self.terms.get(value)
        {
            let args = self.eval_args(args, Some(real), state);
            return Some(self.invoke(of, Some(real), &args, Some(env), at, state));
        }
        if let Some(value) = state.get_field(real, method)
            && self.is_function(value)
        {
            let args = self.eval_args(args, None, state);
            if let Some(result) = self.apply_value(value, &args, at, state) {
                return Some(result);
            }
        }
        // A field of an entry of a table: `route.handler(request)`.
        if matches!(
            self.terms.get(real),
            Term::Elem(_) | Term::List(_) | Term::Dict(_)
        ) {
            let held = self.field(real, method, at, state);
            let is_known = match self.terms.get(held) {
                Term::Phi(parts) => parts.iter().all(|part| self.is_function(*part)),
                _ => self.is_function(held),
            };
            if is_known {
                let args = self.eval_args(args, None, state);
                if let Some(result) = self.apply_value(held, &args, at, state) {
                    return Some(result);
                }
            }
        }
        // Java: a function has one method, whatever it is called; one of several from a table.
        if self.lang() == Lang::Java && self.is_any_function(real) && !is_combinator(method) {
            let args = self.eval_args(args, None, state);
            if let Some(result) = self.apply_value(real, &args, at, state) {
                return Some(result);
            }
        }
        // A function as an object: `next.ServeHTTP(w, r)`, `f.call(this, x)`.
        if let (Term::Closure { .. } | Term::Config { .. }, "ServeHTTP" | "call" | "__call__") =
            (self.terms.get(real), &**method)
        {
            let skipped = usize::from(&**method == "call");
            let args = self.eval_args(args.get(skipped..).unwrap_or_default(), None, state);
            if let Some(result) = self.apply_value(real, &args, at, state) {
                return Some(result);
            }
        }
        let objects = self.objects_in(real);
        if objects.len() > 1 {
            let args = self.eval_args(args, None, state);
            if let Some(result) = self.call_each(&objects, method, &args, at, state) {
                return Some(result);
            }
        }
        None
    }

    /// What is asked of texts, tables, lists and matches.
    fn container_call(&mut self, call: &MethodCall<'_>, state: &mut State) -> Option<Vid> {
        let MethodCall {
            base,
            method,
            ref name,
            args,
            at,
            real,
            ..
        } = *call;
        if let Some(parsed) = self.parsed_text(real, method, args, at, state) {
            return Some(parsed);
        }
        if matches!(name.as_str(), "group" | "groups" | "get" | "name")
            && matches!(
                self.terms.get(real),
                Term::Pred(crate::term::Pred::Match { .. })
            )
        {
            let args = self.eval_args(args, Some(real), state);
            let first = args.at(0);
            if name.as_str() == "groups" {
                return Some(real);
            }
            if let Some(piece) = self.captured(real, first, at, state) {
                return Some(piece);
            }
        }
        if self.is_schema(real, 0) && args.len() == 1 {
            let given = self.eval_args(args, Some(real), state);
            if let Some(passed) = self.schema_call(real, method, given.at(0), at, state) {
                return Some(passed);
            }
            return Some(self.unknown_call(method, &given, at, state));
        }
        if self.lang() == Lang::Java
            && matches!(name.as_str(), "put" | "putIfAbsent")
            && args.len() == 2
            && place_of(base).is_some()
            && matches!(args[1].value.kind, ExprKind::Lambda(_))
        {
            let given = self.eval_args(args, Some(real), state);
            if let (Some(key), Some(value)) = (given.at(0), given.at(1)) {
                let held = match self.terms.get(real) {
                    Term::Dict(_) => real,
                    _ => self.terms.make(Term::Dict(Vec::new())),
                };
                if let Some(new) = self.with_entry(held, key, value) {
                    self.assign(base, new, state, at);
                    return Some(value);
                }
            }
        }
        let is_letter = name.as_str() == "charAt" && self.terms.string(real).is_some();
        let is_entry = matches!(name.as_str(), "get" | "at" | "getOrDefault" | "elementAt");
        if (is_letter || is_entry && self.is_table(real)) && args.len() <= 2 {
            let args = self.eval_args(args, Some(real), state);
            if let Some(key) = args.at(0) {
                let held = self.index(real, key, at, state);
                let is_entry = !matches!(self.terms.get(held), Term::Index(..));
                return Some(match args.at(1) {
                    Some(otherwise) if !is_entry => self.terms.phi(held, otherwise),
                    _ => held,
                });
            }
        }
        if matches!(name.as_str(), "pop" | "remove" | "shift") && place_of(base).is_some() {
            let given = self.eval_args(args, Some(real), state);
            if let Some((left, taken)) = self.taken(name, &given) {
                self.assign(base, left, state, at);
                return Some(taken);
            }
        }
        None
    }

    /// A method that the knowledge has a row for, by the type of the object or by its name alone.
    fn known_method(&mut self, call: &MethodCall<'_>, state: &mut State) -> Option<Vid> {
        let MethodCall {
            callee,
            base,
            method,
            ref name,
            args,
            at,
            receiver,
            real,
            ref class,
        } = *call;
        let mut names = Vec::new();
        if let Some(ty) = class {
            names.push(format!("{ty}.{name}"));
        }
        // A parameter by its customary name: `c.Param`, `req.param`.
        if let (Term::Param { .. } | Term::Unknown(_) | Term::Object { .. }, Some(dotted)) =
            (self.terms.get(real), callee.dotted())
        {
            names.push(dotted);
        }
        if self.is_pathish(real) && self.lang() == Lang::Python {
            names.push(format!("pathlib.Path.{name}"));
        }
        for candidate in &names {
            if self.first_row(candidate, args).is_some() {
                let args = self.eval_args(args, Some(real), state);
                if state.dead {
                    return Some(self.terms.unknown());
                }
                if let Some(row) = self.fitting_row(candidate, &args) {
                    let shown = callee.dotted().unwrap_or_else(|| candidate.clone());
                    return Some(self.apply(row, &args, &shown, at, false, state));
                }
                return Some(self.unknown_call(method, &args, at, state));
            }
        }
        let loose = format!("*.{name}");
        if self.first_row(&loose, args).is_some() {
            let whole = self.lang() == Lang::Rust && ASKS.contains(&name.as_str())
                || self.lang() == Lang::Java
                    && (name.starts_with("orElse") || name.as_str() == "map")
                    && matches!(self.terms.get(receiver), Term::Outcome(_));
            let of = if whole { receiver } else { real };
            let args = self.eval_args(args, Some(of), state);
            if state.dead {
                return Some(self.terms.unknown());
            }
            if let Some(row) = self.fitting_row(&loose, &args) {
                let shown = callee.dotted().unwrap_or_else(|| format!("(…).{method}"));
                let result = self.apply(row, &args, &shown, at, true, state);
                // Text and lists that grew have their name's new value.
                let grew = matches!(&*self.family().rows[row].what, "grow" | "append")
                    && !matches!(self.terms.get(result), Term::Call { .. });
                if grew && place_of(base).is_some() {
                    self.assign(base, result, state, at);
                }
                return Some(result);
            }
            return Some(self.unknown_call(method, &args, at, state));
        }
        None
    }
}

/// Methods of Java's function types that make another function.
fn is_combinator(method: &str) -> bool {
    matches!(method, "andThen" | "compose" | "negate" | "and" | "or")
}
