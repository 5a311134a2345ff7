//! What a function is given when it is entered from outside.

use crate::interp::Interp;
use crate::ir::Function;
use crate::state::State;
use crate::term::{FnId, SourceKind, Term};

impl Interp<'_> {
    pub(super) fn bind_params(
        &mut self,
        id: FnId,
        function: &Function,
        is_ctor: bool,
        state: &mut State,
    ) {
        for (index, param) in function.params.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(0);
            let term = Term::Param {
                name: param.name.clone(),
                index,
                of: id,
                is_ctor,
            };
            let vid = self.terms.make(term);
            if let Some(ty) = &param.ty {
                let ty = self.type_name(id.0, ty);
                self.terms.typed(vid, &ty);
            }
            state.env.insert(param.name.clone(), vid);
        }
    }

    pub(super) fn bind_entry_params(
        &mut self,
        id: FnId,
        function: &Function,
        is_route: bool,
        state: &mut State,
    ) {
        self.bind_params(id, function, false, state);
        self.heard(id, function, state);
        let by_place = self.filled_by_framework(id, function);
        match self.lang().family() {
            "javascript" => {
                let is_handler = self.handlers.contains(&id);
                let first = is_handler.then_some(0);
                if let Some(request) = self.request_at(function).or(first) {
                    self.bind_captures(id, function, request, state);
                }
            }
            "python" => self.bind_gateway(function, state),
            _ => {}
        }
        for (index, param) in function.params.iter().enumerate() {
            let is_named = self
                .declared
                .inputs
                .iter()
                .any(|input| **input == *param.name);
            let is_argv = self.lang() == crate::lang::Lang::Java
                && &*function.name == "main"
                && param.ty.as_deref().is_some_and(|ty| ty.contains("String"))
                || &*function.name == "main"
                    && self.lang().family() == "c"
                    && param.ty.as_deref().is_some_and(|ty| ty.contains("char"))
                || self.lang().family() == "c" && &*param.name == "argv";
            let by_type = param.ty.as_deref().and_then(|ty| self.source_type(ty));
            let is_request = matches!(
                &*param.name,
                "req"
                    | "request"
                    | "ctx"
                    | "res"
                    | "response"
                    | "next"
                    | "c"
                    | "w"
                    | "r"
                    | "reply"
                    | "self"
            );
            let by_place = by_place.contains(&index);
            let is_request = is_request || is_made_by_framework(param.ty.as_deref());
            let is_source = is_named
                || is_argv
                || by_place
                || by_type.is_some()
                || (is_route && !is_request && self.lang() != crate::lang::Lang::Rust);
            if is_source {
                let kind = if is_argv {
                    SourceKind::Process
                } else if by_type.is_some() || by_place || is_route {
                    SourceKind::Request
                } else {
                    SourceKind::Declared
                };
                let term = Term::Source {
                    label: param.name.clone(),
                    kind,
                    at: function.span,
                };
                let vid = self.terms.make(term);
                if let (crate::lang::Lang::Java, Some(ty)) = (self.lang(), &param.ty) {
                    let ty = self.type_name(id.0, ty);
                    self.terms.typed(vid, &ty);
                }
                if param
                    .ty
                    .as_deref()
                    .is_some_and(super::leaves::is_number_type)
                    || is_route && self.is_number_in_route(id, function, &param.name)
                {
                    let bits = crate::facts::bit::CHOSEN | crate::facts::bit::NONEMPTY;
                    state.add(vid, bits, function.span);
                }
                // Rocket makes paths of segments, and refuses those that lead up.
                if self.lang() == crate::lang::Lang::Rust
                    && is_route
                    && param
                        .ty
                        .as_deref()
                        .is_some_and(|ty| ty.ends_with("PathBuf"))
                {
                    let bits = crate::facts::bit::SEGS_CLEAN | crate::facts::bit::NOT_ABSOLUTE;
                    state.add(vid, bits, function.span);
                }
                if self.has_string_type(param.ty.as_deref())
                    || (is_route && self.lang() == crate::lang::Lang::Python)
                {
                    state.add(vid, crate::facts::bit::TYPED, function.span);
                }
                state.env.insert(param.name.clone(), vid);
                if let (crate::lang::Lang::Python, Some(ty)) = (self.lang(), &param.ty) {
                    self.apply_model(vid, ty, id.0, function.span, state);
                }
            } else if self.has_string_type(param.ty.as_deref())
                && let Some(vid) = state.env.get(&param.name).copied()
            {
                state.add(vid, crate::facts::bit::TYPED, function.span);
            }
            if let Some(pattern) = &param.pattern
                && let Some(vid) = state.env.get(&param.name).copied()
            {
                self.assign(pattern, vid, state, function.span);
            }
        }
        if !self.schemas.is_empty()
            && let Some(first) = function.params.first()
        {
            self.apply_schemas(id, &first.name, function.span, state);
        }
    }

    /// The route takes only a number or an identifier there: `<int:page>`, `{page:int}`.
    fn is_number_in_route(&self, id: FnId, function: &Function, name: &str) -> bool {
        if self.lang() != crate::lang::Lang::Python {
            return false;
        }
        let is_number = |route: &str| {
            ["int", "uuid", "float"].iter().any(|ty| {
                route.contains(&format!("<{ty}:{name}>"))
                    || route.contains(&format!("<{name}:{ty}>"))
                    || route.contains(&format!("{{{name}:{ty}}}"))
            })
        };
        let text = &self.program.file(id.0).text;
        let by_decorator = function.decorators.iter().any(|decorator| {
            let span = decorator.span;
            text.get(span.start as usize..span.end as usize)
                .is_some_and(is_number)
        });
        let owner = function.class.as_ref().unwrap_or(&function.name);
        by_decorator
            || self.program.registrars().iter().any(|file| {
                let mut lines = self.program.file(*file).text.lines();
                lines.any(|line| line.contains(&**owner) && is_number(line))
            })
    }

    pub(super) fn has_string_type(&self, ty: Option<&str>) -> bool {
        let lang = self.lang();
        if lang.has_static_strings() {
            return true;
        }
        ty.is_some_and(|ty| matches!(ty.trim(), "str" | "string" | "Path" | "pathlib.Path"))
    }

    /// A declared type as it is known by: imports resolved, references and generics dropped.
    pub(super) fn type_name(&self, file: u32, ty: &str) -> String {
        let ty = ty
            .trim_start_matches(['&', '*', ' '])
            .trim_start_matches("mut ")
            .trim_start_matches("const ");
        let ty = ty.trim_start_matches("impl ").trim_start_matches("struct ");
        // What only holds or shares a value has its operations.
        if let Some((outer, inner)) = ty.split_once('<') {
            let outer = outer.rsplit([':', '.']).next().unwrap_or(outer);
            let holds = [
                "Arc",
                "Rc",
                "Box",
                "State",
                "Data",
                "Extension",
                "unique_ptr",
                "shared_ptr",
                "optional",
            ];
            if holds.contains(&outer.trim()) || ty.starts_with('@') {
                let inner = inner.strip_suffix('>').unwrap_or(inner);
                return self.type_name(file, inner);
            }
        }
        let ty = ty.split(['<', '[', '|']).next().unwrap_or(ty).trim();
        let dotted = ty.replace("::", ".");
        self.program.qualify(file, &dotted)
    }
}

/// Types of parameters that a framework makes: sessions, users, services.
fn is_made_by_framework(ty: Option<&str>) -> bool {
    const ENDS: [&str; 14] = [
        "Dep",
        "Depends",
        "Session",
        "User",
        "Service",
        "Settings",
        "Request",
        "Response",
        "BackgroundTasks",
        "Manager",
        "Client",
        "Config",
        "Db",
        "Context",
    ];
    let ty = ty.unwrap_or("");
    let bare = ty.split(['[', '|']).next().unwrap_or(ty).trim();
    ty.contains("Depends") || ENDS.iter().any(|end| bare.ends_with(end))
}
