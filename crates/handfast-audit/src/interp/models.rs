//! Python: what the declaration of a model says about the fields of a body that passed it.

use crate::facts::bit;
use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{ExprKind, Span, Sym};
use crate::state::State;
use crate::term::{FnId, MatchMode, Term, Vid};

/// Types whose values nobody outside chooses the text of.
const PLAIN: [&str; 12] = [
    "int",
    "float",
    "bool",
    "UUID",
    "UUID1",
    "UUID4",
    "uuid.UUID",
    "date",
    "datetime",
    "PositiveInt",
    "NonNegativeInt",
    "Decimal",
];

impl Interp<'_> {
    /// A parameter whose type is a model of the program: its fields are what the model lets through.
    pub(super) fn apply_model(
        &mut self,
        value: Vid,
        ty: &str,
        file: u32,
        at: Span,
        state: &mut State,
    ) {
        let bare = ty.split(['[', '|', '=']).next().unwrap_or(ty).trim();
        let Some((home, class)) = self.program.class(file, bare) else {
            return;
        };
        let declared: Vec<(Sym, Sym)> = class.fields.clone();
        let name = class.name.clone();
        for (field, text) in declared {
            let part = self.field(value, &field, at, state);
            self.apply_declared(part, &text, at, state);
            for check in self.model_checks(home, &name, &field) {
                let args = Args {
                    receiver: None,
                    list: vec![(None, part)],
                    places: vec![None],
                };
                let mut inside = state.clone();
                self.invoke(check, Some(value), &args, None, at, &mut inside);
                if !inside.dead {
                    state.facts = inside.facts;
                }
            }
        }
    }

    /// What the text of a field's declaration says about its value.
    fn apply_declared(&mut self, part: Vid, text: &str, at: Span, state: &mut State) {
        let ty = text.split('=').next().unwrap_or(text).trim();
        let inner = ty
            .strip_prefix("Optional[")
            .and_then(|ty| ty.strip_suffix(']'));
        let ty = inner.unwrap_or(ty).trim_end_matches(" | None").trim();
        if PLAIN.contains(&ty) || ty.starts_with("Literal[") {
            state.add(part, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
        }
        if let Some(pattern) = written_pattern(text) {
            let regex = Term::Regex(Sym::from(pattern), Sym::from(""));
            let regex = self.terms.make(regex);
            self.assume_match(part, regex, MatchMode::Search, true, state, at);
        }
    }

    /// Methods of a model that check one of its fields.
    fn model_checks(&self, file: u32, class: &str, field: &str) -> Vec<FnId> {
        let functions = &self.program.file(file).module.functions;
        let checks = functions.iter().enumerate().filter(|(_, function)| {
            function.class.as_deref() == Some(class)
                && function.decorators.iter().any(|decorator| {
                    let ExprKind::Call { callee, args, .. } = &decorator.kind else {
                        return false;
                    };
                    let name = callee.dotted().unwrap_or_default();
                    name.rsplit('.').next().is_some_and(|last| last.ends_with("validator"))
                        && args
                            .iter()
                            .any(|arg| matches!(&arg.value.kind, ExprKind::Str(text) if **text == *field))
                })
        });
        checks
            .filter_map(|(index, _)| Some((file, u32::try_from(index).ok()?)))
            .collect()
    }
}

/// The pattern in `Field(pattern=r"…")`, `constr(regex="…")`.
fn written_pattern(text: &str) -> Option<&str> {
    let at = ["pattern=", "regex="]
        .iter()
        .find_map(|key| text.find(key).map(|at| at + key.len()))?;
    let rest = text.get(at..)?.trim_start_matches([' ', 'r']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let rest = rest.get(1..)?;
    rest.get(..rest.find(quote)?)
}
