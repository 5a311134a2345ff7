//! What is known of a trusted root: how it was made canonical, and whether it was looked at.

use crate::interp::Interp;
use crate::interp::{Event, RootCheck};
use crate::ir::Span;
use crate::scope::{Flow, RootFacts};
use crate::term::{Term, Vid};

impl Interp<'_> {
    pub(super) fn root_facts(&mut self, flows: &[Flow]) -> Vec<RootFacts> {
        let mut out: Vec<RootFacts> = Vec::new();
        for flow in flows {
            let Some(root) = flow.root.clone() else {
                continue;
            };
            if out.iter().any(|known| known.root.label == root.label) {
                continue;
            }
            let mut facts = RootFacts {
                canonical: None,
                per_call: false,
                lexical: None,
                held_as_handle: None,
                not_link: None,
                after_canonical: None,
                root: root.clone(),
            };
            self.root_forms(root.vid, &mut facts, 0);
            if flow.anchor.is_some()
                || flow.sink.dirfd.is_some()
                || matches!(self.terms.get(root.vid), Term::Handle { .. })
            {
                facts.held_as_handle = root.at.or(Some(flow.sink.at));
            }
            if flow.anchor.as_deref() == Some("handfast") {
                facts.not_link = root.at.or(Some(flow.sink.at));
            }
            self.root_checks(root.vid, &mut facts);
            if let Some(at) = facts.canonical {
                facts.per_call = flows.iter().any(|flow| {
                    let function = self.program.function(flow.sink.function);
                    let inside = |span: Span| {
                        function.span.file == at.file
                            && span.start > 0
                            && (function.span.line..=function.span.end_line).contains(&at.line)
                    };
                    inside(function.span) && !function.is_ctor
                }) || self.in_plain_function(at);
            }
            out.push(facts);
        }
        out
    }

    /// Inside a function that is no constructor and not the module itself.
    pub(super) fn in_plain_function(&self, at: Span) -> bool {
        let module = &self.program.file(at.file).module;
        let mut inner: Option<usize> = None;
        for (index, function) in module.functions.iter().enumerate() {
            let holds = index != module.top
                && !function.name.starts_with('<')
                && (function.span.line..=function.span.end_line).contains(&at.line);
            if holds
                && inner.is_none_or(|known| module.functions[known].span.line <= function.span.line)
            {
                inner = Some(index);
            }
        }
        inner.is_some_and(|index| {
            let function = &module.functions[index];
            let name = function.name.to_ascii_lowercase();
            !function.is_ctor
                && !name.starts_with("new")
                && !name.contains("init")
                && !name.contains("main")
                && !name.contains("open")
                && !name.contains("create_app")
        })
    }

    pub(super) fn root_forms(&self, vid: Vid, facts: &mut RootFacts, depth: usize) {
        if depth > 8 {
            return;
        }
        match self.terms.get(vid) {
            Term::Norm {
                canonical: true,
                at,
                ..
            } => facts.canonical = Some(*at),
            Term::Norm {
                canonical: false,
                at,
                of,
            } => {
                facts.lexical = Some(*at).filter(|at| at.line > 0).or(facts.root.at);
                self.root_forms(*of, facts, depth + 1);
            }
            Term::Global { of, at, .. } => {
                let before = facts.canonical;
                self.root_forms(*of, facts, depth + 1);
                if facts.canonical != before {
                    facts.canonical = Some(*at);
                }
            }
            Term::Phi(parts) => {
                for part in parts {
                    self.root_forms(*part, facts, depth + 1);
                }
            }
            Term::Payload(of) | Term::Part { of, .. } | Term::Variant(_, of) => {
                self.root_forms(*of, facts, depth + 1)
            }
            Term::Temp { at, .. } => {
                facts.canonical = Some(*at);
                facts.not_link = Some(*at);
            }
            _ => {}
        }
    }

    /// Looks at the root, and canonical forms of it that are compared against.
    pub(super) fn root_checks(&mut self, root: Vid, facts: &mut RootFacts) {
        let base = self.bare(root);
        let mut seen = Vec::new();
        for event in &self.events {
            if let Event::RootSeen { at, value, how } = event {
                seen.push((*at, *value, *how));
            }
        }
        for (at, value, how) in seen {
            if self.bare(value) != base {
                continue;
            }
            let is_canonical = matches!(
                self.terms.get(value),
                Term::Norm {
                    canonical: true,
                    ..
                }
            ) || matches!(self.terms.get(value), Term::Global { of, .. } if matches!(self.terms.get(*of), Term::Norm { canonical: true, .. }));
            match (is_canonical, how) {
                (true, RootCheck::NotLink | RootCheck::IsDir) => facts.after_canonical = Some(at),
                _ => facts.not_link = facts.not_link.or(Some(at)),
            }
        }
        // A canonical form of the root that exists anywhere.
        if facts.canonical.is_none() {
            for vid in 0..self.terms.len() {
                if let Term::Norm {
                    canonical: true,
                    of,
                    at,
                } = *self.terms.get(vid)
                    && self.bare(of) == base
                {
                    facts.canonical = Some(at);
                    break;
                }
            }
        }
    }

    /// A value without its normal forms and names.
    pub(super) fn bare(&self, vid: Vid) -> Vid {
        match self.terms.get(vid) {
            Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Global { of, .. }
            | Term::Payload(of)
            | Term::Handle { of, .. } => self.bare(*of),
            Term::Fd(index) => match self.opens.get(*index as usize) {
                Some(open) => self.bare(open.path),
                None => vid,
            },
            Term::Join { parts, .. } if parts.len() == 1 => self.bare(parts[0]),
            _ => vid,
        }
    }
}
