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
        // Go: `Slug(text)` is the text.
        if let (ExprKind::Name(name), [arg]) = (&callee.kind, args)
            && self.lang() == Lang::Go
            && self.program.is_named_type(file, name)
        {
            return self.eval(&arg.value, state);
        }
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
            let is_known =
                matches!(self.terms.get(vid), Term::Undefined(_)) && self.is_function(vid);
            if is_known
                || matches!(
                    self.terms.get(vid),
                    Term::Closure { .. }
                        | Term::Config { .. }
                        | Term::Field(..)
                        | Term::Object { .. }
                )
            {
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
                let mut args = self.eval_args(args, None, state);
                let object = self.named_receiver(id, &mut args);
                return self.invoke(id, object, &args, None, at, state);
            }
            if let Some(object) = self.made_empty(file, dotted, args) {
                return object;
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

    /// Python: `Names.check(x)` of a class method knows its class; `Base.check(self, x)` is given the
    /// object first.
    fn named_receiver(&mut self, id: FnId, args: &mut Args) -> Option<Vid> {
        let function = self.program.function(id);
        if self.lang() != Lang::Python || function.receiver.is_none() {
            return None;
        }
        let of_class = |decorator: &Expr| decorator.dotted().as_deref() == Some("classmethod");
        if function.decorators.iter().any(of_class) {
            let class = function.class.clone();
            return Some(self.make_object(class));
        }
        let is_full = args.list.len() > function.params.len();
        let is_plain = args.list.first().is_some_and(|(name, _)| name.is_none());
        (is_full && is_plain).then(|| {
            args.places.remove(0);
            args.list.remove(0).1
        })
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
}

pub(super) fn place_of(expr: &Expr) -> Option<Expr> {
    match &expr.kind {
        ExprKind::Name(_) | ExprKind::Field(..) => Some(expr.clone()),
        ExprKind::Ref(inner) | ExprKind::Cast(inner, _) => place_of(inner),
        // `buffer + used`: further on in the same buffer.
        ExprKind::Binary(crate::ir::Operation::Add, base, _) => place_of(base),
        _ => None,
    }
}
