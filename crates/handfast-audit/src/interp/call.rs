//! Calls: to functions of the program, to known ones, to unknown ones.

use crate::interp::Interp;
use crate::ir::{Arg, Expr, ExprKind, Span, Sym};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{FnId, Term, Vid};

/// The arguments of a call, evaluated.
#[derive(Clone, Debug, Default)]
pub(super) struct Args {
    pub(super) receiver: Option<Vid>,
    pub(super) list: Vec<(Option<Sym>, Vid)>,
    /// Places that can be written through: plain names given as arguments.
    pub(super) places: Vec<Option<Expr>>,
}

impl Args {
    pub(super) fn at(&self, index: usize) -> Option<Vid> {
        self.list
            .iter()
            .filter(|(name, _)| name.is_none())
            .nth(index)
            .map(|(_, vid)| *vid)
    }

    pub(super) fn named(&self, name: &str) -> Option<Vid> {
        self.list
            .iter()
            .find(|(known, _)| known.as_deref() == Some(name))
            .map(|(_, vid)| *vid)
    }

    pub(super) fn all(&self) -> Vec<Vid> {
        let given = self.list.iter().map(|(_, vid)| *vid);
        self.receiver.into_iter().chain(given).collect()
    }
}

impl Interp<'_> {
    pub(super) fn eval_call(
        &mut self,
        callee: &Expr,
        args: &[Arg],
        is_new: bool,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let dotted = callee.dotted();
        let file = self.here().0;
        if let Some(vid) = self.eval_form(dotted.as_deref(), args, at, state) {
            return vid;
        }
        // A local name that holds a function.
        if let ExprKind::Name(name) = &callee.kind
            && let Some(vid) = state.env.get(name).copied()
        {
            let vid = self.deref(vid, state);
            if self.goes_on(vid, !args.is_empty(), state) {
                return self.terms.make(Term::Null);
            }
            if matches!(
                self.terms.get(vid),
                Term::Closure { .. } | Term::Config { .. } | Term::Field(..) | Term::Object { .. }
            ) {
                let args = self.eval_args(args, None, state);
                if state.dead {
                    return self.terms.unknown();
                }
                let result = self.apply_value(vid, &args, at, state);
                return result.unwrap_or_else(|| self.unknown_call(name, &args, at, state));
            }
        }
        let first_is_local = dotted.as_deref().is_some_and(|dotted| {
            let first = dotted.split('.').next().unwrap_or("");
            state.env.contains_key(first)
        });
        if let Some(dotted) = dotted.as_deref().filter(|_| !first_is_local) {
            let qualified = self.canonical_name(&self.program.qualify(file, dotted));
            if let Some(row) = self.first_row(&qualified, args) {
                let args = self.eval_args(args, None, state);
                if state.dead {
                    return self.terms.unknown();
                }
                let row = self.fitting_row(&qualified, &args).unwrap_or(row);
                return self.apply(row, &args, dotted, at, false, state);
            }
            if is_new || dotted.starts_with(char::is_uppercase) || dotted.contains('.') {
                if let Some(vid) = self.construct(dotted, args, is_new, at, state) {
                    return vid;
                }
            } else if self.lang() == Lang::Python
                && let Some(vid) = self.construct(dotted, args, is_new, at, state)
            {
                return vid;
            }
            if let Some(id) = self.program.free_function(file, dotted) {
                let args = self.eval_args(args, None, state);
                return self.invoke(id, None, &args, None, at, state);
            }
            if let Some(parsed) = self.parsed_arguments(file, dotted, args) {
                return parsed;
            }
            if let Some(id) = self.associated(file, dotted) {
                let args = self.eval_args(args, None, state);
                return self.invoke(id, None, &args, None, at, state);
            }
        }
        if let ExprKind::Name(name) = &callee.kind
            && let Some((id, object)) = self.own_method(name, state)
        {
            let args = self.eval_args(args, object, state);
            return self.invoke(id, object, &args, None, at, state);
        }
        if let ExprKind::Field(base, method) = &callee.kind {
            return self.method_call(callee, base, method, args, at, state);
        }
        let held = self.eval(callee, state);
        let args = self.eval_args(args, None, state);
        if state.dead {
            return self.terms.unknown();
        }
        if !matches!(self.terms.get(held), Term::Undefined(_))
            && let Some(result) = self.apply_value(held, &args, at, state)
        {
            return result;
        }
        let name = dotted.unwrap_or_else(|| "?".to_owned());
        let name = self.program.qualify(file, &name);
        self.unknown_call(&name, &args, at, state)
    }

    /// C++ and Java: a bare name in a method that is a method of its class, of a base, or of the
    /// class around it.
    fn own_method(&self, name: &str, state: &State) -> Option<(FnId, Option<Vid>)> {
        let file = self.here().0;
        let object = state.env.get("this").copied();
        let class = object.and_then(|object| self.terms.ty(object));
        let found = class.and_then(|class| self.program.method(file, class, name));
        match self.lang() {
            Lang::Cpp => Some((found?, object)),
            Lang::Java => {
                let found = found.or_else(|| self.program.method_in_file(file, name))?;
                Some((found, object))
            }
            _ => None,
        }
    }

    pub(super) fn first_row(&self, name: &str, _args: &[Arg]) -> Option<usize> {
        let family = self.family();
        if let Some(row) = family.call(name).first() {
            return Some(*row);
        }
        // fs-extra has the names of fs too.
        let rest = name.strip_prefix("fs-extra.")?;
        family.call(&format!("fs.{rest}")).first().copied()
    }

    /// The row whose condition the arguments meet.
    pub(super) fn fitting_row(&self, name: &str, args: &Args) -> Option<usize> {
        let family = self.family();
        let rows = family.call(name);
        let with = rows.iter().rev().find(|row| {
            family.rows[**row]
                .when
                .as_deref()
                .is_some_and(|when| self.option_is_true(when, args))
        });
        with.or_else(|| {
            rows.iter()
                .rev()
                .find(|row| family.rows[**row].when.is_none())
        })
        .copied()
    }

    pub(super) fn option_is_true(&self, option: &str, args: &Args) -> bool {
        let (name, wanted) = option
            .split_once('=')
            .map_or((option, None), |(a, b)| (a, Some(b)));
        let holds = |vid: Vid| match (wanted, self.terms.get(vid)) {
            (None, Term::Bool(b)) => *b,
            (Some(wanted), Term::Str(text)) => **text == *wanted,
            _ => false,
        };
        for (key, vid) in &args.list {
            if key.as_deref() == Some(name) && holds(*vid) {
                return true;
            }
            // A constant that selects what the call does: `syscall(SYS_openat2, …)`.
            if key.is_none()
                && matches!(self.terms.get(*vid), Term::Undefined(known) if **known == *name)
            {
                return true;
            }
            // A word that selects it: `buffer.toString("hex")`.
            if key.is_none() && wanted.is_none() && self.terms.string(*vid) == Some(name) {
                return true;
            }
            if let Term::Dict(pairs) = self.terms.get(*vid)
                && pairs
                    .iter()
                    .any(|(key, value)| **key == *name && holds(*value))
            {
                return true;
            }
        }
        false
    }

    pub(super) fn eval_args(
        &mut self,
        args: &[Arg],
        receiver: Option<Vid>,
        state: &mut State,
    ) -> Args {
        let mut out = Args {
            receiver,
            ..Args::default()
        };
        for arg in args {
            let vid = self.eval(&arg.value, state);
            // `f(**given)`: each by its name.
            if let (Some("**"), Term::Dict(pairs)) = (arg.name.as_deref(), self.terms.get(vid)) {
                out.places.extend(pairs.iter().map(|_| None));
                let pairs = pairs
                    .iter()
                    .map(|(name, value)| (Some(name.clone()), *value));
                out.list.extend(pairs);
                continue;
            }
            out.list.push((arg.name.clone(), vid));
            out.places.push(place_of(&arg.value));
        }
        out
    }

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
        let name = self.canonical_name(method);
        // A field that holds a function, an object of a class of the program.
        if let Some(value) = state.get_field(real, method)
            && let Term::Closure { of, env } = *self.terms.get(value)
        {
            let args = self.eval_args(args, Some(real), state);
            return self.invoke(of, Some(real), &args, Some(env), at, state);
        }
        if let Some(value) = state.get_field(real, method)
            && self.is_function(value)
        {
            let args = self.eval_args(args, None, state);
            if let Some(result) = self.apply_value(value, &args, at, state) {
                return result;
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
                    return result;
                }
            }
        }
        // Java: a function has one method, whatever it is called; one of several from a table.
        if self.lang() == Lang::Java && self.is_any_function(real) && !is_combinator(method) {
            let args = self.eval_args(args, None, state);
            if let Some(result) = self.apply_value(real, &args, at, state) {
                return result;
            }
        }
        // A function as an object: `next.ServeHTTP(w, r)`, `f.call(this, x)`.
        if let (Term::Closure { .. } | Term::Config { .. }, "ServeHTTP" | "call" | "__call__") =
            (self.terms.get(real), &**method)
        {
            let skipped = usize::from(&**method == "call");
            let args = self.eval_args(args.get(skipped..).unwrap_or_default(), None, state);
            if let Some(result) = self.apply_value(real, &args, at, state) {
                return result;
            }
        }
        let objects = self.objects_in(real);
        if objects.len() > 1 {
            let args = self.eval_args(args, None, state);
            if let Some(result) = self.call_each(&objects, method, &args, at, state) {
                return result;
            }
        }
        let class = match self.terms.get(real) {
            Term::Object { class, .. } => class.clone(),
            _ => self.terms.ty(real).map(Sym::from),
        };
        if let Some(class) = &class
            && let Some(id) = self.program.method(file, class, method)
        {
            let args = self.eval_args(args, Some(real), state);
            return self.invoke(id, Some(real), &args, None, at, state);
        }
        if let Some(parsed) = self.parsed_text(real, method, args, at, state) {
            return parsed;
        }
        if matches!(&*name, "group" | "groups" | "get" | "name")
            && matches!(
                self.terms.get(real),
                Term::Pred(crate::term::Pred::Match { .. })
            )
        {
            let args = self.eval_args(args, Some(real), state);
            let first = args.at(0);
            if &*name == "groups" {
                return real;
            }
            if let Some(piece) = self.captured(real, first, at, state) {
                return piece;
            }
        }
        if self.is_schema(real, 0) && args.len() == 1 {
            let given = self.eval_args(args, Some(real), state);
            if let Some(passed) = self.schema_call(real, method, given.at(0), at, state) {
                return passed;
            }
            return self.unknown_call(method, &given, at, state);
        }
        if matches!(&*name, "get" | "at") && args.len() <= 2 && self.is_table(real) {
            let args = self.eval_args(args, Some(real), state);
            if let Some(key) = args.at(0) {
                let held = self.index(real, key, at, state);
                let is_entry = !matches!(self.terms.get(held), Term::Index(..));
                return match args.at(1) {
                    Some(otherwise) if !is_entry => self.terms.phi(held, otherwise),
                    _ => held,
                };
            }
        }
        if matches!(&*name, "pop" | "remove" | "shift") && place_of(base).is_some() {
            let given = self.eval_args(args, Some(real), state);
            if let Some((left, taken)) = self.taken(&name, &given) {
                self.assign(base, left, state, at);
                return taken;
            }
        }
        let mut names = Vec::new();
        if let Some(ty) = &class {
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
                    return self.terms.unknown();
                }
                if let Some(row) = self.fitting_row(candidate, &args) {
                    let shown = callee.dotted().unwrap_or_else(|| candidate.clone());
                    return self.apply(row, &args, &shown, at, false, state);
                }
                return self.unknown_call(method, &args, at, state);
            }
        }
        let loose = format!("*.{name}");
        if self.first_row(&loose, args).is_some() {
            // Whether it is an error is asked of all ways out at once.
            let asks = [
                "is_err",
                "is_ok",
                "is_some",
                "is_none",
                "unwrap",
                "expect",
                "ok",
                "map_err",
                "ok_or",
                "ok_or_else",
            ];
            let whole = self.lang() == Lang::Rust && asks.contains(&&*name);
            let of = if whole { receiver } else { real };
            let args = self.eval_args(args, Some(of), state);
            if state.dead {
                return self.terms.unknown();
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
                return result;
            }
            return self.unknown_call(method, &args, at, state);
        }
        let is_open = class.as_deref().is_none_or(|class| !class.contains('.'));
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
}

pub(super) fn place_of(expr: &Expr) -> Option<Expr> {
    match &expr.kind {
        ExprKind::Name(_) | ExprKind::Field(..) => Some(expr.clone()),
        ExprKind::Ref(inner) | ExprKind::Cast(inner, _) => place_of(inner),
        _ => None,
    }
}

/// Methods of Java's function types that make another function.
fn is_combinator(method: &str) -> bool {
    matches!(method, "andThen" | "compose" | "negate" | "and" | "or")
}
