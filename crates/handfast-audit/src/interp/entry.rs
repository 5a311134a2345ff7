//! Parameters that a framework fills from a request, by the place of the function.

use crate::interp::Interp;
use crate::ir::Function;
use crate::lang::Lang;
use crate::term::{FnId, Vid};

/// Methods that answer a request in classes made for that.
const VERBS: [&str; 12] = [
    "get", "post", "put", "delete", "patch", "head", "options", "list", "retrieve", "create",
    "update", "destroy",
];

/// How the names of such classes' bases end.
const BASES: [&str; 9] = [
    "RequestHandler",
    "View",
    "ViewSet",
    "Resource",
    "HTTPEndpoint",
    "Servicer",
    "Controller",
    "Endpoint",
    "Handler",
];

impl Interp<'_> {
    /// Positions of the parameters that carry external text.
    pub(super) fn filled_by_framework(&mut self, id: FnId, function: &Function) -> Vec<usize> {
        let lang = self.program.file(id.0).lang;
        let names: Vec<&str> = function.params.iter().map(|param| &*param.name).collect();
        let types = |index: usize| function.params[index].ty.as_deref().unwrap_or("");
        match lang.family() {
            "python" => {
                if !self.is_view(id, function) && !self.is_verb(id, function) {
                    return Vec::new();
                }
                (0..names.len())
                    .filter(|index| {
                        !matches!(names[*index], "self" | "cls" | "request" | "context")
                            && !names[*index].starts_with('*')
                            && !types(*index).contains("Depends")
                    })
                    .filter(|index| is_texty(types(*index)))
                    .collect()
            }
            // Messages of remote calls: `req *pb.GetRequest`.
            "go" => (0..names.len())
                .filter(|index| {
                    let ty = types(*index);
                    ty.ends_with("Request") && !ty.contains("http.")
                })
                .collect(),
            "javascript" => {
                self.type_request(id, function);
                Vec::new()
            }
            "c" => (0..names.len())
                .filter(|index| is_request_type(types(*index)))
                .collect(),
            "rust" => {
                let is_route = self.is_route(function, id);
                (0..names.len())
                    .filter(|index| is_route && is_rust_text(types(*index)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// A handler's first parameter is a request, whatever its name; elsewhere the shape decides.
    fn type_request(&mut self, id: FnId, function: &Function) {
        let at = self.request_at(function);
        let at = at.or_else(|| self.handlers.contains(&id).then_some(0));
        let Some((index, param)) =
            at.and_then(|at| function.params.get(at).map(|param| (at, param)))
        else {
            return;
        };
        let term = crate::term::Term::Param {
            name: param.name.clone(),
            index: u32::try_from(index).unwrap_or(0),
            of: id,
            is_ctor: false,
        };
        let vid: Vid = self.terms.make(term);
        if self.terms.ty(vid).is_none() {
            self.terms.typed(vid, "Request");
        }
    }

    /// A function with a request that something registers. The parameter's name alone is no proof:
    /// helpers of a handler have it as well.
    fn is_view(&self, id: FnId, function: &Function) -> bool {
        let has_request = function
            .params
            .iter()
            .take(2)
            .any(|param| &*param.name == "request");
        has_request && !function.name.starts_with('_') && self.is_registered(id, &function.name)
    }

    /// Whether some file that is connected with this one registers a function of this name.
    fn is_registered(&self, id: FnId, name: &str) -> bool {
        self.program.registrars().iter().any(|file| {
            self.program.connected(id.0, *file) && self.program.file(*file).text.contains(name)
        })
    }

    fn is_verb(&self, id: FnId, function: &Function) -> bool {
        let Some(class) = &function.class else {
            return false;
        };
        VERBS.contains(&&*function.name) && self.answers_requests(id.0, class)
    }

    /// A class whose base is a framework's.
    pub(super) fn answers_requests(&self, file: u32, class: &str) -> bool {
        if self.program.file(file).lang != Lang::Python {
            return false;
        }
        let Some((_, known)) = self.program.class(file, class) else {
            return false;
        };
        known.bases.iter().any(|base| {
            let last = base.rsplit('.').next().unwrap_or(base);
            BASES.iter().any(|end| last.ends_with(end)) && last != "Exception"
        })
    }
}

/// `const httplib::Request &req`, `HttpRequestPtr req`, `http::request<http::string_body> &&req`,
/// `struct http_request *req`, `ngx_http_request_t *r`.
fn is_request_type(ty: &str) -> bool {
    let ty = ty.split('<').next().unwrap_or(ty);
    let ty = ty.trim_end_matches(['&', '*', ' ']);
    let ty = ty.rsplit([':', ' ']).next().unwrap_or(ty);
    let ty = ty.to_ascii_lowercase();
    let ends = [
        "request",
        "requestptr",
        "request_t",
        "request_rec",
        "http_message",
        "http_req",
    ];
    ends.iter().any(|end| ty.ends_with(end))
}

/// Not a number, a flag or a session.
fn is_texty(ty: &str) -> bool {
    let ty = ty.to_ascii_lowercase();
    ty.is_empty() || ty.contains("str") || ty.contains("path") || ty.contains("any")
}

fn is_rust_text(ty: &str) -> bool {
    let bare = ty.trim_start_matches(['&', ' ']);
    bare == "str"
        || bare.starts_with("String")
        || bare.starts_with("PathBuf")
        || bare.starts_with("Option<String")
        || bare.contains(" str")
}
