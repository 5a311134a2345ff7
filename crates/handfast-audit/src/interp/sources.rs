//! Calls that give external text.

use crate::facts::bit;
use crate::interp::Interp;
use crate::interp::call::Args;
use crate::interp::expr::source_kind;
use crate::ir::{Span, Sym};
use crate::kb::{Row, Slot};
use crate::state::State;
use crate::term::{SourceKind, Term, Vid};

impl Interp<'_> {
    /// What a call gives that reads something from outside. `None`: it only passes on what it is given.
    pub(super) fn source(
        &mut self,
        entry: &Row,
        args: &Args,
        subject: Option<Vid>,
        shown: &str,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let passes_on = entry.what == "document" && self.is_given_text(args);
        if passes_on {
            return None;
        }
        let label = if entry.label.is_empty() {
            shown
        } else {
            &entry.label
        };
        let mut kind = source_kind(&entry.what);
        if entry.what == "filled" && !self.is_filled_from_outside(shown, args) {
            kind = SourceKind::Remote;
        }
        let key = subject.and_then(|vid| self.terms.string(vid));
        // `URLParam(r, "name")`: the key stands behind what it is asked of.
        let key = key.or_else(|| {
            args.list
                .iter()
                .find_map(|(_, vid)| self.terms.string(*vid))
        });
        // The environment is the operator's, but for what a web server puts there.
        if entry.label == "getenv" && key.is_some_and(|key| !is_cgi_variable(key)) {
            let label = Sym::from(key.unwrap_or_default());
            let vid = self.terms.make(Term::Config {
                label,
                at: Span::default(),
            });
            self.met.entry(vid).or_insert(at);
            return Some(self.terms.typed(vid, "env"));
        }
        let is_keyed = !matches!(kind, SourceKind::Archive | SourceKind::Remote);
        let label = match key {
            Some(key) if is_keyed => format!("{label}.{key}"),
            _ => label.to_owned(),
        };
        // What is read is another text each time; what is asked for by a key is the same.
        let is_read = entry.what == "read"
            || matches!(kind, SourceKind::Remote)
            || self.lang().family() == "c" && entry.other.is_some();
        let vid = self.terms.make(Term::Source {
            label: Sym::from(label.as_str()),
            kind,
            at: match is_read {
                // What an earlier turn of a loop read is another text than what this turn reads.
                true => Span {
                    end: at.end + u32::from(self.muted > 0),
                    ..at
                },
                false => Span::default(),
            },
        });
        let vid = match args.receiver {
            Some(archive) if kind == SourceKind::Archive => self.names_of(vid, archive, at, state),
            _ => vid,
        };
        self.met.entry(vid).or_insert(at);
        if self.lang().has_static_strings() {
            state.add(vid, bit::TYPED, at);
        }
        // The library has made the name harmless.
        if entry.what == "archive_clean" {
            let bits = bit::SEGS_CLEAN | bit::NO_DOTDOT | bit::NOT_ABSOLUTE;
            let clean = self.part("text", vid, at, state);
            state.add(clean, bits, at);
            return Some(clean);
        }
        // C: a buffer that is filled.
        if let Some(Some(place)) = entry.other.as_ref().and_then(|slot| match slot {
            Slot::At(index) => args.places.get(*index),
            _ => None,
        }) {
            let place = place.clone();
            self.assign(&place, vid, state, at);
        }
        Some(vid)
    }

    fn is_given_text(&self, args: &Args) -> bool {
        args.all()
            .iter()
            .any(|vid| self.external_base(*vid, 0).is_some())
    }

    /// Decoders fill what they are given with what they read; only some read a request.
    fn is_filled_from_outside(&self, shown: &str, args: &Args) -> bool {
        let last = shown.rsplit('.').next().unwrap_or(shown);
        !matches!(last, "Decode" | "Unmarshal") || self.is_given_text(args)
    }

    /// What a loop over a value of a known type gives: entries of an archive.
    pub(super) fn iterated(&mut self, coll: Vid, at: Span, state: &mut State) -> Option<Vid> {
        let ty = self.terms.ty(coll)?.to_owned();
        let row = self.family().field(&format!("iter:{ty}"))?;
        let entry = &self.family().rows[row];
        if entry.returns.is_empty() {
            let label = entry.label.clone();
            let names = self.field_row(row, &label, at, state);
            return Some(self.names_of(names, coll, at, state));
        }
        let returns = entry.returns.clone();
        let made = self.terms.make(Term::Call {
            name: Sym::from("%entry"),
            args: Vec::new(),
            at,
        });
        Some(self.terms.typed(made, &returns))
    }
}

/// Variables that a web server fills from the request.
pub(super) fn is_cgi_variable(name: &str) -> bool {
    name.starts_with("HTTP_")
        || matches!(
            name,
            "QUERY_STRING"
                | "PATH_INFO"
                | "PATH_TRANSLATED"
                | "REQUEST_URI"
                | "SCRIPT_NAME"
                | "DOCUMENT_URI"
                | "REMOTE_USER"
                | "REMOTE_HOST"
                | "CONTENT_TYPE"
        )
}
