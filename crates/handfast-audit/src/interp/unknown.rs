//! Names of calls, and calls that nobody can see into.

use crate::facts::bit;
use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Expr, ExprKind, Span, Sym};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// Names that mean the same: `fs.promises.x`, `fs.xSync`.
    pub(super) fn canonical_name(&self, name: &str) -> String {
        if self.lang().family() == "c" {
            // The C library under its C++ name.
            let bare = name.trim_start_matches("std.").trim_start_matches('.');
            let known = |name: &str| !self.family().call(name).is_empty();
            return if !known(name) && known(bare) {
                bare
            } else {
                name
            }
            .to_owned();
        }
        if self.lang().family() != "javascript" {
            // One of the two modules that `os.path` is.
            if let Some(rest) = name.strip_prefix("posixpath.") {
                return format!("os.path.{rest}");
            }
            return name.trim_start_matches("builtins.").to_owned();
        }
        let mut name = name.strip_suffix("Sync").unwrap_or(name).to_owned();
        // The same functions from other packages.
        if let Some((module, last)) = name.rsplit_once('.')
            && (module.contains("std/path")
                || matches!(module, "pathe" | "upath" | "path-browserify"))
        {
            name = format!("path.{last}");
        }
        for (from, to) in [
            (".promises.", "."),
            (".constants.", "."),
            (".default.", "."),
            (".realpath.native", ".realpath"),
            (".realpathSync.native", ".realpath"),
            ("path.posix.", "path."),
            ("path.win32.", "path."),
        ] {
            if name.contains(from) {
                name = name.replace(from, to);
            }
        }
        name
    }

    /// `super.locate(key)`, `super().locate(key)`: the method of a base, on the same object.
    pub(super) fn inherited(
        &self,
        base: &Expr,
        method: &str,
        state: &State,
    ) -> Option<(crate::term::FnId, Vid)> {
        let is_super = match &base.kind {
            ExprKind::Name(name) => &**name == "super",
            ExprKind::Call { callee, .. } => callee.dotted().as_deref() == Some("super"),
            _ => false,
        };
        let function = self.program.function(self.here());
        let class = function.class.as_deref().filter(|_| is_super)?;
        let file = self.here().0;
        let object = ["self", "this"]
            .iter()
            .find_map(|name| state.env.get(*name).copied())
            .or_else(|| {
                function
                    .receiver
                    .as_ref()
                    .and_then(|name| state.env.get(name).copied())
            })?;
        let (_, known) = self.program.class(file, class)?;
        let found = known
            .bases
            .iter()
            .find_map(|of| self.program.method(file, of, method))?;
        Some((found, object))
    }

    /// A function nobody can see.
    pub(super) fn unknown_call(
        &mut self,
        name: &str,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
        if state.dead {
            return self.terms.unknown();
        }
        self.may_throw(state);
        state.age();
        let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let like_check = [
            "valid", "check", "sanit", "safe", "secure", "assert", "ensure", "verify", "clean",
            "contain", "guard",
        ]
        .iter()
        .any(|word| last.contains(word));
        let list = args.all();
        if like_check {
            for vid in &list {
                let real = self.deref(*vid, state);
                state.add(real, bit::UNSEEN_CHECK, at);
            }
        }
        // A lookup with a default: the value itself.
        if matches!(
            last.as_str(),
            "get" | "getlist" | "getone" | "pop" | "getall"
        ) && let (Some(receiver), Some(key)) = (args.receiver, args.at(0))
            && self.external_base(receiver, 0).is_some()
        {
            // What is taken away is another one each time.
            let key = match last.as_str() {
                "pop" => self.terms.make(Term::Num(i64::from(at.start))),
                _ => key,
            };
            return self.terms.make(Term::Index(receiver, key));
        }
        for vid in &list {
            if let Term::Closure { of, env } = *self.terms.get(*vid)
                && self.muted == 0
            {
                self.pending.push((of, env));
            }
        }
        // A package that a function is called of is no value.
        let list = match (args.receiver, list.split_first()) {
            (Some(receiver), Some((_, rest)))
                if matches!(self.terms.get(receiver), Term::Undefined(_)) =>
            {
                rest.to_vec()
            }
            _ => list,
        };
        // What is asked twice answers the same, unless asking takes something away.
        let asks = args.list.is_empty() && !takes_away(&last);
        let asked = args.receiver.filter(|_| asks && !like_check);
        let asked = asked.filter(|receiver| self.external_base(*receiver, 0).is_some());
        let asked = asked.map(|receiver| (receiver, Sym::from(last.as_str())));
        if let Some(known) = asked.as_ref().and_then(|asked| self.getters.get(asked)) {
            return *known;
        }
        let vid = self.terms.make(Term::Call {
            name: Sym::from(name),
            args: list,
            at,
        });
        if let Some(asked) = asked {
            self.getters.insert(asked, vid);
        }
        if like_check {
            state.add(vid, bit::UNSEEN_CHECK, at);
        }
        vid
    }
}

/// Whether a method without arguments gives something else each time.
fn takes_away(last: &str) -> bool {
    let words = [
        "next", "read", "recv", "receive", "pop", "poll", "take", "shift", "accept", "dequeue",
        "line", "scan", "token", "parse", "await", "wait", "remove", "random", "sample", "fetch",
    ];
    words.iter().any(|word| last.contains(word))
}
