//! What is known of a trusted root: how it was made canonical, and whether it was looked at.

use crate::interp::Interp;
use crate::interp::{Event, RootCheck};
use crate::ir::Span;
use crate::scope::{Flow, Root, RootFacts, is_handle_type};
use crate::state::State;
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

    /// A root that has a name, or is written down.
    pub(crate) fn named_root(&mut self, vid: Vid, term: Term, depth: usize) -> Option<Root> {
        match term {
            Term::Str(text) => {
                let text = text.trim_end_matches(['/', '\\']);
                let plain = text.trim_start_matches("./");
                if text.is_empty() || plain.is_empty() && text != "." {
                    return None;
                }
                Some(Root {
                    vid,
                    label: text.to_owned(),
                    at: None,
                })
            }
            Term::Config { label, .. } => {
                let last = label.rsplit('.').next().unwrap_or(&label);
                if matches!(last, "sep" | "Separator" | "separator" | "separatorChar") {
                    return None;
                }
                Some(Root {
                    vid,
                    label: label.to_string(),
                    at: None,
                })
            }
            Term::Global { name, of, at } => {
                match self.terms.get(of).clone() {
                    Term::Undefined(_) | Term::Source { .. } => return None,
                    // A path that is put together at module level has the root of its first part.
                    Term::Join { .. } | Term::Concat(_)
                        if !self.leaves(of, &State::default()).is_empty() =>
                    {
                        return self.root_of(of, depth + 1);
                    }
                    _ => {}
                }
                Some(Root {
                    vid,
                    label: name.to_string(),
                    at: Some(at),
                })
            }
            Term::Param {
                name, is_ctor, of, ..
            } => {
                let declared = self.is_declared_root(&name);
                let handle = self.terms.ty(vid).is_some_and(is_handle_type);
                if is_ctor || declared || handle || self.is_captured(of) {
                    let at = self.program.function(of).span;
                    return Some(Root {
                        vid,
                        label: name.to_string(),
                        at: Some(at),
                    });
                }
                None
            }
            Term::Undefined(name) => self.is_declared_root(&name).then(|| Root {
                vid,
                label: name.to_string(),
                at: None,
            }),
            Term::Field(base, name) => {
                let declared = self.is_declared_root(&name);
                let of_object = matches!(
                    self.terms.get(base),
                    Term::Object { .. } | Term::Config { .. }
                );
                let of_config = self.external_base(base, 0).is_none()
                    && [
                        "root", "base", "dir", "path", "folder", "storage", "upload", "home",
                        "prefix", "work",
                    ]
                    .iter()
                    .any(|word| name.to_ascii_lowercase().contains(word));
                (declared || of_object || of_config).then(|| Root {
                    vid,
                    label: self.label(vid),
                    at: None,
                })
            }
            Term::Index(base, key) => match self.terms.get(base).clone() {
                Term::Config { label, .. } => {
                    let key = self.terms.string(key).unwrap_or("").to_owned();
                    Some(Root {
                        vid,
                        label: format!("{label}.{key}"),
                        at: None,
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }
}
