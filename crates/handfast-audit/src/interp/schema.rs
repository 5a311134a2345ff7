//! JavaScript: what a schema of a validation library says about a value that passed it.

use crate::facts::bit;
use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Expr, ExprKind, Span, Sym};
use crate::state::State;
use crate::term::{FnId, MatchMode, Term, Vid};

/// Libraries whose values are schemas.
const LIBRARIES: [&str; 9] = [
    "zod",
    "joi",
    "@hapi/joi",
    "yup",
    "valibot",
    "superstruct",
    "celebrate",
    "zod/v4",
    "@sinclair/typebox",
];

/// Methods that give the value back, or throw.
const PARSES: [&str; 5] = ["parse", "parseAsync", "validateSync", "attempt", "cast"];

/// Methods that say whether the value passed.
const REPORTS: [&str; 4] = ["safeParse", "safeParseAsync", "validate", "validateAsync"];

/// How deep schemas are nested.
const MAX_DEPTH: usize = 6;

impl Interp<'_> {
    /// Made by a library of schemas.
    pub(super) fn is_schema(&self, vid: Vid, depth: usize) -> bool {
        match self.terms.get(vid) {
            Term::Global { of, .. } if depth < 32 => self.is_schema(*of, depth + 1),
            Term::Call { name, args, .. } if depth < 32 => {
                let module = name.split('.').next().unwrap_or(name);
                LIBRARIES.contains(&module)
                    || !name.contains('.')
                        && args
                            .first()
                            .is_some_and(|first| self.is_schema(*first, depth + 1))
            }
            _ => false,
        }
    }

    /// `schema.parse(value)`, `schema.safeParse(value)`, `schema.validate(value)`.
    pub(super) fn schema_call(
        &mut self,
        schema: Vid,
        method: &str,
        value: Option<Vid>,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let throws = PARSES.contains(&method);
        if self.lang().family() != "javascript"
            || !throws && !REPORTS.contains(&method)
            || !self.is_schema(schema, 0)
        {
            return None;
        }
        let value = self.deref(value?, state);
        if throws {
            self.passed(schema, value, at, state, 0);
            self.may_throw(state);
            return Some(value);
        }
        // Nobody looks at the answer.
        if self.loose == Some(at) {
            return None;
        }
        self.passed(schema, value, at, state, 0);
        let pairs = ["data", "value"].map(|name| (Sym::from(name), value));
        Some(self.terms.make(Term::Dict(pairs.to_vec())))
    }

    /// What holds of a value that a schema let through.
    fn passed(&mut self, schema: Vid, value: Vid, at: Span, state: &mut State, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let (name, args) = match self.terms.get(schema).clone() {
            Term::Global { of, .. } => return self.passed(of, value, at, state, depth),
            Term::Call { name, args, .. } => (name, args),
            Term::Dict(pairs) if self.is_described(&pairs) => {
                return self.described(&pairs, value, at, state, depth);
            }
            // A shape: fields with a schema each.
            Term::Dict(pairs) => {
                for (key, part) in pairs {
                    let field = self.field(value, &key, at, state);
                    self.passed(part, field, at, state, depth + 1);
                }
                return;
            }
            _ => return,
        };
        // The method itself, after what stands before it.
        let is_base = name.contains('.');
        let given = if is_base {
            // The library itself may stand first, as what the function is called on.
            match args.split_first() {
                Some((first, rest)) if self.is_library(*first) => rest,
                _ => args.as_slice(),
            }
        } else {
            if let Some(before) = args.first() {
                self.passed(*before, value, at, state, depth + 1);
            }
            args.get(1..).unwrap_or_default()
        };
        let last = name.rsplit('.').next().unwrap_or(&name);
        self.schema_step(last, given, value, at, state, depth);
    }

    fn is_library(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Global { of, .. } => self.is_library(*of),
            Term::Config { label, .. } => LIBRARIES.contains(&&**label),
            Term::Call { name, args, .. } => {
                &**name == "require"
                    && args
                        .iter()
                        .filter_map(|arg| self.terms.string(*arg))
                        .any(|text| LIBRARIES.contains(&text))
            }
            _ => false,
        }
    }

    /// A record that describes a value: JSON Schema.
    fn is_described(&self, pairs: &[(Sym, Vid)]) -> bool {
        pairs.iter().any(|(key, value)| match &**key {
            "properties" => matches!(self.terms.get(*value), Term::Dict(_)),
            "type" => self.terms.string(*value).is_some(),
            "enum" => matches!(self.terms.get(*value), Term::List(_)),
            _ => false,
        })
    }

    /// What holds of a value that fits its description.
    fn described(
        &mut self,
        pairs: &[(Sym, Vid)],
        value: Vid,
        at: Span,
        state: &mut State,
        depth: usize,
    ) {
        for (key, part) in pairs {
            match (&**key, self.terms.string(*part).map(Sym::from)) {
                ("pattern", Some(pattern)) => {
                    let regex = self.terms.make(Term::Regex(pattern, Sym::from("")));
                    self.assume_match(value, regex, MatchMode::Search, true, state, at);
                }
                ("format", Some(format)) => {
                    self.schema_step(&format, &[], value, at, state, depth);
                }
                ("type", Some(ty)) => {
                    let step = if &*ty == "integer" { "int" } else { &*ty };
                    self.schema_step(step, &[], value, at, state, depth);
                }
                ("enum" | "const", _) => {
                    self.schema_step("enum", &[], value, at, state, depth);
                }
                ("maxLength", _) => self.schema_step("max", &[*part], value, at, state, depth),
                ("properties", _) => {
                    let Term::Dict(fields) = self.terms.get(*part).clone() else {
                        continue;
                    };
                    for (name, of) in fields {
                        let field = self.field(value, &name, at, state);
                        self.passed(of, field, at, state, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    fn schema_step(
        &mut self,
        step: &str,
        given: &[Vid],
        value: Vid,
        at: Span,
        state: &mut State,
        depth: usize,
    ) {
        match (step, given.first().copied()) {
            ("regex" | "pattern" | "matches", Some(regex)) => {
                self.assume_match(value, regex, MatchMode::Search, true, state, at);
            }
            ("object" | "strictObject" | "keys" | "extend" | "looseObject", Some(shape)) => {
                self.passed(shape, value, at, state, depth + 1);
            }
            ("string", _) => state.add(value, bit::TYPED, at),
            (
                "uuid" | "guid" | "cuid" | "cuid2" | "ulid" | "hex" | "number" | "int" | "boolean"
                | "date" | "bigint" | "enum" | "nativeEnum" | "literal" | "valid" | "oneOf"
                | "equal",
                _,
            ) => state.add(value, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at),
            ("alphanum", _) => {
                let letters = crate::facts::mask(|c| c.is_ascii_alphanumeric());
                state.edit(value).narrow_chars(letters, at);
            }
            ("max" | "length", Some(bound)) => {
                let bound = self.terms.number(bound).and_then(|n| u32::try_from(n).ok());
                if let Some(bound) = bound {
                    state.edit(value).bound(bound, at);
                    state.add(value, bit::LEN_CHARS, at);
                }
            }
            ("refine" | "test" | "custom" | "check", Some(function)) => {
                let function = given
                    .iter()
                    .copied()
                    .find(|vid| self.is_function(*vid))
                    .unwrap_or(function);
                let args = Args {
                    receiver: None,
                    list: vec![(None, value)],
                    places: vec![None],
                };
                let mut inside = state.clone();
                if let Some(holds) = self.apply_value(function, &args, at, &mut inside) {
                    self.assume(holds, true, state, at);
                }
            }
            _ => {}
        }
    }

    /// Schemas that are handed over together with a handler, by the part of the request they are about.
    pub(super) fn note_schemas(&mut self, handler: FnId, list: &[Vid]) {
        let mut found: Vec<(Sym, Vid)> = Vec::new();
        for vid in list {
            self.schemas_in(*vid, "", &mut found, 0);
        }
        if !found.is_empty() {
            self.schemas.insert(handler, found);
        }
    }

    fn schemas_in(&self, vid: Vid, part: &str, found: &mut Vec<(Sym, Vid)>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if self.is_schema(vid, 0) {
            found.push((Sym::from(part), vid));
            return;
        }
        let pairs = match self.terms.get(vid) {
            Term::Dict(pairs) => pairs,
            Term::Global { of, .. } => return self.schemas_in(*of, part, found, depth + 1),
            _ => return,
        };
        // A shape of schemas is one of the whole argument, unless the names are those of parts.
        let is_part = |key: &str| {
            matches!(
                key,
                "params" | "query" | "querystring" | "body" | "payload" | "headers"
            )
        };
        if !part.is_empty() && self.is_described(pairs) {
            found.push((Sym::from(part), vid));
            return;
        }
        let is_shape = !pairs.is_empty()
            && pairs
                .iter()
                .all(|(key, value)| !is_part(key) && self.is_schema(*value, 0));
        if is_shape {
            found.push((Sym::from(part), vid));
            return;
        }
        for (key, value) in pairs {
            let name = match &**key {
                "querystring" => "query",
                key if is_part(key) => key,
                _ => part,
            };
            self.schemas_in(*value, name, found, depth + 1);
        }
    }

    /// A handler runs after its schemas let the request through.
    pub(super) fn apply_schemas(
        &mut self,
        handler: FnId,
        request: &Sym,
        at: Span,
        state: &mut State,
    ) {
        let whole = Expr::new(ExprKind::Name(request.clone()), at);
        for (part, schema) in self.schemas.get(&handler).cloned().unwrap_or_default() {
            let value = if part.is_empty() {
                self.eval(&whole, state)
            } else {
                let part = ExprKind::Field(Box::new(whole.clone()), part);
                self.eval(&Expr::new(part, at), state)
            };
            self.passed(schema, value, at, state, 0);
        }
    }
}
