//! Functions that answer requests, by their shape: what they are given and what they do with it.

use crate::calls::each_call;
use crate::interp::Interp;
use crate::ir::{ExprKind, Function};
use crate::state::State;
use crate::term::{FnId, SourceKind, Term};

/// What a request and a response are usually called.
const REQUESTS: [&str; 6] = ["req", "request", "_req", "rq", "incoming", "httpReq"];
const RESPONSES: [&str; 6] = ["res", "response", "_res", "rsp", "reply", "httpRes"];

/// What only a response is asked to do.
const ANSWERS: [&str; 9] = [
    "end",
    "writeHead",
    "setHeader",
    "send",
    "sendStatus",
    "sendFile",
    "json",
    "status",
    "redirect",
];

/// Parameters that carry no text.
const CONTROL: [&str; 9] = [
    "next", "cb", "done", "callback", "err", "error", "head", "socket", "log",
];

impl Interp<'_> {
    /// Where the request of a function with the shape of a handler stands among its parameters.
    pub(super) fn request_at(&self, function: &Function) -> Option<usize> {
        let names: Vec<&str> = function.params.iter().map(|param| &*param.name).collect();
        let by_name = names
            .windows(2)
            .position(|pair| REQUESTS.contains(&pair[0]) && RESPONSES.contains(&pair[1]));
        if by_name.is_some() || names.len() < 2 || names.len() > 5 {
            return by_name;
        }
        (1..names.len().min(3))
            .find(|index| is_answered(function, names[*index]))
            .map(|index| index - 1)
    }

    /// What a router hands over besides request and response: what it took out of the path.
    pub(super) fn bind_captures(
        &mut self,
        id: FnId,
        function: &Function,
        request: usize,
        state: &mut State,
    ) {
        for param in function.params.iter().skip(request + 2) {
            let is_text = !CONTROL.contains(&&*param.name) && !is_called(function, &param.name);
            if !is_text {
                continue;
            }
            let kind = if self.handlers.contains(&id) {
                SourceKind::Request
            } else {
                SourceKind::Guessed
            };
            let vid = self.terms.make(Term::Source {
                label: param.name.clone(),
                kind,
                at: function.span,
            });
            state.env.insert(param.name.clone(), vid);
            if let Some(pattern) = &param.pattern {
                self.assign(pattern, vid, state, function.span);
            }
        }
    }

    /// ASGI and WSGI: the request is a dictionary that a server fills.
    pub(super) fn bind_gateway(&mut self, function: &Function, state: &mut State) {
        let names: Vec<&str> = function.params.iter().map(|param| &*param.name).collect();
        let has = |name: &str| names.contains(&name);
        for (request, beside) in [("scope", "receive"), ("environ", "start_response")] {
            if !has(request) {
                continue;
            }
            let is_sure = has(beside);
            if !is_sure && !mentions_request_key(function, request) {
                continue;
            }
            let vid = self.terms.make(Term::Source {
                label: request.into(),
                kind: SourceKind::Request,
                at: function.span,
            });
            state.env.insert(request.into(), vid);
        }
    }
}

/// `scope["path"]`, `environ["PATH_INFO"]`: nobody else has these keys.
fn mentions_request_key(function: &Function, name: &str) -> bool {
    let mut found = false;
    each_call(&function.body, &mut |_, _| {}, &mut |expr| {
        if let ExprKind::Index(base, key) = &expr.kind
            && matches!(&base.kind, ExprKind::Name(known) if **known == *name)
            && let ExprKind::Str(key) = &key.kind
        {
            found |= matches!(
                &**key,
                "path" | "raw_path" | "query_string" | "PATH_INFO" | "QUERY_STRING" | "REQUEST_URI"
            );
        }
    });
    found
}

/// Something is done with a parameter that is only done with a response.
fn is_answered(function: &Function, name: &str) -> bool {
    let mut found = 0;
    each_call(
        &function.body,
        &mut |callee, args| {
            if let ExprKind::Field(base, method) = &callee.kind {
                let on_it = matches!(&base.kind, ExprKind::Name(known) if **known == *name);
                if on_it && ANSWERS.contains(&&**method) {
                    found += 1;
                }
                let piped = &**method == "pipe"
                    && args.iter().any(
                        |arg| matches!(&arg.value.kind, ExprKind::Name(known) if **known == *name),
                    );
                if piped {
                    found += 1;
                }
            }
        },
        &mut |_| {},
    );
    found > 0
}

fn is_called(function: &Function, name: &str) -> bool {
    let mut found = false;
    each_call(
        &function.body,
        &mut |callee, _| {
            found |= matches!(&callee.kind, ExprKind::Name(known) if **known == *name);
        },
        &mut |_| {},
    );
    found
}
